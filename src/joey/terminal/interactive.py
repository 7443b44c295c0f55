"""The interactive terminal. It watches events and answers requests; the task runs beside it in the same loop.

    idle  --the user says something-->  busy  --the task finishes-->  idle
    busy: words wait for the model (Say); a request shows its panel, and a key or words answer it; Esc cancels

After a task has ended, what the user says next goes on with the same task; /new begins another. Events come as
messages, are folded into the transcript at once, and drawn some twenty times a second: how fast a model streams does
not change what drawing costs.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.events import Resize
from textual.message import Message
from textual.widgets import Static
from textual.worker import Worker

from joey.commands import Answer, Cancel, Say
from joey.errors import JoeyError
from joey.events import Event
from joey.task.task import Task
from joey.terminal.asking import RequestPanel, answer_by_words
from joey.terminal.drawing import Look
from joey.terminal.prompt import Prompt
from joey.terminal.scroll import TranscriptView
from joey.terminal.slash import command_names, run_command
from joey.terminal.status import Status, after, status_line
from joey.terminal.transcript import Entry, Note, NoteKind, Said, Transcript, entries_of
from joey.terminal.workshop import Choices, Workshop

_DRAWINGS_A_SECOND = 20
_HELLO = "Joey. Say what to do; /help tells the rest."


@dataclass
class Happened(Message):
    """An event of a task."""

    task_id: str
    event: Event


def suits_light(colours: str) -> bool:
    """Whether the terminal says that its ground is light, in $COLORFGBG: `0;15`."""
    return colours.rpartition(";")[2] in ("7", "15")


class Interactive(App[None]):
    """Joey on the whole screen."""

    CSS_PATH = "interactive.tcss"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS = [
        Binding("ctrl+q", "leave", "quit", priority=True),
        Binding("escape", "interrupt", "interrupt"),
        Binding("ctrl+c", "copy_or_stop", priority=True),
        Binding("ctrl+o", "unfold", "show all", priority=True),
        Binding("pageup", "page(-1)", priority=True),
        Binding("pagedown", "page(1)", priority=True),
    ]

    def __init__(self, workshop: Workshop, choices: Choices | None = None) -> None:
        super().__init__()
        self.workshop = workshop
        self.choices = choices or Choices()
        self.status = Status(mode=self.choices.mode or "code", model=self.choices.model or "")
        self.transcript = Transcript()
        self.running: Task | None = None
        self._worker: Worker[None] | None = None
        self._changed: dict[int, Entry] = {}
        self._commenting = False
        self._in_full = False
        self._files: Sequence[str] | None = None

    # The screen

    def compose(self) -> ComposeResult:
        yield TranscriptView(self.transcript.entries)
        yield RequestPanel()
        yield Static(id="completions")
        yield Prompt(self._candidates)
        yield Static(id="status")

    def on_mount(self) -> None:
        if suits_light(os.environ.get("COLORFGBG", "")):
            self.theme = "textual-light"
        self.theme_changed_signal.subscribe(self, lambda _theme: self._redraw())
        self.set_interval(1 / _DRAWINGS_A_SECOND, self._draw)
        self.query_one("#completions").display = False
        self.query_one(Prompt).focus()
        self._begin(self.choices)

    def _begin(self, choices: Choices) -> None:
        self._tell(self.take_up(choices.resume) if choices.resume else _HELLO)
        if choices.resume and choices.mode:
            self.choose(mode=choices.mode)
        for notice in self.workshop.notices():
            self._tell(notice, "warning")

    @property
    def look(self) -> Look:
        return Look(self.current_theme.dark, self._in_full)

    def _redraw(self) -> None:
        self.query_one(TranscriptView).redraw(self.look)
        self._show_request()

    def _draw(self) -> None:
        if self._changed:
            changed, self._changed = list(self._changed.values()), {}
            self.query_one(TranscriptView).catch_up(changed)

    def _touch(self, *entries: Entry) -> None:
        self._changed |= {id(entry): entry for entry in entries}

    def _tell(self, text: str, kind: NoteKind = "note") -> None:
        if text:
            self._touch(self.transcript.add(Note(text, kind)))

    def _show_status(self) -> None:
        self.query_one("#status", Static).update(status_line(self.status, max(10, self.size.width - 2)))

    def on_resize(self, _event: Resize) -> None:
        self._show_status()

    # The task

    @property
    def busy(self) -> bool:
        return self._worker is not None and self._worker.is_running

    def watch_task(self, task_id: str, event: Event) -> None:
        """What the task calls with every event."""
        self.post_message(Happened(task_id, event))

    def on_happened(self, message: Happened) -> None:
        self._touch(*self.transcript.apply(message.task_id, message.event))
        status = after(self.status, message.event)
        if status != self.status:
            self.status = status
            self._show_status()
        request = self.transcript.pending[0][1] if self.transcript.pending else None
        if request is not self.query_one(RequestPanel).request:
            self._commenting = False
            self._show_request()

    @work
    async def _run_task(self, prompt: str) -> None:
        try:
            async with self.workshop.open(prompt, self.choices, self.watch_task) as task:
                self.running = task
                self.choices = replace(self.choices, resume=task.id, mode=None)
                parts = task.parts
                self.status = replace(
                    self.status, model=parts.label or parts.model, window=parts.settings.context_window
                )
                # A task of its own: Esc cancels that, and not the work of this screen.
                await asyncio.create_task(task.run())
        except JoeyError as error:
            self._tell(str(error), "error")
        finally:
            self.running = None

    def tools_of_task(self) -> list[tuple[str, str]]:
        """The tools of the task that runs, its servers' included; none when there is no task."""
        if self.running is None:
            return []
        parts = self.running.parts
        specs = parts.toolset(parts.modes[self.running.state.mode]).specs
        return [(spec.name, spec.description.strip().split("\n")[0]) for spec in specs]

    def choose(self, *, mode: str | None = None, model: str | None = None) -> None:
        """Another mode or model from now on."""
        self.choices = replace(self.choices, mode=mode or self.choices.mode, model=model or self.choices.model)
        self.status = replace(self.status, mode=mode or self.status.mode, model=model or self.status.model)
        self._show_status()

    def begin_anew(self) -> None:
        self.choices = Choices(self.status.mode, self.choices.model)
        self.status = Status(self.status.mode, self.status.model)
        self._show_status()

    def take_up(self, start: str) -> str:
        """Show a task that was, to go on with."""
        try:
            task_id, state = self.workshop.state(start)
        except JoeyError as error:
            self.choices = replace(self.choices, resume=None)
            return str(error)
        self.choices = replace(self.choices, resume=task_id, mode=None)
        model = self.choices.model or (state.opened.model if state.opened else "")
        self.status = Status(state.mode, model, "", state.usage, state.last_usage, state.cost)
        self.transcript = Transcript()
        self.transcript.entries += entries_of(state.messages)
        self.query_one(TranscriptView).show_new(self.transcript.entries)
        self._show_status()
        return f"Task {task_id}. Say something, or press Enter to let it go on."

    # What the user does

    def on_prompt_sent(self, message: Prompt.Sent) -> None:
        text, request = message.text, self.query_one(RequestPanel).request
        if self._is_for_the_terminal(text):
            self._tell(run_command(self, text))
            return
        answer = answer_by_words(request, text, comment=self._commenting) if request else None
        if answer is not None:
            self._answer(answer)
        elif self.busy:
            if text and self.running is not None:
                self.running.send(Say(text))
        elif text or self.choices.resume:
            if text and self.choices.resume:
                self._touch(self.transcript.add(Said(text)))
            self._worker = self._run_task(text)

    def _is_for_the_terminal(self, text: str) -> bool:
        """Whether a line is a command to this program. One of the user's own names is part of a request."""
        if not text.startswith("/") or text.startswith("//") or "\n" in text or self._commenting:
            return False
        name = text.removeprefix("/").partition(" ")[0]
        return f"/{name}" in command_names() or name not in self.workshop.commands()

    def _answer(self, answer: Answer) -> None:
        if self.running is not None:
            self.running.send(answer)
        self._commenting = False
        self.query_one(Prompt).focus()

    def on_request_panel_answered(self, message: RequestPanel.Answered) -> None:
        self._answer(message.answer)

    def on_request_panel_words(self, message: RequestPanel.Words) -> None:
        prompt = self.query_one(Prompt)
        if message.denies:
            self._commenting = True
            self._show_request()
        prompt.insert(message.text)
        prompt.focus()
        if message.sends:
            prompt.send()

    def on_prompt_completing(self, message: Prompt.Completing) -> None:
        shown = self.query_one("#completions", Static)
        shown.display = bool(message.found)
        shown.update("  ".join(message.found))

    def _candidates(self, sign: str) -> Sequence[str]:
        if sign == "/":
            return [*command_names(), *(f"/{name}" for name in self.workshop.commands())]
        if self._files is None:
            self._files = [f"@{path}" for path in self.workshop.files()]
        return self._files

    def _show_request(self) -> None:
        """Show what is asked first. The keys go to it, unless the user is in the middle of typing something."""
        panel, prompt = self.query_one(RequestPanel), self.query_one(Prompt)
        request = self.transcript.pending[0][1] if self.transcript.pending else None
        panel.show(request, self.look, comment=self._commenting)
        if request is None:
            prompt.focus()
        elif not prompt.text and not self._commenting:
            panel.focus()

    def action_interrupt(self) -> None:
        if self._commenting:
            self._commenting = False
            self.query_one(Prompt).text = ""
            self._show_request()
        elif self.running is not None:
            self.running.send(Cancel("interrupted by the user"))

    def action_copy_or_stop(self) -> None:
        """Ctrl+C: copy what is marked; with nothing marked, interrupt what runs."""
        marked = self.query_one(Prompt).selected_text or self.screen.get_selected_text()
        if marked:
            self.copy_to_clipboard(marked)
        elif self.busy:
            self.action_interrupt()
        else:
            self._tell("Ctrl+Q or /quit leaves; everything is kept.")

    def action_unfold(self) -> None:
        self._in_full = not self._in_full
        self._redraw()

    def action_page(self, direction: int) -> None:
        panel, view = self.query_one(RequestPanel), self.query_one(TranscriptView)
        target = panel.query_one("#asked") if panel.has_focus else view
        (target.scroll_page_up if direction < 0 else target.scroll_page_down)(animate=False)

    def action_leave(self) -> None:
        self.leave()

    @work(exclusive=True, group="leaving")
    async def leave(self) -> None:
        """End what runs, so that it can be resumed, and go."""
        if self.running is not None and self._worker is not None:
            self.running.send(Cancel("the terminal was closed"))
            await self._worker.wait()
        self.exit()
