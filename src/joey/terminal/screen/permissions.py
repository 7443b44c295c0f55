"""What is not asked about again, and how to have it asked about: `/permissions`.

listed  --Enter, Delete-->  sure?  --y-->  revoked, listed
                                   --any other key-->  listed
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from joey.permissions import Granted
from joey.system.visible import one_line
from joey.terminal.screen.survival import Survives

_KEYS = "↑↓ choose · Enter or Delete revokes the chosen one · Esc goes back"
_SURE = "Revoke it? Joey asks about it again from then on · y revokes · any other key: no"
_NOTHING = "Nothing was allowed with an answer: everything is decided by the profile and the rules of the settings."


def permission_line(granted: Granted) -> Text:
    """One permission: how far it reaches, and what it allows."""
    line = Text(no_wrap=True, overflow="ellipsis").append(f"this {granted.scope:<8} ", "dim")
    return line.append(one_line(granted.permission.words))


class PermissionList(Survives, ModalScreen[None]):
    """Lists what holds; `revoke` takes one back."""

    def __init__(self, granted: Sequence[Granted], revoke: Callable[[Granted], object]) -> None:
        super().__init__()
        self._granted, self._revoke = [*granted], revoke
        self._is_sure = True
        """Whether nothing waits for a confirmation."""

    def compose(self) -> ComposeResult:
        with Vertical(id="picker"):
            yield Static("Not asked about again", id="picker-title")
            yield OptionList(id="picker-tasks")
            yield Static(_KEYS, id="picker-keys")

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

    def on_key(self, event: events.Key) -> None:
        if not self._is_sure:
            self._confirmed(yes=event.key == "y")
        elif event.key == "escape":
            self.dismiss()
        elif event.key in ("enter", "delete"):
            self._ask_whether(sure=self.query_one(OptionList).highlighted is None)
        else:
            return
        event.stop()
        event.prevent_default()

    def on_option_list_option_selected(self) -> None:
        """A click asks, too."""
        self._ask_whether(sure=False)

    def _ask_whether(self, *, sure: bool) -> None:
        self._is_sure = sure
        self.query_one("#picker-keys", Static).update(Text(_KEYS if sure else _SURE, "" if sure else "bold"))

    def _confirmed(self, *, yes: bool) -> None:
        self._ask_whether(sure=True)
        chosen = self.query_one(OptionList).highlighted
        if yes and chosen is not None:
            self._revoke(self._granted.pop(chosen))
            self._show()
