"""Hooks as settings write them: lists of matchers, each with its commands.

    {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "./check.py", "timeout": 10}]}]}

What Joey cannot do (another type than `command`, a condition in `if`) is reported and left out: a hook that would run
at another moment than its author wanted is worse than none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joey.bounded.files import read_regular_text
from joey.bounded.formats import FormatError
from joey.bounded.formats.json import read_json
from joey.hooks.hook import DEFAULT_TIMEOUT, HOOK_EVENTS, Hook, HookEvent, HookOrigin

CLAUDE_FILES = (".claude/settings.json", ".claude/settings.local.json")
_MAX_TIMEOUT = 600.0
_UNKNOWN = ("if", "async", "asyncRewake", "once")
"""What changes when or how a hook runs, and Joey does not have."""


@dataclass(frozen=True, slots=True)
class HooksFound:
    """The hooks of one place, and what of it cannot be used."""

    hooks: tuple[Hook, ...] = ()
    flaws: tuple[str, ...] = ()

    def __add__(self, other: HooksFound) -> HooksFound:
        return HooksFound((*self.hooks, *other.hooks), (*self.flaws, *other.flaws))


def read_claude_files(project: Path, timeout: float = DEFAULT_TIMEOUT) -> HooksFound:
    """The hooks in a project's settings for Claude Code."""
    found = HooksFound()
    for name in CLAUDE_FILES:
        found += _read_file(project / name, timeout)
    return found


def _read_file(path: Path, timeout: float) -> HooksFound:
    try:
        data = read_json(read_regular_text(path))
    except (FileNotFoundError, NotADirectoryError):
        return HooksFound()
    except (OSError, UnicodeDecodeError, FormatError) as error:
        return HooksFound(flaws=(f"{path}: its hooks are not used: {getattr(error, 'strerror', None) or error}",))
    listed = data.get("hooks") if isinstance(data, dict) else None
    if not isinstance(listed, dict):
        return HooksFound(flaws=(f"{path}: `hooks` is no object",) if listed is not None else ())
    found = HooksFound()
    for event, groups in listed.items():
        found += read_event(event, groups, str(path), "project", timeout)
    return found


def read_event(event: str, groups: Any, where: str, origin: HookOrigin, timeout: float = DEFAULT_TIMEOUT) -> HooksFound:
    """The hooks for one event, as a file lists them."""
    known: HookEvent | None = next((each for each in HOOK_EVENTS if each == event), None)
    if known is None:
        return HooksFound(flaws=(f"{where}: Joey has no event {event!r}; its hooks do not run",))
    hooks: list[Hook] = []
    flaws: list[str] = []
    for matcher, entry in _entries(groups):
        if problem := _problem(matcher, entry):
            flaws.append(f"{where}: a hook for {event} does not run: {problem}")
            continue
        seconds = min(float(entry.get("timeout", timeout)), _MAX_TIMEOUT)
        hooks.append(Hook(known, entry["command"], matcher, seconds, origin, where))
    return HooksFound(tuple(hooks), tuple(flaws))


def _entries(groups: Any) -> Iterator[tuple[Any, Any]]:
    for group in groups if isinstance(groups, (list, tuple)) else [groups]:
        inner = group.get("hooks") if isinstance(group, Mapping) else None
        matcher = group.get("matcher", "") if isinstance(group, Mapping) else ""
        for entry in inner if isinstance(inner, (list, tuple)) else [inner]:
            yield matcher, entry


def _problem(matcher: Any, entry: Any) -> str | None:
    if not isinstance(entry, Mapping) or not isinstance(matcher, str):
        return "it needs `matcher`, a string, and `hooks`, a list of commands"
    if entry.get("type", "command") != "command":
        return f"its type is {entry.get('type')!r}, and Joey runs commands only"
    command, timeout = entry.get("command"), entry.get("timeout", 1)
    if not isinstance(command, str) or not command.strip():
        return "it has no command"
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or timeout <= 0:
        return "its timeout is no number of seconds"
    unknown = [name for name in _UNKNOWN if entry.get(name)]
    return f"Joey does not know {', '.join(f'`{name}`' for name in unknown)}" if unknown else None
