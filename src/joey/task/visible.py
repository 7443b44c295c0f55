"""Which part of a conversation is sent, and what stands for the rest.

The journal keeps every message. Hiding is by count, so it deletes nothing and can be undone by forgetting the record.
What is sent of a conversation with hidden messages is one message in their place, and then the rest:

    the first message             while it is the request that is worked on; otherwise the requests so far, in short
    the summary                   of what is hidden, and what of it is kept word by word
    what the user wants now       word by word, where it is hidden: the request that is worked on, and what they added

So whatever is hidden, the model has the newest words of the user, and they come after everything that is older. This
message is made of what the conversation was when it was shortened. It stays the same after that, as providers remember
the beginning of a conversation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from joey.frames import neutral
from joey.journal.replay import TaskState
from joey.messages import Block, Message, TextBlock
from joey.task.user_words import UserEntry, is_attached, shown_words, since_request, user_entries

_HIDDEN = "[{count} earlier messages of this task are no longer shown.]"
_IS_SUMMARY = re.compile(r"\[\d+ earlier messages of this task are no longer shown\.")
_SUMMARY = "[{count} earlier messages of this task are no longer shown. In short:]\n\n{summary}"
_EARLIER = "[Earlier requests of the user, oldest first. Each has had its answer:]"
_NOW = "[What the user wants now, word for word:]"
_ADDED = "[What the user wrote after that, word for word, the newest last:]"
_LEFT_OUT = "[… {count:,} characters that the user attached are left out here …]"
_MAX_EARLIER, _MIN_EARLIER, _MAX_REQUESTS = 2_000, 80, 20
"""Characters of all earlier requests, the least of each, and how many are named."""
_MAX_ATTACHED = 8_000
"""Characters of a file that the user mentioned in a message that is hidden."""


def is_summary(text: str) -> bool:
    """Whether a text stands for messages that are no longer sent."""
    return bool(_IS_SUMMARY.match(text))


def visible(state: TaskState) -> tuple[Message, ...]:
    """The messages that are still sent."""
    messages, sent = state.messages, state.shortening
    if not sent.hidden or not messages:
        return tuple(messages)
    if sent.head is None:
        sent.head = Message("user", tuple(_head(state)))
    return (sent.head, *messages[1 + sent.hidden :])


def places(state: TaskState) -> tuple[int, ...]:
    """Where each visible message stands among all."""
    count, hidden = len(state.messages), state.shortening.hidden
    return (0, *range(1 + hidden, count)) if hidden and count else tuple(range(count))


def hideable(messages: Sequence[Message], keep: int) -> int:
    """How many messages after the first can be hidden so that about `keep` remain, and no call loses its answer.

    The rest must begin with a message of the assistant: answers then stand with their calls, and the model's turn
    follows the task as it always does.
    """
    for count in range(max(0, len(messages) - 1 - keep), 0, -1):
        if messages[1 + count].role == "assistant":
            return count
    return 0


def kept_words(state: TaskState) -> int:
    """How many messages of the user's are hidden and sent word by word all the same."""
    entries = user_entries(state.messages)
    return sum(0 < entry.place <= state.shortening.hidden for entry in entries[since_request(entries) :])


def _head(state: TaskState) -> Iterator[Block]:
    messages, sent = state.messages, state.shortening
    entries = user_entries(messages[: sent.of or len(messages)])
    request = since_request(entries)
    if request == 0:
        yield from messages[0].content
    else:
        yield TextBlock(_earlier(entries[:request]))
    note = (_SUMMARY if sent.summary else _HIDDEN).format(count=sent.hidden, summary=neutral(sent.summary or ""))
    yield TextBlock(f"{note}\n\n{sent.kept}" if sent.kept else note)
    for label, group in ((_NOW, entries[request : request + 1]), (_ADDED, entries[request + 1 :])):
        hidden = [entry for entry in group if 0 < entry.place <= sent.hidden]
        if hidden:
            yield TextBlock(label)
            yield from (_bounded(block) for entry in hidden for block in entry.content)


def _earlier(entries: Sequence[UserEntry]) -> str:
    """What the user asked for before, in order."""
    last = entries[1:][-(_MAX_REQUESTS - 1) :]
    limit = max(_MIN_EARLIER, _MAX_EARLIER // (1 + len(last)))
    lines = [f"- {neutral(shown_words(entry, limit))}" for entry in (entries[0], *last)]
    if more := len(entries) - len(lines):
        lines.insert(1, f"- … {more} more")
    return "\n".join([_EARLIER, *lines])


def _bounded(block: Block) -> Block:
    """The user's words as they are; a large file that they mentioned only named: it can be read again."""
    if not is_attached(block) or len(block.text) <= _MAX_ATTACHED:
        return block
    name = block.text.partition("\n")[0][:200]
    return TextBlock(f"{name}\n{_LEFT_OUT.format(count=len(block.text))}")
