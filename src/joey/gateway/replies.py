"""Replies that clients refer to later (`previous_response_id`): kept in memory for a while.

The whole conversation up to and with the reply is kept, as the client sent it: a list of input items.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

_MAX_REPLIES = 256
_MAX_CHARACTERS = 32_000_000


class KeptReplies:
    """The last replies, by id."""

    def __init__(self, max_replies: int = _MAX_REPLIES, max_characters: int = _MAX_CHARACTERS) -> None:
        self._max_replies = max_replies
        self._max_characters = max_characters
        self._kept: OrderedDict[str, tuple[list[Any], int]] = OrderedDict()
        self._characters = 0

    def keep(self, reply_id: str, items: list[Any]) -> None:
        size = len(repr(items))
        self._kept[reply_id] = (items, size)
        self._characters += size
        while self._kept and (len(self._kept) > self._max_replies or self._characters > self._max_characters):
            self._characters -= self._kept.popitem(last=False)[1][1]

    def find(self, reply_id: str) -> list[Any] | None:
        found = self._kept.get(reply_id)
        return found[0] if found else None
