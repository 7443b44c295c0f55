"""What a user's answer means: what "always" allows from then on, and what the model reads after a no."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from joey.actions import (
    Action,
    CallServer,
    ReadPath,
    RunCode,
    RunCommand,
    StartSubtask,
    SwitchMode,
    VisitUrl,
    WritePath,
)
from joey.frames import framed
from joey.policy.settings import Settings
from joey.policy.shell.lines import exact_rules
from joey.policy.verdict import VerdictPart
from joey.system.hosts import host_of, is_this_machine


def always(settings: Settings, actions: Sequence[Action], parts: Sequence[VerdictPart]) -> Settings:
    """The settings after the user answered "always" to these actions: just that is not asked about again."""
    for _words, changes in _lasting(settings, actions, parts):
        settings = settings.changed(**changes)
    return settings


def always_allows(settings: Settings, actions: Sequence[Action], parts: Sequence[VerdictPart]) -> tuple[str, ...]:
    """What the answer "always" would allow, in words, for the user to read before giving it."""
    return tuple(dict.fromkeys(words for words, _changes in _lasting(settings, actions, parts)))


def _lasting(
    settings: Settings, actions: Sequence[Action], parts: Sequence[VerdictPart]
) -> Iterator[tuple[str, dict[str, Any]]]:
    for action in actions:
        match action:
            case ReadPath(path) if _needs(parts, path, "reads"):
                yield "reading files of the workspace", {"reads": "allow"}
            case WritePath(path) if _needs(parts, path, "writes"):
                yield "changing files of the workspace", {"writes": "allow"}
            case RunCommand(command, cwd):
                rules = exact_rules(command, cwd, parts)
                settings = replace(settings, allow=(*settings.allow, *rules))
                yield from ((f"exactly `{rule[1:]}`", {"allow": settings.allow}) for rule in rules)
            case CallServer(server, tool) if tool:
                settings = settings.changed(mcp_allow=(*settings.servers.allow, f"{server}/{tool}"))
                yield f"the tool {tool} of the server {server}", {"mcp_allow": settings.servers.allow}
            case CallServer():
                yield "reading resources of MCP servers", {"mcp_resources": "allow"}
            case VisitUrl(url) if is_this_machine(host_of(url)):
                yield "opening pages of this machine", {"browser_local": "allow"}
            case VisitUrl(url):
                settings = settings.changed(browser_allow=(*settings.pages.allow, host_of(url)))
                yield f"opening pages of {host_of(url)}", {"browser_allow": settings.pages.allow}
            case RunCode(tool):
                settings = settings.changed(custom_tools_allow=(*settings.custom.allow, tool))
                yield f"the custom tool {tool}", {"custom_tools_allow": settings.custom.allow}
            case SwitchMode():
                yield "switching modes", {"mode_switches": "allow"}
            case StartSubtask():
                yield "starting subtasks", {"subtasks": "allow"}
            case _:
                pass


def _needs(parts: Sequence[VerdictPart], path: str, setting: str) -> bool:
    """Whether it is this setting that asks about a path. A path outside the workspace, or a protected one, asks by a
    setting for many others like it, so that "always" does not change it."""
    return any(part.subject == path and part.setting == setting and part.decision == "ask" for part in parts)


def denied(reason: str, comment: str) -> str:
    """What the model reads when the user said no."""
    if comment:
        return f"This call was denied, with this feedback:\n{framed('feedback', comment)}"
    return f"This call was denied: {reason}" if reason else "The user denied this call."


SKIPPED = "This call was skipped because an earlier call of the same turn was denied."
AFTER_SUBTASK = "This call was skipped: new_task must be the last call of a turn. Make it again in a later turn."
