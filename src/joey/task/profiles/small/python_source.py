"""What is known of a file of Python without running it: the names it binds, takes from elsewhere and calls.

The same files are judged several times in a turn, as they were and as they are. So each text is parsed and walked once,
and what was found is kept for the next time: names and numbers, not the tree, which needs a hundred times the room.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, TypeAlias, TypeGuard

_MAX_KEPT = 256
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Taken: TypeAlias = tuple[Literal["imports", "uses"], str, str]
"""A name that comes from a module: how, from what, and its name there. Where it is used, the module has the name that
the file gives it."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a plain name, without stars."""

    name: str
    count: int
    """How many arguments have no name."""
    named: frozenset[str]
    number: int
    """Which of these calls it is; `call_text` finds it by that."""


@dataclass(slots=True)
class PythonSource:
    bound: Counter[str] = field(default_factory=Counter)
    """Every name that is bound anywhere in the file, in whatever scope, and how often."""
    stored: set[str] = field(default_factory=set)
    """Those that something is assigned to."""
    loaded: dict[str, int] = field(default_factory=dict)
    """Every name that is used, and the line in which it is first."""
    functions: dict[str, ast.arguments] = field(default_factory=dict)
    """The plain functions at the top of the file."""
    definitions: frozenset[str] = frozenset()
    """The functions and classes at the top of the file."""
    modules: dict[str, str] = field(default_factory=dict)
    """The modules that are imported as such, by the names they have in the file."""
    imported: dict[str, tuple[str, str]] = field(default_factory=dict)
    """What is imported from modules at the top of the file, by its name there: the module, and its name in that."""
    imports: set[str] = field(default_factory=set)
    """Every module that may be imported; what is imported from one may be a module, too."""
    taken: list[Taken] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    has_star: bool = False
    """Whether names may come from elsewhere: everything is imported from some module."""


@lru_cache(maxsize=_MAX_KEPT)
def python_source(text: str) -> PythonSource | None:
    """What is known of this code; None if it cannot be parsed. Shared: nobody changes it."""
    try:
        return source_of(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def sources(files: Mapping[str, str]) -> dict[str, PythonSource]:
    """Those of the files, by path, that are Python and can be parsed."""
    found = {path: python_source(text) for path, text in files.items() if path.endswith(".py")}
    return {path: source for path, source in found.items() if source is not None}


def source_of(tree: ast.Module) -> PythonSource:
    source = PythonSource()
    for node in ast.walk(tree):
        _add_names(source, node)
        _add_imports(source, node)
        if _is_plain_call(node):
            source.calls.append(_call(node, len(source.calls)))
    _add_top(source, tree)
    return source


def _add_names(source: PythonSource, node: ast.AST) -> None:
    match node:
        case ast.Name(id=name, ctx=ast.Load()):
            source.loaded.setdefault(name, node.lineno)
        case ast.Name(id=name):
            source.bound[name] += 1
            source.stored.add(name)
        case ast.Attribute(value=ast.Name(id=name), attr=attribute, ctx=ast.Load()):
            source.taken.append(("uses", name, attribute))
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            source.bound[name] += 1
        case ast.arg(arg=name) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            source.bound[name] += 1
        case ast.ExceptHandler(name=str(name)) | ast.MatchMapping(rest=str(name)):
            source.bound[name] += 1
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            source.bound.update(names)
        case _:
            pass


def _add_imports(source: PythonSource, node: ast.AST) -> None:
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return
    source.bound.update(alias.asname or alias.name.partition(".")[0] for alias in node.names)
    names = [alias.name for alias in node.names]
    if isinstance(node, ast.Import):
        source.modules |= {alias.asname or alias.name: alias.name for alias in node.names}
        source.imports.update(names)
        return
    source.has_star = source.has_star or "*" in names
    if node.module and not node.level:
        source.imports.update((node.module, *(f"{node.module}.{name}" for name in names)))
        source.taken += [("imports", node.module, name) for name in names if name != "*"]


def _add_top(source: PythonSource, tree: ast.Module) -> None:
    """What only counts at the top of the file."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.decorator_list:
            source.functions[node.name] = node.args
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            source.imported |= {alias.asname or alias.name: (node.module, alias.name) for alias in node.names}
    kinds = (*_FUNCTIONS, ast.ClassDef)
    source.definitions = frozenset(node.name for node in tree.body if isinstance(node, kinds))


def _is_plain_call(node: ast.AST) -> TypeGuard[ast.Call]:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    return all(each.arg for each in node.keywords) and not any(isinstance(each, ast.Starred) for each in node.args)


def _call(node: ast.Call, number: int) -> Call:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    return Call(name, len(node.args), frozenset(each.arg for each in node.keywords if each.arg), number)


def call_text(text: str, number: int) -> str:
    """One of the calls in a code, as Python writes it."""
    calls = [node for node in ast.walk(ast.parse(text)) if _is_plain_call(node)]
    return ast.unparse(calls[number])
