"""JSON of any shape, read as the kind that is expected: what is something else reads as nothing.

Servers that only resemble a provider leave fields out, send null, a list for a text or a text for a number. A reader
that looks up everything through these never raises.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_EMPTY: Mapping[str, Any] = {}


def mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else _EMPTY


def items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def word(value: Any) -> str:
    """An id or a name: some servers number them."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else text(value)


def count(value: Any) -> int | None:
    """How many; None for what is no number, or less than none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 2**53:
        return None
    return int(value)


def index(value: Any) -> int | None:
    """A place in a list, from 0; some servers write it as a text."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    return count(value) if isinstance(value, int) else None


def json_text(value: Any) -> str | None:
    """JSON that comes as text or already read; None if there is none."""
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)
