"""Where the definitions of a source file begin and end: functions, classes, methods, as lines, nested as in the code.

The grammars are tree-sitter's, one package a language; those that are not installed make `outline` answer None, and the
caller cuts by lines instead. The kinds of nodes that count as definitions are one set for all languages, as grammars
agree on the names of most of them. Bodies of short functions are not looked into, nor is anything nested more than
sixty nodes deep: definitions there belong to the one around them.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from tree_sitter import Language, Node, Parser

_GRAMMARS: dict[str, tuple[str, str]] = {
    **dict.fromkeys((".py", ".pyi"), ("tree_sitter_python", "language")),
    **dict.fromkeys((".js", ".jsx", ".mjs", ".cjs"), ("tree_sitter_javascript", "language")),
    **dict.fromkeys((".ts", ".mts", ".cts"), ("tree_sitter_typescript", "language_typescript")),
    ".tsx": ("tree_sitter_typescript", "language_tsx"),
    ".go": ("tree_sitter_go", "language"),
    ".rs": ("tree_sitter_rust", "language"),
    ".java": ("tree_sitter_java", "language"),
    ".c": ("tree_sitter_c", "language"),
    **dict.fromkeys((".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"), ("tree_sitter_cpp", "language")),
    ".cs": ("tree_sitter_c_sharp", "language"),
    **dict.fromkeys((".rb", ".rake"), ("tree_sitter_ruby", "language")),
    ".php": ("tree_sitter_php", "language_php"),
    **dict.fromkeys((".kt", ".kts"), ("tree_sitter_kotlin", "language")),
    **dict.fromkeys((".sh", ".bash"), ("tree_sitter_bash", "language")),
}

_FUNCTIONS = """
    function_definition function_declaration generator_function_declaration method_definition method_declaration
    constructor_declaration function_item method singleton_method macro_definition property_declaration
"""
_TYPES = """
    class_definition class_declaration abstract_class_declaration class_specifier struct_specifier class
    interface_declaration enum_declaration record_declaration struct_declaration trait_declaration object_declaration
    companion_object annotation_type_declaration type_alias_declaration type_declaration type_definition struct_item
    enum_item union_item trait_item impl_item enum_specifier
"""
_HOLDERS = "module internal_module namespace_definition namespace_declaration mod_item"
_DEFINITIONS = frozenset(f"{_FUNCTIONS} {_TYPES} {_HOLDERS}".split())
_AROUND = frozenset({"decorated_definition", "export_statement", "template_declaration", "ambient_declaration"})
"""Nodes that belong to the one definition in them: decorators, `export`, `template <…>`."""
_BINDINGS = frozenset({"lexical_declaration", "variable_declaration", "public_field_definition", "field_definition"})
_FUNCTION_VALUES = frozenset({"arrow_function", "function_expression", "function", "generator_function", "class"})
_MAX_DEPTH = 60


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition: its lines (from 0, both included), its name, and the definitions in it."""

    first: int
    last: int
    name: str
    inner: tuple[Definition, ...] = ()


@cache
def cutter(suffix: str) -> str:
    """The name of the way in which files with this suffix are cut now; another name means cutting them again."""
    if suffix in (".md", ".markdown", ".mdx"):
        return "headings"
    return "syntax" if grammar(suffix) is not None else "lines"


@cache
def grammar(suffix: str) -> Language | None:
    """The grammar for files with this suffix, if there is one and it is installed."""
    if suffix not in _GRAMMARS:
        return None
    module, function = _GRAMMARS[suffix]
    try:
        found: Any = importlib.import_module(module)
        return Language(getattr(found, function)())
    except (ImportError, ValueError):  # not installed, or made for another tree-sitter
        return None


def installed_grammars() -> tuple[list[str], list[str]]:
    """The packages of grammars that are here, and those that are not."""
    suffix_of = {module: suffix for suffix, (module, _) in _GRAMMARS.items()}
    here = [module for module, suffix in suffix_of.items() if grammar(suffix) is not None]
    return sorted(here), sorted(set(suffix_of) - set(here))


def outline(text: str, suffix: str, look_into: int) -> tuple[Definition, ...] | None:
    """The definitions of a file; those longer than `look_into` bytes with what is in them. None without a grammar."""
    language = grammar(suffix)
    if language is None:
        return None
    tree = Parser(language).parse(text.encode("utf-8", "surrogatepass"))
    return _one_a_line(_definitions(tree.root_node, look_into, 0))


def _definitions(node: Node, look_into: int, depth: int) -> Iterator[Definition]:
    if depth > _MAX_DEPTH:
        return
    for child in node.children:
        if not child.is_named or child.start_point.row == child.end_point.row:
            continue
        named = _defined_by(child)
        if named is None:
            yield from _definitions(child, look_into, depth + 1)
            continue
        is_long = child.end_byte - child.start_byte > look_into
        inner = _one_a_line(_definitions(named, look_into, depth + 1)) if is_long else ()
        yield Definition(child.start_point.row, _last_row(child), _name(named), inner)


def _defined_by(node: Node) -> Node | None:
    """The definition that this node is, or is wrapped around."""
    if node.type in _DEFINITIONS:
        return node
    if node.type in _AROUND:
        return next(filter(None, map(_defined_by, node.named_children)), None)
    if node.type in _BINDINGS:
        holders = [node, *node.named_children]
        return next((each for each in holders if _value_type(each) in _FUNCTION_VALUES), None)
    return None


def _value_type(node: Node) -> str:
    value = node.child_by_field_name("value")
    return value.type if value is not None else ""


def _last_row(node: Node) -> int:
    # A node that ends in column 0 ends with the line break of the row before.
    row, column = node.end_point
    return row - 1 if column == 0 and row > node.start_point.row else row


def _name(node: Node) -> str:
    """What a definition is called: its name, or that of the declarator or specification in it."""
    for _ in range(8):
        found = _naming(node) or next(filter(None, map(_naming, node.named_children)), None)
        if found is None:
            break
        node = found
    text = (node.text or b"").decode("utf-8", "replace")
    return " ".join(text.split())[:80] if "\n" not in text else ""


def _naming(node: Node) -> Node | None:
    return next(filter(None, map(node.child_by_field_name, ("name", "declarator", "type"))), None)


def _one_a_line(found: Iterator[Definition]) -> tuple[Definition, ...]:
    """Without those that begin on a line which the one before has already: pieces are made of whole lines."""
    kept: list[Definition] = []
    for each in found:
        if not kept or each.first > kept[-1].last:
            kept.append(each)
    return tuple(kept)
