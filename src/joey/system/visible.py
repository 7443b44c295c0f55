"""Text from models, files and commands, made safe for a terminal: what a terminal would obey is shown as a sign.

`visible` maps single characters, so that it may be used on pieces of a stream. Left as they are: line ends, tabs, and
the joiners that emoji and some scripts need. Turned into signs: control characters (an escape code recolours, moves or
renames the terminal), what reorders or hides text (`rm` behind a right-to-left mark reads like something else), and
halves of surrogate pairs, which no terminal can be sent.

`as_on_screen` is for the output of commands, which has escape codes for a reason: colours and movements are left out,
and of a line that was drawn over and over the last state stays.
"""

from __future__ import annotations

import re

_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"
    "\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor movements
    r"|\x1b[]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles, links, the clipboard
    r"|\x1b[ -/]+[0-~]|\x1b[0-Z\\`-~]"  # character sets, keypads, resets
)
_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[]PX^_][^\x07\x1b]*\x1b?|[ -/]*)\Z")
_MAX_ESCAPE = 4096


def visible(text: str) -> str:
    """The text with everything that a terminal would obey, or not show, as a sign."""
    return _CONTROL.sub(_sign, text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """The text in a single line: for names, titles and whatever must not take more room."""
    return visible(" ".join(text.split()))


def _sign(found: re.Match[str]) -> str:
    code = ord(found[0])
    return chr(0x2400 + code) if code < 0x20 else "␡" if code == 0x7F else "�"


def as_on_screen(output: str) -> str:
    """A command's output without its colours and cursor movements; of a line drawn over and over, the last state."""
    lines = _ESCAPES.sub("", output).replace("\r\n", "\n").split("\n")
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
        return visible(_ESCAPES.sub("", text) if self._drop_escapes else text)

    def end(self) -> str:
        """What waited for more that did not come."""
        rest, self._rest = self._rest, ""
        return visible(rest.rstrip("\r"))
