"""What every line of the screen goes through last, whatever drew it.

`Safe` is the second lock: entries are made visible where they are drawn (`joey.system.visible`), and here once more,
because Markdown can spell a character (`&#8238;`) that was not there before. `Colourless` is NO_COLOR as its authors
mean it: no colours at all, not even grey ones; bold, dim, underlined and reversed text stay.
"""

from __future__ import annotations

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from joey.system.visible import visible


class Safe(LineFilter):
    """No character that a terminal would obey."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [Segment(visible(text), style, control) for text, style, control in segments]


class Colourless(LineFilter):
    """No colours. What only its background would tell apart, such as the cursor, is reversed by the style sheet."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [Segment(text, style.without_color if style else None, control) for text, style, control in segments]
