"""The panel above the input: the request that waits for the user, in full, and the keys that answer it.

The input always has the keyboard. It hands every key to this panel first, and the panel takes the ones that answer
(`answering`), choose a suggestion or scroll. What can be pressed now is written in the last lines, and nothing else is.
The frame says which part of a long request is in view, and how many requests wait. Where a list or another screen
covers it, where the window is too small for it, or where the plan or the result above it has not been in view yet, no
key answers, and it says why. A command, or whatever else is no diff, has to be read to its end before a key approves
it. When the model is done there is no question: that line is all there is, and the input is ready for whatever is next.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.errors import NoWidget
from textual.geometry import Region
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from joey.commands import Answer
from joey.events import ApprovalRequested, CompletionRequested, QuestionRequested, Request
from joey.messages import ShownDiff
from joey.terminal.drawing import Look, draw_request
from joey.terminal.plain.margin import behind
from joey.terminal.screen.answering import Comment, EditPlan, Given, Held, KeyGate, answer_typed, choice_of, choices
from joey.terminal.screen.look import invitation, is_plan, request_keys
from joey.terminal.screen.survival import Shown, Survives
from joey.terminal.subtasks import RequestSource, draw_source

_TEXT_FIRST = "Enter sends your text · Ctrl+C clears it · without text, a key answers this"
_COMMENTING = "Why not?"
_COMMENT = "Enter sends your comment with the no · Esc goes back"


_NO_ROOM = "No room for the request: make the window larger, or close what covers it (Esc)"
_NOT_SEEN = "There is more to read before you answer: Ctrl+End shows it"
_READ_ON = "There is more below: y reads on · End shows the end · n no · c why not"
_DENIED = "The plan profile denies this: n no · c no, with a comment · Shift+Tab changes the profile"
_MIN_ROWS = 3
"""How many rows of a longer request must be in view before a key answers it: what it is, and the beginning of it."""
_SMALL = 16
"""In a window of fewer rows, the answers are named in one line, and what they allow stands in the request."""


class Gutter:
    """Words of others: each line behind a bar, what continues a line behind an arrow. None of them looks like a key."""

    def __init__(self, text: Text) -> None:
        self._text = text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield behind(self._text, "│ ", "│ ", options.max_width, wrapped="↪ ")


class RequestBody(VerticalScroll, can_focus=False):
    """The request itself. `moved` is called when another part of it is in view."""

    def __init__(self, moved: Callable[[], object]) -> None:
        super().__init__(id="request-body")
        self._moved = moved

    @property
    def place(self) -> str:
        """Which lines are in view, unless all of them are."""
        rows, height = self.virtual_size.height, self.size.height
        if rows <= height or not height:
            return ""
        first = round(self.scroll_offset.y) + 1
        return f"lines {first}-{min(first + height - 1, rows)} of {rows}"

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._moved()

    def on_resize(self) -> None:
        self._moved()


class RequestPanel(Survives, Vertical):
    """Shows one request at a time."""

    _MOVES: ClassVar = {"up": -1, "down": 1}

    @dataclass
    class Answered(Message):
        """A key gave the answer."""

        answer: Answer

    @dataclass
    class WantsEditor(Message):
        """The user wants to edit the plan before it is carried out."""

        edit: EditPlan

    def __init__(self, gate: KeyGate, insert: Callable[[str], object], invite: Callable[[str], object]) -> None:
        """`insert` puts characters into the input, `invite` says there what can be typed."""
        super().__init__(id="request")
        self._insert, self._invite = insert, invite
        self.gate = gate
        self.commenting = False
        """Whether what is typed is the reason for a no."""
        self._text = ""
        self._source: RequestSource | None = None
        self._look = Look()
        self._end_was_seen = True
        """Whether the end of the conversation, with the plan or the result, was in view since the request appeared."""
        self._end_was_read = False
        """Whether the last line of the request was in view."""
        self._is_laid_out = False
        """Whether the request has its rows by now. Until then, those of the one before it would be counted."""
        self._jobs = 0
        self._denied = False
        """Whether the profile that is in force by now denies it, whatever the answer is."""
        self._parts: list[RenderableType] = []
        """The request as it is drawn; that of a question ends with its suggestions."""
        self._chosen: int | None = None
        """The suggestion that Enter picks."""
        self.display = False

    @property
    def request(self) -> Request | None:
        return self.gate.request

    @property
    def accepts_keys(self) -> bool:
        """Whether a key answers now."""
        return not self.commenting and self.gate.is_ready(self._text)

    @property
    def is_read(self) -> bool:
        """Whether nothing is approved that the user has not seen: a command may do anything in its last line. A diff
        need not be read to its end; what it changes is named first, and can be undone."""
        request, body = self.request, self.query_one(RequestBody)
        if not isinstance(request, ApprovalRequested) or any(isinstance(each, ShownDiff) for each in request.shown):
            return True
        self._end_was_read = self._end_was_read or body.scroll_offset.y >= body.max_scroll_y
        return self._end_was_read

    @property
    def _is_scrollable(self) -> bool:
        """Whether there is more of the request than is shown. Where the model is done, nothing of it is shown."""
        return not self.has_class("ended") and self.query_one(RequestBody).max_scroll_y > 0

    # Whether it is in view

    def on_mount(self) -> None:
        self.app.screen_change_signal.subscribe(self, lambda _screen: self._came_back())
        self.app.app_resume_signal.subscribe(self, lambda _app: self._came_back())

    def _came_back(self) -> None:
        """Another screen, or another program, was in front: whatever it covered is new to the user."""
        if self.request is not None:
            self.gate.uncovered(in_view=self._is_in_view)
            self._settle()

    def end_in_view(self) -> None:
        """The end of the conversation came into view."""
        if not self._end_was_seen:
            self._end_was_seen = True
            self._check_view()

    def on_resize(self) -> None:
        self._check_view()

    def _check_view(self) -> None:
        if self.request is not None and self._is_in_view != self.gate.is_in_view:
            self.gate.uncovered(in_view=not self.gate.is_in_view)
            self._settle()

    @property
    def _is_in_view(self) -> bool:
        is_seen = self._end_was_seen or not isinstance(self.request, CompletionRequested)
        return self._is_laid_out and self._has_room and is_seen

    @property
    def _has_room(self) -> bool:
        """Whether the keys are in view, and of the request at least its beginning."""
        if self.app.screen is not self.screen:
            return False
        keys, body = self.query_one("#keys"), self.query_one(RequestBody)
        if self._rows_in_view(keys) < max(1, keys.size.height):
            return False
        needed = min(_MIN_ROWS, body.virtual_size.height)
        return self.has_class("ended") or self._rows_in_view(body) >= max(1, needed)

    def _rows_in_view(self, widget: Widget) -> int:
        try:
            return self.screen.find_widget(widget).visible_region.height
        except NoWidget:
            return 0

    def compose(self) -> ComposeResult:
        with RequestBody(self._moved):
            yield Shown(id="request-text")
        yield Shown(id="keys")

    def show(
        self,
        request: Request | None,
        look: Look,
        *,
        source: RequestSource | None = None,
        waiting: int = 1,
        at_end: bool = True,
        denied: bool = False,
        jobs: int = 0,
    ) -> None:
        """Show this one of so many that wait; `source` is the subtask that it is about. `at_end`: the end of the
        conversation is in view. `denied`: the plan profile was chosen since, and a yes would change nothing.
        So many `jobs` end with the task if its result is accepted."""
        self._source, self._look, self._denied, self._jobs = source, look, denied, jobs
        self.border_title = Content(f"the first of {waiting} requests" if waiting > 1 else "")
        self.display = request is not None
        self.set_class(isinstance(request, CompletionRequested) and not is_plan(request), "ended")
        if self.gate.show(request):
            self.commenting, self._chosen, self._end_was_seen = False, None, at_end
            self._end_was_read = self._is_laid_out = False
            self.gate.uncovered(in_view=False)
            self.query_one(RequestBody).scroll_home(animate=False)
            self.call_after_refresh(self.call_after_refresh, self._laid_out, request)
        if request is not None:
            self._draw(request)
        self._settle()

    def _laid_out(self, request: Request | None) -> None:
        """Twice after a refresh: only then is its height known, and its first row in view."""
        if request is self.request:
            self._is_laid_out = True
            self._moved()

    def _draw(self, request: Request) -> None:
        if not self._is_small:
            request = _without_answers(request)
        source = [draw_source(self._source)] if self._source else []
        drawn = draw_request(request, self._look, chosen=self._chosen)
        head, *parts = drawn
        self._parts = [*source, head, *(Gutter(part) if isinstance(part, Text) else part for part in parts)]
        self.query_one("#request-text", Static).update(Group(*self._parts))

    @property
    def _is_small(self) -> bool:
        return self.app.size.height < _SMALL

    def _moved(self) -> None:
        """Another part of the request is in view, or it has another size."""
        self._check_view()
        self._settle()

    def _show_place(self) -> None:
        place = self.query_one(RequestBody).place
        keys = "Home End" if isinstance(self.request, QuestionRequested) else "↑↓"
        self.border_subtitle = Content(f"{place} · {keys} scroll" if place and not self._text else place)

    def resized(self) -> None:
        """The window has another size."""
        if self.request is not None:
            self._draw(self.request)
            self.show_keys()

    def show_text(self, text: str) -> None:
        """What the input holds now."""
        if bool(text) != bool(self._text):
            self.gate.typed()
        self._text = text
        if self.request is not None:
            self._settle()

    def stop_commenting(self) -> None:
        self.commenting = False
        self._settle()

    def _settle(self) -> None:
        self.show_keys()
        if self.request is not None and not self.accepts_keys:
            self.set_timer(self.gate.quiet + 0.01, self.show_keys)

    def show_keys(self) -> None:
        """Which keys work now. Those that answer are not shown before they do."""
        self.set_class(self.accepts_keys, "ready")
        self.set_class(self._is_small, "small")
        no_room = _NO_ROOM if self._obstacle == _NO_ROOM and not self.has_class("ended") else ""
        self._invite(
            _COMMENTING if self.commenting else no_room or invitation(self.request, of_subtask=self._source is not None)
        )
        if self.request is not None:
            self.query_one("#keys", Static).update(self._keys(self.request))
            self._show_place()

    @property
    def _obstacle(self) -> str:
        """Why no key answers, as long as the request is out of view."""
        if self.request is None or not self._is_laid_out or self.gate.is_in_view:
            return ""
        return _NOT_SEEN if self._has_room else _NO_ROOM

    def _keys(self, request: Request) -> Text:
        if self.commenting:
            return Text(_COMMENT, "dim")
        if self._obstacle == _NOT_SEEN:
            return Text(_NOT_SEEN, "dim")
        if self._text and (self._is_small or isinstance(request, QuestionRequested)):
            return Text(self._text_hint(request), "dim")
        if self._denied:
            return Text(_DENIED if self.accepts_keys else "", "dim")
        if self.accepts_keys and not self.is_read:
            return self._read_on(request)
        of_subtask, ready = self._source is not None, self.accepts_keys
        keys = request_keys(request, ready=ready, of_subtask=of_subtask, short=self._is_small, jobs=self._jobs)
        hint = self._text_hint(request) if self._text and not self.has_class("ended") else ""
        return keys.append(f"\n{hint}" if keys.plain and hint else hint, "dim")

    def _read_on(self, request: Request) -> Text:
        """It has as many rows as the answers will have. With fewer, the rest of the request would come into view for as
        long as it takes to notice it, and the answers would cover it."""
        answers = request_keys(request, ready=True, of_subtask=self._source is not None, short=self._is_small)
        hint, keys = Text(_READ_ON, "dim"), self.query_one("#keys")
        options = self.app.console.options.update(width=max(1, keys.size.width))
        rows = [len(self.app.console.render_lines(each, options, pad=False)) for each in (answers, hint)]
        return hint.append("\n" * max(0, rows[0] - rows[1]))

    def _text_hint(self, request: Request) -> str:
        typed = answer_typed(request, self._text) if self.gate.is_in_view and self.is_read else None
        choice = choice_of(request, self._text) if typed else None
        return f"Enter answers: {choice.words}" if choice else _TEXT_FIRST

    # Keys

    def takes(self, key: str, text: str) -> bool:
        """Whether a key that was pressed in the input, with this text in it, is for the request."""
        self._check_view()
        if self._chose(key, text):
            return True
        if self._reads_on(key, text):
            return True
        held = self.gate.held
        given = None if self.commenting else self.gate.press(key, text)
        if isinstance(given, Held):
            self.set_timer(self.gate.hold_of(given), lambda: self._give(self.gate.release(given)))
        elif given is not None:
            self._give(given)
        elif held is not None:
            return self._became_a_word(held, key)
        else:
            return self._scrolled(key, text)
        return True

    def _reads_on(self, key: str, text: str) -> bool:
        """A key that would approve what was not read to its end shows the next part of it; one that would approve what
        is denied by now does nothing."""
        choice = choice_of(self.request, key) if self.request is not None and not text and self.accepts_keys else None
        if choice is None or not isinstance(choice.gives, Answer) or not choice.gives.yes:
            return False
        if self._denied or self.is_read:
            return self._denied  # it says so beside the keys
        self.query_one(RequestBody).scroll_page_down(animate=False)
        return True

    def _became_a_word(self, held: Held, key: str) -> bool:
        """A key came after one that was held: both are words, unless the user took it back."""
        if key in ("escape", "backspace"):
            return True
        self._insert(held.key)
        return False

    def opens_editor(self, text: str) -> bool:
        """Whether this text, sent by itself, is the key that edits the plan; then the editor is opened."""
        given = answer_typed(self.request, text) if self.request is not None and self.gate.is_seen else None
        if isinstance(given, EditPlan):
            self._give(given)
        return isinstance(given, EditPlan)

    def _give(self, given: Given | Held | None) -> None:
        if isinstance(given, Answer):
            self.post_message(self.Answered(given))
        elif isinstance(given, EditPlan):
            self.post_message(self.WantsEditor(given))
        elif isinstance(given, Comment):
            self.commenting = True
            self.show_keys()

    def _chose(self, key: str, text: str) -> bool:
        """Up and Down choose among suggestions, and Enter picks, once the request has been in view for a moment. The
        number of a suggestion that is out of view brings it into view."""
        request = self.request
        if not isinstance(request, QuestionRequested) or text or self.gate.held or not self.gate.is_seen:
            return False
        known = choices(request)
        if key == "enter" and self._chosen is not None:
            self._give(known[self._chosen].gives)
        elif key in self._MOVES and known:
            self._choose(request, _next(self._chosen, self._MOVES[key], len(known)))
        elif key in map(str, range(1, len(known) + 1)) and not self._suggestion_is_in_view(int(key) - 1):
            self._choose(request, int(key) - 1)
        else:
            return False
        return True

    def _choose(self, request: QuestionRequested, chosen: int) -> None:
        self._chosen = chosen
        self._draw(request)
        self.query_one(RequestBody).scroll_to_region(self._place_of(chosen), animate=False)

    def _suggestion_is_in_view(self, number: int) -> bool:
        body, place = self.query_one(RequestBody), self._place_of(number)
        return body.scroll_offset.y <= place.y and place.bottom <= body.scroll_offset.y + body.size.height

    def _place_of(self, suggestion: int) -> Region:
        """Where in the request a suggestion stands."""
        width = self.query_one("#request-text").size.width
        options = self.app.console.options.update(width=width)
        rows = [len(self.app.console.render_lines(part, options, pad=False)) for part in self._parts]
        first = len(rows) - len(choices(self.request)) + suggestion if self.request else 0
        return Region(0, sum(rows[:first]), width, rows[first])

    def _scrolled(self, key: str, text: str) -> bool:
        area = self.query_one(RequestBody)
        move = {
            "up": area.scroll_up,
            "down": area.scroll_down,
            "home": area.scroll_home,
            "end": area.scroll_end,
        }.get(key)
        if move is None or text or not self._is_scrollable:
            return False
        move(animate=False)
        return True


def _next(chosen: int | None, by: int, count: int) -> int:
    return (0 if by > 0 else count - 1) if chosen is None else (chosen + by) % count


def _without_answers(request: Request) -> Request:
    """The answers stand below the request, each with what it allows: they are not drawn with it once more."""
    return replace(request, always=()) if isinstance(request, ApprovalRequested) else request
