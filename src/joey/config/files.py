"""A settings file as checked values: every mistake is an error that names the file, the line and the nearest key. And
settings by the names of their flags: what a person gives on the command line, or a program as keyword arguments.

TOML readers keep no lines, so where each setting stands is found here by the names on the lines. Only what is written
on lines of its own is found: a header, or a key left of `=`. A setting inside an inline table is reported at the line
of its table, or the first.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from joey.bounded.files import read_regular_text
from joey.bounded.formats import FormatError
from joey.bounded.formats.toml import read_toml
from joey.config import keys
from joey.config.kinds import Kind
from joey.config.secrets import ADVICE, secret_in
from joey.errors import UsageError

NameParts: TypeAlias = tuple[str, ...]
"""The parts of a dotted name: `prices."gpt-5.2"` has two."""

_HEADER = re.compile(r"\s*\[\[?([^\[\]]+)\]\]?\s*(?:#.*)?$")
_PART = re.compile(r"\"([^\"]*)\"|'([^']*)'|([\w-]+)")


@dataclass(frozen=True, slots=True)
class NamedLine:
    """A line that names something: a table, or a key with the table it is in. Counted from 0."""

    number: int
    path: NameParts
    is_header: bool


class TomlLines:
    """The lines of a TOML file that name something, found in one pass."""

    def __init__(self, text: str) -> None:
        self.texts = text.splitlines()
        self._named: list[NamedLine] = []
        self._first: dict[NameParts, int] = {}
        table: NameParts = ()
        for number, line in enumerate(self.texts):
            if line.lstrip().startswith("#"):
                continue
            header = _HEADER.match(line)
            path = _parts(header[1]) if header else (*table, *_parts(left_of_equals(line)))
            table = path if header else table
            if header or path != table:
                self._note(NamedLine(number, path, is_header=bool(header)))

    def _note(self, line: NamedLine) -> None:
        self._named.append(line)
        for length in range(1, len(line.path) + 1):
            self._first.setdefault(line.path[:length], line.number)

    def number_of(self, path: NameParts) -> int:
        """The line that a setting is on, counted from 1 as people do."""
        return self._first.get(path, self._first.get(path[:1], 0)) + 1

    def key(self, path: NameParts) -> int | None:
        """The line with this key left of `=`."""
        return next((line.number for line in self._named if line.path == path and not line.is_header), None)

    def table(self, path: NameParts) -> tuple[int, int] | None:
        """The lines of a table without its header, or those before the first header."""
        headers = [line for line in self._named if line.is_header]
        starts = [0] if not path else [line.number + 1 for line in headers if line.path == path]
        if not starts:
            return None
        return starts[0], next((line.number for line in headers if line.number >= starts[0]), len(self.texts))


def left_of_equals(line: str) -> str:
    left, equals, _ = line.partition("=")
    return left if equals else ""


def _parts(written: str) -> NameParts:
    return tuple(first or second or third for first, second, third in _PART.findall(written))


@dataclass(frozen=True, slots=True)
class Value:
    """A value and where it was written."""

    value: Any
    where: str
    note: str = ""
    """That the setting or its value has another name today."""


def read_settings_file(path: Path) -> dict[str, Value]:
    """The settings of a file by their full names; none if there is no file."""
    try:
        text = read_regular_text(path)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 (byte {error.start}); save it as UTF-8") from None
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    return read_settings_text(text, str(path))


def read_settings_text(text: str, path: str) -> dict[str, Value]:
    try:
        data = read_toml(text)
    except FormatError as error:
        raise UsageError(f"{path}:{error.line}: invalid TOML: {error}") from None
    found: dict[str, Value] = {}
    for name, value in _checked(data, text, path):
        if name in found:
            raise UsageError(f"{value.where}: {name} is set twice, by its old and its new name; delete one of them")
        found[name] = value
    return found


def _checked(data: Mapping[str, Any], text: str, path: str) -> Iterator[tuple[str, Value]]:
    lines = TomlLines(text)
    for parts, value in _flat(data):
        where = f"{path}:{lines.number_of(parts)}"
        try:
            name, checked = _check(parts, value)
        except UsageError as error:
            raise UsageError(f"{where}: {error}") from None
        yield name, Value(checked, where, _note(".".join(parts), name, value))


def _note(written: str, name: str, value: Any) -> str:
    if written != name:
        return f"{written} is now called {name}; the old name still works"
    current = _current(name, value)
    return f"{name} = {value!r} is now called {current!r}; the old value still works" if current != value else ""


def _current(name: str, value: Any) -> Any:
    """A value by the name that it has today."""
    return keys.OLD_VALUES.get(name, {}).get(value, value) if isinstance(value, str) else value


def _flat(data: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each setting with its path: one level of tables, two for those of models."""
    for name, value in data.items():
        if name in (*keys.SECTIONS, *keys.TABLES) and isinstance(value, dict):
            yield from (((name, inner), item) for inner, item in value.items())
        else:
            yield (name,), value


