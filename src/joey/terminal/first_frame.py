"""The first frame, drawn before anything large is loaded: the welcome, the input and the status line, in plain codes.

    with first_frame(lines, place, status) as settings:     # on the alternate screen, keys kept back and not echoed
        …                                                   # the rest is loaded, and Textual takes the screen over

What is typed meanwhile stays in the terminal's queue, Enter as Enter and Ctrl+C as a key: a signal would end the
program and empty the queue, while in the input the key clears what was typed, and Up brings it back. If loading fails,
the screen is given back as it was and the message stands on it. The terminal's own settings, which other programs get
(an editor, the shell after Ctrl+Z), come back in every case.
"""

from __future__ import annotations

import os
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from joey.system.visible import visible

_OPEN, _CLOSE = "\x1b[?1049h\x1b[2J\x1b[H", "\x1b[?1049l"
_DIM, _PLAIN = "\x1b[2m", "\x1b[0m"
TerminalSettings: TypeAlias = list[Any]
"""What `termios` knows of a terminal."""
PLACEHOLDER = "What would you like to do?  (/help)"


def frame(text: str, place: str, status: str, width: int, height: int) -> str:
    """The frame as the screen will draw it, so that nothing jumps."""
    top = [f" {visible(line)}"[:width] for line in text.split("\n")]
    where = f" {visible(place)} "[: max(0, width - 6)]
    box = [
        f"╭{'─' * (width - 2)}╮",
        f"│ {PLACEHOLDER[: width - 4].ljust(width - 4)} │",
        f"╰{'─' * (width - 4 - len(where))}{where}──╯",
        f" {visible(status)}"[:width],
    ]
    lines = [*top[: max(0, height - len(box))], *[""] * (height - len(box) - len(top)), *box]
    return _DIM + "\n".join(lines[-height:]) + _PLAIN


@contextmanager
def first_frame(text: str, place: str, status: str) -> Iterator[TerminalSettings]:
    """Show the frame while the rest is loaded and used. Yields the terminal's own settings."""
    keyboard, before = sys.stdin.fileno(), termios.tcgetattr(sys.stdin.fileno())
    quiet = [*before]
    quiet[tty.IFLAG] &= ~termios.ICRNL  # Enter stays what it is, for whoever reads it later
    quiet[tty.LFLAG] &= ~(termios.ECHO | termios.ICANON | termios.ISIG)
    termios.tcsetattr(keyboard, termios.TCSANOW, quiet)
    width, height = os.get_terminal_size(sys.stdout.fileno())
    _write(_OPEN + frame(text, place, status, width or 80, height or 24))
    try:
        yield before
    except BaseException:
        _write(_CLOSE)
        raise
    finally:
        termios.tcsetattr(keyboard, termios.TCSANOW, before)


def _write(codes: str) -> None:
    os.write(sys.stdout.fileno(), codes.encode("utf-8", "replace"))
