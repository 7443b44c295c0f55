"""The one way to a terminal for everything that commands print.

`filter_terminal` replaces standard output and the error stream where they lead to a terminal, before any command runs:
whatever is written to them, by `print`, by argparse, by a traceback, reaches the terminal as text that it only shows
(`joey.system.visible`). Nobody has to remember to filter, and nobody can forget. A pipe or a file gets every byte as
it is.

What Joey draws itself, with colours and movements, goes around the filter: the screen has its own stream and its own
filter (`joey.terminal.screen.filters`), the first frame filters its few texts itself, and `unfiltered` gives the stream
to those who have filtered the text between their codes: `joey.terminal.console`, `/copy` and the debugging of parsers.
"""

from __future__ import annotations

import io
import sys
from typing import TextIO

from joey.system.visible import visible


class VisibleWriter(io.TextIOWrapper):
    """A text stream to the same place as another, for text that the terminal shows and never obeys."""

    def __init__(self, stream: io.TextIOWrapper) -> None:
        super().__init__(stream.buffer, stream.encoding, stream.errors, line_buffering=True)
        self.unfiltered = stream

    def write(self, text: str, /) -> int:
        super().write(visible(text))
        return len(text)


def filter_terminal() -> None:
    """Filter what is printed from now on, as far as it goes to a terminal. Doing it twice does nothing more."""
    sys.stdout, sys.stderr = _filtered(sys.stdout), _filtered(sys.stderr)


def _filtered(stream: TextIO) -> TextIO:
    if not isinstance(stream, io.TextIOWrapper) or isinstance(stream, VisibleWriter) or not stream.isatty():
        return stream
    stream.flush()
    return VisibleWriter(stream)


def unfiltered(stream: TextIO) -> TextIO:
    """The stream for codes of our own. Text of others that is written to it must be made visible before."""
    if not isinstance(stream, VisibleWriter):
        return stream
    stream.flush()
    return stream.unfiltered
