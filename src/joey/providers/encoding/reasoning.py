"""OpenRouter's `reasoning_details`: put together from a stream, kept as a signature, sent back as they came.

Pieces of one type and index belong together: their words are joined, of everything else the last one counts. A piece
of encrypted reasoning without its data is of no use to anyone and is left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_JOINED = ("text", "summary")


class _Words(list[str]):
    """Pieces of one text."""


class ReasoningDetails:
    """The details of one reply, as they come."""

    def __init__(self) -> None:
        self._entries: dict[str, dict[str, Any]] = {}
        """What came of each. Words are lists until they are taken, or each piece would copy those before it."""

    def add(self, pieces: Any) -> None:
        for piece in pieces if isinstance(pieces, list) else ():
            if isinstance(piece, Mapping) and not (
                piece.get("type") == "reasoning.encrypted" and not piece.get("data")
            ):
                self._add(piece)

    def _add(self, piece: Mapping[str, Any]) -> None:
        entry = self._entries.setdefault(repr((piece.get("index"), piece.get("type"))), {})
        for name, value in piece.items():
            if name in _JOINED and isinstance(value, str):
                before = entry.get(name)
                if isinstance(before, _Words):
                    before.append(value)
                else:
                    entry[name] = _Words([value])
            elif value is not None or name not in entry:
                entry[name] = value

    @property
    def entries(self) -> list[dict[str, Any]]:
        return [
            {name: "".join(value) if isinstance(value, _Words) else value for name, value in entry.items()}
            for entry in self._entries.values()
        ]

    def take(self) -> str | None:
        """The details so far as a signature, and a fresh start; None if there are none."""
        if not self._entries:
            return None
        signature = json.dumps(self.entries, ensure_ascii=False)
        self._entries = {}
        return signature

    @staticmethod
    def read(signature: str | None) -> list[Any]:
        """The details in a signature; none if it is another provider's.

        OpenAI's own ids are left out: it looks them up, and finds nothing if it was not to store them.
        """
        if signature is None or not signature.startswith("["):
            return []
        try:
            details = json.loads(signature)
        except (ValueError, RecursionError):
            return []
        return [_without_stored_id(detail) for detail in details] if isinstance(details, list) else []


def _without_stored_id(detail: Any) -> Any:
    if isinstance(detail, Mapping) and detail.get("format") == "openai-responses-v1":
        return {name: value for name, value in detail.items() if name != "id"}
    return detail
