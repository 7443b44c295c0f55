"""Addresses (URLs), and the files that one may stand for."""

from __future__ import annotations

import re
from urllib.parse import unquote

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_FILE = re.compile(r"file:(?=/|%2f|%5c)(?://)?(.+)", re.IGNORECASE | re.DOTALL)
_LEFT_OUT = re.compile(r"[\t\r\n]")
"""What readers of addresses pass over, wherever it stands."""


def is_address(text: str) -> bool:
    return _ADDRESS.match(text) is not None


def addressed_files(text: str) -> tuple[str, ...]:
    """The paths that a `file:` address may stand for, whether or not its host is read as one; none for other texts."""
    found = _FILE.fullmatch(_LEFT_OUT.sub("", text).replace("\\", "/"))
    if found is None:
        return ()
    _, slash, path = found[1].partition("/")
    return tuple(dict.fromkeys((unquote(slash + path), unquote(found[1]), found[1])))
