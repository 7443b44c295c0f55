"""What stays on the terminal when the full screen is closed: the end of the conversation, drawn as it was."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from rich.console import Group
from rich.segment import Segment, Segments
from rich.text import Text

from joey.terminal.console import SafeConsole
from joey.terminal.drawing import Look, draw, inked
from joey.terminal.transcript import Entry, Note

MAX_LINES = 200


def print_conversation(entries: Iterable[Entry], look: Look, out: TextIO | None = None, **options: object) -> None:
    """Print the last lines of a conversation. Nothing is printed if nobody said anything."""
    spoken = [entry for entry in entries if not entry.dropped]
    if all(isinstance(entry, Note) for entry in spoken):
        return
    console = SafeConsole(out, highlight=False, **options)
    lines: list[list[Segment]] = []
    left = len(spoken)
    while left and len(lines) < MAX_LINES:  # from the end: what is not printed is not drawn
        left -= 1
        lines = [*console.render_lines(Group(draw(spoken[left], look), Text()), pad=False), *lines]
    if earlier := left + (len(lines) > MAX_LINES):
        console.print(inked(f"… {earlier} earlier {'entry' if earlier == 1 else 'entries'}", "dim"))
    console.print(Segments(part for line in lines[-MAX_LINES:] for part in (*line, Segment.line())), end="")
