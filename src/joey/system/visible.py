"""Text from models, files and commands, made safe for a terminal: what a terminal would obey is shown as a sign.

`visible` maps single characters, so that it may be used on pieces of a stream. Left as they are: line ends, tabs, and
the joiners that emoji and some scripts need. Turned into signs: control characters (an escape code recolours, moves or
renames the terminal), what reorders or hides text (`rm` behind a right-to-left mark reads like something else), and
halves of surrogate pairs, which no terminal can be sent.

`as_on_screen` is for the output of commands, which has escape codes for a reason: colours and movements are left out,
and of a line that was drawn over and over the last state stays.

`filter_terminal` replaces standard output and the error stream where they lead to a terminal, before any command runs:
whatever is written to them, by `print`, by argparse, by a traceback, reaches the terminal as visible text. Nobody has
to remember to filter, and nobody can forget. A pipe or a file gets every byte as it is. What Joey draws itself, with
colours and movements, goes around the filter: the screen has its own stream and its own filter
(`joey.terminal.screen.filters`), the first frame filters its few texts itself, and `unfiltered` gives the stream to
those who have filtered the text between their codes: `joey.terminal.console`, `/copy` and the debugging of parsers.
"""

from __future__ import annotations

import io
import re
import sys
from typing import TextIO

# Long patterns are texts, which Python compiles where they are first used, and keeps: most programs start without them.
_CONTROL = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"
    "\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_ESCAPES = (
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor movements
    r"|\x1b[]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles, links, the clipboard
    r"|\x1b[ -/]+[0-~]|\x1b[0-Z\\`-~]"  # character sets, keypads, resets
)
_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[]PX^_][^\x07\x1b]*\x1b?|[ -/]*)\Z")
_MAX_ESCAPE = 4096


def visible(text: str) -> str:
    """The text with everything that a terminal would obey, or not show, as a sign."""
    return re.sub(_CONTROL, _sign, text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """The text in a single line: for names, titles and whatever must not take more room."""
    return visible(" ".join(text.split()))


def _sign(found: re.Match[str]) -> str:
    code = ord(found[0])
    return chr(0x2400 + code) if code < 0x20 else "␡" if code == 0x7F else "�"


def as_on_screen(output: str) -> str:
    """A command's output without its colours and cursor movements; of a line drawn over and over, the last state."""
    lines = re.sub(_ESCAPES, "", output).replace("\r\n", "\n").split("\n")
    return visible("\n".join(line.rstrip("\r").rsplit("\r", 1)[-1] for line in lines))


class VisiblePieces:
    """A stream made visible piece by piece. What may be the beginning of an escape code or of a line end waits."""

    def __init__(self, *, drop_escapes: bool = False) -> None:
        self._drop_escapes = drop_escapes
        self._rest = ""

    def add(self, text: str) -> str:
        text, self._rest = self._rest + text, ""
        unfinished = _UNFINISHED.search(text, max(0, len(text) - _MAX_ESCAPE)) if self._drop_escapes else None
        if unfinished or text.endswith("\r"):
            cut = unfinished.start() if unfinished else len(text) - 1
            text, self._rest = text[:cut], text[cut:]
        return visible(re.sub(_ESCAPES, "", text) if self._drop_escapes else text)

    def end(self) -> str:
        """What waited for more that did not come."""
        rest, self._rest = self._rest, ""
        return visible(rest.rstrip("\r"))


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
