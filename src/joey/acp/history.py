"""A task that is over or interrupted, as the events that it showed when it ran: for an editor that opens it again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from joey.events import (
    ContextShortened,
    Event,
    ModeChanged,
    ReasoningDelta,
    ReasoningStarted,
    SubtaskOpened,
    TaskAborted,
    TextDelta,
    TextFinished,
    TextStarted,
    TodosChanged,
    ToolCallFinished,
    ToolCallStarted,
    ToolRunFinished,
    ToolRunStarted,
    TurnFinished,
)
from joey.frames import is_users_answer, users_words
from joey.journal.records import (
    ChildOpened,
    MessageAdded,
    MessagesHidden,
    ModeSet,
    Record,
    RunBegan,
    RunEnded,
    TodosSet,
    TurnEnded,
)
from joey.messages import Block, Message, ReasoningBlock, TextBlock, ToolUseBlock


@dataclass(frozen=True, slots=True)
class UserWords:
    """A message of the user's."""

    text: str


Remembered: TypeAlias = Event | UserWords


def remembered(records: Iterable[Record]) -> Iterator[Remembered]:
    """What happened, in order. Whatever was under way when the records end is over."""
    turns = 0
    for record in records:
        match record:
            case MessageAdded(message):
                yield from _message(message)
            case RunBegan(call_id, name):
                yield ToolRunStarted(call_id, name)
            case RunEnded(call_id, name, result):
                yield ToolRunFinished(call_id, name, result)
                if is_users_answer(result.text):
                    yield UserWords(users_words(result.text))
            case TurnEnded(usage, cost):
                turns += 1
                yield TurnFinished(turns, usage, cost)
            case TodosSet(todos):
                yield TodosChanged(todos)
            case ModeSet(mode):
                yield ModeChanged(mode)
            case MessagesHidden(count, summary):
                yield ContextShortened(count, summary)
            case ChildOpened(child_id, _):
                yield SubtaskOpened(child_id, "")
    yield TaskAborted()


def _message(message: Message) -> Iterator[Remembered]:
    if message.role == "user":
        words = (users_words(block.text) for block in message.content if isinstance(block, TextBlock))
        yield from (UserWords(each) for each in words if each)
        return
    for block in message.content:
        yield from _block(block)


def _block(block: Block) -> Iterator[Event]:
    match block:
        case TextBlock(text) if text.strip():
            yield from (TextStarted(), TextDelta(text), TextFinished())
        case ReasoningBlock(text) if text:
            yield from (ReasoningStarted(), ReasoningDelta(text))
        case ToolUseBlock(call_id, name, arguments):
            yield ToolCallStarted(call_id, name)
            yield ToolCallFinished(call_id, name, arguments)
