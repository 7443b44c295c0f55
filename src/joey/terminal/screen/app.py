"""The interactive terminal. It watches events and answers requests; the task runs beside it in the same loop.

    idle  --the user sends a message-->  busy  --the task finishes-->  idle
    busy: messages wait for the model (Say); a request shows its panel, and a key or words answer it; Esc cancels

After a task has ended, the next message continues the same task; /new starts another.

    DisplayApp      what is on the screen, and moving about in it
    EnteringApp     menus, images and the editor, around the input
    WorkingApp      the task: its events, its answers, the user's own commands
    CommandingApp   what `/` commands do
    Interactive     here: the widgets, the start, what a message is, the keys that end something, the end
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from time import monotonic
from typing import Any

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.widgets import Static

from joey.app.notes_for_later import note_in
from joey.app.services import Choices, Services
from joey.commands import Say
from joey.errors import JoeyError
from joey.frames import own_words
from joey.messages import ImageBlock
from joey.system.signals import handled_signals, release_terminal
from joey.terminal.attachments import ImageFile
from joey.terminal.first_frame import TerminalSettings
from joey.terminal.screen.answering import KeyGate, answer_by_words
from joey.terminal.screen.commanding import CommandingApp
from joey.terminal.screen.driver import LastingDriver
from joey.terminal.screen.prompt import Prompt
from joey.terminal.screen.request_panel import RequestPanel
from joey.terminal.screen.search import SearchBar
from joey.terminal.screen.transcript_view import TranscriptView
from joey.terminal.scrollback import matches, print_conversation
from joey.terminal.session import Session
from joey.terminal.slash import KEYS, is_for_the_terminal, resume_task, run_command
from joey.terminal.users_commands import is_command
from joey.terminal.welcome import welcome

_TWICE = 2.0
"""Within how many seconds a second Ctrl+C quits."""


class Interactive(CommandingApp):
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
        super().__init__(Session(services, choices))
        self._terminal_settings = terminal_settings
        self._gate = gate or KeyGate()
        self._first = first
        self._stopped_at = -inf

    # The start

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

    def get_driver_class(self) -> type[Driver]:
        usual = super().get_driver_class()
        return LastingDriver if usual is LinuxDriver else usual

    def _build_driver(self, *args: Any, **options: Any) -> Driver:
        driver = super()._build_driver(*args, **options)
        if isinstance(driver, LastingDriver):
            driver.own_settings = self._terminal_settings
        return driver

    def on_mount(self) -> None:
        self._begin_to_show()
        self.query_one(Prompt).focus()
        self._begin(self.session.choices)
        self._draw()
        self.reports_errors = True
        if self._first:
            self.post_message(Prompt.Sent(self._first))

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
            self.query_one(Prompt).put(message.text)
            return
        self._say(with_names(text, message.images), images)

    def _say(self, text: str, images: Sequence[ImageBlock]) -> None:
        if self.session.closing:
            self.session.when_ended(lambda: self._say(text, images))
            return
        panel = self.query_one(RequestPanel)
        comment, seen = panel.commenting, panel.gate.is_seen
        answer = answer_by_words(panel.request, text, comment=comment, seen=seen) if panel.request else None
        if not text and panel.request is not None and not panel.commenting:
            return  # an empty Enter answers by key, or not at all
        if self.session.task is not None:
            words = answer or Say(text)
            words = replace(words, text=self.session.for_the_model(words.text), images=tuple(images))
            if (text or answer) and not self._reached(words) and words.text:
                self.session.when_ended(lambda: self._say(words.text, images))  # nobody is there for it any more
        elif self.busy:
            self._early.append(Say(self.session.for_the_model(text), tuple(images)))
        elif text or self.session.choices.resume:
            self._show_what_happened_elsewhere()
            if text:
                self._touch(self.transcript.open_with(own_words(text)))
            self._run(self.session.for_the_model(text), images)

    # Keys that clear, stop or quit

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
            self.query_one("#shortcuts").display = False
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

    def action_close(self) -> None:
        self.close()

    # The end

    async def run_async(self, **options: Any) -> None:
        with handled_signals(self._end_by_signal):
            await super().run_async(**options)

    def _end_by_signal(self, number: signal.Signals) -> None:
        """Close in order, with every command that runs, also where the terminal itself is gone."""
        closed = number == signal.SIGHUP
        if closed:
            release_terminal()
        self.call_later(self.close, "the terminal was closed" if closed else f"ended by {number.name}")

    def run(self, *args: Any, **options: Any) -> None:
        """Run it; then leave the conversation on the terminal, where it can be scrolled to."""
        super().run(*args, **options)
        print_conversation(self.transcript.entries, self.look)

    async def on_unmount(self) -> None:
        self._clipboard_images.close()
        if self._status_command is not None:
            await self._status_command.close()
        await self.session.close()


def with_names(text: str, images: Sequence[ImageFile]) -> str:
    """The text, with the names of attached images that it does not name itself."""
    unnamed = [each.path.name for each in images if each.path.name not in text]
    return "\n".join([*([text] if text else []), *(f"[image: {name}]" for name in unnamed)])
