"""The markers of a dialect's frame, put together once: what is looked for in text, in reasoning, in a section."""

from __future__ import annotations

from functools import cache, cached_property

from joey.protocols.dialects.json_calls import FENCES
from joey.protocols.dialects.source import Markers
from joey.protocols.dialects.spec import Channels, Dialect, Function, Json, Tagged

ANY_THINK = ("<think>", "</think>")
"""What opens and closes reasoning at the beginning of a reply in every dialect, also where it is not the model's own:
what is only thought of is no call."""


class ReasoningMarks:
    """What ends reasoning: its closing marker, a call's opener where no closing marker follows, other markers."""

    def __init__(self, close: set[str], calls: tuple[str, ...], ends: tuple[str, ...] = ()) -> None:
        self.close, self.ends = close, ends
        self.all, self.closing = Markers((*close, *calls, *ends)), Markers(close)


class Marks:
    """The markers of a dialect's frame, put together once."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        frame, calls = dialect.frame, dialect.calls
        pairs = ((frame.think,) if frame.think else ()) + frame.more_think
        self.think_open = {form: opening for opening, _ in pairs for form in _forms(opening, after=True)}
        self.think_close = {form for _, closing in pairs for form in _forms(closing, before=True, after=True)}
        self.plain_opens = tuple(opening.strip() for opening, _ in pairs)
        own = ANY_THINK[0] in self.plain_opens or isinstance(calls, Channels)
        self.foreign_think = set() if own else set(_forms(ANY_THINK[0], after=True))
        wraps = calls.wrap[0] if isinstance(calls, Tagged) else ()
        openers = () if isinstance(calls, Channels) else (*wraps, *calls.open)
        self.call_open = {form: opening for opening in openers for form in _forms(opening, before=True, sep=frame.sep)}
        self.section_open = {
            form for opening in frame.section[0] for form in _forms(opening, before=True, sep=frame.sep)
        }
        self.section_close = set(frame.section[1])
        self.call_openers = set(openers)
        closes = () if isinstance(calls, Channels) else calls.close
        self.closers = {*closes, *(calls.wrap[1] if isinstance(calls, Tagged) else ()), *self.section_close}
        self.bare = _bare_marks(calls)
        self.stops = set(frame.stops)

    @cached_property
    def in_text(self) -> Markers:
        frame = self.dialect.frame
        openers = (*self.think_open, *self.foreign_think, *self.call_open, *self.section_open, *self.bare)
        return Markers((*openers, *self.think_close, *self.closers, *frame.removed, *self.stops))

    @cached_property
    def reasoning(self) -> ReasoningMarks:
        frame = self.dialect.frame
        openers = (*self.call_open, *self.section_open) if frame.call_ends_think else ()
        return ReasoningMarks(self.think_close, openers, frame.think_ends)

    @cached_property
    def foreign_reasoning(self) -> ReasoningMarks:
        close = set(_forms(ANY_THINK[1], before=True, after=True))
        return ReasoningMarks(close, (*self.call_open, *self.section_open))

    @cached_property
    def in_section(self) -> Markers:
        return Markers((*self.call_openers, *self.section_close))


def _forms(marker: str, *, before: bool = False, after: bool = False, sep: str = "") -> list[str]:
    """A marker with and without the line breaks around it."""
    core = marker.strip("\n") if before or after else marker
    starts = {"", "\n", sep, marker[: len(marker) - len(marker.lstrip("\n"))]} if before else {""}
    ends = {"", "\n", marker[len(marker.rstrip("\n")) :]} if after else {""}
    return [start + core + end for start in starts for end in ends]


def _bare_marks(calls: object) -> tuple[str, ...]:
    if isinstance(calls, Json) and calls.bare:
        return ("{", "[", *(FENCES[:4] if calls.fenced else ()))
    return ("[",) if isinstance(calls, Function) and calls.bare else ()


@cache
def marks_of(dialect: Dialect) -> Marks:
    return Marks(dialect)
