"""Places in files as the protocol has them: URIs, and columns that count UTF-16 units."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from joey.wire import JsonObject


def path_of(uri: object) -> Path | None:
    """The file that a URI names; None if it names none of this machine."""
    if not isinstance(uri, str):
        return None
    try:
        parts = urlsplit(uri)
        path = unquote(parts.path)
        os.fsencode(path)
    except ValueError:  # UnicodeError, too: half a surrogate pair, which no file name can hold
        return None
    return Path(path) if parts.scheme == "file" and path.startswith("/") and "\0" not in path else None


def number(value: Any) -> int:
    """A line or column that a server names; 0 where it is none."""
    return value if isinstance(value, int) and 0 <= value < 10**9 else 0


def start_of(span: Any) -> tuple[int, int]:
    """Where a range begins: line and column, from 0."""
    start = span.get("start") if isinstance(span, dict) else None
    start = start if isinstance(start, dict) else {}
    return number(start.get("line")), number(start.get("character"))


def find_symbol(text: str, symbol: str, line: int | None) -> JsonObject | None:
    """The position of a name in a text: in this line (from 1), or the first one; None if it is not there."""
    name = re.compile(rf"(?<!\w){re.escape(symbol)}(?!\w)")
    for at, each in enumerate(text.splitlines(), 1):
        if line in (None, at) and (found := name.search(each)):
            return {"line": at - 1, "character": len(each[: found.start()].encode("utf-16-le")) // 2}
    return None
