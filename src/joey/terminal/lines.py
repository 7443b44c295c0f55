"""Events as plain lines, for logs, pipes and terminals that can do no more. A pure function of what happened.

Text and live output come in pieces, so `Lines` remembers whether a line is open; everything else is one line each.
Whatever is printed is made visible first: a log is read on a terminal, too (`joey.terminal.visible`).
"""

from __future__ import annotations

from dataclasses import replace

from joey.effects import Todo
from joey.events import (
    ApprovalAnswered,
    ApprovalRequested,
    CompletionAnswered,
    CompletionRequested,
    ContextKept,
    ContextShortened,
    ContinueRequested,
    Event,
    FilesLeftBehind,
    ModeChanged,
    QuestionAnswered,
    QuestionRequested,
    RetryScheduled,
    SandboxReported,
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
    UserMessageTakenBack,
)
from joey.messages import Shown, ShownDiff, ShownText
from joey.terminal.visible import VisiblePieces, as_on_screen, visible

_MARKS = {"completed": "[x]", "in_progress": "[-]", "pending": "[ ]"}
_WIDTH = 200


class Lines:
    """Turns events into text to print."""

    def __init__(self) -> None:
        self._open = False
        self._text, self._output = VisiblePieces(), VisiblePieces(drop_escapes=True)
        self._seen: dict[str, tuple[Shown, ...]] = {}
        """What was shown of each call when leave was asked for it: it need not be shown again."""

    def text(self, event: Event) -> str:
        """What to print for this event; often nothing."""
        if isinstance(event, (TextDelta, ToolRunProgressed)):
            text = (self._text if isinstance(event, TextDelta) else self._output).add(event.text)
            self._open = not text.endswith("\n") if text else self._open
            return text
        line = line_for(self._without_what_was_seen(event))
        if line is None:
            return ""
        rest = self._text.end() + self._output.end()
        start = "\n" if self._open or rest else ""
        self._open = False
        return f"{rest}{start}{visible(line)}\n"

    def _without_what_was_seen(self, event: Event) -> Event:
        if isinstance(event, ApprovalRequested):
            self._seen[event.call_id] = event.shown
        elif isinstance(event, ToolRunFinished) and (seen := self._seen.pop(event.call_id, ())):
            shown = tuple(each for each in event.result.shown if each not in seen)
            return replace(event, result=replace(event.result, shown=shown))
        return event


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
        case ModeChanged(mode, reason):
            return f"(now in {mode} mode: {reason})" if reason else f"(now in {mode} mode)"
        case TodosChanged(todos):
            return todo_lines(todos)
        case SubtaskOpened(child_id, mode):
            return f"(subtask {child_id} in {mode} mode)"
        case SubtaskClosed(child_id):
            return f"(subtask {child_id} ended)"
        case _:
            return _conversation_line(event) or _question_line(event)


def _conversation_line(event: Event) -> str | None:
    match event:
        case UserMessageQueued(text):
            return f"(will tell the model: {_short(text)})"
        case ContextShortened(hidden, summary, before, after):
            gained = f"; a request takes about {after:,} tokens now instead of {before:,}" if before else ""
            return f"({hidden} messages {'summed up' if summary else 'hidden'}{gained})"
        case SandboxReported(level, _, message):
            return f"{'' if level == 'full' else '! '}sandbox: {message}"
        case FilesLeftBehind(message):
            return f"! {message}"
        case ContextKept(reason):
            return f"! nothing was condensed: {reason}"
        case UserMessageTakenBack(text):
            return f"(taken back: {_short(text)})"
        case _:
            return None


def _question_line(event: Event) -> str | None:
    match event:
        case ApprovalRequested(_, _, name, _, reason):
            return "\n".join([f"? {name} needs approval: {reason}", *_asked_for(event)])
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


def _asked_for(request: ApprovalRequested) -> list[str]:
    """What would be done, in full: the diff, or else the arguments."""
    shown = [text for text in map(shown_as_text, request.shown) if text]
    if not any(isinstance(each, ShownDiff) for each in request.shown):
        shown += [f"  {name}: {value}" for name, value in request.arguments.items()]
    return shown + [f"  always: {', '.join(request.always)}" for _ in request.always[:1]]


def todo_lines(todos: tuple[Todo, ...]) -> str:
    return "\n".join(f"  {_MARKS[todo.status]} {todo.content}" for todo in todos) or "(no todos)"


def shown_as_text(shown: Shown) -> str:
    match shown:
        case ShownDiff(_, diff):
            return diff.rstrip("\n")
        case ShownText(text):
            return as_on_screen(text).rstrip("\n")
        case _:
            return "[a picture]"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"
