"""A task that is over or interrupted, as the events that it showed when it ran: for front ends that open it again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from joey import events
from joey.errors import JoeyError
from joey.frames import is_users_answer, users_words
from joey.journal.records import (
    ChildOpened,
    LastMessageReplaced,
    MessageAdded,
    MessagesHidden,
    ModeSet,
    Record,
    ReplyInterrupted,
    RunBegan,
    RunEnded,
    TaskOpened,
    TodosSet,
    TurnEnded,
    UserSaid,
    UserTookBack,
)
from joey.messages import Block, ImageBlock, Message, ReasoningBlock, TextBlock, ToolUseBlock
from joey.task.wording import typed_words, without_workspace


@dataclass(frozen=True, slots=True)
class UserWords:
    """A message of the user's."""

    text: str
    images: tuple[ImageBlock, ...] = ()


Remembered: TypeAlias = tuple[str, events.Event | UserWords]
"""The id of the task, and what happened in it."""


@dataclass(frozen=True, slots=True)
class TaskHistory:
    """Tasks as they were. `read` gives the records of a task."""

    read: Callable[[str], Iterable[Record]]

    def of(self, task_id: str) -> Iterator[Remembered]:
        """What happened, in order, subtasks within. Whatever was under way when the records end is over."""
        return self._of(task_id, as_it_reads(self.read(task_id)))

    def _of(self, task_id: str, records: Iterable[Record]) -> Iterator[Remembered]:
        for record in records:
            yield from ((task_id, each) for each in events_of(record))
            if isinstance(record, ChildOpened):
                yield from self._child(record.child_id)
        yield task_id, events.TaskAborted()

    def _child(self, child_id: str) -> Iterator[Remembered]:
        """A subtask."""
        try:
            found = [*self._of(child_id, _without_instructions(as_it_reads(self.read(child_id))))]
        except JoeyError:
            return  # deleted or damaged: the call that started it has its result
        yield from found


def _without_instructions(records: Iterable[Record]) -> Iterator[Record]:
    """The records of a subtask. Its first words are the model's, and stand in the call already; those of a user who
    resumed it before it had begun stand in the same message."""
    is_first = True
    for record in records:
        if is_first and isinstance(record, MessageAdded) and record.message.role == "user":
            is_first, record = False, MessageAdded(replace(record.message, content=record.message.content[1:]))
        yield record


def as_it_reads(records: Iterable[Record]) -> Iterator[Record]:
    """Without what was replaced; with what the user wrote and no message has taken up."""
    kept: list[Record] = []
    waiting: list[UserSaid] = []
    for record in records:
        match record:
            case LastMessageReplaced(message):
                last = max((at for at, each in enumerate(kept) if isinstance(each, MessageAdded)), default=None)
                if last is not None:
                    kept[last] = MessageAdded(message)
            case UserSaid():
                waiting.append(record)
            case UserTookBack():
                del waiting[-1:]
            case _:
                if isinstance(record, MessageAdded) and record.message.role == "user":
                    waiting.clear()
                kept.append(record)
    if not any(isinstance(each, MessageAdded) for each in kept):
        kept = [_opening(each) if isinstance(each, TaskOpened) else each for each in kept]
    yield from kept
    yield from (MessageAdded(Message("user", (TextBlock(each.text), *each.images))) for each in waiting)


def _opening(record: TaskOpened) -> Record:
    return MessageAdded(Message("user", record.content))


def events_of(record: Record) -> Iterator[events.Event | UserWords]:
    """What a record shows, without the subtasks that it names."""
    match record:
        case MessageAdded(message):
            yield from _message(message)
        case ReplyInterrupted(text):
            yield from (events.TextStarted(), events.TextDelta(text), events.TextFinished())
        case RunBegan(call_id, name):
            yield events.ToolRunStarted(call_id, name)
        case RunEnded(call_id, name, result):
            yield events.ToolRunFinished(call_id, name, result)
            texts = (block.text for block in result.content if isinstance(block, TextBlock))
            yield from (UserWords(users_words(text)) for text in texts if is_users_answer(text))
        case TurnEnded(usage, cost):
            yield events.TurnFinished(0, usage, cost)
        case TodosSet(todos):
            yield events.TodosChanged(todos)
        case ModeSet(mode):
            yield events.ModeChanged(mode)
        case MessagesHidden(count, summary):
            yield events.ContextShortened(count, summary)
        case ChildOpened(child_id, call_id):
            mode = record.subtask.mode if record.subtask is not None else ""
            yield events.SubtaskOpened(child_id, mode, call_id, model=record.model)


def _message(message: Message) -> Iterator[events.Event | UserWords]:
    if message.role == "user":
        texts = (block.text for block in without_workspace(message.content) if isinstance(block, TextBlock))
        images = tuple(block for block in message.content if isinstance(block, ImageBlock))
        text = "\n\n".join(filter(None, map(typed_words, texts)))
        if text or images:
            yield UserWords(text, images)
        return
    for block in message.content:
        yield from _block(block)


def _block(block: Block) -> Iterator[events.Event]:
    match block:
        case TextBlock(text) if text.strip():
            yield from (events.TextStarted(), events.TextDelta(text), events.TextFinished())
        case ReasoningBlock(text) if text:
            yield from (events.ReasoningStarted(), events.ReasoningDelta(text))
        case ToolUseBlock(call_id, name, arguments):
            yield events.ToolCallStarted(call_id, name)
            yield events.ToolCallFinished(call_id, name, arguments)
