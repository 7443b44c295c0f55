"""What there is to see of a page at one moment, what it logged since the last, and where the model points: its words to
numbers and names of keys. Pure.

A coordinate is `x,y@WIDTHxHEIGHT`: a point in an image of that size. Images may be smaller than the page they show,
so the point is scaled to the viewport.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

SMALLEST, MAX_SIDE = 100, 4_000
_NUMBER = r"\s*(\d+(?:\.\d+)?)\s*"
_POINT = re.compile(rf"\s*[\[(]?{_NUMBER},{_NUMBER}[\])]?\s*(?:@{_NUMBER}[x×,]{_NUMBER})?", re.IGNORECASE)
_SIZE = re.compile(r"\s*(\d+)\s*[x×,]\s*(\d+)\s*", re.IGNORECASE)


class PointingError(Exception):
    """Words for the model on what is wrong with what it gave."""


@dataclass(frozen=True, slots=True)
class Size:
    width: int
    height: int

    def __str__(self) -> str:
        return f"{self.width}x{self.height}"


def point_in(text: str, image: Size, viewport: Size) -> tuple[int, int]:
    """The point of the viewport that a coordinate means. Without a size, it is one in the last `image`."""
    found = _POINT.fullmatch(text)
    if found is None:
        raise PointingError(f"coordinate must be x,y@WIDTHxHEIGHT, such as 450,300@{image}, got {text!r}.")
    x, y = float(found[1]), float(found[2])
    width, height = (float(found[3]), float(found[4])) if found[3] else (image.width, image.height)
    if not width or not height or x > width or y > height:
        raise PointingError(f"{text!r} is no point of an image of {width:g}x{height:g}: it is outside of it.")
    across, down = round(x * viewport.width / width), round(y * viewport.height / height)
    return min(across, viewport.width - 1), min(down, viewport.height - 1)


def size_in(text: str) -> Size:
    found = _SIZE.fullmatch(text)
    if found is None:
        raise PointingError(f"size must be WIDTHxHEIGHT, such as 1280x720, got {text!r}.")
    size = Size(int(found[1]), int(found[2]))
    if not all(SMALLEST <= side <= MAX_SIDE for side in (size.width, size.height)):
        raise PointingError(f"size must be from {SMALLEST} to {MAX_SIDE} pixels each way, got {size}.")
    return size


_KEYS = {
    "ctrl": "Control", "control": "Control", "cmd": "Meta", "command": "Meta", "meta": "Meta", "win": "Meta",
    "super": "Meta", "alt": "Alt", "option": "Alt", "shift": "Shift", "esc": "Escape", "escape": "Escape",
    "enter": "Enter", "return": "Enter", "tab": "Tab", "space": "Space", "spacebar": "Space", "del": "Delete",
    "delete": "Delete", "ins": "Insert", "insert": "Insert", "backspace": "Backspace", "home": "Home", "end": "End",
    "pageup": "PageUp", "pgup": "PageUp", "pagedown": "PageDown", "pgdn": "PageDown", "up": "ArrowUp",
    "arrowup": "ArrowUp", "down": "ArrowDown", "arrowdown": "ArrowDown", "left": "ArrowLeft",
    "arrowleft": "ArrowLeft", "right": "ArrowRight", "arrowright": "ArrowRight", "plus": "+",
    "contextmenu": "ContextMenu", "capslock": "CapsLock",
}  # fmt: skip
_MODIFIERS = {"Control", "Meta", "Alt", "Shift"}


def keys_in(text: str) -> str:
    """A key or a combination, as Playwright names them: `ctrl+a` is Control+a."""
    parts = re.split(r"(?<=.)\s*\+\s*(?=.)", text.strip())
    named = [_key(part, text) for part in parts]
    if any(key not in _MODIFIERS for key in named[:-1]):
        raise PointingError(f"{text!r} presses two keys: give one, with Ctrl, Alt, Shift or Meta before it.")
    return "+".join(named)


def _key(part: str, text: str) -> str:
    if len(part) == 1:
        return part
    name = re.sub(r"[\s_-]", "", part).lower()
    if re.fullmatch(r"f([1-9]|1\d|2[0-4])", name):
        return name.upper()
    if name not in _KEYS:
        raise PointingError(f"{text!r} is no key: use names such as Enter, Tab, Escape, ArrowDown, PageUp, F5, Ctrl+A.")
    return _KEYS[name]


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
