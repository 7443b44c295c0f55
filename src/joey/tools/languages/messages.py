"""The wire of language servers: a header with a length, and so many bytes of JSON.

A server reads whatever a project holds, so what it sends is read within bounds: a header has few bytes, a message at
most MAX_MESSAGE of them, and no more nesting than `bounded` reads. Anything else is a WireError, which ends the server.
"""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

from joey.bounded.formats import FormatError
from joey.bounded.formats.json import read_json

MAX_MESSAGE = 8 * 1024 * 1024
MAX_HEADER = 4 * 1024
_LENGTH = re.compile(rb"^content-length:[ \t]*(\d{1,12})[ \t]*$", re.IGNORECASE | re.MULTILINE)


class WireError(Exception):
    """What a server sent is no message; the text says why."""


def encode(message: dict[str, Any]) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


async def read_message(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    """The next message; None at the end. Raises WireError. The limit of the reader must be MAX_HEADER."""
    try:
        header = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError:
        raise WireError("it sent something else than messages") from None
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return _decoded(await _body(reader, _length(header)))


def _length(header: bytes) -> int:
    found = _LENGTH.search(header.replace(b"\r\n", b"\n"))
    if found is None:
        raise WireError("it sent something else than messages")
    if (length := int(found[1])) > MAX_MESSAGE:
        raise WireError(f"it sent a message of {length:,} bytes, more than the {MAX_MESSAGE:,} that are read")
    return length


async def _body(reader: asyncio.StreamReader, length: int) -> bytes:
    try:
        return await reader.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionError):
        raise WireError("it ended in the middle of a message") from None


def _decoded(body: bytes) -> dict[str, Any]:
    try:
        message = read_json(body.decode("utf-8"))
    except (UnicodeDecodeError, FormatError) as error:
        raise WireError(f"it sent a message that is no JSON ({error})") from None
    if not isinstance(message, dict):
        raise WireError("it sent JSON that is no message")
    return message
