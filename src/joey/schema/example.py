"""Example arguments for a tool, made from its JSON Schema, for the part of the prompt that shows how a call is written.

The same schema always gives the same example. What the schema itself offers comes first (`examples`, `example`,
`const`, `default`, `enum`); then what the name of a property suggests (a `path` is a path); then a plain value of the
right type. Only required properties are shown, or all of them where none is required, because a model imitates what
it sees. A schema that leads back into itself ends in an empty value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from joey.schema.kinds import named_kinds
from joey.schema.references import Schema, members, properties, required, resolve, without
from joey.toolspec import ToolSpec
from joey.wire import JsonObject, JsonValue

_BY_NAME = {
    "path": "src/main.py",
    "file_path": "src/main.py",
    "paths": "src/main.py",
    "file_text": 'print("hello")\n',
    "content": 'print("hello")\n',
    "command": "git status",
    "cwd": "src",
    "regex": r"def \w+",
    "pattern": r"def \w+",
    "file_pattern": "*.py",
    "query": "where the settings are read",
    "url": "https://example.com",
    "uri": "https://example.com",
    "question": "Which port should the server use?",
    "result": "The server starts and its tests pass.",
    "message": "Add a test for the parser.",
    "todos": "[x] Read the code\n[ ] Write the test",
    "text": "Use port 8080.",
    "reason": "The task needs code changes.",
    "mode": "code",
    "mode_slug": "code",
    "line_range": "1-20",
    "location": "Paris",
    "city": "Paris",
    "name": "main",
    "id": "42",
}
_BY_FORMAT = {
    "date": "2025-01-31",
    "date-time": "2025-01-31T12:00:00Z",
    "time": "12:00:00Z",
    "email": "someone@example.com",
    "uri": "https://example.com",
    "url": "https://example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
}
_MAX_DEPTH = 8
_MAX_VALUES = 5_000
_MAX_ITEMS = 10


def example_call(tool: ToolSpec) -> JsonObject:
    """The arguments that show how a tool is called: its own example, or one made from its schema."""
    return tool.example or example_arguments(tool.schema)


def example_arguments(schema: JsonObject) -> dict[str, Any]:
    """Plausible arguments for a tool with this schema."""
    return _object(schema, schema, 0, _MAX_VALUES)


def _value(name: str, schema: JsonValue, root: JsonObject, depth: int, room: int) -> JsonValue:
    """`room`: how many values this may become. What is in it shares that: references can name a thing many times."""
    schema = _resolve(schema, root)
    offered, value = _offered(schema)
    if offered:
        return value
    kind = _kind(schema)
    if depth >= _MAX_DEPTH or room <= 0:
        return {"object": {}, "array": []}.get(kind)
    if kind == "object":
        return _object(schema, root, depth, room)
    if kind == "array":
        return _array(name, schema, root, depth, room)
    if kind in ("integer", "number"):
        return _number(schema)
    return {"boolean": True, "null": None}.get(kind, _string(name, schema))


def _resolve(schema: Schema, root: JsonObject) -> JsonObject:
    """The schema, and of a union the first useful branch."""
    for _ in range(_MAX_DEPTH):
        schema = resolve(schema, root)
        if not isinstance(schema, Mapping):
            return {}
        branches = members(schema)
        if not branches or _offered(schema)[0]:
            return schema
        useful = (branch for branch in branches if isinstance(branch, Mapping) and branch.get("type") != "null")
        schema = {**without(schema, "anyOf", "oneOf"), **next(useful, {})}
    return {}


def _offered(schema: JsonObject) -> tuple[bool, JsonValue]:
    """A value that the schema itself gives, if it gives one."""
    for key in ("examples", "enum"):
        if isinstance(schema.get(key), list) and schema[key] and (key == "examples" or "default" not in schema):
            return True, schema[key][0]
    for key in ("example", "const", "default"):
        if schema.get(key) is not None:
            return True, schema[key]
    return False, None


def _kind(schema: JsonObject) -> str:
    named = named_kinds(schema) or ("string",)
    return next((kind for kind in named if kind != "null"), "null")


def _object(schema: Schema, root: JsonObject, depth: int, room: int) -> dict[str, Any]:
    schema = _resolve(schema, root)
    known, needed = properties(schema), required(schema)
    wanted = [name for name in known if name in needed] or list(known)
    share = (room - 1) // (len(wanted) or 1)
    return {name: _value(name, known[name], root, depth + 1, share) for name in wanted}


def _array(name: str, schema: JsonObject, root: JsonObject, depth: int, room: int) -> list[Any]:
    members = schema.get("prefixItems", schema.get("items"))
    if isinstance(members, list):
        share = (room - 1) // (len(members) or 1)
        return [_value(name, member, root, depth + 1, share) for member in members]
    item = _value(name.removesuffix("s"), members, root, depth + 1, room - 1)
    least = schema.get("minItems")
    return [item] * (min(least, _MAX_ITEMS) if isinstance(least, int) and least > 1 else 1)


def _number(schema: JsonObject) -> int | float:
    low, high = schema.get("minimum", schema.get("exclusiveMinimum")), schema.get("maximum")
    if isinstance(low, (int, float)) and not isinstance(low, bool):
        return low + 1 if "minimum" not in schema else low
    if isinstance(high, (int, float)) and high < 1:
        return high
    return 1


def _string(name: str, schema: JsonObject) -> str:
    text = _BY_FORMAT.get(str(schema.get("format")), "") or _BY_NAME.get(name, "") or name.replace("_", " ")
    max_length = schema.get("maxLength")
    return text[:max_length] if isinstance(max_length, int) and max_length >= 0 else text
