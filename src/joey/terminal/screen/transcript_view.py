"""The transcript on the screen: a window onto the entries, so that a task of thousands of messages scrolls.

Only the entries from `first` to `last` have a widget. New entries come in at the end while the end is in view; going
up to the top brings in older ones and lets go of those far below, and the other way round. What is in view stays put.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from rich.console import RenderableType
from textual.containers import VerticalScroll
from textual.message import Message
from textual.widgets import Static

from joey.terminal.drawing import Look, draw
from joey.terminal.screen.look import ScreenLook
from joey.terminal.screen.survival import Survives
from joey.terminal.transcript import Entry

MOUNTED = 120
"""How many entries have a widget at most."""
STEP = 40


class EntryView(Survives, Static):
    """One entry. A click shows it in full, another folds it again."""

    def __init__(self, entry: Entry, look: Look) -> None:
        super().__init__(self._drawn(entry, look), classes=type(entry).__name__.lower())
        self.entry = entry
        self._look = look
        self.display = not entry.dropped

    @staticmethod
    def _drawn(entry: Entry, look: Look) -> RenderableType:
        return draw(entry, look)

    def draw(self, look: Look | None = None) -> None:
        self._look = look or self._look
        self.display = not self.entry.dropped
        self.update(self._drawn(self.entry, self._look))

    def on_click(self) -> None:
        self.draw(replace(self._look, in_full=not self._look.in_full))


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
        self.look: Look = ScreenLook()

    def on_mount(self) -> None:
        self.catch_up()

    def on_resize(self) -> None:
        self._follow()

    def release_anchor(self) -> None:
        """Textual calls this when the user scrolls."""
        super().release_anchor()
        self._following = False

    def _follow(self) -> None:
        if self._following:
            self.call_after_refresh(self.scroll_end, animate=False)

    def catch_up(self, changed: Iterable[Entry] = ()) -> None:
        """Draw what changed and what is new."""
        self._following |= self.is_vertical_scroll_end
        for entry in changed:
            if view := self._views.get(id(entry)):
                view.draw()
        behind = len(self._entries) - self._last
        if behind and (self._following or behind <= MOUNTED - (self._last - self._first)):
            self._show(max(self._first, len(self._entries) - MOUNTED), len(self._entries))
        self._follow()

    def redraw(self, look: Look) -> None:
        self.look = look
        for view in self._views.values():
            view.draw(look)
        self._follow()

    def show_new(self, entries: list[Entry]) -> None:
        """Show another list of entries from its end."""
        self._entries = entries
        self.remove_children()
        self._views.clear()
        self._first = self._last = max(0, len(entries) - MOUNTED)
        self._following = True
        self.catch_up()

    def to_end(self) -> None:
        """Bring the end into view, and keep it there."""
        self._following = True
        self.catch_up()

    def bring(self, at: int) -> None:
        """Put the entry at this place into view, with a mark."""
        first = max(0, min(at - MOUNTED // 2, len(self._entries) - MOUNTED))
        self._following = False
        self._show(first, min(first + MOUNTED, len(self._entries)))
        self.unmark()
        view = self._views[id(self._entries[at])]
        view.add_class("found")
        self.call_after_refresh(self.scroll_to_widget, view, animate=False, top=True, force=True)

    def unmark(self) -> None:
        """No entry is marked any more."""
        for view in self._views.values():
            view.remove_class("found")

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
        self._following |= self.is_vertical_scroll_end and self._last == len(self._entries)
        self.post_message(self.Moved(self._following))
        if self._following:
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
