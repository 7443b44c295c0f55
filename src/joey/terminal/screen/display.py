"""What is on the screen: the conversation, what is being done, the request that waits, and the status line.

    entries that changed --_touch--> drawn some twenty times a second: how fast a model streams costs nothing more

No timer runs while nothing changes and nothing is being done. What drives this (tasks, keys, commands) is in the
classes above; here is only how it is shown, and how one moves about in it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import monotonic

from rich.theme import Theme
from textual.events import Resize
from textual.filter import LineFilter
from textual.widgets import Static

from joey.events import CompletionRequested, Request
from joey.terminal.activity import FRAMES_A_SECOND, IDLE, draw_activity
from joey.terminal.notes import NoteKind
from joey.terminal.notify import Notifier, WindowTitle
from joey.terminal.screen.filters import Colourless, Safe
from joey.terminal.screen.look import ScreenLook
from joey.terminal.screen.prompt import Prompt
from joey.terminal.screen.request_panel import RequestPanel
from joey.terminal.screen.search import SearchBar
from joey.terminal.screen.survival import SurvivingApp
from joey.terminal.screen.transcript_view import TranscriptView
from joey.terminal.screen.typeahead import TypeaheadApp
from joey.terminal.session import Session
from joey.terminal.status import status_line
from joey.terminal.status_command import StatusCommand, status_json
from joey.terminal.transcript import Entry, Note, Transcript, UserText

_DRAWINGS_A_SECOND = 20
_COUNT_EVERY = 2.0
"""How often the commands in the background are counted, while there are any: they end by themselves."""
_NOTIFY = ("terminal.notify", "terminal.notify_when", "terminal.notify_command")


def suits_light(colours: str) -> bool:
    """Whether the terminal reports a light background, in $COLORFGBG: `0;15`."""
    return colours.rpartition(";")[2] in ("7", "15")


class DisplayApp(SurvivingApp, TypeaheadApp):
    """Shows a session. The widgets are those of `Interactive.compose`."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        self.error_log = session.services.storage
        self.transcript = Transcript()
        self.clock: Callable[[], float] = monotonic
        self.notifier: Notifier | None = None
        """Tells the user that it is their turn; made of the settings unless it is given."""
        # Rich puts code in a line on black, which is a hole in a light background.
        self.console.push_theme(Theme({"markdown.code": "bold cyan"}))
        self._line_filters: list[LineFilter] = [Safe(), Colourless()] if self.no_color else [Safe()]
        self._window_title = WindowTitle(self._write_to_terminal)
        self._changed: dict[int, Entry] = {}
        self._will_draw = False
        self._requests: list[tuple[str, Request]] = []
        self._in_full = False
        self._status_command: StatusCommand | None = None
        self._own_status = ""
        self._activity = self._users_activity = IDLE
        """What is being done, and what of it is a command of the user's own."""

    def _begin_to_show(self) -> None:
        """Once there is a screen: the look, and the timers."""
        services = self.session.services
        theme = services.setting("terminal.theme")
        if theme != "auto":
            self.set_theme(theme)
        elif suits_light(os.environ.get("COLORFGBG", "")):
            self.theme = "textual-light"
        self.notifier = self.notifier or self._notifier()
        self.theme_changed_signal.subscribe(self, lambda _theme: self._redraw())
        self.app_resume_signal.subscribe(self, lambda _app: self.screen.refresh(layout=True))  # after Ctrl+Z and `fg`
        if command := services.setting("terminal.status_command"):
            self._status_command = StatusCommand(command, services.folder, self._show_own_status)
        self._spinner = self.set_interval(1 / FRAMES_A_SECOND, self._show_activity, pause=True)
        self._counter = self.set_interval(_COUNT_EVERY, self._count_jobs, pause=True)
        self.query("#activity, #completions, #shortcuts, #attached").set(display=False)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """What every line goes through last. Without colour, ours alone: shades of grey are colours, too."""
        return self._line_filters if self.no_color else [*super().get_line_filters(), *self._line_filters]

    @property
    def look(self) -> ScreenLook:
        return ScreenLook(self._in_full, self.current_theme.dark)

    def set_theme(self, which: str) -> str:
        self.theme = f"textual-{which}" if which in ("dark", "light") else which
        return f"The theme is {which}, here and from now on."

    # The conversation

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

    def show_error(self, line: str) -> None:
        self._note(line, "error")

    # The lines around it

    def _write_to_terminal(self, codes: str) -> None:
        if self._driver is not None and not self.is_headless:
            self._driver.write(codes)

    def _show_title(self) -> None:
        first = next((entry.text for entry in self.transcript.entries if isinstance(entry, UserText)), "")
        self._window_title.show(first, self.session.services.place().folder)

    def _show_status(self) -> None:
        self._show_title()
        status = replace(self.session.status, own=self._own_status)
        if any(not isinstance(request, CompletionRequested) for _, request in self.transcript.pending):
            status = replace(status, activity="your turn")  # also while subtasks work beside it
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
        return Notifier(way, command or "", when == "always", self._write_to_terminal)

    def _show_request(self) -> None:
        """Show the oldest request."""
        pending = self._requests = [*self.transcript.pending]
        task_id, request = pending[0] if pending else ("", None)
        source = self.session.subtasks.source(task_id, request) if request else None
        self.query_one(RequestPanel).show(request, self.look, source=source, waiting=len(pending))

    def on_resize(self, _event: Resize) -> None:
        self.call_after_refresh(self._resized)  # the size is still the old one

    def _resized(self) -> None:
        self._show_status()
        self._show_activity()
        self.query_one(RequestPanel).resized()

    # Moving about

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
