"""What Joey is doing right now, for the line above the input. A fold of events with the time, and a pure drawing of it.

    idle --TaskStarted, TurnStarted--> waiting for the model --a text, a call--> writing … --the call runs--> running …
      ^                                        |  ^ PromptProgressed: how much of the prompt a local server has read
      |                                        |  ^ RetryScheduled, RequestDelayed: counts down to the next attempt
      +---- a request, the end of the task ----+

The clock runs from the beginning of the turn, or of what runs: a command that has just begun does not look as if it
hung. While idle there is nothing to draw, and nobody needs a timer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from rich.text import Text

from joey import events
from joey.system.visible import one_line
from joey.terminal.drawing import inked
from joey.tools.builtin import builtin_display

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
FRAMES_A_SECOND = 8
_WAITING = "waiting for the model"
SILENCE = 10.0
"""After so many seconds without anything received, the line says so: a reply may have stalled."""

Kind: TypeAlias = Literal["idle", "waiting", "replying", "writing", "running"]


@dataclass(frozen=True, slots=True)
class Activity:
    """What goes on since when. `until` is the time of the next attempt, while one is waited for."""

    kind: Kind = "idle"
    what: str = ""
    since: float = 0.0
    until: float | None = None
    call_id: str = ""
    name: str = ""
    """The tool of the call that is being written, and what is known of its arguments so far: the file and its lines."""
    path: str = ""
    ended_lines: int = 0
    in_line: bool = False

    @property
    def is_idle(self) -> bool:
        return self.kind == "idle"


IDLE = Activity()
_ENDINGS = (events.ToolCallFinished, events.ToolRunFinished, events.CheckFinished)
"""After these the model is waited for, unless the user is."""


def after(activity: Activity, event: events.Event, now: float, *, users_turn: bool = False) -> Activity:
    """The activity after an event that came now. What begins out of idleness begins now, whatever begins it: a subtask
    that ends leaves its task at work, unless a request of another subtask waits for the user (`users_turn`)."""
    if users_turn and isinstance(event, _ENDINGS):
        return IDLE
    if not activity.is_idle:
        return _after(activity, event, now)
    begun = _after(replace(activity, since=now), event, now)
    return IDLE if begun.is_idle else begun


def _after(activity: Activity, event: events.Event, now: float) -> Activity:
    match event:
        case (
            events.TaskStarted()
            | events.ApprovalAnswered()
            | events.QuestionAnswered()
            | events.CompletionAnswered()
            | events.ContinueAnswered()
            | events.TurnStarted()
            | events.ToolRunFinished()
            | events.CheckFinished()
        ):
            return Activity("waiting", _WAITING, since=now)
        case events.RetryScheduled(_, seconds, reason):
            what = one_line(reason).rstrip(".")
            return Activity("waiting", what, since=activity.since, until=now + seconds)
        case events.RequestDelayed(seconds):
            return Activity("waiting", "the provider's limits", since=activity.since, until=now + seconds)
        case (
            events.TaskFinished()
            | events.ApprovalRequested()
            | events.QuestionRequested()
            | events.CompletionRequested()
            | events.ContinueRequested()
        ):
            return IDLE
        case events.PromptProgressed(read, total):
            part = f"reading the prompt, {100 * read // total} %" if read < total else _WAITING
            return _doing(activity, "waiting", part)
        case events.TextDelta():
            return _doing(activity, "replying", "writing a reply")
        case events.ReasoningDelta():
            return _doing(activity, "replying", "thinking")
        case events.ToolCallStarted(call_id, name):
            return Activity("writing", _written(name), activity.since, call_id=call_id, name=name)
        case events.ToolCallDelta(call_id, path, text) if activity.call_id == call_id:
            return _grown(activity, path, text)
        case events.ToolCallFinished():
            return _doing(activity, "waiting", _WAITING)
        case events.CheckpointStarted():
            return Activity("running", "saving a checkpoint", now)
        case events.CheckStarted(command):
            return Activity("running", f"checking the edits: {one_line(command)}", now)
        case events.ToolRunStarted(_, name, summary):
            return Activity("running", _running(name, summary), now)
        case _:
            return activity


def _doing(activity: Activity, kind: Kind, what: str) -> Activity:
    if (activity.kind, activity.what) == (kind, what):
        return activity  # the same object: a reply of many pieces makes no new ones
    return Activity(kind, what, activity.since)


def _grown(activity: Activity, path: tuple[str | int, ...], text: str) -> Activity:
    """The call that is being written, with a piece more: its file, or another line of it."""
    display = builtin_display(activity.name)
    if display.role == "call" and path and path[-1] in display.subject:
        return replace(activity, path=activity.path + text)
    in_line = not text.endswith("\n") if text else activity.in_line
    return replace(activity, ended_lines=activity.ended_lines + text.count("\n"), in_line=in_line)


def _written(name: str) -> str:
    """What the model writes when it writes such a call."""
    words = {"result": "the result", "question": "a question", "todos": "the todo list"}
    return words.get(builtin_display(name).role, one_line(name))


def _running(name: str, summary: str) -> str:
    return f"running {one_line(summary)}" if name == "execute_command" and summary else one_line(f"{name}  {summary}")


def draw_activity(
    activity: Activity, now: float, width: int, stop: str = "Esc to interrupt", beside: int = 0, silent: float = 0.0
) -> Text:
    """The line: a spinner, what is being done, for how long, and how to stop it. Commands of the user's own that run
    `beside` it are counted. For so many seconds the provider has been `silent` in the middle of a reply."""
    stop += f" · and {beside} !command{'s' if beside > 1 else ''} (/jobs)" if beside else ""
    frame = FRAMES[int(now * FRAMES_A_SECOND) % len(FRAMES)]
    again = _next_attempt(activity, now)
    if silent >= SILENCE and activity.kind in ("replying", "writing"):
        again += f" · nothing received for {duration(silent)}"
    ending = f" · {duration(now - activity.since)} · {stop}"
    what = Text(_words(activity))
    what.truncate(max(10, width - len(again + ending) - 2), overflow="ellipsis")
    return inked(f"{frame} ", "bold cyan", cuts=True).append(what.plain + again).append(ending, "dim")


def _next_attempt(activity: Activity, now: float) -> str:
    """When the next attempt is made: it is never cut off, however long the reason is."""
    if activity.until is None:
        return ""
    left = round(activity.until - now)
    return f"; trying again in {left} s" if left > 0 else "; trying again"


def _words(activity: Activity) -> str:
    if activity.kind != "writing":
        return activity.what
    lines = activity.ended_lines + activity.in_line
    return f"writing {one_line(activity.path) or activity.what}{f', {lines} lines' if lines > 1 else ''}"


def duration(seconds: float) -> str:
    """`8 s`, `2 min 5 s`, `1 h 3 min`."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes = whole // 60
    return f"{minutes} min {whole % 60} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
