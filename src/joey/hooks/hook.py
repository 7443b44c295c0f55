"""A hook: a command (or a Python function) that runs at one point of a task, and whose hook it is.

Names, settings and JSON are those of Claude Code, so that a script that was written for it works here. A matcher of
letters, digits, `_`, `-`, spaces, `|` and `,` is a list of exact names; any other is a regular expression, found
anywhere in the name. An empty one and `*` match everything.

`joey.hook` makes one of a Python function, for programs that Joey is part of:

    @joey.hook("PreToolUse", matcher="Bash")
    def no_sudo(event):
        if "sudo" in event["tool_input"]["command"]:
            return {"decision": "block", "reason": "Work without sudo."}

    joey.run("…", hooks=[no_sudo])

The function gets the object that a command gets on its standard input, and returns the object that a command prints, a
text, or nothing. It may be async. What it raises is reported, and changes nothing.

Settings write hooks as lists of matchers, each with its commands:

    {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "./check.py", "timeout": 10}]}]}

What Joey cannot do (another type than `command`, a condition in `if`) is reported and left out: a hook that would run
at another moment than its author wanted is worse than none.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from joey.bounded.files import read_regular_text
from joey.bounded.formats import FormatError
from joey.bounded.formats.json import read_json
from joey.bounded.regexes import PatternError, finds
from joey.errors import JoeyError, UsageError
from joey.system.user_files import read_object, replace_object


class HookConsent:
    """Which hooks of the project in one folder the user has seen and let run: in a file of the user's, so that the
    project cannot answer itself. A hook is known by its event, matcher and command; one that is new or was changed is
    shown again."""

    def __init__(self, file: Path, workspace: Path) -> None:
        self._file = file
        self._workspace = str(workspace.resolve())
        self._accepted = frozenset(self._read().get(self._workspace, ()))

    def may_run(self, hook: Hook) -> bool:
        """A hook of the user's own needs no answer."""
        return hook.origin != "project" or hook.digest in self._accepted

    def accept(self, hooks: Iterable[Hook], *, keep: bool = True) -> None:
        """The user has seen these, and lets them run: now, or with `keep` from now on. Raises JoeyError if that cannot
        be kept."""
        self._accepted |= {hook.digest for hook in hooks}
        if not keep:
            return
        kept = self._read() | {self._workspace: sorted(self._accepted)}
        try:
            replace_object(self._file, {"accepted": kept})
        except OSError as error:
            raise JoeyError(f"cannot remember the hooks that you accepted in {self._file}: {error.strerror}") from None

    def _read(self) -> dict[str, list[str]]:
        """A file that cannot be read accepts nothing."""
        listed = read_object(self._file).get("accepted")
        found = listed.items() if isinstance(listed, dict) else ()
        return {folder: [*filter(_is_text, each)] for folder, each in found if isinstance(each, list)}


def _is_text(value: object) -> bool:
    return isinstance(value, str)


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


def hook(event: str, *, matcher: str = "", timeout: float = DEFAULT_TIMEOUT) -> Callable[[HookFunction], Hook]:
    """Make a hook of a function. `matcher` names the tools (or other words of the event) that it is for."""
    known = next((each for each in HOOK_EVENTS if each == event), None)
    if known is None:
        raise UsageError(f"there is no hook event {event!r}; there are: {', '.join(HOOK_EVENTS)}")

    def made(function: HookFunction) -> Hook:
        name = getattr(function, "__name__", None) or repr(function)
        return Hook(known, name, matcher, timeout, "program", function=function)

    return made


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
