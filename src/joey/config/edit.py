"""Sets or removes one value of a settings file and keeps the rest of the file as it was, with comments and order.

The result is read again before it is written. If it does not hold the new value, or if anything else changed, the file
stays as it is and the user has to edit it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from joey.bounded.files import read_regular_text
from joey.bounded.formats import FormatError
from joey.bounded.formats.toml import read_toml
from joey.config.files import TomlLines, check_value, find_key, left_of_equals, read_settings_file, read_settings_text
from joey.config.keys import OLD_NAMES
from joey.config.secrets import ADVICE, secret_in
from joey.errors import UsageError
from joey.system.user_files import replace_text

_MAX_LINES = 200
"""How many lines of a value are looked at for its end."""


def set_value(path: Path, name: str, written: str, *, check: Callable[[Any], object] | None = None) -> Any:
    """Set a value in a file, which is created if necessary. Returns the value as it was read. `check` raises UsageError
    for a value that the part which uses it would refuse."""
    key = find_key(name)
    if secret_in("", written):
        raise UsageError(f"this looks like a secret. {ADVICE}")
    value = check_value(key, _parsed(written))
    if check is not None:
        check(value)
    before = read_settings_file(path)
    text = read_regular_text(path) if path.is_file() else ""
    edited = with_value(text, key.name, value)
    _verify(path, {known: each.value for known, each in before.items()} | {key.name: value}, edited)
    _replace(path, edited)
    return value


def unset_value(path: Path, name: str) -> bool:
    """Remove a value from a file; what is below it holds again. False: the file does not set it."""
    key = find_key(name)
    before = {known: each.value for known, each in read_settings_file(path).items()}
    if key.name not in before:
        return False
    text, expected = read_regular_text(path), {known: before[known] for known in before if known != key.name}
    edited = next((each for each in _without(text, key.name) if _holds(path, expected, each)), text)
    _verify(path, expected, edited)
    _replace(path, edited)
    return True


def _without(text: str, name: str) -> Iterator[str]:
    """The text without the lines of a value, which may be several: the fewest first."""
    lines, at = text.splitlines(), _line_of(TomlLines(text), name)
    for end in range(at + 1, min(at + _MAX_LINES, len(lines) + 1)) if at is not None else ():
        yield "\n".join(lines[:at] + lines[end:]) + "\n"


def _line_of(found: TomlLines, name: str) -> int | None:
    """The line that sets a value, by its name or an earlier one."""
    written = [name, *(old for old, new in OLD_NAMES.items() if new == name)]
    return next((at for at in (found.key(tuple(each.split("."))) for each in written) if at is not None), None)


def _parsed(written: str) -> Any:
    """What was typed: a TOML value, or else the text itself."""
    try:
        return read_toml(f"value = {written}")["value"]
    except FormatError:
        return written


def with_value(text: str, name: str, value: Any) -> str:
    """The text of a settings file with one value added or replaced."""
    path = tuple(name.split("."))
    found, texts = TomlLines(text), text.splitlines()
    line = f"{path[-1]} = {_toml(value)}"
    at = _line_of(found, name)
    table = found.table(path[:-1])
    if at is not None:
        texts[at] = f"{left_of_equals(texts[at]).rstrip()} = {_toml(value)}"
    elif table is None:
        texts += [*([""] if texts else []), f"[{'.'.join(path[:-1])}]", line]
    else:
        texts.insert(_after_last_value(texts, *table), line)
    return "\n".join(texts) + "\n"


def _after_last_value(lines: list[str], start: int, end: int) -> int:
    """Where a new line goes: comments at the end of a table are usually about the next one."""
    while end > start and _is_blank(lines[end - 1]):
        end -= 1
    if end == 0:  # nothing is set yet: below the comment that the file opens with
        return next((at for at, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return end


def _is_blank(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _toml(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_toml(str(key))} = {_toml(item)}" for key, item in value.items()) + " }"
    # A TOML string takes every escape that JSON writes, and is more particular about one character.
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, (str, bool)) else repr(value)
    return text.replace("\x7f", "\\u007f")


def _verify(path: Path, expected: dict[str, Any], edited: str) -> None:
    if not _holds(path, expected, edited):
        raise UsageError(f"{path} cannot be edited safely; change it in an editor")


def _holds(path: Path, expected: dict[str, Any], edited: str) -> bool:
    try:
        return {name: each.value for name, each in read_settings_text(edited, str(path)).items()} == expected
    except UsageError:
        return False


def _replace(path: Path, text: str) -> None:
    try:
        replace_text(path.resolve(), text)  # a link stays a link: the file it leads to is replaced
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
