"""What a summary must not lose, found in the messages that it stands for; and what it drops, in words.

The todo list goes with every message. A plan that the user accepted and questions that nobody answered stand in the
conversation alone: they are taken from it word by word, whatever the summary makes of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from joey.frames import framed, original
from joey.messages import Message, TextBlock, ToolResultBlock, ToolUseBlock
from joey.task.large_results import result_sizes
from joey.task.wording import PLAN_ACCEPTED, UNANSWERED

_MAX_KEPT = 8_000
_PLAN, _QUESTIONS = "The plan that the user accepted:", "Questions that nobody has answered:"


def kept_of(messages: Sequence[Message], before: str = "") -> str:
    """The plan and the open questions in these messages; what was kept `before` stands where there is no newer plan."""
    plan, questions = "", list[str]()
    calls: dict[str, ToolUseBlock] = {}
    for call, text in _answers(messages, calls):
        if text.startswith(PLAN_ACCEPTED):
            plan = _plan_in(text) or str(call.arguments.get("result", "") if call else "")
        elif text == UNANSWERED and call is not None:
            questions.append(f"- {call.arguments.get('question', '')}")
    parts = [
        f"{_PLAN}\n{framed('plan', plan)}" if plan else "",
        "\n".join([_QUESTIONS, *questions]) if questions else "",
    ]
    kept = "\n\n".join(part for part in (("" if plan else before), *parts) if part)
    return kept if len(kept) <= _MAX_KEPT else f"{kept[:_MAX_KEPT]}\n[cut]"


def _answers(messages: Sequence[Message], calls: dict[str, ToolUseBlock]) -> Iterator[tuple[ToolUseBlock | None, str]]:
    """Every text that the model was sent, with the call that it answers."""
    for message in messages:
        for block in message.content:
            match block:
                case ToolUseBlock(call_id):
                    calls[call_id] = block
                case ToolResultBlock(call_id, content):
                    texts = (part.text for part in content if isinstance(part, TextBlock))
                    yield from ((calls.get(call_id), text) for text in texts)
                case TextBlock(text) if message.role == "user":
                    yield None, text
                case _:
                    pass


def _plan_in(text: str) -> str:
    """The plan as the user edited it, if they did."""
    _, opened, rest = text.partition("<plan>\n")
    return original(rest.rpartition("\n</plan>")[0]) if opened else ""


def dropped_from(messages: Sequence[Message]) -> str:
    """What these messages hold, in words: calls by tool, and messages of the user's."""
    names = Counter(block.name for message in messages for block in message.content if isinstance(block, ToolUseBlock))
    texts = sum(result_sizes(messages))
    calls = ", ".join(f"{count} {name}" for name, count in sorted(names.items(), key=lambda each: -each[1])[:6])
    return f"{calls}; {texts:,} characters of results" if calls else ""


def kept_names(kept: str, todos: int) -> tuple[str, ...]:
    """What is sent word by word all the same, for people."""
    questions = kept.partition(_QUESTIONS)[2].count("\n- ")
    counted = [(todos, "todo"), (questions, "open question")]
    names = [f"{count} {name}{'s' * (count > 1)}" for count, name in counted if count]
    return (*(["the plan"] if _PLAN in kept else []), *names)
