"""What is not asked about again, and how to have it asked about: `/permissions`.

listed  --Enter, Delete-->  sure?  --y-->  revoked, listed
                                   --n, Esc, Enter, another choice-->  listed
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from joey.permissions import Granted
from joey.system.visible import one_line
from joey.terminal.screen.answering import KeyGate
from joey.terminal.screen.confirm import YesNoDialog
from joey.terminal.screen.prompt import Prompt

_KEYS = "↑↓ choose · Enter or Delete revokes the chosen one · Esc goes back"
_SURE = "Revoke it? Then Joey asks about it again"
_MOVES = ("up", "down", "home", "end", "pageup", "pagedown")
_NOTHING = "Nothing was allowed with an answer: everything is decided by the profile and the rules of the settings."


def permission_line(granted: Granted) -> Text:
    """One permission: how far it reaches, and what it allows."""
    line = Text(no_wrap=True, overflow="ellipsis").append(f"this {granted.scope:<8} ", "dim")
    return line.append(one_line(granted.permission.words))


class PermissionList(YesNoDialog[None]):
    """Lists what holds; `revoke` takes one back."""

    def __init__(
        self, granted: Sequence[Granted], revoke: Callable[[Granted], object], gate: KeyGate, prompt: Prompt
    ) -> None:
        super().__init__(gate, prompt)
        self._granted, self._revoke = [*granted], revoke

    def compose(self) -> ComposeResult:
        with Vertical(id="picker"):
            yield Static("Not asked about again", id="picker-title")
            yield OptionList(id="picker-tasks")
            yield self.compose_keys()

    def on_mount(self) -> None:
        self._show()
        self.query_one(OptionList).focus()

    def _show(self) -> None:
        listed = self.query_one(OptionList)
        at = listed.highlighted or 0
        listed.clear_options()
        listed.add_options([Option(permission_line(each)) for each in self._granted])
        listed.highlighted = min(at, len(self._granted) - 1) if self._granted else None
        title = Text("Not asked about again", "bold") if self._granted else Text(_NOTHING)
        self.query_one("#picker-title", Static).update(title)

        self.end_question()

    def keys(self, *, ready: bool) -> str:
        if not self.has_question:
            return _KEYS
        return f"{_SURE} · y revokes · n or Esc: no" if ready else f"{_SURE} · Esc: no"

    def on_key(self, event: events.Key) -> None:
        if self.has_question and (event.key == "escape" or (event.key in ("enter", "delete") and not self.is_held)):
            self.end_question()
        elif event.key == "escape":
            self.dismiss()
        elif event.key in ("enter", "delete") and not self.has_question:
            self._ask()
        elif event.key in _MOVES:
            self.end_question()
            return
        else:
            self.take(event)
        event.stop()
        event.prevent_default()

    def on_option_list_option_selected(self) -> None:
        """A click asks, too."""
        self._ask()

    def _ask(self) -> None:
        if self.query_one(OptionList).highlighted is not None:
            self.ask(_SURE)

    def answered(self, *, yes: bool) -> None:
        self.end_question()
        chosen = self.query_one(OptionList).highlighted
        if yes and chosen is not None:
            self._revoke(self._granted.pop(chosen))
            self._show()
