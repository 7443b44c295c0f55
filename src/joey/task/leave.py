"""Asking for leave: between what a call would do and doing it.

The policy decides. Only where it says "ask" is the user asked, and only an answer to that very request counts: what
the user types meanwhile is a message for the model, never a yes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

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
from joey.hosts import host_of, is_this_machine
from joey.policy.settings import Settings


@dataclass(frozen=True, slots=True)
class Leave:
    """Whether a call may go ahead. `reason` is for the model when it may not; `comment` is what the user added."""

    granted: bool
    reason: str = ""
    comment: str = ""


def always(settings: Settings, actions: Sequence[Action]) -> Settings:
    """The settings after the user said "always" to these actions: the same kind is not asked about again."""
    for action in actions:
        match action:
            case ReadPath():
                settings = replace(settings, reads="allow")
            case WritePath():
                settings = replace(settings, writes="allow")
            case RunCommand(command):
                settings = replace(settings, allow=(*settings.allow, command))
            case CallServer(server, tool) if tool:
                settings = replace(settings, mcp_allow=(*settings.mcp_allow, f"{server}/{tool}"))
            case CallServer():
                settings = replace(settings, mcp_resources="allow")
            case VisitUrl(url) if is_this_machine(host_of(url)):
                settings = replace(settings, browser_local="allow")
            case VisitUrl(url):
                settings = replace(settings, browser_allow=(*settings.browser_allow, host_of(url)))
            case RunCode(tool):
                settings = replace(settings, custom_tools_allow=(*settings.custom_tools_allow, tool))
            case SwitchMode():
                settings = replace(settings, mode_switches="allow")
            case StartSubtask():
                settings = replace(settings, subtasks="allow")
            case _:
                pass
    return settings


def denied(reason: str, comment: str) -> str:
    """What the model reads when the user said no."""
    if comment:
        return f"The user denied this call and said:\n<feedback>\n{comment}\n</feedback>"
    return f"This call was denied: {reason}" if reason else "The user denied this call."


SKIPPED = "This call was skipped because an earlier call of the same turn was denied."
AFTER_SUBTASK = "This call was skipped: new_task must be the last call of a turn. Make it again in a later turn."
