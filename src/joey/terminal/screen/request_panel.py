"""The panel above the input: the request that waits for the user, in full, and the keys that answer it.

The input always has the keyboard. It hands every key to this panel first, and the panel takes the ones that answer
(`answering`), choose a suggestion or scroll. What can be pressed now is written in the last lines, and nothing else is.
The frame says which part of a long request is in view, and how many requests wait. When the model is done there is no
question: that line is all there is, and the input is ready for whatever is next.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from joey.commands import Answer
from joey.events import ApprovalRequested, CompletionRequested, QuestionRequested, Request
from joey.terminal.drawing import Look, draw_request
from joey.terminal.plain.margin import behind
from joey.terminal.screen.answering import Comment, EditPlan, Given, Held, KeyGate, answer_typed, choice_of, choices
from joey.terminal.screen.look import invitation, is_plan, request_keys
from joey.terminal.screen.survival import Survives
from joey.terminal.subtasks import RequestSource, draw_source

_TEXT_FIRST = "Enter sends your text · Ctrl+C clears it · without text, a key answers this"
_COMMENTING = "Why not?"
_COMMENT = "Enter sends your comment with the no · Esc goes back"


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
    def _is_scrollable(self) -> bool:
        """Whether there is more of the request than is shown. Where the model is done, nothing of it is shown."""
        return not self.has_class("ended") and self.query_one(RequestBody).max_scroll_y > 0

    def compose(self) -> ComposeResult:
        with RequestBody(self._show_place):
            yield Static(id="request-text")
        yield Static(id="keys")

    def show(
        self, request: Request | None, look: Look, *, source: RequestSource | None = None, waiting: int = 1
    ) -> None:
        """Show this one of so many that wait; `source` is the subtask that it is about."""
        self._source, self._look = source, look
        self.border_title = Content(f"the first of {waiting} requests" if waiting > 1 else "")
        self.display = request is not None
        self.set_class(isinstance(request, CompletionRequested) and not is_plan(request), "ended")
        if self.gate.show(request):
            self.commenting, self._chosen = False, None
            self.query_one(RequestBody).scroll_home(animate=False)
        if request is not None:
            self._draw(request)
        self._settle()

    def _draw(self, request: Request) -> None:
        if not self._is_small:
            request = _without_answers(request)
        source = [draw_source(self._source)] if self._source else []
        drawn = draw_request(request, self._look, chosen=self._chosen)
        if isinstance(request, ApprovalRequested):
            head, *parts = drawn
            drawn = iter([head, *(Gutter(part) if isinstance(part, Text) else part for part in parts)])
        self.query_one("#request-text", Static).update(Group(*source, *drawn))

    @property
    def _is_small(self) -> bool:
        return self.app.size.height < _SMALL

    def _show_place(self) -> None:
        place = self.query_one(RequestBody).place
        self.border_subtitle = Content(f"{place} · ↑↓ scroll" if place and not self._text else place)

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
        self._invite(_COMMENTING if self.commenting else invitation(self.request))
        if self.request is not None:
            self.query_one("#keys", Static).update(self._keys(self.request))
            self._show_place()

    def _keys(self, request: Request) -> Text:
        if self.commenting:
            return Text(_COMMENT, "dim")
        if self._text and (self._is_small or isinstance(request, QuestionRequested)):
            return Text(self._text_hint(request), "dim")
        keys = request_keys(request, ready=self.accepts_keys, of_subtask=self._source is not None, short=self._is_small)
        hint = self._text_hint(request) if self._text and not isinstance(request, CompletionRequested) else ""
        return keys.append(f"\n{hint}" if keys.plain and hint else hint, "dim")

    def _text_hint(self, request: Request) -> str:
        choice = choice_of(request, self._text) if answer_typed(request, self._text) else None
        return f"Enter answers: {choice.words}" if choice else _TEXT_FIRST

    # Keys

    def takes(self, key: str, text: str) -> bool:
        """Whether a key that was pressed in the input, with this text in it, is for the request."""
        if self._chose(key, text):
            return True
        held = self.gate.held
        given = None if self.commenting else self.gate.press(key, text)
        if isinstance(given, Held):
            self.set_timer(self.gate.hold, lambda: self._give(self.gate.release(given)))
        elif given is not None:
            self._give(given)
        elif held is not None:
            return self._became_a_word(held, key)
        else:
            return self._scrolled(key, text)
        return True

    def _became_a_word(self, held: Held, key: str) -> bool:
        """A key came after one that was held: both are words, unless the user took it back."""
        if key in ("escape", "backspace"):
            return True
        self._insert(held.key)
        return False

    def _give(self, given: Given | Held | None) -> None:
        if isinstance(given, Answer):
            self.post_message(self.Answered(given))
        elif isinstance(given, EditPlan):
            self.post_message(self.WantsEditor(given))
        elif isinstance(given, Comment):
            self.commenting = True
            self.show_keys()

    def _chose(self, key: str, text: str) -> bool:
        """Up and Down choose among suggestions, and Enter picks, once the request has been in view for a moment."""
        request = self.request
        if not isinstance(request, QuestionRequested) or text or self.gate.held or not self.gate.is_seen:
            return False
        known = choices(request)
        if key == "enter" and self._chosen is not None:
            self._give(known[self._chosen].gives)
        elif key in self._MOVES and known:
            self._chosen = _next(self._chosen, self._MOVES[key], len(known))
            self._draw(request)
        else:
            return False
        return True

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
