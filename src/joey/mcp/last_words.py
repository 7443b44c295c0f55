"""What a server last said on its error stream: kept for whoever asks why it failed, in bounded memory."""

from __future__ import annotations

import re

_KEPT = 16_000
_SHOWN_LINES = 8
_MAX_LINE = 300
_UNPRINTABLE = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")


class LastWords:
    """The end of a text that may never end."""

    def __init__(self) -> None:
        self._text = ""

    def add(self, data: bytes) -> None:
        self._text = (self._text + data[-_KEPT:].decode("utf-8", "replace"))[-_KEPT:]

    def note(self, text: str) -> None:
        """Something we noticed ourselves, among what the server said."""
        self.add(f"\n[{text}]\n".encode())

    @property
    def text(self) -> str:
        return self._text

    @property
    def tail(self) -> str:
        """The last few lines, fit to be shown."""
        lines = [line for line in _UNPRINTABLE.sub("", self._text).splitlines() if line.strip()]
        return "\n".join(line[:_MAX_LINE] for line in lines[-_SHOWN_LINES:])
