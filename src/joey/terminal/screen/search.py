"""Search in the conversation: Ctrl+F, words, Enter for the one before, Down for the one after, Esc to end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static


class SearchBar(Horizontal):
    """A line to type in, and which of the matches is in view."""

    @dataclass
    class Found(Message):
        """This entry has the words."""

        at: int

    def __init__(self, find: Callable[[str], list[int]]) -> None:
        super().__init__(id="search")
        self._find = find
        self._found: list[int] = []
        self._chosen = 0
        self.display = False

    def compose(self) -> ComposeResult:
        yield Input(placeholder="search the conversation: Enter older, Down newer, Esc ends", compact=True)
        yield Static(id="search-count")

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
        self._found = self._find(event.value) if event.value else []
        self._choose(len(self._found) - 1)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._choose(self._chosen - 1)

    def on_key(self, event: events.Key) -> None:
        if event.key in ("up", "down"):
            self._choose(self._chosen + (1 if event.key == "down" else -1))
            event.stop()
            event.prevent_default()

    def _choose(self, at: int) -> None:
        count = self.query_one("#search-count", Static)
        if not self._found:
            count.update("no match" if self.query_one(Input).value else "")
            return
        self._chosen = at % len(self._found)
        count.update(f"{self._chosen + 1} of {len(self._found)}")
        self.post_message(self.Found(self._found[self._chosen]))
