"""What is on the screen: the conversation, what is being done, the request that waits, the input, the status line.

    entries that changed --_touch--> drawn some twenty times a second: how fast a model streams costs nothing more

No timer runs while nothing changes and nothing is being done. What drives this (tasks, keys, commands) is in the
classes above; here is only how it is shown, and how one moves about in it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import inf
from time import monotonic

from rich.theme import Theme
from textual import work
from textual.content import Content
from textual.events import Resize
from textual.filter import LineFilter
from textual.widgets import Static

from joey.errors import JoeyError
from joey.events import ApprovalRequested, CompletionRequested, Request
from joey.system.place import NamedPlace
from joey.system.visible import one_line
from joey.terminal.activity import FRAMES_A_SECOND, IDLE, Activity, draw_activity
from joey.terminal.attachments import Clipboard, ImageFile
from joey.terminal.notes import NoteKind
from joey.terminal.notify import Notifier, WindowTitle
from joey.terminal.screen.editor import edited, editor_command
from joey.terminal.screen.filters import Colourless, Safe
from joey.terminal.screen.look import ScreenLook, background, draw_attached
from joey.terminal.screen.prompt import Prompt
from joey.terminal.screen.request_panel import RequestPanel
from joey.terminal.screen.search import SearchBar
from joey.terminal.screen.survival import SurvivingApp
from joey.terminal.screen.transcript_view import TranscriptView
from joey.terminal.screen.typeahead import TypeaheadApp
from joey.terminal.screen.vim import NORMAL
from joey.terminal.session import Session
from joey.terminal.status import status_line
from joey.terminal.status_command import StatusCommand, status_json
from joey.terminal.transcript import Entry, Note, Transcript, UserText
from joey.tools.builtin import builtin_display

_DRAWINGS_A_SECOND = 20
_PLAN = "plan"
_CHANGING = ("edit", "execute")
"""What calls do that the plan profile denies."""
_COUNT_EVERY = 2.0
"""How often the commands in the background are counted, while there are any: they end by themselves."""
_NOTIFY = ("terminal.notify", "terminal.notify_when", "terminal.notify_command")


_LOOK_AGAIN = 3.0
"""After how many seconds the files are looked up again, while one is being mentioned."""


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
        self._requested_under: dict[str, str] = {}
        """The approval profile that was in force when a request was shown first."""
        self._in_full = False
        self._status_command: StatusCommand | None = None
        self._own_status = ""
        self._files: Sequence[str] = ()
        self._looked_at = -inf
        self._clipboard_images = Clipboard()
        self._activity = IDLE
        """What the task does."""
        self._received_at = 0.0
        """When its last event came."""

    def _begin_to_show(self) -> None:
        """Once there is a screen: the look, and the timers."""
        services = self.session.services
        self.set_theme(services.setting("terminal.theme"))
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
        found = "light" if suits_light(os.environ.get("COLORFGBG", "")) else "dark"
        chosen = found if which == "auto" else which
        self.theme = f"textual-{chosen}" if chosen in ("dark", "light") else chosen
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

    def _note_once(self, text: str) -> None:
        """A line that need not be there twice in a row."""
        last = next((entry for entry in reversed(self.transcript.entries) if not entry.dropped), None)
        if not (isinstance(last, Note) and last.text == text):
            self._note(text)

    def show_error(self, line: str) -> None:
        self._note(line, "error")

    # The lines around it

    def _write_to_terminal(self, codes: str) -> None:
        if self._driver is not None and not self.is_headless:
            self._driver.write(codes)

    def _show_title(self) -> None:
        first = next((entry.text for entry in self.transcript.entries if isinstance(entry, UserText)), "")
        place = self.session.services.place()
        self._window_title.show(first, place.folder)
        self._show_place(place)

    def _show_place(self, place: NamedPlace) -> None:
        """Folder and branch on the frame of the input: again and again, since commands switch branches."""
        for prompt in self.query(Prompt):
            if prompt.border_subtitle != NORMAL:
                prompt.border_subtitle = Content(one_line(str(place)))

    def _show_status(self) -> None:
        self._show_title()
        status = replace(self.session.status, own=self._own_status)
        if any(not isinstance(request, CompletionRequested) for _, request in self.transcript.pending):
            status = replace(status, activity="your turn")  # also while subtasks work beside it
        self.query_one("#status", Static).update(status_line(status, max(10, self.size.width - 2)))
        if self._status_command is not None:
            services, task = self.session.services, self.session.choices.resume or ""
            journal = services.journal_path(task) if task else None
            self._status_command.changed(status_json(self.session.status, services.folder, task, journal))

    def _show_own_status(self, words: str) -> None:
        self._own_status = words
        self._show_status()

    def _show_activity(self) -> None:
        """The line that says what is being done, and what Esc ends: what the task does, or the newest of the user's
        own commands. Its timer runs only while something is."""
        own, activity = self.session.own_commands, self._activity
        if activity.is_idle and own:
            newest = own.pop()
            activity = Activity("running", f"running {one_line(newest.command)}", newest.since)
        for line in self.query("#activity").results(Static):
            line.display = not activity.is_idle
            if activity.is_idle:
                self._spinner.pause()
            else:
                self._spinner.resume()
                now, width = self.clock(), max(10, self.size.width - 2)
                silent = now - self._received_at
                line.update(draw_activity(activity, now, width, self._stops, beside=len(own), silent=silent))

    @property
    def _stops(self) -> str:
        """What Esc does: the commands in the background end with the task that it interrupts."""
        jobs = 0 if self._activity.is_idle else self.session.status.jobs
        return f"Esc interrupts and ends {background(jobs)}" if jobs else "Esc to interrupt"

    def _count_jobs(self) -> None:
        for job in self.session.ended_jobs():
            self._touch(*self.transcript.job_ended(job))
        if self.session.count_jobs():
            self._show_status()
            self._show_request()
        (self._counter.resume if self.session.status.jobs else self._counter.pause)()

    def _notifier(self) -> Notifier:
        way, when, command = map(self.session.services.setting, _NOTIFY)
        return Notifier(way, command or "", when == "always", self._write_to_terminal)

    def _show_request(self) -> None:
        """Show the oldest request."""
        pending = self._requests = [*self.transcript.pending]
        task_id, request = pending[0] if pending else ("", None)
        source = self.session.subtasks.source(task_id, request) if request else None
        at_end = self.query_one(TranscriptView).is_at_end
        denied = request is not None and self._is_denied_by_now(request)
        self.query_one(RequestPanel).show(
            request, self.look, source=source, waiting=len(pending), at_end=at_end, denied=denied,
            jobs=self.session.status.jobs,
        )  # fmt: skip

    def _is_denied_by_now(self, request: Request) -> bool:
        """Whether it is about a change, and the plan profile was chosen after it."""
        before = self._requested_under.setdefault(request.request_id, self.session.profile)
        changes = isinstance(request, ApprovalRequested) and builtin_display(request.name).kind in _CHANGING
        return changes and before != _PLAN == self.session.profile

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
        for prompt in self.query(Prompt):  # there is none any more while the screen is taken down
            prompt.show_below(is_below=not message.at_end)
        if message.at_end:
            self.query_one(RequestPanel).end_in_view()

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
            self.query_one(TranscriptView).bring(message.place, message.words)

    # Around the input: files to mention, the list of keys

    def _insert(self, text: str) -> None:
        self.query_one(Prompt).insert(text)

    def _invite(self, text: str) -> None:
        self.query_one(Prompt).placeholder = text

    def _show_folder(self) -> None:
        self._show_title()
        self._look_for_files()

    def on_prompt_wants_keys(self) -> None:
        shown = self.query_one("#shortcuts", Static)
        shown.display = not shown.display

    def on_text_area_changed(self) -> None:
        self.query("#shortcuts").set(display=False)
        for panel in self.query(RequestPanel):  # there is none any more while the screen is taken down
            panel.show_text(self.query_one(Prompt).text)

    def _look_for_files(self) -> None:
        self._looked_at = self.clock()
        self._find_files()

    def _look_again(self) -> None:
        """There may be new ones since."""
        if self.clock() - self._looked_at > _LOOK_AGAIN:
            self._look_for_files()

    @work(thread=True, exclusive=True, group="files")
    def _find_files(self) -> None:
        """Find what can be mentioned, beside everything else: a large folder takes a while."""
        files = ["@" + path.replace("\\", "\\\\").replace(" ", "\\ ") for path in self.session.services.files()]
        self.call_from_thread(self._found_files, files)

    def _found_files(self, files: list[str]) -> None:
        self._files = [each for each in files if "\n" not in each and "\r" not in each]  # no mention has a line end
        for prompt in self.query(Prompt):
            prompt.offer_again()

    # Images

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

    # The editor

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
            prompt.put(text)
            prompt.focus()

    @contextmanager
    def _terminal_released(self) -> Iterator[None]:
        """Let another program have the terminal. Without one (in tests) there is nothing to release."""
        if self.is_headless:
            yield
            return
        failed: BaseException | None = None
        with self.suspend(), self.batch_update():
            try:
                yield
            except BaseException as error:  # noqa: BLE001 - it would leave the terminal released for good
                failed = error
        if failed is not None:
            raise failed
