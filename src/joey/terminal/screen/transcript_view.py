"""The transcript on the screen: a window onto the entries, so that a task of thousands of messages scrolls.

Only the entries from `first` to `last` have a widget. New entries come in at the end while the end is in view; going
up to the top brings in older ones and lets go of those far below, and the other way round. What is in view stays put.

Either the end is followed, or something is kept in view, or neither: the user's scrolling ends both. Kept is a place
that was found, or, when everything is drawn again or the window has another size, the entry that was in view. It is
looked up again after every layout, since what was mounted or unfolded has its height only then.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import accumulate

from rich.text import Text
from textual.containers import VerticalScroll
from textual.geometry import Size
from textual.message import Message
from textual.screen import Screen
from textual.strip import Strip
from textual.visual import RichVisual, Visual

from joey.terminal.drawing import Look, draw
from joey.terminal.screen.look import ScreenLook
from joey.terminal.screen.places import FoundPlace, Marked, pattern_of
from joey.terminal.screen.survival import Shown, Survives
from joey.terminal.screen.tall import Tall, tall
from joey.terminal.transcript import Entry

MOUNTED = 120
"""How many entries have a widget at most."""
STEP = 40


class EntryView(Survives, Shown):
    """One entry. A click shows it in full, another folds it again."""

    def __init__(self, entry: Entry, look: Look) -> None:
        super().__init__(classes=type(entry).__name__.lower())
        self.entry = entry
        self._look = look
        self._found: tuple[re.Pattern[str], int] | None = None
        self._tall: Tall | None = None
        """What is drawn, if it is too long to be laid out as a whole."""
        self._strips: dict[int, list[Strip]] = {}
        """The pieces of it that were looked at."""
        self.draw()

    def draw(self, look: Look | None = None) -> None:
        self._look = look or self._look
        self.display = not self.entry.dropped
        drawn = draw(self.entry, self._look)
        self._tall = tall(drawn)
        if self._tall and self._found:
            self._tall = self._tall.find(*self._found)
        self.update(Text() if self._tall else Marked(drawn, *self._found) if self._found else drawn)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        if not self._tall or not width:
            return super().get_content_height(container, viewport, width)
        return self._tall.height(width, self.app.console, self.app.console_options)

    def render_line(self, y: int) -> Strip:
        if not self._tall:
            return super().render_line(y)
        if self._dirty_regions:
            self._dirty_regions.clear()
            self._strips.clear()
        at, row = self._tall.piece_at(y)
        if at not in self._strips and at < len(self._tall.pieces):
            visual = RichVisual(self, self._tall.pieces[at])
            self._strips[at] = Visual.to_strips(self, visual, self.size.width, None, self.visual_style)
        rows = self._strips.get(at, [])
        return rows[row] if row < len(rows) else Strip.blank(self.size.width, self.visual_style.rich_style)

    def mark(self, words: str, nth: int) -> None:
        """Show it in full, with these words marked."""
        pattern = pattern_of(words)
        self._found = (pattern, nth) if pattern else None
        self.add_class("found")
        self.draw(replace(self._look, in_full=True))

    def unmark(self, look: Look | None = None) -> None:
        """Nothing in it is marked any more; it stays unfolded unless another look is given."""
        if self.has_class("found"):
            self._found = None
            self.remove_class("found")
            self.draw(look)

    def row_of(self, words: str, nth: int) -> int:
        """In which row the words are for the nth time."""
        pattern, console = pattern_of(words), self.app.console
        options = console.options.update(width=max(1, self.content_size.width))
        if pattern is None:
            return 0
        if self._tall and self._found == (pattern, nth):
            return self._tall.found_row(console, options)
        drawn = draw(self.entry, self._look)
        if pieces := tall(drawn):
            return pieces.find(pattern, nth).found_row(console, options)
        return Marked(drawn, pattern, nth).row(console, options)

    @property
    def look(self) -> Look:
        return self._look

    @property
    def is_tall(self) -> bool:
        """Whether it is too long to be laid out as a whole."""
        return self._tall is not None

    def letters(self, look: Look, width: int) -> list[int]:
        """How many letters and digits each row has in another layout; signs of our own are no words."""
        options = self.app.console.options.update(width=max(1, width), height=None)
        rows = self.app.console.render_lines(draw(self.entry, look), options, pad=False)
        return [sum(map(str.isalnum, "".join(part.text for part in row))) for row in rows]

    def on_click(self) -> None:
        self.draw(replace(self._look, in_full=not self._look.in_full))


@dataclass(slots=True)
class _KeptPlace:
    """A place that is in view until the user scrolls, and its row as of the last layout."""

    view: EntryView
    words: str
    nth: int
    size: Size | None = None
    row: int = 0

    def top(self, height: int) -> int:
        """Which row of the conversation is the first in view: that of the place is in the upper half, with some rows
        before it to read on from."""
        row = self._find_row()
        return self.view.virtual_region.y + row - min(row, height // 3)

    def _find_row(self) -> int:
        """Looked for only if the entry has another size than before: a long one takes a while."""
        if self.size != self.view.size:
            self.size, self.row = self.view.size, self.view.row_of(self.words, self.nth)
        return self.row


@dataclass(slots=True)
class _KeptEntry:
    """An entry that stays where it is in view: that many rows below the top, or, where it begins above it, with the
    same words at the top. It is the same for any number of layouts, so that nothing drifts."""

    view: EntryView
    row: int
    size: Size
    look: Look
    """How it was laid out then."""
    was_tall: bool = False
    """Whether it was too long then to be laid out as a whole."""
    _size: Size | None = None
    _look: Look | None = None
    _above: int = 0
    """How many of its rows are above the top in the layout of this size and look."""

    def top(self, height: int) -> int:
        y = self.view.virtual_region.y
        return y - min(self.row, height - 1) if self.row >= 0 else y + self._rows_above()

    def _rows_above(self) -> int:
        """Looked for only if the entry is laid out in another way than before."""
        if (self._size, self._look) != (self.view.content_size, self.view.look):
            self._size, self._look = size, _ = self.view.content_size, self.view.look
            same = (self._size, self._look) == (self.size, self.look)
            self._above = -self.row if same else self._row_with_the_same_words(size)
        return self._above

    def _row_with_the_same_words(self, size: Size) -> int:
        """That has as many letters before it. A very long entry is not laid out for it, be it that it was one or is one
        by now: there, the same part of it."""
        if self.view.is_tall or self.was_tall:
            return round(-self.row * size.height / max(1, self.size.height))
        before = self.view.letters(self.look, self.size.width)[: -self.row]
        now = self.view.letters(self.view.look, size.width)
        return min(bisect_right([*accumulate(now)], sum(before)), max(0, len(now) - 1))


class TranscriptView(Survives, VerticalScroll, can_focus=False):
    """The entries in view and some around them."""

    @dataclass
    class Moved(Message):
        """The user scrolled: is the end still in view?"""

        at_end: bool

    def __init__(self, entries: list[Entry]) -> None:
        super().__init__(id="transcript")
        self._entries = entries
        self._views: dict[int, EntryView] = {}
        self._first = self._last = 0
        self._following = True
        """Whether the end is kept in view. Scrolling away ends it, coming back begins it again."""
        self._kept: _KeptPlace | _KeptEntry | None = None
        self._in_view: _KeptEntry | None = None
        """What is in view as of the last layout, unless the end is followed."""
        self._last_size = Size(0, 0)
        self._is_settling = False
        """Whether the end, or what is kept, is scrolled to just now: that is not the user."""
        self.look: Look = ScreenLook()

    @property
    def is_at_end(self) -> bool:
        """Whether the end is in view, or will be as soon as it is drawn."""
        return self._following

    def on_mount(self) -> None:
        self.screen.screen_layout_refresh_signal.subscribe(self, self._laid_out)
        self.catch_up()

    def on_resize(self) -> None:
        self._keep_in_view()
        self._last_size = self.size
        self._scroll_to_kept()
        self._follow()

    def _laid_out(self, _screen: Screen[object]) -> None:
        self._scroll_to_kept()
        self._look_what_is_in_view(self.scroll_offset.y)

    def _look_what_is_in_view(self, top: int) -> None:
        """Not in a window that has another size by now: what is in view then is by chance."""
        if self._following or self._kept or self.size != self._last_size:
            return
        views = [each for each in self.children if isinstance(each, EntryView) and each.virtual_region.bottom > top]
        begins = (each for each in views if top <= each.virtual_region.y < top + self.size.height)
        first = next(begins, next(iter(views), None))
        row = first.virtual_region.y - top if first else 0
        self._in_view = _KeptEntry(first, row, first.content_size, first.look, first.is_tall) if first else None

    @property
    def _user_is_at_end(self) -> bool:
        """Whether the end is in view, and not because of what is kept or of another size of the window."""
        return self.is_vertical_scroll_end and self._kept is None and self.size == self._last_size

    def _keep_in_view(self) -> None:
        """Keep what is in view through the next layouts."""
        if not self._following and self._kept is None and self._in_view and self._in_view.view.is_attached:
            self._kept = self._in_view

    def release_anchor(self) -> None:
        """Textual calls this when the user scrolls, and whenever it scrolls at once."""
        super().release_anchor()
        if not self._is_settling:
            self._following, self._kept = False, None

    def _follow(self) -> None:
        """Twice after a refresh: only then is the height of what is new known."""
        if self._following:
            self.call_after_refresh(self.call_after_refresh, self._scroll_to_end)

    def _scroll_to_end(self) -> None:
        """Unless a place was brought into view since."""
        if self._following:
            self._is_settling = True
            self.scroll_end(animate=False, immediate=True)
            self._is_settling = False

    def catch_up(self, changed: Iterable[Entry] = ()) -> None:
        """Draw what changed and what is new."""
        self._following |= self._user_is_at_end
        for entry in changed:
            if view := self._views.get(id(entry)):
                view.draw()
        behind = len(self._entries) - self._last
        if behind and (self._following or behind <= MOUNTED - (self._last - self._first)):
            self._show(max(self._first, len(self._entries) - MOUNTED), len(self._entries))
        self._follow()

    def redraw(self, look: Look) -> None:
        self.look = look
        self._keep_in_view()
        for view in self._views.values():
            view.draw(look)
        self._follow()

    def show_new(self, entries: list[Entry]) -> None:
        """Show another list of entries from its end."""
        self._entries = entries
        self.remove_children()
        self._views.clear()
        self._first = self._last = max(0, len(entries) - MOUNTED)
        self._following, self._kept = True, None
        self.catch_up()

    def to_end(self) -> None:
        """Bring the end into view, and keep it there."""
        self._following, self._kept = True, None
        self.catch_up()

    def bring(self, place: FoundPlace, words: str) -> None:
        """Put the place into view, with the words marked."""
        first = max(0, min(place.at - MOUNTED // 2, len(self._entries) - MOUNTED))
        self._show(first, min(first + MOUNTED, len(self._entries)))
        found = self._views[id(self._entries[place.at])]
        self._following, self._kept = False, _KeptPlace(found, words, place.nth)
        for view in self._views.values():
            if view is not found:
                view.unmark(self.look)
        found.mark(words, place.nth)
        self._scroll_to_kept()

    def _scroll_to_kept(self) -> None:
        """What has no height yet gets it by a layout, and that calls this again."""
        if self._kept is None or not self._kept.view.virtual_region:
            return
        top, self._is_settling = self._kept.top(self.size.height), True
        self.scroll_to(y=top, animate=False, force=True, immediate=True, release_anchor=False)
        self._is_settling = False

    def unmark(self) -> None:
        """No entry is marked any more."""
        for view in self._views.values():
            view.unmark()

    def _show(self, first: int, last: int) -> None:
        """Make the widgets those of the entries from first to last."""
        first = max(0, first)
        too_early = self._entries[self._first : min(first, self._last)]
        too_late = self._entries[max(last, self._first) : self._last]
        for entry in (*too_early, *too_late):
            self._views.pop(id(entry)).remove()
        above = [self._view(entry) for entry in self._entries[first : min(self._first, last)]]
        below = [self._view(entry) for entry in self._entries[max(self._last, first) : last]]
        if above:
            self.mount_all(above, before=0 if self.children else None)
        if below:
            self.mount_all(below)
        self._first, self._last = first, last

    def _view(self, entry: Entry) -> EntryView:
        view = self._views[id(entry)] = EntryView(entry, self.look)
        return view

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._following |= self._user_is_at_end and self._last == len(self._entries)
        at_end = self._kept is not None and self.is_vertical_scroll_end and self._last == len(self._entries)
        self.post_message(self.Moved(self._following or at_end))
        self._look_what_is_in_view(round(new_value))
        if self._following or self._kept:
            return
        if new_value < old_value and new_value <= 1 and self._first > 0:
            self._bring_in(self._first - STEP, max(self._first - STEP, 0) + MOUNTED, self._first)
        elif new_value > old_value and self._last < len(self._entries) and new_value >= self.max_scroll_y - 1:
            last = min(self._last + STEP, len(self._entries))
            self._bring_in(last - MOUNTED, last, self._last - 1)

    def _bring_in(self, first: int, last: int, stays: int) -> None:
        """Move the window so that the entry at `stays` keeps its place on the screen."""
        kept = self._views[id(self._entries[stays])]
        top = stays == self._first
        self._show(first, min(last, len(self._entries)))
        self.call_after_refresh(self.scroll_to_widget, kept, animate=False, top=top, force=True)
