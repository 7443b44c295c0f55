"""What stands between an opener and its end: a name, and attributes beside it.

path          "path" string="true"          key="path" type="string"          ping/
"""

from __future__ import annotations

import re
from typing import NamedTuple

_ATTRIBUTE = re.compile(r"([\w-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_NAME_ATTRIBUTES = ("name", "tool", "key")
_NAME = re.compile(r"[^\s<>\"'{}\[\]()=]+")
_ENTITIES = {"&quot;": '"', "&lt;": "<", "&gt;": ">", "&amp;": "&"}


class Header(NamedTuple):
    """A name, empty if none was written, and the attributes beside it."""

    name: str
    attributes: dict[str, str]
    closed: bool = False
    """Whether it ends with a slash: a call without arguments."""


def read_header(text: str) -> Header | None:
    """The name and the attributes; None if this is no header."""
    closed = text.endswith("/")
    text = text.removesuffix("/").strip()
    if "\n" in text or "<" in text:
        return None
    attributes = {name: _unescape(a or b) for name, a, b in _ATTRIBUTE.findall(text)}
    for key in _NAME_ATTRIBUTES:
        if key in attributes:
            return Header(attributes[key], attributes, closed)
    quoted = re.match(r"\"([^\"]*)\"|'([^']*)'", text)
    if quoted:
        return Header(_unescape(quoted[1] or quoted[2] or "").strip(), attributes, closed)
    name = text.split(None, 1)[0] if text else ""
    return Header(name, attributes, closed) if not name or _NAME.fullmatch(name) else None


def _unescape(text: str) -> str:
    for entity, char in _ENTITIES.items():
        text = text.replace(entity, char)
    return text
