"""Events as plain lines, for logs, pipes and terminals that can do no more. A pure function of what happened.

Text and live output come in pieces, so `Lines` remembers whether a line is open; everything else is one line each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from joey.effects import Todo
from joey.events import (
    ApprovalAnswered,
    ApprovalRequested,
    CompletionAnswered,
    CompletionRequested,
    ContextShortened,
    ContinueRequested,
    Event,
    ModeChanged,
    QuestionAnswered,
    QuestionRequested,
    ReasoningDelta,
    RetryScheduled,
    SubtaskClosed,
    SubtaskOpened,
    TaskAborted,
    TaskFinished,
    TaskStarted,
    TextDelta,
    TodosChanged,
    ToolCallMalformed,
    ToolRunFinished,
    ToolRunProgressed,
    ToolRunStarted,
    TurnFinished,
    UserMessageQueued,
)
from joey.messages import Shown, ShownDiff, ShownText

_MARKS = {"completed": "[x]", "in_progress": "[-]", "pending": "[ ]"}
_WIDTH = 200


class Lines:
    """Turns events into text to print."""

    def __init__(self) -> None:
        self._open = False
        self._arguments: dict[str, Mapping[str, Any]] = {}

    def text(self, event: Event) -> str:
        """What to print for this event; often nothing."""
        if isinstance(event, (TextDelta, ToolRunProgressed)):
            self._open = not event.text.endswith("\n")
            return event.text
        line = line_for(event)
        if line is None:
            return ""
        start = "\n" if self._open else ""
        self._open = False
        return f"{start}{line}\n"


def line_for(event: Event) -> str | None:
    """One line (or a few) for an event that stands alone; None for those that are not worth one."""
    match event:
        case TaskStarted(text, mode, model, protocol, _, resumed):
            return f"{'Resuming' if resumed else 'Task'}: {_short(text)}\n({mode} mode, {model}, {protocol} calls)"
        case ToolRunStarted(_, name):
            return f"> {name}"
        case ToolRunFinished(_, name, result):
            shown = "".join(f"\n{text}" for text in map(shown_as_text, result.shown) if text)
            return f"{'! ' if result.is_error else '< '}{name}: {_short(result.text)}{shown}"
        case ToolCallMalformed(_, name, _, message):
            return f"! {name or 'a call'}: {message}"
        case TurnFinished(number, usage, cost):
            price = f", ${cost:.4f}" if cost is not None else ""
            return f"(turn {number}: {usage.total} tokens{price})"
        case RetryScheduled(attempt, seconds, reason):
            return f"! {reason} Trying again in {seconds:.0f} s (attempt {attempt})."
        case UserMessageQueued(text):
            return f"(will tell the model: {_short(text)})"
        case ModeChanged(mode, reason):
            return f"(now in {mode} mode: {reason})" if reason else f"(now in {mode} mode)"
        case TodosChanged(todos):
            return todo_lines(todos)
        case ContextShortened(hidden, summary):
            return f"(the conversation grew long: {hidden} messages {'summed up' if summary else 'hidden'})"
        case SubtaskOpened(child_id, mode):
            return f"(subtask {child_id} in {mode} mode)"
        case SubtaskClosed(child_id):
            return f"(subtask {child_id} ended)"
        case ReasoningDelta():
            return None
        case _:
            return _question_line(event)


def _question_line(event: Event) -> str | None:
    match event:
        case ApprovalRequested(_, _, name, _, reason, shown):
            details = "".join(f"\n{text}" for text in map(shown_as_text, shown) if text)
            return f"? {name} needs leave: {reason}{details}"
        case ApprovalAnswered(_, approved, comment):
            return f"  {'yes' if approved else 'no'}{': ' + comment if comment else ''}"
        case QuestionRequested(_, question, suggestions):
            return "\n".join([f"? {question}", *(f"  {n}. {s.text}" for n, s in enumerate(suggestions, 1))])
        case QuestionAnswered(_, text):
            return f"  {_short(text)}"
        case CompletionRequested(_, result):
            return f"Done: {result}"
        case CompletionAnswered(_, accepted, feedback):
            return None if accepted else f"  {_short(feedback)}"
        case ContinueRequested(_, reason):
            return f"? {reason}"
        case TaskAborted(reason):
            return f"Stopped: {reason}"
        case TaskFinished("completed"):
            return None
        case TaskFinished(outcome, message):
            return f"The task ended: {outcome}. {message}"
        case _:
            return None


def todo_lines(todos: tuple[Todo, ...]) -> str:
    return "\n".join(f"  {_MARKS[todo.status]} {todo.content}" for todo in todos) or "(no todos)"


def shown_as_text(shown: Shown) -> str:
    match shown:
        case ShownDiff(_, diff):
            return diff.rstrip("\n")
        case ShownText(text):
            return text.rstrip("\n")
        case _:
            return "[a picture]"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"
