"""The panel above the input: the request that waits for the user, in full, and the keys that answer it.

A request may come up while the user is typing, and a letter of a word must never be taken for approval. So a new
request first only shows; its keys work, and are shown, a moment later. And once the user has begun to type words here,
every key belongs to them: those that come before the input has the focus are handed on to it.
"""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Group
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.message import Message
from textual.widgets import Static

from joey.commands import Answer
from joey.events import ApprovalRequested, CompletionRequested, QuestionRequested, Request
from joey.terminal.drawing import Look, draw_request
from joey.terminal.screen.look import request_keys


def answer_by_key(request: Request, key: str) -> Answer | None:
    """The answer that a key gives; None: the key is no answer."""
    if isinstance(request, QuestionRequested):
        picked = int(key) - 1 if key.isdecimal() else -1
        suggestions = request.suggestions
        return Answer(request.request_id, True, suggestions[picked].text) if 0 <= picked < len(suggestions) else None
    yes = key == "y" or (key == "enter" and isinstance(request, CompletionRequested))
    always = key == "a" and isinstance(request, ApprovalRequested)
    no = key == "n" and not isinstance(request, CompletionRequested)
    return Answer(request.request_id, yes=yes or always, always=always) if yes or always or no else None


def answer_by_words(request: Request, text: str, *, comment: bool) -> Answer | None:
    """The answer that typed words give; None: they are a message for the model, and approval is given by key only."""
    if isinstance(request, ApprovalRequested):
        return Answer(request.request_id, yes=False, text=text) if comment else None
    if isinstance(request, CompletionRequested):
        return Answer(request.request_id, yes=not text, text=text)
    return Answer(request.request_id, yes=bool(text), text=text) if text else None


class RequestPanel(Vertical, can_focus=True):
    """Shows one request at a time. Keys that answer nothing begin a text in the input."""

    @dataclass
    class Answered(Message):
        """A key gave the answer."""

        answer: Answer

    @dataclass
    class Words(Message):
        """The user types something instead of pressing a key that answers: some characters, or Enter to send them.

        `denies`: they are the reason for a no.
        """

        text: str = ""
        denies: bool = False
        sends: bool = False

    SETTLING = 0.4
    """How many seconds a new request is only shown."""

    def __init__(self) -> None:
        super().__init__(id="request")
        self.request: Request | None = None
        self.accepts_keys = False
        """Whether the request has been in view long enough for a key to be an answer to it."""
        self._handing_on = False
        self.display = False

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="request-body", can_focus=False):
            yield Static(id="request-text")
        yield Static(id="keys")

    def show(self, request: Request | None, look: Look, *, comment: bool = False) -> None:
        is_new = request is not self.request
        self.request = request
        self.display = request is not None
        if request is not None:
            self.query_one("#request-text", Static).update(Group(*draw_request(request, look)))
        if request is not None and is_new:
            self.accepts_keys = False
            self.query_one("#keys", Static).update()
            self.query_one("#request-body", VerticalScroll).scroll_home(animate=False)
            self.set_timer(self.SETTLING, lambda: self._settle(request))
        elif request is not None and self.accepts_keys:
            self._show_keys(request, comment=comment)

    def _settle(self, request: Request) -> None:
        if request is self.request:
            self.accepts_keys = True
            self._show_keys(request)

    def _show_keys(self, request: Request, *, comment: bool = False) -> None:
        self.query_one("#keys", Static).update(Text(request_keys(request, comment=comment), "dim"))

    def on_focus(self) -> None:
        self._handing_on = False

    def on_key(self, event: events.Key) -> None:
        if self.request is None or not self.accepts_keys:
            return
        message = self._message_for(self.request, event)
        if message is not None:
            self.post_message(message)
        elif event.key in ("up", "down", "home", "end"):
            _scroll(self.query_one("#request-body", VerticalScroll), event.key)
        else:
            return
        event.stop()
        event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        if self.request is not None and self.accepts_keys and not isinstance(self.request, ApprovalRequested):
            self._handing_on = True
            self.post_message(self.Words(event.text))

    def _message_for(self, request: Request, event: events.Key) -> Message | None:
        """What a key does here; None: nothing."""
        typed = event.character if event.is_printable and event.character else ""
        if self._handing_on:
            return self.Words(typed, sends=event.key == "enter") if typed or event.key == "enter" else None
        if answer := answer_by_key(request, event.key):
            return self.Answered(answer)
        denies = event.key == "c" and isinstance(request, ApprovalRequested)
        if not denies and (not typed or isinstance(request, ApprovalRequested)):
            return None
        self._handing_on = True
        return self.Words("" if denies else typed, denies=denies)


def _scroll(area: VerticalScroll, key: str) -> None:
    move = {
        "up": area.scroll_up,
        "down": area.scroll_down,
        "home": area.scroll_home,
        "end": area.scroll_end,
    }[key]
    move(animate=False)
