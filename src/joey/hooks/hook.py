"""A hook: a command (or a Python function) that runs at one point of a task, and whose hook it is.

Names, settings and JSON are those of Claude Code, so that a script that was written for it works here. A matcher of
letters, digits, `_`, `-`, spaces, `|` and `,` is a list of exact names; any other is a regular expression, found
anywhere in the name. An empty one and `*` match everything.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from joey.bounded.regexes import PatternError, finds

HookEvent: TypeAlias = Literal[
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PreCompact",
    "Notification",
    "Stop",
    "SubagentStop",
    "SessionEnd",
]
HOOK_EVENTS: tuple[HookEvent, ...] = get_args(HookEvent)
HookOrigin: TypeAlias = Literal["user", "project", "program"]
"""Whose it is. A project's hook came with the project: it runs in the sandbox, and gives no approval."""
HookReply: TypeAlias = dict[str, Any] | str | None
HookFunction: TypeAlias = Callable[[dict[str, Any]], HookReply | Awaitable[HookReply]]

DEFAULT_TIMEOUT = 60.0
_NAMES = re.compile(r"[\w\- |,]+")


@dataclass(frozen=True, slots=True)
class Hook:
    """What runs at one point. `where` is the file that it was read from."""

    event: HookEvent
    command: str
    matcher: str = ""
    timeout: float = DEFAULT_TIMEOUT
    origin: HookOrigin = "user"
    where: str = ""
    function: HookFunction | None = None
    """Called in place of the command, which is then its name."""

    def matches(self, names: Iterable[str]) -> bool:
        """Whether it is for any of these names; one whose matcher cannot be used is for all, so that nothing that
        should be held back passes."""
        if self.matcher in ("", "*"):
            return True
        if _NAMES.fullmatch(self.matcher):
            return not {each.strip() for each in re.split(r"[|,]", self.matcher)}.isdisjoint(names)
        try:
            return any(finds(self.matcher, name) for name in names)
        except PatternError:
            return True

    @property
    def digest(self) -> str:
        """What tells it from another in a list of those that the user has seen."""
        return hashlib.sha256("\0".join((self.event, self.matcher, self.command)).encode()).hexdigest()

    def __str__(self) -> str:
        return f"{self.event}{f' ({self.matcher})' if self.matcher else ''}: {self.command}"
