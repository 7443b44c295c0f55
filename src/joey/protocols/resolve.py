"""Which protocol a task speaks.

A task keeps the protocol it began with: a history of XML calls cannot go on natively, nor the other way round. So, in
this order: the protocol the task was locked to, the one its history shows, what the model can do, native.
"""

from __future__ import annotations

from collections.abc import Iterable

from joey.messages import Message, ToolUseBlock

AUTO = "auto"
"""The user's choice of the dialect that the model itself writes."""
NATIVE = "native"
WITHOUT_NATIVE_CALLS = "xml"
"""What a model speaks that cannot call tools natively: XML tags, which every model has seen in thousands of pages."""


def resolve_protocol(
    *, locked: str | None = None, history: Iterable[Message] = (), supports_native: bool | None = None
) -> str:
    """The name of the protocol to use. `supports_native` is None for a model that nobody knows anything about."""
    if locked:
        return locked
    return seen_in_history(history) or (WITHOUT_NATIVE_CALLS if supports_native is False else NATIVE)


def seen_in_history(history: Iterable[Message]) -> str | None:
    """What the last tool use shows: one with an id was made natively, one without came from XML tags."""
    for message in reversed(list(history)):
        for block in message.content if message.role == "assistant" else ():
            if isinstance(block, ToolUseBlock):
                return NATIVE if block.id else WITHOUT_NATIVE_CALLS
    return None
