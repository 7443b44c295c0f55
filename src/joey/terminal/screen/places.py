"""Places of words in the conversation: where Ctrl+F finds them, and how they are marked there.

    entries --places--> FoundPlace(entry 7, the 3rd in it) --Marked--> the entry in full, with the words reversed

Words are looked for as the screen shows them, with the Markdown drawn: a gap between two may be the end of a row, with
the bar before the next. An entry is only drawn for it where the letters of the words are in its source.
"""

from __future__ import annotations

import html
import io
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import ClassVar, NamedTuple

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.markdown import CodeBlock
from rich.padding import Padding
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from joey.system.visible import visible
from joey.terminal.drawing import draw
from joey.terminal.quoted import MARK, Quoted
from joey.terminal.screen.look import Prose, ScreenLook
from joey.terminal.scrollback import entry_text
from joey.terminal.transcript import Entry, Growing, ModelText

MAX_PLACES = 1_000
"""How many places are looked for: the first letter of a word is everywhere in a long task."""
_GAP = rf"[\s{MARK.strip()}]+"
_NO_LETTERS = re.compile(r"[\W_]+")
_CONSOLE = Console(width=500, color_system=None, file=io.StringIO(), legacy_windows=False)
_HERE, _ALSO = Style(bold=True, reverse=True, color="yellow"), Style(reverse=True)
"""Reversed, so that both are seen without colour, too."""


class FoundPlace(NamedTuple):
    """One occurrence: in which entry, and which of those in it."""

    at: int
    nth: int


def pattern_of(words: str) -> re.Pattern[str] | None:
    """Finds these words in a text; None if there are none."""
    parts = [re.escape(part) for part in words.split()]
    return re.compile(_GAP.join(parts), re.IGNORECASE) if parts else None


def places(entries: Sequence[Entry], words: str) -> list[FoundPlace]:
    """Where in the conversation these words are, the oldest place first: of very many, the last. Counted is what a
    card shows in full: a command's output is there once, though the model gets it, too."""
    pattern, wanted = pattern_of(words), _letters(words)
    found: list[FoundPlace] = []
    for at in reversed(range(len(entries) if pattern else 0)):
        source = "" if entries[at].dropped else entry_text(entries[at])
        if pattern and source and wanted in _letters(source):
            count = sum(1 for _ in pattern.finditer(_seen_text(entries[at])))
            found += [FoundPlace(at, nth) for nth in reversed(range(count))]
        if len(found) >= MAX_PLACES:
            break
    return found[MAX_PLACES - 1 :: -1]


def _letters(text: str) -> str:
    """Letters and digits alone, which Markdown keeps whatever it does with its signs."""
    return _NO_LETTERS.sub("", html.unescape(text)).casefold()


class _PlainCode(CodeBlock):
    """A block of code without its colours, which take most of the time."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(str(self.text).rstrip())


class _PlainProse(Prose):
    elements: ClassVar = {**Prose.elements, "fence": _PlainCode, "code_block": _PlainCode}


class _SearchLook(ScreenLook):
    def _markdown(self, text: str) -> Prose:
        return _PlainProse(visible(text))


def _seen_text(entry: Entry) -> str:
    """What the screen shows of an entry in full, in rows so wide that no word is cut."""
    if isinstance(entry, ModelText):
        return _seen_prose(entry.words.text, entry.is_open)
    return _rows(entry)


@lru_cache(maxsize=1_000)
def _seen_prose(text: str, is_open: bool) -> str:
    """The same for a reply. Every key of the search looks at all of them again."""
    return _rows(ModelText(Growing(text), is_open))


def _rows(entry: Entry) -> str:
    return plain(draw(entry, _SearchLook(in_full=True)))


def plain(drawn: RenderableType) -> str:
    """The rows of what is drawn. Text is not laid out for it: that takes a second for a long output."""
    match drawn:
        case Text():
            return drawn.plain
        case Group():
            return "\n".join(map(plain, drawn.renderables))
        case Padding():
            return plain(drawn.renderable)
        case Quoted():
            return drawn.first + plain(drawn.words)
    lines = _CONSOLE.render_lines(drawn, _CONSOLE.options.update(height=None), pad=False)
    return "\n".join("".join(part.text for part in line) for line in lines)


@dataclass(frozen=True, slots=True)
class Marked:
    """Something drawn, with the words marked in it, and one place of them more than the others."""

    drawn: RenderableType
    pattern: re.Pattern[str]
    nth: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = self._lines(console, options)
        for row, marks in enumerate(self._marks(lines)):
            yield from _inked(lines[row], marks)
            yield Segment.line()

    def row(self, console: Console, options: ConsoleOptions) -> int:
        """In which row the place is."""
        marks = self._marks(self._lines(console, options))
        return next((row for row, found in enumerate(marks) if any(style is _HERE for *_, style in found)), 0)

    def _lines(self, console: Console, options: ConsoleOptions) -> list[list[Segment]]:
        return console.render_lines(self.drawn, options.update(height=None), pad=False)

    def _marks(self, lines: list[list[Segment]]) -> list[list[tuple[int, int, Style]]]:
        """For each row what is marked: from which character to which, and how."""
        rows = ["".join(part.text for part in line) for line in lines]
        found = [match.span() for match in self.pattern.finditer("\n".join(rows))]
        here = min(self.nth, len(found) - 1)
        starts = [*accumulate((len(row) + 1 for row in rows), initial=0)]
        marks: list[list[tuple[int, int, Style]]] = [[] for _ in rows]
        for each, (begin, end) in enumerate(found):
            for row in range(bisect_right(starts, begin) - 1, bisect_left(starts, end)):
                left, right = max(begin - starts[row], 0), min(end - starts[row], len(rows[row]))
                if left < right:
                    marks[row].append((left, right, _HERE if each == here else _ALSO))
        return marks


def _inked(line: list[Segment], marks: list[tuple[int, int, Style]]) -> Iterator[Segment]:
    """The row with these characters marked."""
    at = 0
    for text, style, control in line:
        if control:
            yield Segment(text, style, control)
            continue
        ends = at + len(text)
        cuts = sorted({at, ends, *(cut for mark in marks for cut in mark[:2] if at < cut < ends)})
        for begin, end in pairwise(cuts):
            ink = next((ink for start, stop, ink in marks if start <= begin and end <= stop), None)
            yield Segment(text[begin - at : end - at], (style or Style()) + ink if ink else style)
        at = ends
