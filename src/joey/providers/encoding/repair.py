"""A conversation that a provider will take, whatever happened to the one we have.

A crash, a cancelled turn or an imported task leaves calls without results, results without calls, or the same id
twice, and providers answer that with an error for the rest of the task. Before each request the conversation is put
right, in memory only:

1. text of nothing but white space goes; messages left empty go; neighbours of one side become one message;
2. it begins with the user;
3. a call id that was used before, or is empty, is replaced by one of its own;
4. the message after a call begins with exactly one result for each call, in the order of the calls: a result is
   matched by its id, else by its place; a call without a result is answered as interrupted; surplus results go;
5. a result that answers no call at all becomes text, so that what it says is not lost.

`notes` say what had to be done. A sound conversation comes back as it is, without notes. Long conversations are
sound in all but their last messages, and are checked before each request, so that is done first and fast: by
the `Shape` of each message, which the caller may remember.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from operator import is_

from joey.messages import Block, ImageBlock, Message, ReasoningBlock, Role, TextBlock, ToolResultBlock, ToolUseBlock
from joey.providers.encoding.plain import call_as_text
from joey.wire import tag

INTERRUPTED = "Tool execution was interrupted before completion."
OPENING = "(The beginning of this conversation is not shown.)"


@dataclass(frozen=True, slots=True)
class Repaired:
    """A sound conversation, and what had to be done to it."""

    messages: tuple[Message, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Shape:
    """What matters about a message for its place in a conversation. `tidy`: nothing in itself needs repair."""

    role: Role
    tidy: bool
    calls: tuple[str, ...]
    answers: tuple[str, ...]


def shape_of(message: Message) -> Shape:
    calls = tuple(block.id for block in message.content if isinstance(block, ToolUseBlock))
    answers = tuple(block.tool_use_id for block in message.content if isinstance(block, ToolResultBlock))
    mine = not answers if message.role == "assistant" else not calls
    answered_first = all(isinstance(block, ToolResultBlock) for block in message.content[: len(answers)])
    foreign = message.role == "user" and any(isinstance(block, ReasoningBlock) for block in message.content)
    tidy = mine and answered_first and not foreign and bool(message.content) and "" not in calls
    return Shape(message.role, tidy and not any(map(_is_blank, message.content)), calls, answers)


class _Soundness:
    """Whether there is nothing to repair in a conversation, message by message."""

    def __init__(self) -> None:
        self._role: Role = "user"
        self._waiting: tuple[str, ...] = ()
        self._seen: set[str] = set()

    def takes(self, message: Shape) -> bool:
        """Whether a message of this shape may come next."""
        if not message.tidy or message.role != self._role or message.answers != self._waiting:
            return False
        self._waiting = message.calls
        before = len(self._seen)
        self._seen.update(message.calls)
        self._role = "assistant" if self._role == "user" else "user"
        return len(self._seen) == before + len(message.calls)

    @property
    def is_whole(self) -> bool:
        return not self._waiting


class Repairer:
    """Repairs a conversation before each request, and looks only at what is new in it while it is sound."""

    def __init__(self, shape: Callable[[Message], Shape] = shape_of) -> None:
        self._shape = shape
        self._checked: tuple[Message, ...] = ()
        self._soundness = _Soundness()

    def __call__(self, messages: Sequence[Message]) -> Repaired:
        """The conversation with every call answered exactly once, and sides that take turns."""
        if self._is_sound(messages):
            return Repaired(tuple(messages))
        work = _Repair()
        for message in merge_neighbours(messages):
            work.add(message)
        work.answer_open_calls()
        return Repaired(tuple(work.messages), tuple(work.notes))

    def _is_sound(self, messages: Sequence[Message]) -> bool:
        messages, known = tuple(messages), len(self._checked)
        if messages[:known] != self._checked:
            self._soundness, known = _Soundness(), 0
        sound = all(self._soundness.takes(self._shape(message)) for message in islice(messages, known, None))
        self._checked = messages if sound else ()
        if not sound:
            self._soundness = _Soundness()
        return sound and self._soundness.is_whole


def repair(messages: Sequence[Message]) -> Repaired:
    """The conversation, repaired once."""
    return Repairer()(messages)


def merge_neighbours(messages: Iterable[Message]) -> list[Message]:
    """The conversation without empty text and empty messages, and with one message a turn."""
    merged: list[Message] = []
    for message in messages:
        content = tuple(block for block in message.content if not _is_blank(block))
        if not content:
            continue
        if merged and merged[-1].role == message.role:
            merged[-1] = replace(merged[-1], content=merged[-1].content + content)
        else:
            merged.append(message if len(content) == len(message.content) else replace(message, content=content))
    return merged


class _Repair:
    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.notes: list[str] = []
        self._ids: set[str] = set()
        self._open: list[tuple[str, ToolUseBlock]] = []
        """The calls of the last message that wait for a result, each with the id it had before."""

    def add(self, message: Message) -> None:
        message = self._in_its_own_place(message)
        if message.role == "assistant":
            if not self.messages:
                self.notes.append("the conversation began with the assistant")
                self.messages.append(Message("user", (TextBlock(OPENING),)))
            self._add_assistant(message)
        else:
            self._add_user(message)

    def answer_open_calls(self) -> None:
        if self._open:
            self._add_user(Message("user", ()))

    def _in_its_own_place(self, message: Message) -> Message:
        """Calls and thoughts are the assistant's, results are the user's; in the wrong place they are only words."""
        content: list[Block] = []
        for block in message.content:
            if message.role == "assistant" and isinstance(block, ToolResultBlock):
                content.append(TextBlock(_as_words(block)))
            elif message.role == "user" and isinstance(block, ToolUseBlock):
                content.append(TextBlock(call_as_text(block)))
            elif message.role == "user" and isinstance(block, ReasoningBlock):
                content.append(TextBlock(block.text or "(a thought without words)"))
            else:
                content.append(block)
                continue
            self.notes.append(f"a {tag(type(block))} block stood in a message of the {message.role}")
        return _with(message, content)

    def _add_assistant(self, message: Message) -> None:
        content: list[Block] = []
        for block in message.content:
            if isinstance(block, ToolUseBlock):
                own = self._own_id(block)
                self._open.append((block.id, own))
                content.append(own)
            else:
                content.append(block)
        self.messages.append(_with(message, content))

    def _own_id(self, call: ToolUseBlock) -> ToolUseBlock:
        own, number = call.id, 1
        while not own or own in self._ids:
            number += 1
            own = f"{call.id or 'call'}_{number}"
        self._ids.add(own)
        if own == call.id:
            return call
        if call.id:
            self.notes.append(f"the call id {call.id!r} was used twice")
        return replace(call, id=own)

    def _add_user(self, message: Message) -> None:
        results = [block for block in message.content if isinstance(block, ToolResultBlock)]
        if not self._open and not results:
            self.messages.append(message)
            return
        answers, orphans = self._match(results)
        rest = [block for block in message.content if not isinstance(block, ToolResultBlock)]
        mentions: list[Block] = []
        for orphan in orphans:
            mentions.append(TextBlock(_as_words(orphan)))
            mentions += [block for block in orphan.content if isinstance(block, ImageBlock)]
        self._open = []
        content = [*answers, *mentions, *rest]
        if content:
            self.messages.append(_with(message, content))

    def _match(self, results: Sequence[ToolResultBlock]) -> tuple[list[ToolResultBlock], list[ToolResultBlock]]:
        """A result for each open call, in the order of the calls, and the results that answer nothing."""
        if not self._open:
            self.notes += [f"a result of {result.tool_use_id!r} answers no call" for result in results]
            return [], list(results)
        answers: dict[int, ToolResultBlock] = {}
        strays: list[tuple[int, ToolResultBlock]] = []
        for place, result in enumerate(results):
            index = self._index_of(result.tool_use_id, answers)
            if index is None:
                strays.append((place, result))
            else:
                answers[index] = result
        self._place_strays(strays, answers)
        return [self._answer(index, answers.get(index)) for index in range(len(self._open))], []

    def _index_of(self, call_id: str, answers: dict[int, ToolResultBlock]) -> int | None:
        places = (index for index, (old, _) in enumerate(self._open) if old == call_id and index not in answers)
        return next(places, None)

    def _place_strays(self, strays: list[tuple[int, ToolResultBlock]], answers: dict[int, ToolResultBlock]) -> None:
        known = {old for old, _ in self._open}
        for place, result in strays:
            if place < len(self._open) and place not in answers and result.tool_use_id not in known:
                self.notes.append(f"the result of {result.tool_use_id!r} was matched to its call by its place")
                answers[place] = result
            else:
                self.notes.append(f"a surplus result of {result.tool_use_id!r} was left out")

    def _answer(self, index: int, result: ToolResultBlock | None) -> ToolResultBlock:
        call = self._open[index][1]
        if result is None:
            self.notes.append(f"the call {call.id!r} of {call.name} had no result")
            return ToolResultBlock(call.id, (TextBlock(INTERRUPTED),), is_error=True)
        return result if result.tool_use_id == call.id else replace(result, tool_use_id=call.id)


def _is_blank(block: Block) -> bool:
    return isinstance(block, TextBlock) and not block.text.strip()


def _as_words(result: ToolResultBlock) -> str:
    words = "\n".join(block.text for block in result.content if isinstance(block, TextBlock))
    return f"Tool result:\n{words or '(no text)'}"


def _with(message: Message, content: Sequence[Block]) -> Message:
    """The message with this content; the same object if nothing changed, so that sound ones cost nothing."""
    unchanged = len(content) == len(message.content) and all(map(is_, content, message.content))
    return message if unchanged else replace(message, content=tuple(content))
