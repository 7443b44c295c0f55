"""From an answer to permissions, and from permissions to settings.

A permission only ever turns an "ask" into an "allow": what a profile denies stays denied, whatever was allowed before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from joey.actions import (
    Action,
    CallServer,
    FetchUrl,
    ReadPath,
    RunCode,
    RunCommand,
    StartSubtask,
    SwitchMode,
    VisitUrl,
    WritePath,
)
from joey.permissions import Permission, PermissionKind
from joey.policy.settings import Settings
from joey.policy.shell.lines import exact_lines
from joey.policy.verdict import VerdictPart
from joey.system.hosts import host_of, is_this_machine


def permissions_for(actions: Sequence[Action], parts: Sequence[VerdictPart]) -> tuple[Permission, ...]:
    """What is no longer asked about if the user does not want to be asked about these actions again: just that."""
    return tuple(dict.fromkeys(each for action in actions for each in _for_action(action, parts)))


def _for_action(action: Action, parts: Sequence[VerdictPart]) -> Iterator[Permission]:
    match action:
        case ReadPath(path) if _needs(parts, path, "reads"):
            yield Permission("reads")
        case WritePath(path) if _needs(parts, path, "writes"):
            yield Permission("writes")
        case RunCommand(command, cwd):
            yield from (Permission("command", line) for line in exact_lines(command, cwd, parts))
        case CallServer(server, tool):
            yield Permission("mcp_tool", f"{server}/{tool}") if tool else Permission("mcp_resources")
        case VisitUrl(url):
            here = is_this_machine(host_of(url))
            yield Permission("local_pages") if here else Permission("pages", host_of(url))
        case FetchUrl(url):
            yield Permission("pages", host_of(url))
        case RunCode(tool):
            yield Permission("custom_tool", tool)
        case SwitchMode():
            yield Permission("mode_switches")
        case StartSubtask():
            yield Permission("subtasks")
        case _:
            pass


def _needs(parts: Sequence[VerdictPart], path: str, setting: str) -> bool:
    """Whether it is this setting that asks about a path. A path outside the workspace, or a protected one, asks by a
    setting for many others like it, so that no permission changes it."""
    return any(part.subject == path and part.setting == setting and part.decision == "ask" for part in parts)


def permitted(settings: Settings, permissions: Iterable[Permission]) -> Settings:
    """The settings with what the user allowed besides."""
    for permission in permissions:
        settings = settings.changed(**_change(settings, permission))
    return settings


_DECIDED_BY: dict[PermissionKind, str] = {
    "command": "commands",
    "mcp_tool": "mcp",
    "mcp_resources": "mcp_resources",
    "local_pages": "browser_local",
    "pages": "browser",
    "custom_tool": "custom_tools",
}
"""The setting that decides about a kind, where it has another name."""
_LISTED_IN: dict[PermissionKind, str] = {
    "command": "allow",
    "mcp_tool": "mcp_allow",
    "pages": "browser_allow",
    "custom_tool": "custom_tools_allow",
}


def _change(settings: Settings, permission: Permission) -> dict[str, Any]:
    kind, subject = permission.kind, permission.subject
    decided_by = _DECIDED_BY.get(kind, kind)
    if settings.value(decided_by) != "ask":
        return {}
    if kind not in _LISTED_IN:
        return {decided_by: "allow"}
    # A command that the user approved may use the network; the same one, approved for good, may as well.
    listed = f"+network ={subject}" if kind == "command" else subject
    return {_LISTED_IN[kind]: (*settings.value(_LISTED_IN[kind]), listed)}
