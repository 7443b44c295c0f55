"""A change that the user began themselves, shown before it is made: y makes it."""

from __future__ import annotations

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from joey.terminal.drawing import draw_diff
from joey.terminal.screen.survival import Survives

_KEYS = "y adds it · n or Esc goes back"


class ConfirmDiff(Survives, ModalScreen[bool]):
    """Whether the change shall be made."""

    def __init__(self, heading: str, diff: str) -> None:
        super().__init__()
        self._heading, self._diff = heading, diff

    def compose(self) -> ComposeResult:
        with Vertical(id="picker"):
            yield Static(Text(self._heading, "bold"), id="picker-title")
            with VerticalScroll(can_focus=False):
                yield Static(draw_diff(self._diff))
            yield Static(_KEYS, id="picker-keys")

    def on_key(self, event: events.Key) -> None:
        if event.key in ("y", "n", "escape"):
            event.stop()
            self.dismiss(event.key == "y")
