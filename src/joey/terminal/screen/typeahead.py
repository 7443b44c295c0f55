"""What is typed before there is an input: kept in order, and typed into it as soon as it has the focus.

    nothing has the focus  --the input has it-->  typed into the input
    a list is being read   --its search has the focus-->  typed into the search, without Enter

Textual drops keys while nothing has the focus. The first frame shows an input long before the real one is there, and
whoever sees it types. Where a list is about to open, what is typed is no message: nothing of it is sent, and Enter
chooses nothing that was not in view.
"""

from __future__ import annotations

from textual import events
from textual.app import App
from textual.screen import Screen


class TypeaheadApp(App[None]):
    """An application that loses none of the first keys."""

    def __init__(self) -> None:
        super().__init__()
        self._typed_ahead: list[events.Event] | None = []
        """What was typed so far; None once there is an input."""
        self._list: type[Screen[str | None]] | None = None
        """The list that is about to open, and gets what is typed."""

    def type_into(self, opening: type[Screen[str | None]]) -> None:
        """From now on, what is typed is for this list, which is about to open."""
        self._list = opening
        self._typed_ahead = [] if self._typed_ahead is None else self._typed_ahead

    async def on_event(self, event: events.Event) -> None:
        is_typed = isinstance(event, (events.Key, events.Paste)) and not event.is_forwarded
        quits = isinstance(event, events.Key) and event.key == "ctrl+q"
        if self._typed_ahead is not None and is_typed and not quits:
            self._typed_ahead.append(event)
        else:
            await super().on_event(event)

    async def on_descendant_focus(self) -> None:
        """The input is there. Not through the queue: what was typed since would be before it."""
        if self._list is None or isinstance(self.screen, self._list):
            await self.type_what_was_kept()

    async def type_what_was_kept(self) -> None:
        """Type it into what has the focus now."""
        typed, self._typed_ahead = self._typed_ahead or [], None
        sends, self._list = self._list is None, None
        for event in typed:
            if sends or not (isinstance(event, events.Key) and event.key == "enter"):
                await super().on_event(event)
