"""A transcript as lines that are written once: for logs, pipes and plain terminals.

    › Add a test                         each entry when it is there, as `drawing` draws it
    | I add it.                          text and live output as they come,
    ● execute_command  pytest -q         a call when it starts,
      | 1 passed                         its output below,
      ✓ Command executed.                and how it ended: ✓, or ✗ and why

Words of others stand behind a bar (`margin`): only Joey writes at the beginning of a line.

What a request showed (a diff) is not written again when the call ends. Other calls may write in between; then the
headline is repeated, so that it is clear whose end this is. On a terminal that nobody types at (`grows`), what the
model is still writing is drawn in place below the last line, and goes when it is complete. On any terminal, one line
there says what goes on (`working`).

Where the caller prints the result, a text of the model waits until it is clear that it is none.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TextIO

from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from joey import events
from joey.messages import Shown
from joey.system.visible import VisiblePieces, one_line, visible
from joey.terminal.console import SafeConsole
from joey.terminal.drawing import Look, draw, draw_request, draw_shown, headline, inked, outcome, result_heading
from joey.terminal.plain.margin import BAR, BELOW, INDENT, WRAPPED, Margin, behind
from joey.terminal.plain.working import Working
from joey.terminal.status import money
from joey.terminal.subtasks import RequestSource, SubtaskTree
from joey.terminal.transcript import Card, Entry, ModelText, Note, TodoList, Transcript, UserText

_WITHIN_A_REPLY = (
    events.TextStarted,
    events.TextDelta,
    events.TextFinished,
    events.ReasoningStarted,
    events.ReasoningDelta,
    events.ReasoningFinished,
    events.UsageReported,
    events.PromptProgressed,
    events.StreamFinished,
    events.TurnFinished,
    events.TaskCompleted,
)
TAKES_BACK = "queued; /unqueue takes it back"
_SECONDS_A_FRAME = 0.05
_TAIL = 10
"""How many lines are seen of a text that grows."""


class Writer:
    """Writes what happens. `watch` goes into the task."""

    def __init__(self, out: TextIO, *, grows: bool = False, results: bool = True, typed: bool = False) -> None:
        """`results`: write the result of the task, too; otherwise the caller does. `typed`: what the user sends was
        typed here, and is on the terminal already."""
        self.console = SafeConsole(out, highlight=False, markup=False, emoji=False, soft_wrap=True)
        self._transcript = Transcript()
        self._look = _TypedLook() if typed else Look()
        self._results = results
        self._typed = typed
        self._growing = _Growing(self.console) if grows and self.console.is_terminal else None
        can_draw = self.console.is_terminal and not self.console.is_dumb_terminal
        self._working = Working(self.console, self._has_free_line) if can_draw else None
        self._text, self._output = VisiblePieces(), VisiblePieces(drop_escapes=True)
        self._held = ""
        """The line ends at the end of the text so far."""
        self.prompting = False
        """Whether the last line is a prompt that waits for the user."""
        self._subtasks = SubtaskTree()
        self._reply: list[str] = []
        """The text of a reply that may be the result, which the caller prints,"""
        self._after_reply: Text | None = None
        """and the line about its turn."""
        self._open = False
        self._margin = Margin(BAR, None)
        """Where the open line stands."""
        self._started: Card | None = None
        """The call whose headline was written last, with nothing of others below it."""
        self._streamed = False
        """Whether live output stands below a headline of that call."""
        self._begun: dict[int, bool] = {}
        """The calls that run and whose headline was written, and whether live output was."""
        self._reasons: set[str] = set()
        """Why the task stopped, as far as that was written: it need not be written again."""
        self._seen: dict[str, tuple[Shown, ...]] = {}
        """What was shown of each call when it was requested: it need not be shown again."""

    def watch(self, task_id: str, event: events.Event) -> None:
        beside = self._subtasks.beside(task_id)
        for task, shown in self._subtasks.shown(task_id, event):
            if beside is None:
                self._watch(task, shown)
            elif isinstance(
                shown, events.ToolRunProgressed
            ):  # a step: a line of its own, with the subtask's name before it
                self._write(inked(shown.text.rstrip("\n"), "dim"))
            elif not isinstance(shown, events.TurnFinished):
                self._watch(task, shown)
            if self._working:
                self._working.watch(shown)

    def _watch(self, task_id: str, event: events.Event) -> None:
        changed = self._transcript.apply(task_id, event)
        if not isinstance(event, _WITHIN_A_REPLY):
            self._settle_reply(event)
        match event:
            case events.TextDelta(text) if not self._results:
                self._reply.append(text)
                self._grow(changed)
            case events.TextDelta(text):
                self._stream_text(text)
            case events.ToolCallStarted() | events.ToolCallDelta() | events.ToolCallFinished() if self._growing:
                if self._open:
                    self._close_line()
                self._grow(changed)
            case (
                events.ToolRunStarted()
                | events.ToolRunProgressed()
                | events.ToolRunFinished()
                | events.ToolCallMalformed()
            ):
                self._write_call(event, changed)
            case events.TaskStarted():
                self._write_start(event)
            case events.TaskFinished("cancelled", message) if message in self._reasons:
                pass  # the line above says that it was stopped, and why
            case events.TaskFinished(outcome, message) if outcome != "completed" and message in self._reasons:
                self._write(inked(f"The task ended: {outcome}.", "red" if outcome in ("error", "limit") else "dim"))
            case events.TurnFinished(number, usage, cost):
                price = f", {money(cost)}" if cost else ""
                self._after_reply = inked(f"(turn {number}: {usage.total:,} tokens{price})", "dim")
                self._write_entries(changed)  # that the reply was empty
                if not self._reply:
                    self._settle_reply(event)
            case (
                events.ApprovalRequested()
                | events.QuestionRequested()
                | events.CompletionRequested()
                | events.ContinueRequested()
            ):
                self._write_request(task_id, event)
            case _:
                self._write_other(event, changed)

    @property
    def unheard(self) -> Sequence[str]:
        """Which messages of the user came too late for the request that goes out."""
        return self._transcript.unheard

    @unheard.setter
    def unheard(self, texts: Sequence[str]) -> None:
        self._transcript.unheard = texts

    def write(self, text: str, *, end: str = "\n") -> None:
        """Something that is no event: a prompt, a line of the program's own."""
        self._clear()
        self._close_line()
        self.console.print(Text(visible(text)), end=end)

    def close(self) -> None:
        """Nothing more comes: end what is open."""
        self._settle_reply(events.TaskAborted())
        self._clear()
        self._close_line()
        if self._working:
            self._working.stop()

    # Entries

    def _settle_reply(self, event: events.Event) -> None:
        """It is clear what the last reply was: write it, unless it is the result or does not count."""
        reply, self._reply = "".join(self._reply), []
        last, self._after_reply = self._after_reply, None
        is_result = isinstance(event, events.CompletionRequested) and event.plain
        if reply and not is_result and not isinstance(event, events.RetryScheduled):
            self._stream_text(reply)
        if last is not None:
            self._write(last)

    def _write_start(self, event: events.TaskStarted) -> None:
        if event.parent_id:
            self._write(inked("Subtask:", "bold cyan"))
            self._print(behind(Text(visible(event.text), "bold"), BELOW, BELOW, self._width))
        elif event.resumed or not self._typed:
            sign = inked("Resuming: " if event.resumed else "› ", "bold cyan")
            self._write(sign.append(visible(event.text), "bold"))
        self._write(inked(one_line(f"({event.mode} mode, {event.model}, {event.protocol} calls)"), "dim"))

    def _write_other(self, event: events.Event, changed: list[Entry]) -> None:
        if isinstance(event, events.TaskAborted):
            self._reasons.add(event.reason)
        if not (self._typed and isinstance(event, (events.CompletionAnswered, events.ContinueAnswered))):
            self._write_entries(changed)

    def _write_entries(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            if isinstance(entry, Note) and self._started is not None:
                self._write_below(draw(entry, self._look))
            elif isinstance(entry, (UserText, Note, TodoList)) and not entry.dropped:
                self._write(draw(entry, self._look))

    def _write_request(self, task_id: str, request: events.Request) -> None:
        self._write_source(self._subtasks.source(task_id, request))
        if isinstance(request, events.CompletionRequested):
            if self._results and not request.plain:
                self._write_result(request.result, is_plan=request.plan)
            return
        if isinstance(request, events.ContinueRequested):
            self._reasons.add(request.reason)
        if isinstance(request, events.ApprovalRequested):
            self._seen[request.call_id] = request.shown
        head, *parts = draw_request(request, self._look)
        self._write(inked("? ", "bold yellow").append_text(head) if isinstance(head, Text) else head)
        for part in parts:
            self._print(behind(part, BELOW, BELOW, self._width, wrapped=WRAPPED) if isinstance(part, Text) else part)

    def _write_result(self, result: str, *, is_plan: bool) -> None:
        self._write(result_heading(is_plan=is_plan))
        self._print(behind(Text(visible(result)), BAR, BAR, self._width))

    def _write_source(self, source: RequestSource | None) -> None:
        """Which subtask a request is about. What it is to do are words of the model's."""
        if source is not None:
            self._write(inked(f"{source.heading}, which is to:", "bold cyan"))
            self._print(behind(Text(one_line(source.subtask.text)), BELOW, BELOW, self._width))

    # Calls

    def _write_call(self, event: events.Event, changed: list[Entry]) -> None:
        card = next((entry for entry in changed if isinstance(entry, Card)), None)
        if card is not None and card.overtaken:
            self._write_result(card.summary, is_plan=card.is_plan)
        elif card is None or (card.display.role != "call" and card.state != "failed"):
            return
        elif isinstance(event, events.ToolRunStarted):
            self._write_headline(card)
        elif isinstance(event, events.ToolRunProgressed):
            if self._started is not card:
                self._write_headline(card)
            self._streamed = self._begun[id(card)] = True
            self._stream(self._output.add(event.text), BELOW, "dim")
        else:
            self._write_end(card)

    def _write_headline(self, card: Card) -> None:
        """Which call the lines below are about; again, if something else was written meanwhile."""
        runs_on = id(card) in self._begun and card.state == "running"
        self._write(headline(card).append("  (continued)" if runs_on else "", "dim"))
        self._started, self._streamed = card, self._begun.setdefault(id(card), False)

    def _write_end(self, card: Card) -> None:
        """How a call ended, below its headline."""
        if self._started is not card:
            self._write_headline(card)
        seen = self._seen.pop(card.call_id, ())
        shown = [] if self._streamed else [draw_shown(each, self._look) for each in card.shown if each not in seen]
        for text in shown:
            self._print(behind(text, BELOW, BELOW, self._width, wrapped=WRAPPED))
        sign = inked("✗ ", "red") if card.state == "failed" else inked("✓ ", "green")
        self._write_below(sign.append_text(outcome(card, self._look)))
        self._begun.pop(id(card), None)
        self._started = None

    # Lines

    def _write(self, what: RenderableType) -> None:
        self._started = None
        self._print(self._own(what) if isinstance(what, Text) else what)

    def _write_below(self, what: RenderableType) -> None:
        """Below the headline of a call: the first line is ours."""
        self._print(behind(what, INDENT, BELOW, self._width) if isinstance(what, Text) else what)

    def _print(self, what: RenderableType) -> None:
        self._clear()
        self._close_line()
        self.console.print(what)

    def _own(self, text: Text) -> Text:
        """A line of ours; what follows its first row is indented, so that nothing else looks like one."""
        return behind(text, "", INDENT, self._width)

    @property
    def _width(self) -> int | None:
        return self.console.width if self.console.is_terminal else None

    def _stream_text(self, text: str) -> None:
        """Empty lines around a text are left out: they wait until more text comes."""
        text = self._held + self._text.add(text)
        text = text if self._open else text.lstrip("\n")
        kept = text.rstrip("\n")
        self._held = text[len(kept) :]
        self._stream(kept, BAR)

    def _stream(self, text: str, mark: str, style: str = "") -> None:
        if not text:
            return
        self._clear()
        if not self._open:
            self._margin = Margin(mark, self._width)
        self._open = not text.endswith("\n")
        self.console.print(inked(self._margin.add(text), style), end="")

    def _clear(self) -> None:
        """Remove what is drawn below the last line."""
        if self._working:
            self._working.erase()
        if self._growing:
            self._growing.stop()

    def _grow(self, changed: Iterable[Entry]) -> None:
        if self._working:
            self._working.erase()
        if self._growing:
            self._growing.draw(changed)

    def _has_free_line(self) -> bool:
        return not (self._open or self.prompting or (self._growing and self._growing.is_drawn))

    def _close_line(self) -> None:
        self._held = ""
        rest = self._text.end() + self._output.end()
        if rest or self._open:
            self.console.print(Text(self._margin.add(rest)))
        self._open = False


class _TypedLook(Look):
    """Where commands can be typed."""

    @property
    def queued_hint(self) -> str:
        return TAKES_BACK


class _Tail(Look):
    """Of a text that grows, its end."""

    def prose(self, text: str, *, is_open: bool = False, keeps_lines: bool = False) -> RenderableType:
        return self.code(text, "")

    def code(self, text: str, name: str) -> RenderableType:
        return inked("\n".join(visible(text).split("\n")[-_TAIL:]), "dim")


def _grows(entry: Entry) -> bool:
    writing = entry.state == "growing" if isinstance(entry, Card) else isinstance(entry, ModelText) and entry.is_open
    return writing and not entry.dropped


class _Growing:
    """What the model is writing, drawn below the last line and drawn again as they grow."""

    def __init__(self, console: SafeConsole) -> None:
        self._console = console
        self._entries: dict[int, Entry] = {}
        self._live: Live | None = None
        self._drawn = 0.0

    @property
    def is_drawn(self) -> bool:
        return self._live is not None

    def draw(self, changed: Iterable[Entry]) -> None:
        self._entries |= {id(entry): entry for entry in changed}
        self._entries = {key: entry for key, entry in self._entries.items() if _grows(entry)}
        if not self._entries:
            self.stop()
        elif time.monotonic() - self._drawn >= _SECONDS_A_FRAME:
            self._drawn = time.monotonic()
            self._start().update(Group(*(draw(each, _Tail()) for each in self._entries.values())), refresh=True)

    def _start(self) -> Live:
        if self._live is None:
            self._live = Live(
                console=self._console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
            )
            self._live.start()
        return self._live

    def stop(self) -> None:
        if self._live is not None:
            self._live.stop()
        self._live = None
