"""How calls of a tool are shown to a person. Data, so that every front end can show them and none has to know their
names: a tool says which of its arguments tell one call from another, and how to see that what it ran has failed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from joey.wire import ArgumentPath

Role: TypeAlias = Literal["call", "result", "question", "todos"]
Kind: TypeAlias = Literal["read", "edit", "search", "execute", "fetch", "think", "switch_mode", "other"]


@dataclass(frozen=True, slots=True)
class Display:
    """The default suits tools of MCP servers and of the user: the first argument that is one line of text."""

    subject: tuple[str, ...] = ()
    """The arguments that say what a call is about, such as its path or its command."""
    role: Role = "call"
    """What the call is for the user: something that is done, or words for them (an event of its own follows)."""
    kind: Kind = "other"
    """What calls of the tool do, for an icon: the kinds that editors know."""
    headed: bool = False
    """Whether the first line of a result says how it went. Otherwise a result of several lines is what was read."""
    failure: str = ""
    """A regular expression: how a block of a result begins if what was run has failed, although the call itself worked.
    Its group `how` is what became of it, such as `exit code 2`."""
    background: str = ""
    """The same for what was run and still runs when the result is there."""

    def summary(self, arguments: Mapping[ArgumentPath, object]) -> str:
        """What a call is about, as far as its arguments are known."""
        named = [
            str(value)
            for name in self.subject
            for path, value in arguments.items()
            if path and path[-1] == name
        ]  # fmt: skip
        return ", ".join(dict.fromkeys(filter(None, named))) or next(filter(_is_line, map(str, arguments.values())), "")

    def failed(self, text: str) -> str | None:
        """How what was run failed, if a block of a result says so; None if it does not."""
        found = re.match(self.failure, text) if self.failure else None
        return found["how"] if found else None

    def left_running(self, text: str) -> bool:
        """Whether what was run still ran when this block of a result was written."""
        return bool(self.background and re.match(self.background, text))


def _is_line(text: str) -> bool:
    return bool(text) and "\n" not in text.strip()


def flat(arguments: Any, path: ArgumentPath = ()) -> dict[ArgumentPath, str]:
    """Arguments as texts by path, as their deltas build them."""
    if isinstance(arguments, Mapping):
        pairs: list[tuple[str | int, Any]] = [*arguments.items()]
    elif isinstance(arguments, (list, tuple)):
        pairs = [*enumerate(arguments)]
    else:
        return {path: arguments if isinstance(arguments, str) else str(arguments)}
    found: dict[ArgumentPath, str] = {}
    for key, value in pairs:
        found |= flat(value, (*path, key))
    return found
