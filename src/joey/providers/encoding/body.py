"""The body of a request as the bytes that go over the wire.

The conversation is nearly all of it, and nearly all of the conversation was in the request before. Encoders keep the
bytes of each message, so a request costs what is new, and one copy.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any


def to_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def with_messages(parameters: Mapping[str, Any], messages: Iterable[bytes], name: str = "messages") -> bytes:
    """A body of these parameters, which are not empty, and of the messages, which are JSON already."""
    pieces = [*messages] or [b""]
    pieces[0] = to_json(parameters)[:-1] + f',"{name}":['.encode() + pieces[0]
    pieces[-1] += b"]}"
    return b",".join(pieces)
