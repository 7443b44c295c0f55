"""Ground-truth calls of the Berkeley Function Calling Leaderboard, fetched by `make` (see scripts/bfcl.py).

An answer lists, for each argument, the values that are right; the first is taken, and an argument that may be left out
is left out if leaving out is the only choice. The schemas name types after Python, Java and JavaScript; they are
turned into JSON Schema. Where a right value does not fit its own schema (a number for a string, an argument that the
schema does not name, no type at all), that argument gets a schema made from the value: what is tested is that the call
survives, not that the data is sound.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema

from joey.toolspec import ToolSpec

FOLDER = Path(os.environ.get("JOEY_BFCL") or Path(__file__).parents[1] / ".venv" / "bfcl")
MISSING = f"the BFCL data is not in {FOLDER}; `make .venv/bfcl` fetches it from PyPI"

_TYPES = {
    "dict": "object",
    "HashMap": "object",
    "array": "array",
    "Array": "array",
    "ArrayList": "array",
    "tuple": "array",
    "float": "number",
    "double": "number",
    "long": "integer",
    "integer": "integer",
    "boolean": "boolean",
    "Boolean": "boolean",
    "string": "string",
    "String": "string",
    "char": "string",
}


@dataclass(frozen=True)
class Entry:
    """One question: the tools that were offered, and the calls that answer it."""

    id: str
    tools: tuple[ToolSpec, ...]
    calls: tuple[tuple[str, dict[str, Any]], ...]


def entries() -> Iterator[Entry]:
    for questions in sorted(FOLDER.glob("*.questions.jsonl")):
        path = questions.with_name(questions.name.replace("questions", "answers"))
        answers = {row["id"]: row for row in _rows(path)} if path.exists() else {}
        for question in _rows(questions):
            if question["id"] in answers:
                yield _entry(question, answers[question["id"]]["ground_truth"])


def _rows(path: Path) -> Iterator[Any]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _entry(question: Any, truth: list[Any]) -> Entry:
    schemas = {function["name"]: _schema(function["parameters"]) for function in question["function"]}
    calls = []
    for answer in truth:
        ((name, given),) = answer.items()
        calls.append((name, _choose_members(given, schemas[name])))
    for name, arguments in calls:
        _make_match(schemas[name], arguments)
    tools = tuple(ToolSpec(name, "", schema) for name, schema in schemas.items())
    return Entry(question["id"], tools, tuple(calls))


def _schema(given: Any) -> dict[str, Any]:
    """JSON Schema of what the data calls a schema: types renamed, and only what says something about the shape kept."""
    schema: dict[str, Any] = {}
    kind = _TYPES.get(given.get("type", ""))
    if kind:
        schema["type"] = kind
    if isinstance(given.get("properties"), dict):
        schema["properties"] = {name: _schema(each) for name, each in given["properties"].items()}
    if isinstance(given.get("items"), dict):
        schema["items"] = _schema(given["items"])
    if isinstance(given.get("enum"), list):
        schema["enum"] = given["enum"]
    return schema


def _choose_members(given: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties", {})
    chosen = {}
    for name, choices in given.items():
        right = [choice for choice in choices if choice != ""] if isinstance(choices, list) else [choices]
        if right:
            chosen[name] = _choose(right[0], properties.get(name, {}))
    return chosen


def _choose(value: Any, schema: dict[str, Any]) -> Any:
    """Inside a value, objects list choices for their members again."""
    if isinstance(value, dict) and all(isinstance(each, list) for each in value.values()):
        return _choose_members(value, schema)
    if isinstance(value, list):
        return [_choose(each, schema.get("items", {})) for each in value]
    return value


def _make_match(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    properties = schema.setdefault("properties", {})
    for name, value in arguments.items():
        known = properties.get(name)
        if not known or not jsonschema.Draft202012Validator(known).is_valid(value):
            properties[name] = _schema_of(value)


def _schema_of(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return {"type": "object", "properties": {name: _schema_of(each) for name, each in value.items()}}
    if isinstance(value, list):
        return {"type": "array", "items": _schema_of(value[0]) if value else {}}
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}
    return {"type": kinds[type(value)]}
