"""The interactive terminal. It watches events and answers requests; the task runs beside it in the same loop.

    idle  --the user sends a message-->  busy  --the task finishes-->  idle
    busy: messages wait for the model (Say); a request shows its panel, and a key or words answer it; Esc cancels

After a task has ended, the next message continues the same task; /new starts another. Events come as
messages, are folded into the transcript at once, and drawn some twenty times a second: how fast a model streams does
not change what drawing costs.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import inf
from time import monotonic
from typing import Any

from rich.theme import Theme
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.events import Resize
from textual.filter import LineFilter
from textual.message import Message
from textual.widgets import Static
from textual.worker import Worker

from joey.app.notes_for_later import note_in
from joey.app.services import Choices, Services
from joey.commands import Answer, Cancel, Say, TakeBack
from joey.errors import JoeyError
from joey.events import Event, Request, TaskFinished, ToolRunFinished
from joey.frames import own_words
from joey.journal.replay import TaskState
from joey.messages import ImageBlock
from joey.permissions import Granted
from joey.system.signals import handled_signals, release_terminal
from joey.system.visible import one_line, visible
from joey.task.task import TaskHandle
from joey.terminal.activity import FRAMES_A_SECOND, IDLE, Activity, draw_activity
from joey.terminal.activity import after as activity_after
from joey.terminal.attachments import ImageFile
from joey.terminal.clipboard import Clipboard
from joey.terminal.entry_text import matches, replies
from joey.terminal.first_frame import TerminalSettings
from joey.terminal.notes import NoteKind
from joey.terminal.notify import Notifier
from joey.terminal.screen.answering import KeyGate, answer_by_words
from joey.terminal.screen.confirm import ConfirmDiff
from joey.terminal.screen.driver import LastingDriver
from joey.terminal.screen.editor import edited, editor_command
from joey.terminal.screen.filters import Colourless, Safe
from joey.terminal.screen.look import ScreenLook, draw_attached
from joey.terminal.screen.menu import draw_menu
from joey.terminal.screen.permissions import PermissionList
from joey.terminal.screen.picker import ModelPicker, TaskPicker
from joey.terminal.screen.prompt import Prompt
from joey.terminal.screen.request_panel import RequestPanel
from joey.terminal.screen.search import SearchBar
from joey.terminal.screen.survival import SurvivingApp
from joey.terminal.screen.transcript_view import TranscriptView
from joey.terminal.screen.typeahead import TypeaheadApp
from joey.terminal.scrollback import print_conversation
from joey.terminal.session import Session
from joey.terminal.slash import KEYS, command_hints, is_for_the_terminal, resume_task, run_command
from joey.terminal.status import after, status_line
from joey.terminal.status_command import StatusCommand, status_json
from joey.terminal.title import WindowTitle
from joey.terminal.transcript import Entry, Note, Transcript, UserText, entries_of
from joey.terminal.users_commands import is_command
from joey.terminal.welcome import welcome

_DRAWINGS_A_SECOND = 20
_COUNT_EVERY = 2.0
"""How often the commands in the background are counted, while there are any: they end by themselves."""
_NOTIFY = ("terminal.notify", "terminal.notify_when", "terminal.notify_command")
_TWICE = 2.0
"""Within how many seconds a second Ctrl+C quits."""


@dataclass
class Happened(Message):
    """An event of a task."""

    task_id: str
    event: Event


def suits_light(colours: str) -> bool:
    """Whether the terminal reports a light background, in $COLORFGBG: `0;15`."""
    return colours.rpartition(";")[2] in ("7", "15")


class Interactive(SurvivingApp, TypeaheadApp):
    """Joey on the whole screen."""

    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS = [
        Binding("ctrl+q", "close", "quit", priority=True),
        Binding("escape", "end_search", priority=True),
        Binding("escape", "interrupt", "interrupt"),
        Binding("ctrl+c", "copy_or_stop", priority=True),
        Binding("ctrl+d", "delete_or_close", priority=True),
        Binding("ctrl+z", "suspend_process", priority=True),
        Binding("ctrl+g", "edit", priority=True),
        Binding("ctrl+f", "search", priority=True),
        Binding("ctrl+o", "unfold", "show all", priority=True),
        Binding("shift+tab", "next_profile", priority=True),
        Binding("pageup", "page(-1)", priority=True),
        Binding("pagedown", "page(1)", priority=True),
        Binding("ctrl+end", "to_end", priority=True),
    ]

    def __init__(
        self,
        services: Services,
        choices: Choices | None = None,
        gate: KeyGate | None = None,
        *,
        first: str = "",
        terminal_settings: TerminalSettings | None = None,
    ) -> None:
        """`first` is a message, or a command, that counts as sent. `terminal_settings` are those to give back."""
        super().__init__()
        self._terminal_settings = terminal_settings
        self._gate = gate or KeyGate()
        self._first = first
        self._window_title = WindowTitle(self._write_to_terminal)
        # Rich puts code in a line on black, which is a hole in a light background.
        self.console.push_theme(Theme({"markdown.code": "bold cyan"}))
        self.session = Session(services, choices)
        self.error_log = services.storage
        self.transcript = Transcript()
        self._line_filters: list[LineFilter] = [Safe(), Colourless()] if self.no_color else [Safe()]
        self._worker: Worker[None] | None = None
        self._changed: dict[int, Entry] = {}
        self._requests: list[tuple[str, Request]] = []
        self._in_full = False
        self._files: Sequence[str] = ()
        self._profiles: Sequence[str] = ()
        self._status_command: StatusCommand | None = None
        self._own_status = ""
        self._clipboard_images = Clipboard()
        self._command: Worker[None] | None = None
        """A command of the user's own that runs."""
        self._early: list[Say] = []
        """Messages that were sent while the task was being opened."""
        self._stopped_at = -inf
        self.clock: Callable[[], float] = monotonic
        self.notifier: Notifier | None = None
        """Tells the user that it is their turn; made of the settings unless it is given."""
        self._activity = self._users_activity = IDLE
        """What is being done, and what of it is a command of the user's own."""
        self._will_draw = False

    # The screen

    def compose(self) -> ComposeResult:
        services = self.session.services
        with Vertical(id="conversation"):
            yield TranscriptView(self.transcript.entries)
            yield RequestPanel(self._gate, self._insert, self._invite)
        yield Static(id="activity")
        yield SearchBar(lambda words: matches(self.transcript.entries, words))
        yield Static(id="completions")
        yield Static(KEYS, id="shortcuts")
        yield Static(id="attached")
        yield Prompt(
            self._candidates, services.folder, self.session.history.read(), self._take_back,
            lambda key, text: self.query_one(RequestPanel).takes(key, text),
            vim=services.setting("terminal.vim"),
        )  # fmt: skip
        yield Static(id="status")

    def _insert(self, text: str) -> None:
        self.query_one(Prompt).insert(text)

    def _invite(self, text: str) -> None:
        self.query_one(Prompt).placeholder = text

    def get_driver_class(self) -> type[Driver]:
        usual = super().get_driver_class()
        return LastingDriver if usual is LinuxDriver else usual

    def _build_driver(self, *args: Any, **options: Any) -> Driver:
        driver = super()._build_driver(*args, **options)
        if isinstance(driver, LastingDriver):
            driver.own_settings = self._terminal_settings
        return driver

    async def run_async(self, **options: Any) -> None:
        with handled_signals(self._end_by_signal):
            await super().run_async(**options)

    def _end_by_signal(self, number: signal.Signals) -> None:
        """Close in order, with every command that runs, also where the terminal itself is gone."""
        closed = number == signal.SIGHUP
        if closed:
            release_terminal()
        self.call_later(self.close, "the terminal was closed" if closed else f"ended by {number.name}")

    def on_mount(self) -> None:
        theme = self.session.services.setting("terminal.theme")
        if theme != "auto":
            self.set_theme(theme)
        elif suits_light(os.environ.get("COLORFGBG", "")):
            self.theme = "textual-light"
        self.notifier = self.notifier or self._notifier()
        self.theme_changed_signal.subscribe(self, lambda _theme: self._redraw())
        self.app_resume_signal.subscribe(self, lambda _app: self.screen.refresh(layout=True))  # after Ctrl+Z and `fg`
        if command := self.session.services.setting("terminal.status_command"):
            self._status_command = StatusCommand(command, self.session.services.folder, self._show_own_status)
        self._spinner = self.set_interval(1 / FRAMES_A_SECOND, self._show_activity, pause=True)
        self._counter = self.set_interval(_COUNT_EVERY, self._count_jobs, pause=True)
        self.query("#activity, #completions, #shortcuts, #attached").set(display=False)
        self.query_one(Prompt).focus()
        self._begin(self.session.choices)
        self.reports_errors = True
        if self._first:
            self.post_message(Prompt.Sent(self._first))

    def show_error(self, line: str) -> None:
        self._note(line, "error")

    def _begin(self, choices: Choices) -> None:
        self._show_folder()
        place, status = self.session.services.place(), self.session.status
        hello = welcome(place, status.model, status.profile)
        self._note(resume_task(self, choices.resume) if choices.resume else hello)
        if choices.resume and choices.mode:
            self.session.choose(mode=choices.mode)
        self._show_status()
        for notice in self.session.services.notices():
            self._note(notice, "warning")

    def _show_folder(self) -> None:
        self.query_one(Prompt).border_subtitle = Content(one_line(str(self.session.services.place())))
        self._look_for_files()

    def get_line_filters(self) -> Sequence[LineFilter]:
        """What every line goes through last. Without colour, ours alone: shades of grey are colours, too."""
        return self._line_filters if self.no_color else [*super().get_line_filters(), *self._line_filters]

    @property
    def look(self) -> ScreenLook:
        return ScreenLook(self._in_full, self.current_theme.dark)

    def _redraw(self) -> None:
        self.query_one(TranscriptView).redraw(self.look)
        self._show_request()

    def _draw(self) -> None:
        self._will_draw = False
        if self._changed:
            changed, self._changed = list(self._changed.values()), {}
            for view in self.query(TranscriptView):  # there is none any more while the screen is taken down
                view.catch_up(changed)
            self._show_activity()

    def _touch(self, *entries: Entry) -> None:
        """Draw these soon, and no timer runs while nothing changes."""
        self._changed |= {id(entry): entry for entry in entries}
        if entries and not self._will_draw:
            self._will_draw = True
            self.set_timer(1 / _DRAWINGS_A_SECOND, self._draw)

    def _note(self, text: str, kind: NoteKind = "note") -> None:
        if text:
            self._touch(self.transcript.add(Note(text, kind)))

    def _write_to_terminal(self, codes: str) -> None:
        if self._driver is not None and not self.is_headless:
            self._driver.write(codes)

    def _show_title(self) -> None:
        first = next((entry.text for entry in self.transcript.entries if isinstance(entry, UserText)), "")
        self._window_title.show(first, self.session.services.place().folder)

    def _show_status(self) -> None:
        self._show_title()
        status = replace(self.session.status, own=self._own_status)
        self.query_one("#status", Static).update(status_line(status, max(10, self.size.width - 2)))
        if self._status_command is not None:
            self._status_command.changed(status_json(self.session))

    def _show_own_status(self, words: str) -> None:
        self._own_status = words
        self._show_status()

    def _show_activity(self) -> None:
        """The line that says what is being done. Its timer runs only while something is."""
        for line in self.query("#activity").results(Static):
            line.display = not self._activity.is_idle
            if self._activity.is_idle:
                self._spinner.pause()
            else:
                self._spinner.resume()
                line.update(draw_activity(self._activity, self.clock(), max(10, self.size.width - 2)))

    def _count_jobs(self) -> None:
        if self.session.count_jobs():
            self._show_status()
        (self._counter.resume if self.session.status.jobs else self._counter.pause)()

    def _notifier(self) -> Notifier:
        way, when, command = map(self.session.services.setting, _NOTIFY)
        return Notifier(way, command or "", when == "always", self._send)

    def _send(self, codes: str) -> None:
        """Codes that draw nothing, to the terminal itself."""
        if self._driver is not None and not self.is_headless:
            self._driver.write(codes)

    def on_resize(self, _event: Resize) -> None:
        self.call_after_refresh(self._resized)  # the size is still the old one

    def _resized(self) -> None:
        self._show_status()
        self._show_activity()
        self.query_one(RequestPanel).resized()

    # The task

    @property
    def busy(self) -> bool:
        return self._worker is not None and self._worker.is_running

    def watch_task(self, task_id: str, event: Event) -> None:
        """What the task calls with every event."""
        self.post_message(Happened(task_id, event))

    def on_happened(self, message: Happened) -> None:
        for task_id, event in self.session.subtasks.shown(message.task_id, message.event):
            self._show_event(task_id, event)

    def _show_event(self, task_id: str, event: Event) -> None:
        self._touch(*self.transcript.apply(task_id, event))
        before = self._activity
        now = activity_after(before, event, self.clock())
        self._activity = self._users_activity if now.is_idle else now
        if (self._activity.kind, self._activity.what) != (before.kind, before.what):
            self._show_activity()
        if now.is_idle and not before.is_idle and self.notifier is not None:
            self.notifier.tell(event, focused=self.app_focus)
        status = after(self.session.status, event)
        if status != self.session.status:
            self.session.status = status
            self._show_status()
        if isinstance(event, (ToolRunFinished, TaskFinished)):
            self._look_for_files()
            self._count_jobs()
        if self.transcript.pending != self._requests:
            self._show_request()

    def _run(self, prompt: str = "", images: Sequence[ImageBlock] = ()) -> None:
        self._worker = self._with_task(prompt, images, TaskHandle.run)

    def compact(self) -> None:
        self._worker = self._with_task("", (), TaskHandle.compact)

    @work
    async def _with_task(
        self, prompt: str, images: Sequence[ImageBlock], what: Callable[[TaskHandle], Awaitable[object]]
    ) -> None:
        try:
            async with self.session.services.open(prompt, self.session.choices, self.watch_task, images) as task:
                self.session.began(task)
                # A task of its own: Esc cancels that, and not the work of this screen.
                running = asyncio.ensure_future(what(task))
                await asyncio.sleep(0)  # it has begun
                early, self._early = self._early, []
                for message in early:
                    task.send(message)
                await running
        except JoeyError as error:
            self._note(str(error), "error")
        finally:
            self._worker = None
            self.session.ended()
            self._activity = self._users_activity
            self._show_activity()
            self._count_jobs()

    def show(self, text: str) -> None:
        self._note(text)
        self._show_status()

    def show_task(self, state: TaskState) -> None:
        self.transcript = Transcript()
        resumed = self.session.choices.resume
        shown = self.session.services.shown(resumed) if resumed else {}
        self.transcript.entries += entries_of(state.messages, shown=shown, interrupted=state.interrupted)
        self.query_one(TranscriptView).show_new(self.transcript.entries)
        self.query_one(Prompt).work_in(self.session.services.folder, self.session.history.read())
        self._profiles = ()
        self._show_folder()

    # Messages of the user

    def on_prompt_sent(self, message: Prompt.Sent) -> None:
        text = message.text.strip()
        self.action_to_end()
        self.session.history.add(message.text)
        commenting = self.query_one(RequestPanel).commenting
        if not commenting and is_command(text):
            self._command = self._run_users_command(text)
            return
        if not commenting and (note := note_in(text)):
            self._add_note(note)
            return
        if not commenting and is_for_the_terminal(text, self.session.services.commands()):
            self._note(run_command(self, text))
            self._show_status()
            return
        try:
            images = [self.session.services.image(each.path) for each in message.images]
        except JoeyError as error:
            self._note(str(error), "error")
            self.query_one(Prompt).text = message.text
            return
        self._say(with_names(text, message.images), images)

    def _say(self, text: str, images: Sequence[ImageBlock]) -> None:
        if self.session.closing:
            self.session.end_first(lambda: self._say(text, images))
            return
        panel = self.query_one(RequestPanel)
        comment, seen = panel.commenting, panel.gate.is_seen
        answer = answer_by_words(panel.request, text, comment=comment, seen=seen) if panel.request else None
        if not text and panel.request is not None and not panel.commenting:
            return  # an empty Enter answers by key, or not at all
        if self.session.task is not None:
            words = answer or Say(text)
            words = replace(words, text=self.session.for_the_model(words.text), images=tuple(images))
            if isinstance(words, Answer):
                self._answer(words)
            elif text:
                self.session.task.send(words)
        elif self.busy:
            self._early.append(Say(self.session.for_the_model(text), tuple(images)))
        elif text or self.session.choices.resume:
            self._show_what_happened_elsewhere()
            if text and self.session.choices.resume:
                self._touch(self.transcript.add(UserText(text)))
            self._run(self.session.for_the_model(text), images)

    def _show_what_happened_elsewhere(self) -> None:
        if state := self.session.continued_elsewhere():
            self.show_task(state)
            self._note("Another terminal has continued this task; this is how far it came.")

    @work(group="commands")
    async def _run_users_command(self, line: str) -> None:
        entry = self.session.command_line.entry(line)
        self._touch(self.transcript.add(entry))
        running = Activity("running", f"running {one_line(entry.command)}", self.clock())
        self._users_activity = running
        if self._activity.is_idle:
            self._activity = running
            self._show_activity()
        try:
            await self.session.command_line.run(entry, lambda _text: self._touch(entry))
        finally:
            self._users_activity = IDLE if self._users_activity is running else self._users_activity
            if self._activity is running:
                self._activity = self._users_activity
                self._show_activity()

    def _answer(self, answer: Answer) -> None:
        if self.session.task is not None:
            self.session.task.send(answer)

    def _take_back(self) -> str | None:
        """The last message that still waits for the model, which then no longer does; None if there is none."""
        waiting = self._waiting()
        if not waiting or self.session.task is None or not self.session.task.send(TakeBack()):
            return None
        return waiting[-1]

    def _waiting(self) -> list[str]:
        """The messages that the model has not read, as the task has them: the screen may be a moment behind."""
        return [own_words(each.text) for each in self.session.task.state.queued] if self.session.task else []

    # Requests

    @work(exclusive=True, group="editor")
    async def on_request_panel_wants_editor(self, message: RequestPanel.WantsEditor) -> None:
        try:
            with self._terminal_released():
                plan = await edited(message.edit.plan, editor_command())
        except JoeyError as error:
            self._note(str(error), "error")
        else:
            if plan.strip():
                self._answer(replace(message.edit.answer, text=plan.strip()))
            else:
                self._note("The plan is empty now, so nothing is carried out.")

    def on_request_panel_answered(self, message: RequestPanel.Answered) -> None:
        self._answer(message.answer)

    def _show_request(self) -> None:
        """Show the oldest request."""
        pending = self._requests = [*self.transcript.pending]
        task_id, request = pending[0] if pending else ("", None)
        of_subtask = self.transcript.is_subtask(task_id)
        self.query_one(RequestPanel).show(request, self.look, of_subtask=of_subtask, waiting=len(pending))

    # Completion and attachments

    def on_prompt_completing(self, message: Prompt.Completing) -> None:
        shown, menu = self.query_one("#completions", Static), message.menu
        hints = command_hints(self.session.services.commands()) if menu.found[:1] and menu.found[0][0] == "/" else {}
        shown.display = bool(menu.found)
        shown.update(draw_menu(menu, hints))

    def on_prompt_wants_keys(self) -> None:
        shown = self.query_one("#shortcuts", Static)
        shown.display = not shown.display

    def on_text_area_changed(self) -> None:
        self.query_one("#shortcuts", Static).display = False
        self.query_one(RequestPanel).show_text(self.query_one(Prompt).text)

    @work(thread=True, exclusive=True, group="clipboard")
    def on_prompt_wants_image(self) -> None:
        try:
            image = ImageFile(self._clipboard_images.image())
        except JoeyError as error:
            self.call_from_thread(self._no_image, str(error))
        else:
            self.call_from_thread(self.query_one(Prompt).attach, [image])

    def _no_image(self, why: str) -> None:
        """Text that was copied here is pasted; otherwise there was nothing to paste."""
        if self.clipboard:
            self.query_one(Prompt).insert(self.clipboard)
        else:
            self._note(why)

    def on_prompt_attached(self, message: Prompt.Attached) -> None:
        shown = self.query_one("#attached", Static)
        shown.display = bool(message.images)
        shown.update(draw_attached([each.label for each in message.images]))

    def _candidates(self, sign: str) -> Sequence[str]:
        own = [*command_hints(self.session.services.commands())] if sign == "/" else self._files
        return [*own, *self.session.offered_by_servers(sign)]

    @work(thread=True, exclusive=True, group="files")
    def _look_for_files(self) -> None:
        """Find what can be mentioned, beside everything else: a large folder takes a while."""
        files = ["@" + path.replace("\\", "\\\\").replace(" ", "\\ ") for path in self.session.services.files()]
        self.call_from_thread(self._found_files, files)

    def _found_files(self, files: list[str]) -> None:
        self._files = files
        for prompt in self.query(Prompt):
            prompt.offer_again()

    # Keys

    def action_interrupt(self) -> None:
        panel = self.query_one(RequestPanel)
        if panel.commenting:
            self.query_one(Prompt).clear_to_history()
            panel.stop_commenting()
        elif self._command is not None and self._command.is_running:
            self._command.cancel()
        elif self.session.task is not None and not self.session.waits:
            self._take_all_back()
            self.session.task.send(Cancel("interrupted by the user"))

    def _take_all_back(self) -> None:
        """Put the messages that the model has not read back into the input, so that none is sent unnoticed later."""
        task, prompt = self.session.task, self.query_one(Prompt)
        taken = [text for text in self._waiting() if task is not None and task.send(TakeBack())]
        if taken:
            prompt.text = "\n".join([*taken, *([prompt.text] if prompt.text else [])])

    def action_copy_or_stop(self) -> None:
        """Ctrl+C: copy the selection, clear the input, or interrupt what runs; twice in a row quits. In its turn: keys
        that were pressed before it may still be on their way to the input."""
        self.query_one(Prompt).call_later(self._copy_or_stop)

    def _copy_or_stop(self) -> None:
        prompt = self.query_one(Prompt)
        selected = prompt.selected_text or self.screen.get_selected_text()
        if selected:
            self.copy_to_clipboard(selected)
        elif prompt.text:
            prompt.clear_to_history()
        elif monotonic() - self._stopped_at < _TWICE:
            self.close()
        else:
            self._stopped_at = monotonic()
            self.action_interrupt()
            self._note("Ctrl+C again quits; the task is saved.")

    def action_delete_or_close(self) -> None:
        """Ctrl+D: quit if nothing is typed; otherwise it deletes, as everywhere."""
        self.query_one(Prompt).call_later(self._delete_or_close)

    def _delete_or_close(self) -> None:
        prompt = self.query_one(Prompt)
        if prompt.text:
            prompt.action_delete_right()
        else:
            self.close()

    @work(exclusive=True, group="editor")
    async def action_edit(self) -> None:
        """Ctrl+G: the input in $EDITOR. The task runs on; it is drawn again when the editor is closed."""
        prompt = self.query_one(Prompt)
        try:
            command = editor_command()
            with self._terminal_released():
                text = await edited(prompt.whole_text, command)
        except JoeyError as error:
            self._note(str(error), "error")
        else:
            prompt.text = text
            prompt.move_cursor(prompt.document.end)
            prompt.focus()

    @contextmanager
    def _terminal_released(self) -> Iterator[None]:
        """Let another program have the terminal. Without one (in tests) there is nothing to release."""
        if self.is_headless:
            yield
            return
        with self.suspend(), self.batch_update():
            yield

    @work(exclusive=True, group="profile")
    async def action_next_profile(self) -> None:
        """Shift+Tab: the next approval profile; after one that is not among them, such as read-only, the first."""
        if not self._profiles:
            self._profiles = await self.session.services.profiles()
        now = self.session.status.profile
        at = self._profiles.index(now) + 1 if now in self._profiles else 0
        self.session.set_profile(self._profiles[at % len(self._profiles)])
        self._show_status()

    def action_unfold(self) -> None:
        self._in_full = not self._in_full
        self._redraw()

    def action_page(self, direction: int) -> None:
        view = self.query_one(TranscriptView)
        (view.scroll_page_up if direction < 0 else view.scroll_page_down)(animate=False)

    def action_to_end(self) -> None:
        self.query_one(TranscriptView).to_end()

    def on_prompt_wants_end(self) -> None:
        self.action_to_end()

    def on_transcript_view_moved(self, message: TranscriptView.Moved) -> None:
        self.query_one(Prompt).show_below(is_below=not message.at_end)

    def action_search(self) -> None:
        self.query_one(SearchBar).open()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Esc ends the search while there is one. Here, and not where the key arrives: the keys behind it are for the
        input, and must not be a step ahead of it."""
        if action in ("search", "end_search") and len(self.screen_stack) > 1:
            return False  # another screen is in front
        if action == "end_search":
            return any(bar.display for bar in self.query(SearchBar))
        return super().check_action(action, parameters)

    def action_end_search(self) -> None:
        self.query_one(SearchBar).close()
        self.query_one(TranscriptView).unmark()
        self.screen.set_focus(self.query_one(Prompt))

    def on_search_bar_found(self, message: SearchBar.Found) -> None:
        if self.query_one(SearchBar).display:
            self.query_one(TranscriptView).bring(message.at)

    def replies(self) -> list[str]:
        return replies(self.transcript.entries)

    def copy_text(self, text: str) -> str:
        self.copy_to_clipboard(visible(text))  # whoever pastes it into a shell has what was on the screen
        return "Copied, if this terminal lets programs copy (OSC 52)."

    def run(self, *args: Any, **options: Any) -> None:
        """Run it; then leave the conversation on the terminal, where it can be scrolled to."""
        super().run(*args, **options)
        print_conversation(self.transcript.entries, self.look)

    def show_permissions(self, granted: Sequence[Granted]) -> str:
        self.push_screen(PermissionList(granted, self.session.revoke))
        return ""

    @work
    async def choose_task(self) -> None:
        """Let the user choose a task, and show it."""
        services = self.session.services
        tasks = await asyncio.to_thread(services.tasks)
        chosen = await self.push_screen_wait(TaskPicker(tasks, str(services.folder)))
        if chosen:
            self._note(resume_task(self, chosen))
            self._show_status()

    @work
    async def _add_note(self, words: str) -> None:
        """Add a line to AGENTS.md, if the user wants the change that it makes."""
        try:
            plan = self.session.services.plan_note(words)
            if await self.push_screen_wait(ConfirmDiff(f"Add this to {plan.path.name}?", plan.diff)):
                plan.write()
                self._note(f"Added to {plan.path.name}; tasks read it when they are opened.")
            else:
                self._note("Nothing was added.")
        except JoeyError as error:
            self._note(str(error), "error")

    @work
    async def choose_model(self) -> None:
        """Let the user choose a model, and use it from now on."""
        found = await asyncio.to_thread(self.session.services.model_choices)
        chosen = await self.push_screen_wait(ModelPicker(found, self.session.status.model)) if found else None
        if chosen:
            self._note(run_command(self, f"/model {chosen}"))
            self._show_status()

    def set_theme(self, which: str) -> str:
        self.theme = f"textual-{which}" if which in ("dark", "light") else which
        return f"The theme is {which}, here and from now on."

    def action_close(self) -> None:
        self.close()

    @work(exclusive=True, group="closing")
    async def close(self, why: str = "Joey was closed") -> None:
        """End what runs, so that it can be resumed, and quit."""
        if self.session.task is not None and self._worker is not None:
            self.session.task.send(Cancel(why))
            await self._worker.wait()
        self._window_title.give_back()
        self.exit()

    async def on_unmount(self) -> None:
        self._clipboard_images.close()
        if self._status_command is not None:
            await self._status_command.close()
        await self.session.close()


def with_names(text: str, images: Sequence[ImageFile]) -> str:
    """The text, with the names of attached images that it does not name itself."""
    unnamed = [each.path.name for each in images if each.path.name not in text]
    return "\n".join([*([text] if text else []), *(f"[image: {name}]" for name in unnamed)])
