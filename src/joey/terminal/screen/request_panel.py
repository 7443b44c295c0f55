"""The panel above the input: the request that waits for the user, in full, and the keys that answer it.

The input always has the keyboard. It hands every key to this panel first, and the panel takes the ones that answer
(`answering`) or scroll. What can be pressed now is written in the last line, and nothing else is. When the model is
done there is no question: that line is all there is, and the input is ready for whatever is next.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from rich.console import Group
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.message import Message
from textual.widgets import Static

from joey.commands import Answer
from joey.events import ApprovalRequested, CompletionRequested, Request
from joey.terminal.drawing import Look, draw_request
from joey.terminal.screen.answering import Comment, EditPlan, Given, Held, KeyGate, answer_typed, choice_of
from joey.terminal.screen.look import is_plan, request_keys
from joey.terminal.screen.survival import Survives

_TEXT_FIRST = "Enter sends your text · Ctrl+C clears it · without text, a key answers this"
_COMMENT = "Enter sends your comment with the no · Esc goes back"


class RequestPanel(Survives, Vertical):
    """Shows one request at a time."""

    @dataclass
    class Answered(Message):
        """A key gave the answer."""

        answer: Answer

    @dataclass
    class WantsEditor(Message):
        """The user wants to edit the plan before it is carried out."""

        edit: EditPlan

    def __init__(self, insert: Callable[[str], object], gate: KeyGate) -> None:
        """`insert` puts characters into the input."""
        super().__init__(id="request")
        self._insert = insert
        self.gate = gate
        self.commenting = False
        """Whether what is typed is the reason for a no."""
        self._text = ""
        self._of_subtask = False
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
        return not self.has_class("ended") and self.query_one("#request-body").max_scroll_y > 0

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="request-body", can_focus=False):
            yield Static(id="request-text")
        yield Static(id="keys")

    def show(self, request: Request | None, look: Look, *, of_subtask: bool = False) -> None:
        self._of_subtask = of_subtask
        self.display = request is not None
        self.set_class(isinstance(request, CompletionRequested) and not is_plan(request), "ended")
        if self.gate.show(request):
            self.commenting = False
            self.query_one("#request-body", VerticalScroll).scroll_home(animate=False)
        if request is not None:
            self.query_one("#request-text", Static).update(Group(*draw_request(_without_answers(request), look)))
            self._settle()
            self.call_after_refresh(self.show_keys)  # only then is it known whether there is more to scroll to

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
        if not self.accepts_keys:
            self.set_timer(self.gate.quiet + 0.01, self.show_keys)

    def show_keys(self) -> None:
        """Which keys work now. Those that answer are not shown before they do."""
        self.set_class(self.accepts_keys, "ready")
        if self.request is not None:
            self.query_one("#keys", Static).update(self._keys(self.request))

    def _keys(self, request: Request) -> Text:
        if self.commenting:
            return Text(_COMMENT, "dim")
        keys, hint = request_keys(request, ready=self.accepts_keys, of_subtask=self._of_subtask), ""
        if self._text:
            hint = "" if isinstance(request, CompletionRequested) else self._text_hint(request)
        elif self.accepts_keys and self._is_scrollable:
            hint = "↑↓ scroll"
        return keys.append(f"\n{hint}" if keys.plain and hint else hint, "dim")

    def _text_hint(self, request: Request) -> str:
        choice = choice_of(request, self._text) if answer_typed(request, self._text) else None
        return f"Enter answers: {choice.words}" if choice else _TEXT_FIRST

    # Keys

    def takes(self, key: str, text: str) -> bool:
        """Whether a key that was pressed in the input, with this text in it, is for the request."""
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

    def _scrolled(self, key: str, text: str) -> bool:
        area = self.query_one("#request-body", VerticalScroll)
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


def _without_answers(request: Request) -> Request:
    """The answers stand below the request, each with what it allows: they are not drawn with it once more."""
    return replace(request, always=()) if isinstance(request, ApprovalRequested) else request
