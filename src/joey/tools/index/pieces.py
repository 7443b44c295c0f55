"""A file cut into pieces that make sense alone: a function, a method, the head of a class, a section of a text.

Every line of a file is in exactly one piece, in order. Code is cut along its syntax: a definition is a piece if it is
not too long; a longer one is cut into the definitions in it and what is between them; what has no definitions and is
too long is cut into windows, at empty lines where there are any. Texts in Markdown are cut at their headings,
everything else into windows. Pieces that are tiny (a brace, an import, a constant) join the one before or after them.

Sizes are in characters. They are small because the model reads 128 tokens of a piece, some 500 characters, and because
what is found is shown whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from joey.tools.index.syntax import Definition, cutter, outline
from joey.tools.reading.lines import split_lines

MAX_PIECE = 1_500
"""A piece is not longer than this, unless a single line is."""
_WHOLE = 1_000
"""A definition up to this size is not cut, whatever is in it."""
_TINY = 80
_HEADING = re.compile(r" {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_COMMENT = re.compile(r"\s*(#|//|/\*|\*|--|;|@|\[<?\w)")


@dataclass(frozen=True, slots=True)
class CodePiece:
    """Lines first to last (from 1, both included), and the name of what they define: `Class.method`."""

    first: int
    last: int
    name: str
    text: str

    @property
    def meaning(self) -> str:
        """What is embedded: the text, under the name of what it stands in when it does not say that itself."""
        inside = self.name.rpartition(".")[0]
        return f"{inside}\n{self.text}" if inside else self.text


@dataclass(frozen=True, slots=True)
class _Span:
    """Lines first to last, from 0, and their name."""

    first: int
    last: int
    name: str


def cut(text: str, path: str) -> list[CodePiece]:
    """The pieces of a file. An empty file has none."""
    lines = split_lines(text)
    suffix = PurePath(path).suffix.lower()
    spans = _Cutting(lines).spans(text, suffix, cutter(suffix))
    return [CodePiece(each.first + 1, each.last + 1, each.name, _text(lines, each)) for each in spans]


def _text(lines: Sequence[str], span: _Span) -> str:
    return "\n".join(lines[span.first : span.last + 1])


class _Cutting:
    def __init__(self, lines: list[str]) -> None:
        self._lines = lines

    def spans(self, text: str, suffix: str, way: str) -> list[_Span]:
        if not self._lines:
            return []
        whole = _Span(0, len(self._lines) - 1, "")
        if way == "headings":
            return self._joined(self._sections(whole))
        # A file of lone CRs is one line to a grammar.
        definitions = outline(text, suffix, _WHOLE) if way == "syntax" and "\n" in text else None
        if definitions is None:
            return self._joined(self._windows(whole))
        return self._joined(self._along(whole, definitions))

    def _along(self, span: _Span, definitions: Iterable[Definition]) -> Iterator[_Span]:
        """The definitions of a span and the lines between them."""
        at = span.first
        for each in definitions:
            first, last = self._with_comments(max(each.first, at), at), min(each.last, span.last)
            if last < at:
                continue
            yield from self._windows(_Span(at, first - 1, span.name))
            inside = _Span(first, last, ".".join(filter(None, (span.name, each.name))))
            if self._size(inside) <= (_WHOLE if each.inner else MAX_PIECE):
                yield inside
            else:
                yield from self._along(inside, each.inner)
            at = last + 1
        yield from self._windows(_Span(at, span.last, span.name))

    def _with_comments(self, first: int, floor: int) -> int:
        """Comments and attributes right above a definition belong to it."""
        while first > floor and _COMMENT.match(self._lines[first - 1]):
            first -= 1
        return first

    def _sections(self, whole: _Span) -> Iterator[_Span]:
        first, trail, fenced = 0, list[tuple[int, str]](), False
        for number, line in enumerate(self._lines):
            fenced = fenced != bool(_FENCE.match(line))
            heading = None if fenced else _HEADING.match(line)
            if heading is None:
                continue
            yield from self._windows(_Span(first, number - 1, _path_of(trail)))
            depth = len(heading[1])
            trail = [*(each for each in trail if each[0] < depth), (depth, heading[2])]
            first = number
        yield from self._windows(_Span(first, whole.last, _path_of(trail)))

    def _windows(self, span: _Span) -> Iterator[_Span]:
        """Runs of lines up to the size, each ending at the last empty line of its second half if there is one."""
        first = span.first
        while first <= span.last:
            last, size = first, len(self._lines[first])
            while last < span.last and size + len(self._lines[last + 1]) < MAX_PIECE:
                last += 1
                size += len(self._lines[last]) + 1
            if last < span.last:
                last = next((at for at in range(last, (first + last) // 2, -1) if not self._lines[at].strip()), last)
            yield _Span(first, last, span.name)
            first = last + 1

    def _joined(self, spans: Iterable[_Span]) -> list[_Span]:
        """Tiny ones joined to their neighbours, where both fit in one piece."""
        kept: list[_Span] = []
        waiting = [each for each in spans if each.first <= each.last]
        for each, following in zip(waiting, [*waiting[1:], None], strict=True):
            if kept and not self._is_head(each, following) and self._belong_together(kept[-1], each):
                kept[-1] = _Span(kept[-1].first, each.last, _both(kept[-1].name, each.name))
            else:
                kept.append(each)
        return kept

    def _is_head(self, span: _Span, following: _Span | None) -> bool:
        """Whether it is the first line of a class, say, which belongs to what follows and not to what was before."""
        is_inside = following is not None and span.name != "" and following.name.startswith(f"{span.name}.")
        return is_inside and self._words_in(span) > 0

    def _belong_together(self, before: _Span, after: _Span) -> bool:
        small = min(self._words_in(before), self._words_in(after))
        return (small < _TINY and self._size(before) + self._size(after) < MAX_PIECE) or small == 0

    def _size(self, span: _Span) -> int:
        return sum(len(line) + 1 for line in self._lines[span.first : span.last + 1])

    def _words_in(self, span: _Span) -> int:
        return sum(len(line.strip()) for line in self._lines[span.first : span.last + 1])


def _path_of(trail: list[tuple[int, str]]) -> str:
    # A heading may hold full stops, which would look like more of the path.
    return " > ".join(title for _, title in trail)


def _both(one: str, other: str) -> str:
    """One name for two pieces: that of the class for its head and its first method, or else both."""
    if not one or not other or one == other:
        return one or other
    if other.startswith(f"{one}.") or one.startswith(f"{other}."):
        return max(one, other, key=len)
    return f"{one}, {other}"[:200]
