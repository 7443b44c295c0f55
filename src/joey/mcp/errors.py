"""Why a server did not answer: the error of a request, and the end of what it wrote to its error stream."""

from __future__ import annotations

import re

_KEPT = 16_000
_SHOWN_LINES = 8
_MAX_LINE = 300
_UNPRINTABLE = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")


class CallError(Exception):
    """Why a request got no answer, in words. `lost` says that the connection is gone."""

    def __init__(self, message: str, *, lost: bool = False) -> None:
        super().__init__(message)
        self.lost = lost


class ErrorOutput:
    """The end of a text that may never end, in bounded memory."""

    def __init__(self) -> None:
        self._text = ""

    def add(self, data: bytes) -> None:
        self._text = (self._text + data[-_KEPT:].decode("utf-8", "replace"))[-_KEPT:]

    def note(self, text: str) -> None:
        """Something that Joey noticed, among what the server wrote; once, if it happens again and again."""
        noted = f"\n[{text}]\n"
        if not self._text.endswith(noted):
            self.add(noted.encode())

    @property
    def text(self) -> str:
        return self._text

    @property
    def tail(self) -> str:
        """The last few lines, without control characters."""
        lines = [line for line in _UNPRINTABLE.sub("", self._text).splitlines() if line.strip()]
        return "\n".join(line[:_MAX_LINE] for line in lines[-_SHOWN_LINES:])
