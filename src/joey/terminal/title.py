"""The title of the terminal's window: the task in a few words (OSC 2), and whatever it was when Joey ends."""

from __future__ import annotations

from collections.abc import Callable

from joey.journal.markdown import task_title
from joey.system.visible import one_line

_KEEP, _GIVE_BACK = "\x1b[22;2t", "\x1b[23;2t"


class WindowTitle:
    """Writes the title, once for each change. `write` goes to the terminal."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._now: str | None = None

    def show(self, text: str, folder: str) -> None:
        title = task_title(text) or one_line(folder)
        if title != self._now:
            self._write(("" if self._now is not None else _KEEP) + f"\x1b]2;{title} · joey\x07")
            self._now = title

    def give_back(self) -> None:
        if self._now is not None:
            self._write(_GIVE_BACK)
            self._now = None
