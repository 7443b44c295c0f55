"""Rich, for text of others: its own codes reach the terminal, and codes in the text do not."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, TextIO

from rich.console import Console
from rich.segment import Segment
from rich.style import Style

from joey.system.visible import unfiltered, visible


class SafeConsole(Console):
    """A console on a stream (standard output when left out) that filters the text of each segment it draws.

    The reader of a pipe may go away (`joey demo | head`): then nothing more is written, and `hang_up` is called.
    """

    reader_left = False
    hang_up: Callable[[], None] = staticmethod(lambda: None)

    def __init__(self, stream: TextIO | None = None, **options: Any) -> None:
        stream = unfiltered(stream or sys.stdout)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # an encoding that has no ✓ writes ? instead
        super().__init__(file=stream, **options)

    def on_broken_pipe(self) -> None:
        self.quiet = self.reader_left = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())  # so that Python's last flush works, too
        self.hang_up()

    def _render_buffer(self, buffer: Iterable[Segment]) -> str:
        return super()._render_buffer(map(_safe, buffer))


def _safe(segment: Segment) -> Segment:
    text, style, control = segment
    return segment if control else Segment(visible(text), _without_odd_link(style))


def _without_odd_link(style: Style | None) -> Style | None:
    """The address of a link is written into a code: one that could end the code is no link."""
    is_odd = style is not None and style.link is not None and visible(style.link) != style.link
    return style.update_link(None) if style is not None and is_odd else style
