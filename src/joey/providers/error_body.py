"""What the body of an error says, in whichever shape: the words for a person, the types and codes for us.

The words can be under many names, inside a list, inside JSON that was put into a text (what OpenRouter passes on of
the provider behind it), or in a web page. All of them are looked for, to a depth that no real body has.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

MAX_WORDS = 1000
"""Characters of an error that are shown."""
_MAX_DEPTH = 8
_WORDS = ("message", "error", "detail", "errors", "msg", "error_message", "error_msg", "error_description")
_CODES = ("type", "code", "status", "error_type")
_PAGE = re.compile(r"\s*<(!doctype|html|head|body|title|center|pre|h1|\?xml)\b", re.IGNORECASE)
_INSIDE = ("error", "metadata", "detail", "errors", "message")


def message_in(body: Any) -> str:
    """What a person can read in the body of an error; empty if there is nothing."""
    return _shown(_words(body, _MAX_DEPTH))


def full_message_in(body: Any) -> str:
    """The same, as long as it is: for what looks for words in it."""
    return _words(body, _MAX_DEPTH)


def kinds_in(body: Any) -> tuple[str, ...]:
    """The types and codes in the body of an error, from outside in, in small letters."""
    return tuple(_kinds(body, _MAX_DEPTH))


def status_in(body: Any) -> int | None:
    """The status of an error that has none of its own, such as one inside a stream: some servers put it in."""
    found = (int(kind) for kind in kinds_in(body) if kind.isascii() and kind.isdigit() and len(kind) == 3)
    return next((status for status in found if 400 <= status < 600), None)


def _words(body: Any, depth: int) -> str:
    if isinstance(body, str):
        return _of_page(body) if _PAGE.match(body) else body.strip()
    if depth == 0 or not isinstance(body, (dict, list)):
        return ""
    if isinstance(body, list):
        return "; ".join(filter(None, (_words(entry, depth - 1) for entry in body[:3])))
    return _of_object(body, depth)


def _of_object(body: Mapping[str, Any], depth: int) -> str:
    words = next(filter(None, (_words(body.get(name), depth - 1) for name in _WORDS)), "")
    place = body.get("loc")
    if words and isinstance(place, list) and place:
        words = f"{words} ({'.'.join(map(str, place[:6]))})"
    return _with_provider(words, body.get("metadata"), depth)


def _with_provider(words: str, metadata: Any, depth: int) -> str:
    """What OpenRouter passes on: its own words say little, those of the provider behind it are in `raw`."""
    if not isinstance(metadata, dict) or not metadata.get("raw"):
        return words
    raw = _words(_read(metadata["raw"]), depth - 1)
    name = metadata.get("provider_name")
    return f"{words} ({name}): {raw}" if isinstance(name, str) else f"{words}: {raw}"


def _read(raw: Any) -> Any:
    try:
        return json.loads(raw) if isinstance(raw, str) else raw
    except (ValueError, RecursionError):
        return raw


def _of_page(page: str) -> str:
    """The title of a web page, or its first words."""
    title = re.search(r"<title>([^<]{1,300})</title>", page[:20_000], re.IGNORECASE)
    return " ".join((title[1] if title else re.sub(r"<[^<>]*>", " ", page[:20_000])).split())


def _kinds(body: Any, depth: int) -> Iterator[str]:
    if isinstance(body, list) and depth:
        for entry in body[:3]:
            yield from _kinds(entry, depth - 1)
    if not isinstance(body, dict) or not depth:
        return
    for name in _CODES:
        value = body.get(name)
        if isinstance(value, (str, int)) and not isinstance(value, bool):
            yield str(value).lower()
    for name in _INSIDE:
        yield from _kinds(body.get(name), depth - 1)
    if isinstance(body.get("raw"), str):
        yield from _kinds(_read(body["raw"]), depth - 1)


def _shown(words: str) -> str:
    return words if len(words) <= MAX_WORDS else f"{words[:MAX_WORDS]}…"
