"""The text in files that are not text: PDF, DOCX, XLSX and notebooks. Read in a bounded child process.

Each kind has a module with `extract(file) -> Extracted`. What they raise on a file they cannot read is a DocumentError
with words for the model; everything else is a bug, and ends the child. What is too much is cut, and the text says so:
the first pages of a long document are worth more than an error.
"""

from __future__ import annotations

import os
import time
import zlib
from dataclasses import dataclass
from typing import BinaryIO

from joey.errors import JoeyError

MAX_TEXT = 8 * 1024 * 1024
MAX_PIECES = 100_000
MAX_SECONDS = 5.0
_FIRST_SECONDS = 1.0
_EARNED_SECONDS = 1 / (32 * 1024)
"""Of the processor. A file has a second, and more for what it has to say: text counts as long as it is when packed, so
that the same over and over earns nothing, and for no more than the size of the file."""
MODULES = {".pdf": "pdf", ".docx": "word", ".xlsx": "spreadsheet", ".ipynb": "notebook"}


class DocumentError(JoeyError):
    """The document cannot be read, and why."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """The text of a document, and what it was taken from: `PDF, 12 pages`."""

    source: str
    text: str
    cut: str = ""
    """Why this is only the beginning; empty if it is the whole."""


class Room:
    """What may still be taken of a file: pieces (pages, rows, paragraphs), characters, and seconds of the processor."""

    def __init__(self, file: BinaryIO) -> None:
        self._size = file.seek(0, os.SEEK_END)
        file.seek(0)
        self._pieces, self._characters, self._packed = MAX_PIECES, MAX_TEXT, 0
        self._packer = zlib.compressobj(1, memLevel=3)  # one that keeps little back
        self._started = time.process_time()

    def take(self, text: str) -> bool:
        """Whether the text still fits."""
        self._pieces -= 1
        self._characters -= len(text) + 1
        self.earn(text)
        return not self.spent

    def earn(self, text: str) -> None:
        """Count what was read towards the seconds that may be spent."""
        self._packed += len(self._packer.compress(text.encode("utf-8", "replace")))

    @property
    def seconds(self) -> float:
        """How long reading may take, by what was read so far."""
        return min(_FIRST_SECONDS + min(self._packed, self._size) * _EARNED_SECONDS, MAX_SECONDS)

    @property
    def seconds_left(self) -> float:
        return self.seconds - (time.process_time() - self._started)

    @property
    def spent(self) -> str:
        """Why no more is taken; empty as long as there is room."""
        if self._pieces < 0:
            return f"it has more than {MAX_PIECES:,} parts"
        if self._characters < 0:
            return f"there is more than {MAX_TEXT // 1024**2} MB of text"
        return "" if self.seconds_left > 0 else f"reading it takes more than {self.seconds:.1f} seconds"

    def cut(self, where: str) -> str:
        """Why what was read is only the beginning, and where it stops; empty if it is the whole."""
        return f"{self.spent}, so it stops after {where}" if self.spent else ""


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
