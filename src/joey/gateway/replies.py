"""Replies that clients refer to later (`previous_response_id`, `item_reference`): kept in memory for a while.

The whole conversation up to and with the reply is kept, as the client sent it: a list of input items. Items of replies
are found by their ids as long as a kept conversation has them; ids that clients made up may be another client's too.
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
        self._items: dict[str, tuple[str, Any]] = {}
        self._characters = 0

    def keep(self, reply_id: str, given: list[Any], output: list[Any]) -> None:
        """Keep a conversation: what the client sent, and the reply."""
        conversation = [*given, *output]
        size = len(repr(conversation))
        self._kept[reply_id] = (conversation, size)
        self._characters += size
        for item in (*filter(self._is_ours, given), *output):
            self._items[item["id"]] = (reply_id, item)
        while self._kept and (len(self._kept) > self._max_replies or self._characters > self._max_characters):
            self._drop_oldest()

    def find(self, reply_id: str) -> list[Any] | None:
        found = self._kept.get(reply_id)
        return found[0] if found else None

    def item(self, item_id: str) -> Any:
        """An item of a reply; None if no kept conversation has it."""
        found = self._items.get(item_id)
        return found[1] if found else None

    def _is_ours(self, item: Any) -> bool:
        item_id = item.get("id") if isinstance(item, dict) else None
        return isinstance(item_id, str) and item_id in self._items

    def _drop_oldest(self) -> None:
        reply_id, (conversation, size) = self._kept.popitem(last=False)
        self._characters -= size
        for item in filter(self._is_ours, conversation):
            if self._items[item["id"]][0] == reply_id:
                del self._items[item["id"]]
