"""The commands in a line that is not plain, as far as they can be seen.

Such a line is never allowed by a rule, so this search need not be complete: it lets a denied program in it be denied
and not asked about, and it shows a person what the line would run. The grammar is tree-sitter-bash.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

MAX_LENGTH = 100_000
_MAX_DEPTH = 120
_COMMANDS = frozenset({"command", "declaration_command", "unset_command", "test_command"})
_SHELL_CODE = re.compile(r"(?:.*/)?(?:(?:ba|z|da|k|a|mk|ya)?sh|eval|trap)$")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_STRING_ESCAPE = re.compile(r'\\([$`"\\\n])')


@dataclass(frozen=True, slots=True)
class WrittenCommand:
    """A command as it is written. A word is None where only the shell will know it."""

    words: tuple[str | None, ...]
    source: str


def commands_seen(text: str, depth: int = 0) -> list[WrittenCommand]:
    """The simple commands in a line, wherever they stand, in the order in which they begin."""
    if len(text) > MAX_LENGTH or depth > 4:
        return []
    text = re.sub(r"(?<!\\)((?:\\\\)*)\\\n", r"\1", text)
    found: list[WrittenCommand] = []
    _visit(_parser().parse(text.encode("utf-8", "replace")).root_node, found, 0)
    inner = [each for seen in found for code in _code_of(seen) for each in commands_seen(code, depth + 1)]
    return found + inner


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def _visit(node: Node, found: list[WrittenCommand], depth: int) -> None:
    if depth > _MAX_DEPTH:
        return
    if node.type in _COMMANDS:
        words = [child for child in node.children if child.type not in ("variable_assignment", "file_redirect")]
        if words:
            found.append(WrittenCommand(tuple(_literal(word) for word in words), _text(node)))
    for child in node.children:
        _visit(child, found, depth + 1)


def _code_of(seen: WrittenCommand) -> list[str]:
    """Text that a shell will read as code: the words of `eval`, and of `sh -c`."""
    first = seen.words[0] if seen.words else None
    if first is None or not _SHELL_CODE.match(first):
        return []
    return [word for word in seen.words[1:] if word]


def _literal(node: Node) -> str | None:
    kind, text = node.type, _text(node)
    if kind in ("concatenation", "command_name"):
        pieces = [_literal(child) for child in node.children]
        return None if None in pieces else "".join(piece or "" for piece in pieces)
    if kind == "raw_string":
        return text[1:-1]
    if kind == "string":
        plain = all(child.type == "string_content" for child in node.named_children)
        return _STRING_ESCAPE.sub(r"\1", text[1:-1]) if plain else None
    if node.named_child_count or kind in ("simple_expansion", "ansi_c_string") or kind.endswith("_substitution"):
        return None
    return _ESCAPE.sub(r"\1", text)


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
