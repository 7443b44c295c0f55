"""Rich, for text of others: its own codes reach the terminal, and codes in the text do not."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.segment import Segment
from rich.style import Style

from joey.terminal.outlet import unfiltered
from joey.terminal.visible import visible


class SafeConsole(Console):
    """A console on standard output, or on the error stream, that filters the text of each segment it draws."""

    def __init__(self, *, stderr: bool = False, **options: Any) -> None:
        super().__init__(file=unfiltered(sys.stderr if stderr else sys.stdout), **options)

    def _render_buffer(self, buffer: Iterable[Segment]) -> str:
        return super()._render_buffer(map(_safe, buffer))


def _safe(segment: Segment) -> Segment:
    text, style, control = segment
    return segment if control else Segment(visible(text), _without_odd_link(style))


def _without_odd_link(style: Style | None) -> Style | None:
    """The address of a link is written into a code: one that could end the code is no link."""
    is_odd = style is not None and style.link is not None and visible(style.link) != style.link
    return style.update_link(None) if style is not None and is_odd else style
