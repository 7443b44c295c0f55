"""Questions of the Berkeley Function Calling Leaderboard (`make .venv/.bfcl` fetches them), and its rules of matching.

`simple` has one function, `multiple` several to choose from, `parallel` wants several calls at once, and in
`irrelevance` no function is of use, so that no call is the right answer.

The rules, as the leaderboard has them. An answer lists for each argument the values that are accepted; "" among them
says that it may be left out. As many calls as the answer has, in any order, each with the same function, all required
arguments and none that the answer does not know. A value has the type that the function declares (a whole number will
do for a float) or that of the accepted values. Texts are compared without case, spaces and the marks `,./-_*^`; texts
in lists and objects as well; everything else exactly.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import jsonschema

DATA = Path(__file__).parents[1] / ".venv" / "bfcl"
CATEGORIES = {"simple": "simple_python", "multiple": "multiple", "parallel": "parallel", "irrelevance": "irrelevance"}
_JSON_TYPES = {"dict": "object", "tuple": "array", "float": "number", "any": "string"}
_TYPES: Mapping[str, type] = {
    "string": str, "integer": int, "float": float, "boolean": bool, "array": list, "tuple": list, "dict": dict,
    "any": str,
}  # fmt: skip

Answer: TypeAlias = tuple[str, Mapping[str, Sequence[Any]]]
Call: TypeAlias = tuple[str, Any]


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the tools for it, and the calls that answer it: for each argument what is accepted."""

    id: str
    category: str
    messages: Sequence[Any]
    tools: Sequence[Any]
    """With the types of JSON Schema, in OpenAI's shape."""
    answer: Sequence[Answer]
    functions: Mapping[str, Any]
    """The parameters as the leaderboard declares them, by the name of the tool."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of a reply. Well formed: each call is of a tool that is there, with arguments that match its schema."""

    made: bool
    well_formed: bool
    right: bool


def questions(count: int) -> Iterator[Question]:
    """So many of each category, the categories in turn."""
    each = [list(_questions(name, file, count)) for name, file in CATEGORIES.items()]
    for row in zip(*each, strict=True):
        yield from row


def _questions(category: str, file: str, count: int) -> Iterator[Question]:
    path = DATA / f"{file}.answers.jsonl"
    answers = {row["id"]: row["ground_truth"] for row in rows(path)} if path.exists() else {}
    for row in list(rows(DATA / f"{file}.questions.jsonl"))[:count]:
        tools = [{"type": "function", "function": _function(each)} for each in row["function"]]
        answer = [(_name(name), given) for call in answers.get(row["id"], ()) for name, given in call.items()]
        functions = {_name(each["name"]): each["parameters"] for each in row["function"]}
        yield Question(row["id"], category, row["question"][0], tools, answer, functions)


def rows(path: Path) -> Iterator[Any]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _name(name: str) -> str:
    """As the APIs permit them, which know no dots."""
    return name.replace(".", "_")


def _function(given: Mapping[str, Any]) -> dict[str, Any]:
    parameters = _schema(given["parameters"])
    return {"name": _name(given["name"]), "description": given["description"], "parameters": parameters}


def _schema(given: Any) -> Any:
    """The schema with the types of JSON Schema."""
    if isinstance(given, dict):
        return {
            key: _JSON_TYPES.get(value, value) if key == "type" and isinstance(value, str) else _schema(value)
            for key, value in given.items()
        }
    return [_schema(each) for each in given] if isinstance(given, list) else given


# Judging


def judge(question: Question, calls: Sequence[tuple[str, str]]) -> Judged:
    """The calls of a reply, their arguments as JSON text."""
    schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in question.tools}
    read = [(_name(name), _arguments(written)) for name, written in calls]
    well_formed = all(
        name in schemas and jsonschema.Draft202012Validator(schemas[name]).is_valid(arguments)
        for name, arguments in read
    )
    if question.category == "irrelevance":
        return Judged(bool(read), well_formed, not read)
    return Judged(bool(read), bool(read) and well_formed, is_right(question, read))


def _arguments(written: str) -> Any:
    try:
        return json.loads(written)
    except ValueError:
        return None


def is_right(question: Question, calls: Sequence[Call]) -> bool:
    """Whether each call of the answer was made, and no other."""
    left = list(calls)
    for answer in question.answer:
        parameters = question.functions[answer[0]]
        found = next((place for place, call in enumerate(left) if _answers(call, answer, parameters)), None)
        if found is None:
            return False
        del left[found]
    return not left


def _answers(call: Call, answer: Answer, parameters: Mapping[str, Any]) -> bool:
    (name, arguments), (wanted, accepted) = call, answer
    if name != wanted or not isinstance(arguments, dict):
        return False
    declared = parameters["properties"]
    missing = [each for each in accepted if each not in arguments and "" not in accepted[each]]
    if missing or any(each not in arguments for each in parameters.get("required", ())):
        return False
    return all(
        each in declared and each in accepted and _accepts(accepted[each], value, declared[each])
        for each, value in arguments.items()
    )


def _accepts(accepted: Sequence[Any], value: Any, declared: Mapping[str, Any]) -> bool:
    kind = declared["type"]
    if kind == "float" and type(value) is int:
        value = float(value)
    of_accepted = next((type(each) for each in accepted if each != ""), None)
    if type(value) is not _TYPES[kind]:
        return type(value) is of_accepted and value in accepted
    inner = _TYPES[declared["items"]["type"]] if kind in ("array", "tuple") else None
    if inner is not None and not any(_are_of(inner, value, each) for each in accepted):
        return False
    if of_accepted not in (None, _TYPES[kind]):
        return value in accepted
    return any(_same(each, value) for each in accepted) or (value == [] and "" in accepted)


def _are_of(inner: type, items: Any, accepted: Any) -> bool:
    """Whether the items of a list have the declared type, or the one of the items that are accepted."""
    other = next((type(each) for each in accepted if each != ""), None) if isinstance(accepted, list) else None
    return not isinstance(accepted, list) or all(type(item) in (inner, other) for item in items)


def _same(right: Any, value: Any) -> bool:
    if isinstance(right, str) and isinstance(value, str):
        return _plain(right) == _plain(value)
    if isinstance(right, list) and isinstance(value, list):
        return len(right) == len(value) and all(map(_same_item, right, value))
    if isinstance(right, dict) and isinstance(value, dict):
        return _same_members(right, value)
    return bool(right == value)


def _same_item(right: Any, value: Any) -> bool:
    if isinstance(right, dict) and isinstance(value, dict):
        return _same_members(right, value)
    return _same(right, value) if isinstance(right, str) else bool(right == value)


def _same_members(accepted: Mapping[str, Sequence[Any]], value: Mapping[str, Any]) -> bool:
    """An object lists what is accepted for each of its members."""
    missing = [name for name in accepted if name not in value and "" not in accepted[name]]
    return not missing and all(
        name in accepted and any(_same_item(each, member) for each in accepted[name]) for name, member in value.items()
    )


def _plain(text: str) -> str:
    return re.sub(r"[ ,./\-_*^]", "", text).lower().replace("'", '"')