def _check(parts: tuple[str, ...], value: Any) -> tuple[str, Any]:
    name = ".".join(parts)
    if secret_in(parts[-1] if parts[0] not in keys.TABLES else "", value):
        raise UsageError(f"{name} looks like a secret. {ADVICE}")
    if parts[0] in keys.TABLES and len(parts) == 2:
        return name, _price(name, value) if parts[0] == keys.PRICES else _entry(name, value, _ENTRIES[parts[0]])
    if name in (*keys.SECTIONS, *keys.TABLES):
        raise UsageError(f"{name} is a table; write [{name}] with its settings below")
    key = find_key(name)
    return key.name, check_value(key, value)


def check_setting(name: str, value: Any) -> Any:
    """The value for the setting of this full name, given by a program."""
    if name in keys.SECTIONS:
        inner = next(iter(value)) if isinstance(value, Mapping) and value else "…"
        raise UsageError(f'{name} is a group of settings; write each by its full name: {{"{name}.{inner}": …}}')
    _, checked = _check(tuple(name.split(".", 1)), list(value) if isinstance(value, tuple) else value)
    return checked


def check_value(key: keys.Key, value: Any) -> Any:
    value = _current(key.name, value)
    if wrong := problem_with(key, value):
        raise UsageError(f"{key.name} {wrong}")
    return tuple(value) if isinstance(value, list) else value


def problem_with(key: keys.Key, value: Any) -> str | None:
    if key.kind.matches(value):
        return None
    near = difflib.get_close_matches(str(value), key.kind.choices, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"must be {key.kind.expected}, got {_shown(value)}{hint}"


def parse_text(key: keys.Key, text: str) -> Any:
    """The value that the text of a variable or of a flag stands for; not checked."""
    text = _current(key.name, text)
    if key.kind.matches(text):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def find_key(name: str) -> keys.Key:
    """The setting of this name, or of this name in an earlier version."""
    name = keys.OLD_NAMES.get(name, name)
    if name not in keys.BY_NAME:
        raise UsageError(f"unknown setting {name!r}; {_nearest(name)}")
    return keys.BY_NAME[name]


def _nearest(name: str) -> str:
    plain = name.replace("-", "_").lower()
    last = plain.rpartition(".")[2]
    # The right name in the wrong table comes first.
    near = [key for key in keys.BY_NAME if key.rpartition(".")[2] == last]
    near = near or [key for key in keys.BY_NAME if sorted(key) == sorted(plain)]  # two letters swapped
    near = near or difflib.get_close_matches(plain, keys.BY_NAME, n=1)
    near = near or [key for key in keys.BY_NAME if difflib.get_close_matches(last, [key.rpartition(".")[2]], n=1)]
    return f"did you mean {near[0]!r}?" if near else "`joey config list` shows all of them"


def _price(name: str, value: Any) -> dict[str, float]:
    parts = ", ".join(keys.PRICE_PARTS[2:])
    if not isinstance(value, dict) or not {"input", "output"} <= set(value) <= set(keys.PRICE_PARTS):
        raise UsageError(f"{name} needs 'input' and 'output' in dollars per million tokens; optional: {parts}")
    for part, price in value.items():
        if isinstance(price, bool) or not isinstance(price, (int, float)) or price < 0:
            raise UsageError(f"{part} of {name} must be a number of 0 or more, got {_shown(price)}")
    return dict(value)


_ENTRIES = {keys.MODELS: keys.MODEL_PARTS, keys.UPSTREAMS: keys.UPSTREAM_PARTS}


def _entry(name: str, value: Any, known: Mapping[str, Kind]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{name} must be a table with any of: {', '.join(known)}")
    for part, given in value.items():
        if part not in known:
            raise UsageError(f"{name} has no {part!r}; it takes: {', '.join(known)}")
        if not known[part].matches(given):
            raise UsageError(f"{part} of {name} must be {known[part].expected}, got {_shown(given)}")
    return dict(value)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


_BY_OPTION = {key.flag.option: key for key in keys.KEYS if key.flag}


def settings_from(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options such as `{"approve": "edits", "max_turns": 5}` as settings by full name; what is None is left out."""
    given = [(_by_option(option), value) for option, value in options.items() if value is not None]
    return {key.name: check_value(key, value) for key, value in given}


def _by_option(option: str) -> keys.Key:
    if option not in _BY_OPTION:
        near = difflib.get_close_matches(option, _BY_OPTION, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"available options: {', '.join(_BY_OPTION)}"
        raise UsageError(f"unknown option {option!r}; {hint}")
    return _BY_OPTION[option]
