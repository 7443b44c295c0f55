"""Calls in Python that cannot work: of a function of the workspace, with arguments that it does not take.

A small model gives a function another parameter and leaves its callers as they were. Judged are only plain functions at
the top of a module, called by the name under which they were defined or imported; where a name may mean something else
as well, or arguments are passed on with stars, nothing is said.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from joey.system.filenames import quoted
from joey.task.profiles.small.python_source import Call, PythonSource, call_text, sources


@dataclass(frozen=True, slots=True)
class _Function:
    name: str
    takes: ast.arguments


def wrong_calls(files: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The files, by path, with such a call, and what is wrong with it."""
    known = sources(files)
    modules = {path.removesuffix(".py").replace("/", "."): _functions(source) for path, source in known.items()}
    for path, source in known.items():
        functions = {**_functions(source), **_imported(source, modules)}
        for call in source.calls:
            function = functions.get(call.name)
            if function is not None and (problem := _mismatch(call, function)):
                taken = f"{function.name}({ast.unparse(function.takes)})"
                yield path, f"{quoted(path)} calls {call_text(files[path], call.number)}, but {problem}: it is {taken}"


def _functions(source: PythonSource) -> dict[str, _Function]:
    """The plain functions at the top of a module whose names mean nothing else in it."""
    return {name: _Function(name, takes) for name, takes in source.functions.items() if _is_only(name, source)}


def _imported(source: PythonSource, modules: Mapping[str, Mapping[str, _Function]]) -> dict[str, _Function]:
    """The functions of other modules, by names that mean nothing else in this one."""
    places = {name: place for name, place in source.imported.items() if _is_only(name, source)}
    found = {name: modules.get(module, {}).get(original) for name, (module, original) in places.items()}
    return {name: function for name, function in found.items() if function is not None}


def _is_only(name: str, source: PythonSource) -> bool:
    return source.bound[name] == 1 and not source.has_star


def _mismatch(call: Call, function: _Function) -> str | None:
    """What the function does not take, or what it does not get."""
    arguments = function.takes
    positional = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    if call.count > len(positional) and arguments.vararg is None:
        return f"{function.name} takes {_counted(len(positional))}"
    takes = {*positional, *(each.arg for each in arguments.kwonlyargs)}
    if arguments.kwarg is None and (unknown := sorted(call.named - takes)):
        return f"{function.name} has no parameter {unknown[0]}"
    needed = positional[: len(positional) - len(arguments.defaults)]
    missing = next((name for name in needed[call.count :] if name not in call.named), None)
    return None if missing is None else f"{function.name} needs {missing} as well"


def _counted(number: int) -> str:
    return f"{number or 'no'} argument{'' if number == 1 else 's'}"
