"""The interactive terminal. It watches events and answers requests; the task runs beside it in the same loop.

    idle  --the user sends a message-->  busy  --the task finishes-->  idle
    busy: messages wait for the model (Say); a request shows its panel, and a key or words answer it; Esc cancels

After a task has ended, the next message continues the same task; /new starts another.

    DisplayApp      what is on the screen, and moving about in it; files, images and the editor, around the input
    WorkingApp      the task: its events, its answers, the user's own commands
    Interactive     here: the widgets, the start, what a message is, `/` commands, the keys that end something, the end
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from math import inf
from time import monotonic
from typing import Any

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.widgets import Static

from joey.app.notes_for_later import NotePlan, note_in
from joey.app.services import Choices, Services
from joey.commands import Say
from joey.errors import JoeyError
from joey.events import CompletionRequested
from joey.frames import own_words
from joey.messages import ImageBlock
from joey.permissions import Granted
from joey.system.signals import handled_signals, release_terminal
from joey.system.visible import visible
from joey.task.log import write_down
from joey.terminal.attachments import ImageFile, attached_line, read_images
from joey.terminal.drawing import is_searched_in_part
from joey.terminal.first_frame import TerminalSettings
from joey.terminal.screen.answering import KeyGate, answer_by_words
from joey.terminal.screen.confirm import ConfirmDiff
from joey.terminal.screen.driver import LastingDriver
from joey.terminal.screen.menu import draw_menu
from joey.terminal.screen.permissions import PermissionList
from joey.terminal.screen.picker import ModelPicker, TaskPicker
from joey.terminal.screen.places import places
from joey.terminal.screen.prompt import Prompt
from joey.terminal.screen.request_panel import RequestPanel
from joey.terminal.screen.search import SearchBar
from joey.terminal.screen.survival import Shown
from joey.terminal.screen.transcript_view import TranscriptView
from joey.terminal.screen.working import WorkingApp
from joey.terminal.scrollback import print_conversation, replies
from joey.terminal.session import Session
from joey.terminal.slash import (
    CHOOSE_TASK,
    KEYS,
    TYPE_TO_CONTINUE,
    command_hints,
    is_for_the_terminal,
    resume_task,
    run_command,
)
from joey.terminal.users_commands import is_command
from joey.terminal.welcome import welcome

_TWICE = 2.0
"""Within how many seconds a second Ctrl+C quits."""


class Interactive(WorkingApp):
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
        self.failure = ""
        """Why it had to end, in a line; empty if the user quit."""

    # The start

    def compose(self) -> ComposeResult:
        services = self.session.services
        with Vertical(id="conversation"):
            yield TranscriptView(self.transcript.entries)
            yield RequestPanel(self._gate, self._insert, self._invite)
        yield Shown(id="activity")
        yield SearchBar(
            lambda words: places(self.transcript.entries, words),
            lambda: not any(map(is_searched_in_part, self.transcript.entries)),
        )
        yield Shown(id="completions")
        yield Static(KEYS, id="shortcuts")
        yield Shown(id="attached")
        yield Prompt(
            self._candidates, services.folder, self.session.history.read(), self._take_back,
            lambda key, text: self.query_one(RequestPanel).takes(key, text),
            vim=services.setting("terminal.vim"),
        )  # fmt: skip
        yield Shown(id="status")

    def get_driver_class(self) -> type[Driver]:
        usual = super().get_driver_class()
        return LastingDriver if usual is LinuxDriver else usual

    def _build_driver(self, *args: Any, **options: Any) -> Driver:
        driver = super()._build_driver(*args, **options)
        if isinstance(driver, LastingDriver):
            driver.own_settings = self._terminal_settings
            driver.unread = lambda error: self.call_later(self.report, error)
            driver.broken = lambda error: self.call_later(self._end_by_error, error)
        return driver

    def on_mount(self) -> None:
        if self._first == CHOOSE_TASK:
            self.type_into(TaskPicker)
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
        panel = self.query_one(RequestPanel)
        commenting = panel.commenting
        if not commenting and text in ("!", "!!"):
            self._note("Nothing was sent: type a command behind the exclamation mark.")
            return
        if not commenting and is_command(text):
            self._run_users_command(text)
            return
        if not commenting and (note := note_in(text)):
            self._add_note(note)
            return
        if not commenting and is_for_the_terminal(text, self.session.services.commands(), panel.request):
            self._note(run_command(self, text))
            self._show_status()
            return
        found = read_images(message.images, self.session.services.image)
        self._say(with_names(text, message.images), found.images)
        self._note(attached_line(found))
        for line in found.not_attached:
            self._note(line, "warning")

    def _say(self, text: str, images: Sequence[ImageBlock]) -> None:
        if self.session.closing:
            self.session.when_ended(lambda: self._say(text, images))
            return
        panel = self.query_one(RequestPanel)
        comment, seen = panel.commenting, panel.gate.is_seen and panel.is_read
        answer = answer_by_words(panel.request, text, comment=comment, seen=seen) if panel.request else None
        if not text and panel.request is not None and not panel.commenting:
            return  # an empty Enter answers by key, or not at all
        if panel.opens_editor(text):
            return
        if self.session.task is not None:
            if answer is not None and answer.yes and text and isinstance(panel.request, CompletionRequested):
                self._note(f"“{text}” accepts the result." if not panel.request.plan else "")
            words = answer or Say(text)
            words = replace(words, text=self.session.for_the_model(words.text), images=tuple(images))
            if (text or answer) and not self._reached(words) and words.text:
                self.session.when_ended(lambda: self._say(words.text, images))  # nobody is there for it any more
        elif self.busy:
            if text:
                self._early.append(Say(self.session.for_the_model(text), tuple(images)))
                self._touch(self.transcript.wait_with(own_words(text)))
        elif text or self.session.enter_continues:
            self._show_what_happened_elsewhere()
            if text:
                self._touch(self.transcript.open_with(own_words(text)))
            self._run(self.session.for_the_model(text), images)
        elif self.session.choices.resume:
            self._note_once(TYPE_TO_CONTINUE)

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

    def _end_by_error(self, error: Exception) -> None:
        """Close in order where nobody can type any more; the draft is kept."""
        self.failure = f"Joey had to close: {write_down(error, self.error_log)}."
        self.close("the keyboard cannot be read any more")

    def run(self, *args: Any, **options: Any) -> None:
        """Run it; then leave the conversation on the terminal, where it can be scrolled to."""
        super().run(*args, **options)
        print_conversation(self.transcript.entries, self.look)

    async def on_unmount(self) -> None:
        self._clipboard_images.close()
        if self._status_command is not None:
            await self._status_command.close()
        await self.session.close()

    # `/` commands: their menu, and what they do here, as those of a `Front`

    def on_prompt_completing(self, message: Prompt.Completing) -> None:
        shown, menu = self.query_one("#completions", Static), message.menu
        hints: dict[str, str] = {}
        if menu.found[:1] and menu.found[0][0] == "/":
            services = self.session.services
            hints = command_hints(services.commands())
            hints |= {
                f"/{name}": f"{what}  {hints.get(f'/{name}', '')}" for name, what in services.command_hints().items()
            }
        shown.display = bool(menu.found)
        shown.update(draw_menu(menu, hints))

    def _candidates(self, sign: str) -> Sequence[str]:
        if sign == "@":
            self._look_again()
        own = [*command_hints(self.session.services.commands())] if sign == "/" else self._files
        return [*own, *self.session.offered_by_servers(sign)]

    def replies(self) -> list[str]:
        return replies(self.transcript.entries)

    def copy_text(self, text: str) -> str:
        self.copy_to_clipboard(visible(text))  # whoever pastes it into a shell has what was on the screen
        return "Copied, if this terminal lets programs copy (OSC 52)."

    @work
    async def show_later(self, reply: Awaitable[str]) -> None:
        try:
            self.show(await reply)
        except JoeyError as error:
            self._note(str(error), "error")

    def show_permissions(self, granted: Sequence[Granted]) -> str:
        self.push_screen(PermissionList(granted, self.session.revoke, self._new_gate(), self.query_one(Prompt)))
        return ""

    def _new_gate(self) -> KeyGate:
        """For a question of the terminal's own: keys answer it as they do a request."""
        return KeyGate(self.clock, quiet=self._gate.quiet, hold=self._gate.hold)

    @work
    async def choose_task(self) -> None:
        """Let the user choose a task, and show it."""
        services = self.session.services
        self.type_into(TaskPicker)
        try:
            tasks = await asyncio.to_thread(services.tasks)
        except BaseException:
            await self.type_what_was_kept()
            raise
        chosen = await self.push_screen_wait(TaskPicker(tasks, str(services.folder)))
        if chosen:
            self._note(run_command(self, f"/resume {chosen}"))
            self._show_status()

    @work
    async def choose_model(self) -> None:
        """Let the user choose a model, and use it from now on."""
        found = await asyncio.to_thread(self.session.services.model_choices)
        chosen = await self.push_screen_wait(ModelPicker(found, self.session.status.model)) if found else None
        if chosen:
            self._note(run_command(self, f"/model {chosen}"))
            self._show_status()

    @work
    async def _add_note(self, words: str) -> None:
        """Add a line to AGENTS.md, if the user wants the change that it makes."""

        async def confirm(plan: NotePlan) -> bool:
            dialog = ConfirmDiff(plan.question, plan.diff, self._new_gate(), self.query_one(Prompt))
            confirmed = await self.push_screen_wait(dialog)
            return bool(confirmed)

        try:
            self._note(await self.session.services.add_note(words, confirm))
        except JoeyError as error:
            self._note(str(error), "error")


def with_names(text: str, images: Sequence[ImageFile]) -> str:
    """The text, with the names of attached images that it does not name itself."""
    unnamed = [each.path.name for each in images if each.path.name not in text]
    return "\n".join([*([text] if text else []), *(f"[image: {name}]" for name in unnamed)])
