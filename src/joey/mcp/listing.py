"""What a server says it has, as plain data, and what is wrong with what it says.

One bad entry must not cost a server's other tools, so a list is looked through before anything else reads it:
`fixed_tools` drops what cannot be used, repairs what can, and says which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from joey.wire import JsonObject, JsonValue


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool as its server describes it."""

    name: str
    description: str
    input_schema: JsonObject
    output_schema: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class ListedResource:
    """Something a server lets one read. Of a template, the parts in braces are to be filled in."""

    uri: str
    name: str
    description: str = ""
    media_type: str = ""
    is_template: bool = False


@dataclass(frozen=True, slots=True)
class ListedPrompt:
    """Words that a server has prepared for its user, with the names of what is filled in."""

    name: str
    description: str = ""
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ServerListing:
    """Everything a server offers."""

    tools: tuple[ListedTool, ...] = ()
    resources: tuple[ListedResource, ...] = ()
    problems: tuple[str, ...] = ()
    prompts: tuple[ListedPrompt, ...] = ()


MAX_DEPTH = 100
"""Levels of nesting in what is said of a tool. Readers of JSON stop somewhere beyond, and take the whole list along."""


def fixed_tools(tools: Sequence[Any]) -> tuple[list[JsonObject], list[str]]:
    """The usable entries of a tools/list answer, and what was wrong with the others."""
    kept: list[JsonObject] = []
    problems: list[str] = []
    names: set[str] = set()
    for entry in tools:
        problem = _what_is_wrong(entry, names)
        if problem is not None:
            problems.append(problem)
            continue
        names.add(entry["name"])
        kept.append(_fixed(entry))
    return kept, problems


def _what_is_wrong(entry: JsonValue, names: set[str]) -> str | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        return "an entry of its list of tools has no name; it was left out"
    name = entry["name"]
    if not name.strip() or name == "*":  # `*` would stand for every tool in rules
        return f"{name!r} is not a valid tool name; it was left out"
    if name in names:
        return f"tool {name!r} is listed twice; the second was left out"
    schema = entry.get("inputSchema", {})
    if not isinstance(schema, dict) or schema.get("type", "object") != "object":
        return f"tool {name!r} was left out: its input schema must be of an object, and is not"
    if _deeper(entry, MAX_DEPTH):
        return f"tool {name!r} was left out: its schema is nested more than {MAX_DEPTH} levels deep"
    return None


def _deeper(value: JsonValue, levels: int) -> bool:
    """Whether a value is nested deeper. Level by level: whoever sends it chooses how deep it is."""
    level: list[JsonValue] = [value]
    for _ in range(levels + 1):
        level = [
            inner
            for each in level
            if isinstance(each, (dict, list))
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return False
    return True


def _fixed(entry: JsonObject) -> JsonObject:
    fixed = {**entry, "inputSchema": {"type": "object", **(entry.get("inputSchema") or {})}}
    for key, kind in (("description", str), ("title", str), ("outputSchema", dict), ("annotations", dict)):
        if key in fixed and not isinstance(fixed[key], kind):
            del fixed[key]
    return fixed
