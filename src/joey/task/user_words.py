"""What the user wrote in a conversation: the request that is worked on, and those before it.

A request is worked on until the model ends its turn, with attempt_completion or with a reply without a call, or until
the user declines its plan. What they write until then adds to it; what they write after that is the next request. Joey
frames the user's words wherever something else could stand (joey.frames), so they are found by their frames. Without
one they stand in the first message and after a reply without a call.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from joey.frames import is_users_answer, own_words, users_words
from joey.messages import Block, ImageBlock, Message, TextBlock, ToolResultBlock, ToolUseBlock
from joey.task import wording

_DONE, _QUESTION = "attempt_completion", "ask_followup_question"
_ENDS_TURN = (
    wording.SHOWN, wording.ACCEPTED, wording.UNDECIDED, wording.HEAR_FIRST, wording.feedback("").partition("\n")[0],
)  # fmt: skip
"""What the model is told when its result was taken for one, whatever the user says to it."""
_LISTING = ("Files in this folder: ", "Command: ")
_ATTACHED = ("<mentioned ", "<command ", "<skill ")
_RESULT_IN_TEXT = re.compile(r"\[\w+(?: for [^\n]*)?\] Result:")
"""How the results of an imported task begin that has its calls in text."""


@dataclass(frozen=True, slots=True)
class UserEntry:
    """What the user wrote in one message: all of it, with what they mentioned and attached."""

    place: int
    content: tuple[Block, ...]
    text: str
    """The words alone."""
    begins: bool
    """Whether this is a new request, and not something that adds to one."""


def user_entries(messages: Sequence[Message]) -> list[UserEntry]:
    """All that the user wrote, oldest first."""
    return [entry for place in range(len(messages)) if (entry := _entry(messages, place)) is not None]


def since_request(entries: Sequence[UserEntry]) -> int:
    """Which entry is the request that is worked on; those after it add to it."""
    return max((number for number, entry in enumerate(entries) if entry.begins), default=0)


def current_request(messages: Sequence[Message]) -> str:
    """The words of the request that is worked on; empty if there are none."""
    entries = user_entries(messages)
    return entries[since_request(entries)].text if entries else ""


def is_users_result(block: ToolResultBlock) -> bool:
    """Whether a result has words of the user's in it: an answer, feedback, a comment."""
    return any(is_users_text(part) for part in block.content)


def is_users_text(block: Block) -> bool:
    """Whether a text ends with words of the user's in their frame, as all texts of theirs in results do."""
    return isinstance(block, TextBlock) and block.text.rstrip().endswith(">") and is_users_answer(block.text)


def is_attached(block: Block) -> TypeGuard[TextBlock]:
    """Whether this is what the user's words name: a file, a command, a skill."""
    return isinstance(block, TextBlock) and block.text.startswith(_ATTACHED)


def _entry(messages: Sequence[Message], place: int) -> UserEntry | None:
    message = messages[place]
    if message.role == "assistant":
        return None
    before = messages[place - 1] if place else None
    replied = before if before is not None and before.role == "assistant" else None
    calls = {block.id: block for block in replied.content if isinstance(block, ToolUseBlock)} if replied else {}
    bare = place == 0 or (replied is not None and not calls)
    content = [*_in_results(message, calls), *_in_message(message, bare=bare)]
    if not content:
        return None
    words = (users_words(block.text) for block in content if isinstance(block, TextBlock))
    ended = _ended_turn(message, calls) if replied is not None else before is None or _declines_plan(before)
    return UserEntry(place, tuple(content), "\n\n".join(filter(None, words)), ended)


def _in_message(message: Message, *, bare: bool) -> Iterator[Block]:
    """The user's part of a message besides results. `bare`: their words may stand there without a frame."""
    blocks = [block for block in message.content if isinstance(block, TextBlock | ImageBlock)]
    texts = [block for block in blocks if isinstance(block, TextBlock)]
    first = next((block for block in texts if wording.typed_words(block.text)), None)
    bare = bare and not any(_RESULT_IN_TEXT.match(block.text) for block in texts)
    if first is None or first.text.startswith(_LISTING) or not bare:
        first = None
    own = [block for block in texts if block is first or (is_users_text(block) and wording.typed_words(block.text))]
    for block in blocks:
        if isinstance(block, ImageBlock) or block in own or (own and is_attached(block)):
            yield block


def _in_results(message: Message, calls: dict[str, ToolUseBlock]) -> Iterator[Block]:
    """What the user said to calls, each with the call."""
    for block in message.content:
        if isinstance(block, ToolResultBlock) and is_users_result(block):
            call = calls.get(block.tool_use_id)
            if call is not None and call.name != _DONE:
                yield TextBlock(_to_call(call))
            images = call is None or call.name in (_DONE, _QUESTION)  # others have images of their own
            for part in block.content:
                if is_users_text(part) or is_attached(part) or (images and isinstance(part, ImageBlock)):
                    yield part


def _to_call(call: ToolUseBlock) -> str:
    what = next((value for value in call.arguments.values() if isinstance(value, str)), "")
    return f"[To your call of {call.name}: {what[:200]}]"


def _ended_turn(message: Message, calls: dict[str, ToolUseBlock]) -> bool:
    """Whether the model had ended its turn, so that what the user says here is the next request."""
    if not calls:
        return not any(wording.is_reminder(block.text) for block in message.content if isinstance(block, TextBlock))
    for block in message.content:
        if isinstance(block, ToolResultBlock) and block.tool_use_id in calls:
            ended = any(isinstance(part, TextBlock) and part.text.startswith(_ENDS_TURN) for part in block.content)
            if ended and calls[block.tool_use_id].name == _DONE:
                return True
    return False


def _declines_plan(message: Message) -> bool:
    """Whether the user declined a plan here. The task stops at that, so what they want instead is in a message after
    this one."""
    results = [block.content for block in message.content if isinstance(block, ToolResultBlock)]
    texts = [part.text for content in results for part in content if isinstance(part, TextBlock)]
    return any(text.startswith(wording.PLAN_DECLINED) for text in texts)


def shown_words(entry: UserEntry, limit: int) -> str:
    """The words in one line of at most so many characters."""
    words = " ".join(own_words(entry.text).split()) or "(no words)"
    return words if len(words) <= limit else f"{words[: limit - 1]}…"
