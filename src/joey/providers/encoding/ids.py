"""Call ids as providers accept them.

A conversation keeps the ids it began with; each request carries them in the form its provider accepts. Making an id
legal may make two of them equal, and then a result would answer the wrong call: so an id that must be changed ends in
a hash of what it was. A legal id stays as it is. No table is needed, and a call has the same id in every request.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import TypeAlias

MakeId: TypeAlias = Callable[[str], str]

OPENAI_LIMIT = 64
_MISTRAL_LENGTH = 9
_HASH_LENGTH = 8
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_MISTRAL = re.compile(r"[A-Za-z0-9]{9}")


def sanitised(call_id: str) -> str:
    """Letters, digits, `_` and `-`; everything else becomes `_`."""
    return _UNSAFE.sub("_", call_id)


def shortened(call_id: str, limit: int = OPENAI_LIMIT) -> str:
    """At most `limit` characters: a long id keeps its beginning and ends in a hash of the whole."""
    return call_id if len(call_id) <= limit else _with_hash(call_id, call_id, limit)


def anthropic_id(call_id: str) -> str:
    """A legal id for Anthropic: letters, digits, `_` and `-`."""
    safe = sanitised(call_id)
    return call_id if safe == call_id else f"{safe}_{_digest(call_id)[:_HASH_LENGTH]}"


def openai_id(call_id: str) -> str:
    """A legal id for OpenAI: Anthropic's characters, and at most 64 of them."""
    safe = sanitised(call_id)
    return shortened(call_id) if safe == call_id else _with_hash(safe, call_id, OPENAI_LIMIT)


def mistral_id(call_id: str) -> str:
    """A legal id for Mistral: exactly nine letters and digits."""
    return call_id if _MISTRAL.fullmatch(call_id) else _digest(call_id)[:_MISTRAL_LENGTH]


def _with_hash(text: str, original: str, limit: int) -> str:
    return f"{text[: limit - _HASH_LENGTH - 1]}_{_digest(original)[:_HASH_LENGTH]}"


def _digest(text: str) -> str:
    # Not for security: equal ids must give equal names, and that is all.
    return hashlib.md5(text.encode(errors="surrogatepass"), usedforsecurity=False).hexdigest()
