"""Search in the conversation: Ctrl+F, words, Enter for the one before, Down for the one after, Esc to end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Input, Static

from joey.terminal.screen.line import Line
from joey.terminal.screen.places import MAX_PLACES, FoundPlace
from joey.terminal.screen.survival import Shown, Survives

PAUSE = 0.05
"""For how many seconds no key must come before the words are looked for: those that came while a long conversation was
searched are one search, and not one for each."""


_NOT_ALL = "no match · a long output is not searched whole: see its card"


class SearchBar(Survives, Horizontal):
    """A line to type in, and which of the matches is in view."""

    @dataclass
    class Found(Message):
        """Here are the words."""

        place: FoundPlace
        words: str

    def __init__(self, find: Callable[[str], list[FoundPlace]], finds_all: Callable[[], bool] = lambda: True) -> None:
        """`finds_all`: whether everything that was printed is there to be searched."""
        super().__init__(id="search")
        self._find, self._finds_all = find, finds_all
        self._found: list[FoundPlace] = []
        self._chosen = 0
        self._soon: Timer | None = None
        """Runs out when the words that were typed are looked for."""
        self.display = False

    def compose(self) -> ComposeResult:
        yield Line(placeholder="search the conversation: Enter older, Down newer, Esc ends", compact=True)
        yield Shown(id="search-count")

    def open(self) -> None:
        """Take the keyboard, and at once: the next key may be waiting already."""
        self.display = True
        words = self.query_one(Input)
        words.cursor_blink = False  # no timer for it
        self.screen.set_focus(words)

    def close(self) -> None:
        self.display = False
        self.query_one(Input).value = ""

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if not self.display:
            return
        if self._soon is not None:
            self._soon.stop()
        self._soon = self.set_timer(PAUSE, self._search)

    def _search(self) -> None:
        if self._soon is not None:
            self._soon.stop()
        self._soon, words = None, self.query_one(Input).value
        self._found = self._find(words) if words else []
        self._choose(len(self._found) - 1)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._go(-1)

    def on_key(self, event: events.Key) -> None:
        if event.key in ("up", "down"):
            self._go(1 if event.key == "down" else -1)
            event.stop()
            event.prevent_default()

    def _go(self, by: int) -> None:
        """To the place before or after; what was typed just now is looked for first."""
        if self._soon is not None:
            self._search()
        self._choose(self._chosen + by)

    def _choose(self, at: int) -> None:
        count = self.query_one("#search-count", Static)
        if not self._found:
            no_match = "no match" if self._finds_all() else _NOT_ALL
            count.update(no_match if self.query_one(Input).value else "")
            return
        self._chosen = at % len(self._found)
        count.update(f"{self._chosen + 1} of {'the last ' if len(self._found) == MAX_PLACES else ''}{len(self._found)}")
        self.post_message(self.Found(self._found[self._chosen], self.query_one(Input).value))
