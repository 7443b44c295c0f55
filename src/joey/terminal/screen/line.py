"""A line to type in, whose keys take effect in the order in which they were pressed."""

from __future__ import annotations

from textual import events
from textual.widget import Widget
from textual.widgets import Input


async def edited(widget: Widget, key: str) -> bool:
    """Whether the widget did at once what it binds to the key: Backspace, arrows and the like. Textual does it after
    the keys that follow: wrong where several keys come at a time, as over a slow line."""
    bound = widget._bindings.key_to_bindings.get(key, [])  # noqa: SLF001 - nothing else says what it binds itself
    return bool(bound) and await widget.app.run_action(bound[0].action, widget)


class Line(Input):
    """One line, such as the words of a search."""

    async def on_key(self, event: events.Key) -> None:
        if await edited(self, event.key):
            event.stop()
            event.prevent_default()
