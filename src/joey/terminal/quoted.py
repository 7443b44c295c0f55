"""Words of others on the screen, behind a mark that they cannot write: each row, also of a line that wraps.

    ▌ ✓ execute_command  pytest -q      Joey: a call, and how it ended
    │ ✓ Result                          the model, which only says so

Without it, a reply could imitate a result, a request or a message of the user's.
"""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment

MARK = "│ "


@dataclass(frozen=True, slots=True)
class Quoted:
    """Something drawn behind marks: the first row behind one, the others behind another."""

    words: RenderableType
    first: str = MARK
    others: str = MARK
    style: str = "dim"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = max(1, options.max_width - max(cell_len(self.first), cell_len(self.others)))
        style, mark = console.get_style(self.style), self.first
        for line in console.render_lines(self.words, options.update(width=width, height=None), pad=False):
            yield Segment(mark, style)
            yield from line
            yield Segment.line()
            mark = self.others
