"""The line at the bottom: where we are and what it took so far. A fold of events, and a pure drawing of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from rich.text import Text

from joey import events
from joey.system.visible import one_line
from joey.usage import Usage

_BAR = 8
_NEARLY_FULL = 0.8
_WAITING = "waiting"
"""For the next attempt. How long still is counted down in the line above the input (`joey.terminal.activity`)."""


@dataclass(frozen=True, slots=True)
class Status:
    """What the footer tells."""

    mode: str = "code"
    model: str = ""
    profile: str = ""
    """What may be done without asking."""
    activity: str = ""
    """What is going on; empty when nothing is."""
    usage: Usage = field(default_factory=Usage)
    last: Usage = field(default_factory=Usage)
    """The last request, which is what fills the context window."""
    cost: float | None = None
    window: int | None = None
    todos_done: int = 0
    todos: int = 0
    jobs: int = 0
    """How many commands run in the background."""
    own: str = ""
    """What the user's status command printed, in place of the model and the counts."""
    above: tuple[tuple[str, str, int | None], ...] = ()
    """Mode, model and window of the tasks that wait for the subtask that runs, the outermost first."""


def after(status: Status, event: events.Event) -> Status:
    """The status after an event."""
    match event:
        case events.TaskStarted() | events.SubtaskClosed(beside=False) | events.ModeChanged():
            return _in_mode(status, event)
        case (
            events.TurnStarted()
            | events.TextStarted()
            | events.ReasoningStarted()
            | events.ToolCallStarted()
            | events.PromptProgressed()
        ):
            return _at_work(status, event)
        case events.UsageReported():
            return replace(status, last=Usage.of(event))
        case events.TurnFinished(_, usage, cost):
            return replace(status, usage=status.usage + usage, last=usage, cost=added(status.cost, cost))
        case events.ContextShortened(_, _, _, tokens, usage, cost):
            last = Usage(tokens) if tokens else status.last
            return replace(status, usage=status.usage + usage, last=last, cost=added(status.cost, cost))
        case events.ToolRunStarted(_, name):
            return replace(status, activity=one_line(name))
        case events.RetryScheduled() | events.RequestDelayed():
            return replace(status, activity=_WAITING)
        case events.CompletionRequested(plan=plan):  # the result of a subtask waits for an answer, and so does a plan
            return replace(status, activity="your turn" if plan or status.above else "")
        case events.ApprovalRequested() | events.QuestionRequested() | events.ContinueRequested():
            return replace(status, activity="your turn")
        case (
            events.ApprovalAnswered()
            | events.QuestionAnswered()
            | events.ContinueAnswered()
            | events.CheckpointStarted()
        ):
            return replace(status, activity="working")
        case events.ProfileChanged() | events.ModelChanged():
            return _chosen(status, event)
        case events.TodosChanged(todos):
            finished = sum(todo.status == "completed" for todo in todos)
            return replace(status, todos_done=finished, todos=len(todos))
        case events.TaskFinished() | events.TaskAborted():
            return replace(status, activity="")
        case _:
            return status


def _chosen(status: Status, event: events.ProfileChanged | events.ModelChanged) -> Status:
    """Another profile or model is in force."""
    if isinstance(event, events.ProfileChanged):
        return replace(status, profile=event.profile)
    return replace(status, model=event.model)


def _at_work(status: Status, event: events.Event) -> Status:
    """The model begins, or the attempt that was waited for answers."""
    begins = isinstance(event, events.TurnStarted) or status.activity == _WAITING
    return replace(status, activity="thinking") if begins else status


def after_beside(status: Status, event: events.Event) -> Status:
    """The status after an event of a subtask that runs beside others: its model and its window are not those shown."""
    if isinstance(event, events.ModelChanged):
        return status
    return replace(after(status, event), last=status.last)


def _in_mode(status: Status, event: events.TaskStarted | events.SubtaskClosed | events.ModeChanged) -> Status:
    """The mode and the model of whoever works: after a subtask, those of its task again."""
    if isinstance(event, events.ModeChanged):
        return replace(status, mode=event.mode)
    if isinstance(event, events.SubtaskClosed):
        if not status.above:
            return status
        mode, model, window = status.above[-1]
        return replace(status, mode=mode, model=model, window=window, above=status.above[:-1])
    status = replace(status, activity="starting")
    if not event.parent_id:
        return replace(status, mode=event.mode, model=status.model or event.model, above=())
    above = (*status.above, (status.mode, status.model, status.window))
    return replace(status, mode=event.mode, model=event.model, window=event.window, above=above)


def added(total: float | None, cost: float | None) -> float | None:
    """A cost more; None stands for one that is not known."""
    return total if cost is None else (total or 0.0) + cost


def status_line(status: Status, width: int) -> Text:
    """The footer, in one line: what matters least is left out where the terminal is narrow."""
    parts = [part for part in _parts(status) if part[1].plain]
    while _width(parts) > width and (least := max(parts, key=lambda part: part[0]))[0]:
        parts.remove(least)
    line = Text("  ", no_wrap=True, overflow="ellipsis").join(text for _, text in parts)
    line.truncate(width, overflow="ellipsis")
    return line


def _width(parts: list[tuple[int, Text]]) -> int:
    return sum(text.cell_len + 2 for _, text in parts) - 2


def _parts(status: Status) -> list[tuple[int, Text]]:
    """The pieces in their order, each with its rank: the highest is left out first. A status command of the user's
    replaces what only counts; mode and approvals always say what holds."""
    first = [
        (0, Text(f"{one_line(status.mode)} mode", "bold")),
        (0, Text(f"approve: {one_line(status.profile)}" if status.profile else "", "magenta")),
    ]
    busy = [
        (1, Text(f"● {status.activity}" if status.activity else "", "yellow")),
        (1, Text(f"{status.jobs} in background (/jobs)" if status.jobs else "", "yellow")),
    ]
    if status.own:
        return [*first, *busy, (0, Text(status.own))]
    return [
        *first,
        (3, Text(one_line(status.model), "cyan")),
        *busy,
        (7, Text(f"todo {status.todos_done}/{status.todos}" if status.todos else "")),
        (5, Text(tokens_line(status.usage))),
        (6, Text(cache_line(status.usage))),
        (4, Text(money(status.cost) if status.cost else "", "green")),
        (2, meter(status.last.total, status.window)),
    ]


def money(cost: float) -> str:
    """`$0.0183`; what costs less than can be shown says so, and nothing costs nothing."""
    if not cost:
        return "free"
    return f"${cost:.4f}" if cost >= 0.0001 else "under $0.0001"


def tokens_line(usage: Usage) -> str:
    given = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    return f"↑{short_number(given)} ↓{short_number(usage.output_tokens)}" if usage.total else ""


def cache_line(usage: Usage) -> str:
    given = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    return f"cache {usage.cache_read_tokens / given:.0%}" if usage.cache_read_tokens else ""


def meter(used: int, window: int | None) -> Text:
    """How full the model's context window is; only the number where its size is not known."""
    if not window:
        return Text(f"ctx {short_number(used)}" if used else "")
    part = min(used / window, 1.0)
    full = round(part * _BAR)
    return Text(f"ctx {'█' * full}{'░' * (_BAR - full)} {part:.0%}", "red" if part >= _NEARLY_FULL else "")


def short_number(number: int) -> str:
    if number < 1_000:
        return str(number)
    return f"{number / 1_000:.1f}k" if number < 1_000_000 else f"{number / 1_000_000:.1f}M"
