"""What there is to see of a page at one moment, and what it logged since the last."""

from __future__ import annotations

from dataclasses import dataclass, field

from joey.tools.browser.pointing import Size

_MAX_LINES, _MAX_LINE = 100, 500


@dataclass(slots=True)
class Notes:
    """What the page logged and did since the last look. What exceeds the limit is counted, not kept."""

    lines: list[str] = field(default_factory=list)
    dropped: int = 0

    def add(self, text: str) -> None:
        line = " ".join(text.split())
        if len(self.lines) >= _MAX_LINES:
            self.dropped += 1
        else:
            self.lines.append(line if len(line) <= _MAX_LINE else line[:_MAX_LINE] + "…")

    def take(self) -> tuple[str, ...]:
        more = [f"({self.dropped} more lines)"] if self.dropped else []
        taken = (*self.lines, *more)
        self.lines, self.dropped = [], 0
        return taken


@dataclass(frozen=True, slots=True)
class View:
    """What there is to see."""

    url: str
    image: bytes | None
    image_size: Size
    viewport: Size
    mouse: tuple[int, int] | None
    scrolled: tuple[int, int] | None
    """How far down, of how much, in pixels."""
    title: str
    text: str
    console: tuple[str, ...]
    notes: tuple[str, ...]
