"""Calls that a request gives together with their right value, such as "total([1, 2]) should be 3".

They are the symptom in a form that can be run: such a call is made before the change and after it, and what it returns
decides. Read are only calls with literal arguments and literal values; everything else is left to the model.
"""

from __future__ import annotations

import ast
import math
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from joey.task.profiles.small.problems import is_test, parsed

if TYPE_CHECKING:
    from joey.task.profiles.small.beside import FileBeside

_CALL = re.compile(r"\b[A-Za-z_]\w*\(")
_RIGHT = re.compile(
    r"[`'\"]?,?\s+(?:(?:it|that|this|the (?:result|value|answer))\s+)?(?:should|must|has to|ought to|needs to)\s+"
    r"(?:be|return|give|equal|yield|produce)\s+[`]?",
    re.IGNORECASE,
)
_WRONG = re.compile(r"[`'\"]?,?\s+(?:is|are|returns?|gives?|yields?|produces?|comes? out as)\s+[`]?", re.IGNORECASE)
_INSTEAD = re.compile(
    r"[`]?,?\s*(?:instead of|rather than|(?:but|and|where|when)\s+(?:it\s+)?(?:should|must)\s+(?:be|return|give)"
    r"|\(?not|it should (?:be|return|give))\s+[`]?",
    re.IGNORECASE,
)
_MAX_EXPRESSION = 200
_MAX_EXAMPLES = 4
_UNSAFE = re.compile(r'["$`\\!\n]')


@dataclass(frozen=True, slots=True)
class Example:
    call: str
    function: str
    value: object


def examples_in(request: str) -> list[Example]:
    """The calls of a request whose right value it states, each once."""
    found = {example.call: example for example in _examples(request)}
    return list(found.values())[:_MAX_EXAMPLES]


def _examples(request: str) -> Iterator[Example]:
    for start in _CALL.finditer(request):
        call = _call_at(request, start.start())
        if call is None:
            continue
        rest = request[start.start() + len(call[0]) :]
        value = _right_value(rest)
        if value is not None:
            yield Example(ast.unparse(call[1]), start[0][:-1], value[0])


def _call_at(text: str, start: int) -> tuple[str, ast.Call] | None:
    """The call that begins here, if its arguments are literals."""
    for end in range(start, min(len(text), start + _MAX_EXPRESSION)):
        if text[end] != ")":
            continue
        try:
            node = ast.parse(text[start : end + 1], mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        is_plain = isinstance(node, ast.Call) and all(map(_is_literal, _arguments(node)))
        return (text[start : end + 1], node) if isinstance(node, ast.Call) and is_plain else None
    return None


def _arguments(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return False
    return True


def _right_value(rest: str) -> tuple[object] | None:
    if found := _RIGHT.match(rest):
        return _value_at(rest[found.end() :])
    if (found := _WRONG.match(rest)) and (wrong := _literal_at(rest[found.end() :])):
        after = rest[found.end() + wrong[1] :]
        return _value_at(after[instead.end() :]) if (instead := _INSTEAD.match(after)) else None
    return None


def _value_at(text: str) -> tuple[object] | None:
    found = _literal_at(text)
    return None if found is None else (found[0],)


def _literal_at(text: str) -> tuple[object, int] | None:
    """The longest literal with which a text begins, and its length. Commas between values are those of a sentence."""
    line = text.partition("\n")[0][:_MAX_EXPRESSION]
    for end in range(len(line), 0, -1):
        in_word = end < len(line) and line[end - 1 : end + 1].isalnum()
        if in_word or line[end - 1] in " \t.":
            continue
        try:
            node = ast.parse(line[:end], mode="eval").body
            is_sequence = isinstance(node, ast.Tuple) and not line.startswith("(")
            value = ast.literal_eval(node)
        except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
            continue
        if not is_sequence:
            return value, end
    return None


def example_command(examples: Sequence[Example], files: Sequence[FileBeside]) -> str | None:
    """The command that prints what these calls return; None if there is none, or a function is in none of the files."""
    places = {example.function: _module_of(example.function, files) for example in examples}
    if not examples or None in places.values():
        return None
    imports = "; ".join(f"from {module} import {name}" for name, module in places.items())
    code = f"{imports}; {'; '.join(f'print(repr({example.call}))' for example in examples)}"
    return f"python3 -c {shlex.quote(code)}" if _UNSAFE.search(code) else f'python3 -c "{code}"'


def _module_of(name: str, files: Sequence[FileBeside]) -> str | None:
    for each in files:
        tree = None if is_test(each.path) else parsed(each.path, each.text)
        nodes = tree.body if tree is not None else []
        kinds = ast.FunctionDef | ast.ClassDef
        if any(isinstance(node, kinds) and node.name == name for node in nodes):
            return each.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return None


def wrong_example(examples: Sequence[Example], output: str) -> str | None:
    """What one of the calls returned in place of its right value, by the last lines of an output."""
    lines = output.strip().splitlines()[-len(examples) :]
    if len(lines) < len(examples):
        return "does not return what it should"
    for example, line in zip(examples, lines, strict=True):
        if line.strip() != repr(example.value) and not _same(_read(line), example.value):
            return f"shows that {example.call} is {line.strip()}, not {example.value!r}"
    return None


def _read(line: str) -> object:
    try:
        return ast.literal_eval(line.strip())
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return line.strip()


def _same(one: object, other: object) -> bool:
    numbers = (int, float)
    if one == other or not (isinstance(one, numbers) and isinstance(other, numbers)) or isinstance(one, bool):
        return one == other
    try:
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    except OverflowError:  # a whole number that is too large for a float
        return False
