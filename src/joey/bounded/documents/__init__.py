"""The text in files that are not text: PDF, DOCX, XLSX and notebooks. Read in a bounded child process.

Each kind has a module with `extract(file) -> Extracted`. What they raise on a file they cannot read is a DocumentError
with words for the model; everything else is a bug, and ends the child. What is too much is cut, and the text says so:
the first pages of a long document are worth more than an error.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from joey.errors import JoeyError

MAX_TEXT = 8 * 1024 * 1024
MAX_PIECES = 100_000
MAX_SECONDS = 3.0
"""Of the processor, for what is read in pieces (pages, rows, paragraphs): then the rest is left out."""
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


@dataclass(slots=True)
class Room:
    """What may still be taken: pieces (pages, rows, paragraphs), characters, and seconds of the processor."""

    pieces: int = MAX_PIECES
    characters: int = MAX_TEXT
    until: float = field(default_factory=lambda: time.process_time() + MAX_SECONDS)

    def take(self, text: str) -> bool:
        """Whether the text still fits."""
        self.pieces -= 1
        self.characters -= len(text) + 1
        return not self.spent

    @property
    def spent(self) -> str:
        """Why no more is taken; empty as long as there is room."""
        if self.pieces < 0:
            return f"it has more than {MAX_PIECES:,} parts"
        if self.characters < 0:
            return f"there is more than {MAX_TEXT // 1024**2} MB of text"
        return f"reading it takes more than {MAX_SECONDS:g} seconds" if time.process_time() > self.until else ""


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
