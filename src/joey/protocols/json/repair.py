"""Repairing the JSON of a tool call, only where it is certain what the model intended.

Repaired: a code fence around the value, a byte order mark, commas before closing brackets, raw control characters in
strings, single-quoted strings and Python's True, False and None, arguments that are a JSON string of an object, and
null for no arguments. Each repair is named, so that whoever runs the call can see that it is not verbatim.

Never repaired: anything that is not closed. A string or bracket left open means that the rest is missing, and a guess
would run half a call.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress

from joey.protocols.json.partial import JS_SPACE
from joey.protocols.json.stream import JsonReader
from joey.wire import JsonObject, JsonValue

_FENCE = re.compile(r"```[A-Za-z0-9_-]*[ \t]*\r?\n(.*)\n[ \t]*```", re.DOTALL)
_PYTHON_TOKEN = re.compile(
    r"""(?P<double>"(?:[^"\\]|\\.)*")|(?P<single>'(?:[^'\\]|\\.)*')|(?P<word>\b(?:True|False|None)\b)"""
    r"""|(?P<other>[{}\[\],:\s]+|[-+.\w]+)""",
    re.DOTALL,
)
_WORDS = {"True": "true", "False": "false", "None": "null"}


class UnreadableError(ValueError):
    """The arguments cannot be read with certainty; the text says why."""


def read_arguments(reader: JsonReader) -> tuple[JsonObject, tuple[str, ...]]:
    """The arguments that were read, and the repairs that reading them took. Raises UnreadableError."""
    repairs: tuple[str, ...] = ()
    if not reader.complete:
        body = reader.text.strip(JS_SPACE)
        if not body:
            return {}, ()
        reader, repairs = _repair(body, _fault(reader))
    value = reader.value()
    repairs += reader.lenient
    if isinstance(value, dict):
        return value, repairs
    if value is None:
        return {}, (*repairs, "null for no arguments")
    if isinstance(value, str) and value.strip(JS_SPACE).startswith("{"):
        inner, more = read_arguments(read_json(value))
        return inner, (*repairs, "the arguments were a JSON string", *more)
    raise UnreadableError(f"the arguments must be a JSON object, got {_kind(value)}")


def as_object(arguments: JsonValue) -> JsonObject | None:
    """Arguments as an object, also where the model wrote that into a string; None if they are no object."""
    if arguments is None:
        return {}
    if not isinstance(arguments, str):
        return arguments if isinstance(arguments, dict) else None
    with suppress(ValueError, RecursionError):
        if isinstance(found := json.loads(arguments), dict):  # nearly always, and many times faster
            return found
    try:
        return read_arguments(read_json(arguments))[0]
    except (UnreadableError, RecursionError):
        return None


def _repair(body: str, fault: str) -> tuple[JsonReader, tuple[str, ...]]:
    repairs: tuple[str, ...] = ()
    fenced = _FENCE.fullmatch(body)
    if fenced:
        body, repairs = fenced[1], ("a code fence around the arguments",)
        reader = read_json(body)
        if reader.complete:
            return reader, repairs
    requoted = _requote(body)
    if requoted is not None:
        reader = read_json(requoted)
        if reader.complete:
            return reader, (*repairs, "Python quotes and words instead of JSON's")
    raise UnreadableError(fault)


def read_json(text: str) -> JsonReader:
    """A reader that was fed a whole text."""
    reader = JsonReader()
    reader.feed(text)
    reader.finish()
    return reader


def _fault(reader: JsonReader) -> str:
    return f"not valid JSON: {reader.fault}" if reader.fault else "the JSON is not closed"


def _requote(text: str) -> str | None:
    """A Python literal as JSON, or None if it is anything else."""
    out: list[str] = []
    pos = 0
    while pos < len(text):
        match = _PYTHON_TOKEN.match(text, pos)
        if match is None:
            return None
        pos = match.end()
        token = match.group()
        if match.lastgroup == "single":
            token = _double_quoted(token)
        elif match.lastgroup == "word":
            token = _WORDS[token]
        out.append(token)
    return "".join(out)


def _double_quoted(token: str) -> str:
    return '"' + re.sub(r"\\'|\"|\\.", _requoted_character, token[1:-1], flags=re.DOTALL) + '"'


def _requoted_character(match: re.Match[str]) -> str:
    return {"\\'": "'", '"': '\\"'}.get(match.group(), match.group())


def _kind(value: object) -> str:
    name = {list: "an array", str: "a string", bool: "a boolean"}.get(type(value), "a number")
    return f"{name} ({json.dumps(value)[:40]})"
