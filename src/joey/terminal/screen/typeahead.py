"""What is typed before there is an input: kept in order, and typed into it as soon as it has the focus.

Textual drops keys while nothing has the focus. The first frame shows an input long before the real one is there, and
whoever sees it types.
"""

from __future__ import annotations

from textual import events
from textual.app import App


class TypeaheadApp(App[None]):
    """An application that loses none of the first keys."""

    def __init__(self) -> None:
        super().__init__()
        self._typed_ahead: list[events.Event] | None = []
        """What was typed so far; None once there is an input."""

    async def on_event(self, event: events.Event) -> None:
        if self._typed_ahead is not None and isinstance(event, (events.Key, events.Paste)) and not event.is_forwarded:
            self._typed_ahead.append(event)
        else:
            await super().on_event(event)

    async def on_descendant_focus(self) -> None:
        """The input is there. Not through the queue: what was typed since would be before it."""
        typed, self._typed_ahead = self._typed_ahead or [], None
        for event in typed:
            await super().on_event(event)
