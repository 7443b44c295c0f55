"""Call ids as providers accept them.

A conversation keeps the ids it began with; each request carries them in the form its provider accepts. Making an id
legal may make two of them equal, and then a result would answer the wrong call. `LegalIds` keeps them apart: within
one conversation the same id always becomes the same legal id, and different ids different ones.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import TypeAlias

Rule: TypeAlias = Callable[[str], str]

OPENAI_LIMIT = 64
MISTRAL_LENGTH = 9
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")


def anthropic_id(call_id: str) -> str:
    """Letters, digits, `_` and `-`."""
    return _UNSAFE.sub("_", call_id)


def shortened(call_id: str, limit: int = OPENAI_LIMIT) -> str:
    """At most `limit` characters: a long id keeps its beginning and ends in a hash of the whole."""
    if len(call_id) <= limit:
        return call_id
    digest = _digest(call_id)[:8]
    return f"{call_id[: limit - len(digest) - 1]}_{digest}"


def openai_id(call_id: str) -> str:
    """Anthropic's characters, and at most 64 of them."""
    return shortened(anthropic_id(call_id))


def mistral_id(call_id: str) -> str:
    """Exactly nine letters and digits. A longer id becomes a hash, since long ids often share their beginning."""
    plain = re.sub(r"[^A-Za-z0-9]", "", call_id)
    if len(plain) > MISTRAL_LENGTH:
        return _digest(call_id)[:MISTRAL_LENGTH]
    return plain.ljust(MISTRAL_LENGTH, "0")


class LegalIds:
    """The ids of one conversation under one provider's rule, kept apart."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._legal: dict[str, str] = {}
        self._taken: set[str] = set()

    def __call__(self, call_id: str) -> str:
        if call_id not in self._legal:
            self._legal[call_id] = self._free(call_id)
            self._taken.add(self._legal[call_id])
        return self._legal[call_id]

    def _free(self, call_id: str) -> str:
        legal = self._rule(call_id)
        attempt = 0
        while not legal or legal in self._taken:
            attempt += 1
            legal = self._rule(_digest(f"{call_id}\0{attempt}"))
        return legal


def _digest(text: str) -> str:
    # Not for security: equal ids must give equal names, and that is all.
    return hashlib.md5(text.encode(errors="surrogatepass"), usedforsecurity=False).hexdigest()
