"""Text that can be sent and saved: halves of surrogate pairs, which no encoding has, are replaced.

Python reads bytes that are no text as such halves: in names of files, in piped input, in variables of the environment
and in the output of programs. Models and servers write them as escapes in JSON. A request that holds one could not be
sent at all, and neither could any later one of its task. So everything passes here before it is recorded (`TaskLog`),
when a journal is read (one of an earlier version may hold some), and before a request goes out (`Preparation`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from operator import is_
from typing import Any, TypeVar

T = TypeVar("T")

_HALF = re.compile("[\ud800-\udfff]")


def sendable(value: T) -> T:
    """The value with every text in it sendable; the same object where nothing had to be replaced.

    Looks into dataclasses, mappings, lists and tuples. Two halves that make a pair become the character they stand for,
    any other half becomes a replacement character.
    """
    result: T = _sendable(value)
    return result


def is_sendable(text: str) -> bool:
    return text.isascii() or not _HALF.search(text)


def _sendable(value: Any) -> Any:
    if isinstance(value, str):
        return value if is_sendable(value) else _without_halves(value)
    if isinstance(value, (tuple, list)):
        items = [_sendable(item) for item in value]
        return value if all(map(is_, items, value)) else type(value)(items)
    if isinstance(value, Mapping):
        keys, items = [*map(_sendable, value.keys())], [*map(_sendable, value.values())]
        same = all(map(is_, keys, value.keys())) and all(map(is_, items, value.values()))
        return value if same else dict(zip(keys, items, strict=True))
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: getattr(value, field.name) for field in fields(value)}
        clean = _sendable(parts)
        return value if clean is parts else replace(value, **clean)
    return value


def _without_halves(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
