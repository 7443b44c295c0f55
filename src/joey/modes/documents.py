"""Mode files as data that remembers its lines: YAML, JSON and TOML, so that a mistake can be pointed to.

YAML is composed into nodes, which know where they stand. JSON is read as JSON, and its lines are looked up by reading
the same text as YAML, which JSON nearly is. TOML readers keep no lines: there a key's line is found by looking for it
after the header of its table.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import yaml

from joey.bounded.files import read_regular_text
from joey.bounded.formats import FormatError
from joey.bounded.formats.json import read_json
from joey.bounded.formats.toml import read_toml
from joey.bounded.formats.yaml import compose_yaml, construct_yaml
from joey.wire import JsonValue

LineOf: TypeAlias = Callable[[str], int]
"""The line of a key of an entry (of the entry itself for an unknown key), counted from 1."""


@dataclass(frozen=True, slots=True)
class ModeEntry:
    """One mode as a file has it, not yet checked."""

    value: JsonValue
    line_of: LineOf


class ModeFileError(Exception):
    """The file as a whole cannot be read."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


def read_entries(path: Path) -> list[ModeEntry]:
    """The modes of a file: the list under `customModes`, or the one mode the file is."""
    try:
        text = read_regular_text(path)
    except UnicodeDecodeError as error:
        raise ModeFileError(1, f"is not UTF-8 (byte {error.start})") from None
    except OSError as error:
        raise ModeFileError(1, f"cannot be read: {error.strerror}") from None
    if not text.strip():
        return []
    if path.suffix == ".toml":
        return _from_toml(text)
    return _from_json(text) if text.lstrip().startswith("{") else _from_yaml(text)


# YAML


def _from_yaml(text: str) -> list[ModeEntry]:
    root = _compose(text)
    listed = _child(root, "customModes")
    if listed is None:
        return [ModeEntry(_construct(root), _line_finder(root))]
    if not isinstance(listed, yaml.SequenceNode):
        if isinstance(listed, yaml.ScalarNode) and listed.value in ("", "null", "~"):
            return []
        raise ModeFileError(listed.start_mark.line + 1, "customModes must be a list")
    return [ModeEntry(_construct(node), _line_finder(node)) for node in listed.value]


def _compose(text: str) -> yaml.Node:
    try:
        node = compose_yaml(text)
    except FormatError as error:
        raise ModeFileError(error.line, f"is not valid YAML: {error}") from None
    if node is None:
        raise ModeFileError(1, "holds nothing")
    return node


def _construct(node: yaml.Node) -> JsonValue:
    """The value of a node; one that cannot be made (an unknown tag) is the error itself, to be reported."""
    try:
        return construct_yaml(node)
    except FormatError as error:
        return error


def _child(node: yaml.Node, key: str) -> yaml.Node | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for name, value in node.value if name.value == key), None)


def _line_finder(node: yaml.Node) -> LineOf:
    def line_of(key: str) -> int:
        keys = [name for name, _ in node.value if name.value == key] if isinstance(node, yaml.MappingNode) else []
        return int((keys[0] if keys else node).start_mark.line) + 1

    return line_of


# JSON


def _from_json(text: str) -> list[ModeEntry]:
    try:
        data = read_json(text)
    except FormatError as error:
        return _json_like_yaml(text, error)
    values = data["customModes"] if isinstance(data, dict) and "customModes" in data else [data]
    if not isinstance(values, list):
        raise ModeFileError(1, "customModes must be a list")
    return [ModeEntry(value, finder) for value, finder in zip(values, _json_lines(text, len(values)), strict=True)]


def _json_like_yaml(text: str, error: FormatError) -> list[ModeEntry]:
    """YAML may be written in braces too; if it is not that either, the text was meant as JSON."""
    try:
        return _from_yaml(text)
    except ModeFileError:
        raise ModeFileError(error.line, f"is not valid JSON: {error}") from None


def _json_lines(text: str, count: int) -> list[LineOf]:
    # A raw tab can stand only between the tokens of JSON, where it means a space; YAML does not like it there.
    try:
        root = _compose(text.replace("\t", " "))
    except ModeFileError:
        return [lambda _key: 1] * count
    listed = _child(root, "customModes")
    nodes = listed.value if isinstance(listed, yaml.SequenceNode) else [root]
    return [_line_finder(node) for node in nodes]


# TOML


def _from_toml(text: str) -> list[ModeEntry]:
    try:
        data = read_toml(text)
    except FormatError as error:
        raise ModeFileError(error.line, f"is not valid TOML: {error}") from None
    if "customModes" not in data:
        return [ModeEntry(data, _toml_line_finder(text.splitlines(), 1))]
    values = data["customModes"]
    if not isinstance(values, list):
        raise ModeFileError(1, "customModes must be a list")
    lines = text.splitlines()
    headers = [n for n, line in enumerate(lines, 1) if re.match(r"\s*\[\[\s*customModes\s*\]\]", line)]
    starts = headers if len(headers) == len(values) else [1] * len(values)
    return [ModeEntry(value, _toml_line_finder(lines, start)) for value, start in zip(values, starts, strict=True)]


def _toml_line_finder(lines: list[str], start: int) -> LineOf:
    def line_of(key: str) -> int:
        pattern = re.compile(rf"""\s*["']?{re.escape(key)}["']?\s*=""")
        return next((n for n, line in enumerate(lines[start - 1 :], start) if pattern.match(line)), start)

    return line_of
