"""One value of a settings file set, the rest of the file as it was: comments, order and all.

Only what can be done with certainty is done: the result is read again, and if it does not say what was meant, and
nothing else differently than before, the file is left alone and the user is asked to edit it.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from joey.bounded.files import read_regular_text
from joey.bounded.formats import FormatError
from joey.bounded.formats.toml import read_toml
from joey.config.files import check_value, find_key, read_settings_file, read_settings_text
from joey.config.secrets import ADVICE, secret_in
from joey.errors import UsageError


def set_value(path: Path, name: str, written: str) -> Any:
    """Set a setting in a file, which is made if need be. Returns the value as it was understood."""
    key = find_key(name)
    if secret_in("", written):
        raise UsageError(f"this looks like a secret. {ADVICE}")
    value = check_value(key, _understood(written))
    before = read_settings_file(path)
    text = read_regular_text(path) if path.is_file() else ""
    edited = with_value(text, name, value)
    _verify(path, {known: each.value for known, each in before.items()} | {name: value}, edited)
    _replace(path, edited)
    return value


def _understood(written: str) -> Any:
    """What was typed: a TOML value, or else the text itself."""
    try:
        return read_toml(f"value = {written}")["value"]
    except FormatError:
        return written


def with_value(text: str, name: str, value: Any) -> str:
    """The text of a settings file with one more value, or another."""
    table, _, last = name.rpartition(".")
    lines = text.splitlines()
    start, end = _table(lines, table)
    line = f"{last} = {_toml(value)}"
    for at in range(start, end):
        if re.match(rf"\s*{re.escape(last)}\s*=", lines[at]):
            lines[at] = line
            return "\n".join(lines) + "\n"
    if start < 0:
        lines += [*([""] if lines else []), f"[{table}]", line]
        return "\n".join(lines) + "\n"
    lines.insert(_after_last_value(lines, start, end), line)
    return "\n".join(lines) + "\n"


def _after_last_value(lines: list[str], start: int, end: int) -> int:
    """Where a new line goes: comments at the end of a table are usually about the next one."""
    while end > start and _says_nothing(lines[end - 1]):
        end -= 1
    if end == 0:  # nothing is set yet: below the comment that the file opens with
        return next((at for at, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return end


def _says_nothing(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _table(lines: list[str], table: str) -> tuple[int, int]:
    """The lines of a table, without its header; (-1, -1) if it is not there."""
    headers = [at for at, line in enumerate(lines) if re.match(r"\s*\[", line)]
    if not table:
        return 0, headers[0] if headers else len(lines)
    for at in headers:
        if re.match(rf"\s*\[\s*{re.escape(table)}\s*\]\s*(#.*)?$", lines[at]):
            return at + 1, next((later for later in headers if later > at), len(lines))
    return -1, -1


def _toml(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    # A TOML string takes every escape that JSON writes, and is more particular about one character.
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, (str, bool)) else repr(value)
    return text.replace("\x7f", "\\u007f")


def _verify(path: Path, meant: dict[str, Any], edited: str) -> None:
    try:
        says = {name: each.value for name, each in read_settings_text(edited, str(path)).items()}
    except UsageError:
        says = {}
    if says != meant:
        raise UsageError(f"{path} is written in a way that cannot be edited safely from here; change it by hand")


def _replace(path: Path, text: str) -> None:
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(text, encoding="utf-8")
        # A link stays a link: the file it leads to is replaced.
        temporary.replace(path.resolve())
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
