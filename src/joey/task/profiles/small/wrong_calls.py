"""Calls in Python that cannot work: of a function of the workspace, with arguments that it does not take.

A small model gives a function another parameter and leaves its callers as they were. Judged are only plain functions at
the top of a module, called by the name under which they were defined or imported; where a name may mean something else
as well, or arguments are passed on with stars, nothing is said.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from joey.system.filenames import quoted
from joey.task.profiles.small.problems import parsed


def wrong_calls(files: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The files, by path, with such a call, and what is wrong with it."""
    trees = {path: tree for path, text in files.items() if (tree := parsed(path, text)) is not None}
    modules = {path.removesuffix(".py").replace("/", "."): _functions(tree) for path, tree in trees.items()}
    for path, tree in trees.items():
        known = {**_functions(tree), **_imported(tree, modules)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in known:
                function = known[node.func.id]
                if problem := _mismatch(node, function):
                    taken = f"{function.name}({ast.unparse(function.args)})"
                    yield path, f"{quoted(path)} calls {ast.unparse(node)}, but {problem}: it is {taken}"


def _functions(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    """The plain functions at the top of a module whose names are bound once."""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and not node.decorator_list]
    others = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    others += [node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)]
    others += [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return {node.name: node for node in functions if others.count(node.name) == 1}


def _imported(tree: ast.Module, modules: Mapping[str, dict[str, ast.FunctionDef]]) -> dict[str, ast.FunctionDef]:
    found = dict[str, ast.FunctionDef]()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and not node.level and (node.module or "") in modules:
            there = modules[node.module or ""]
            found |= {alias.asname or alias.name: there[alias.name] for alias in node.names if alias.name in there}
    return found


def _mismatch(call: ast.Call, function: ast.FunctionDef) -> str | None:
    """What the function does not take, or what it does not get."""
    arguments = function.args
    if any(isinstance(each, ast.Starred) for each in call.args) or any(each.arg is None for each in call.keywords):
        return None
    positional = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    named = {each.arg for each in call.keywords}
    if len(call.args) > len(positional) and arguments.vararg is None:
        return f"{function.name} takes {len(positional)} arguments"
    takes = {*positional, *(each.arg for each in arguments.kwonlyargs)}
    if arguments.kwarg is None and (unknown := sorted(filter(None, named - takes))):
        return f"{function.name} has no parameter {unknown[0]}"
    needed = positional[: len(positional) - len(arguments.defaults)]
    missing = next((name for name in needed[len(call.args) :] if name not in named), None)
    return None if missing is None else f"{function.name} needs {missing} as well"
