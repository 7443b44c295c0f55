"""`joey.hook`: a Python function as a hook, for programs that Joey is part of.

    @joey.hook("PreToolUse", matcher="Bash")
    def no_sudo(event):
        if "sudo" in event["tool_input"]["command"]:
            return {"decision": "block", "reason": "Work without sudo."}

    joey.run("…", hooks=[no_sudo])

The function gets the object that a command gets on its standard input, and returns the object that a command prints, a
text, or nothing. It may be async. What it raises is reported, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from joey.errors import UsageError
from joey.hooks.hook import DEFAULT_TIMEOUT, HOOK_EVENTS, Hook, HookFunction


def hook(event: str, *, matcher: str = "", timeout: float = DEFAULT_TIMEOUT) -> Callable[[HookFunction], Hook]:
    """Make a hook of a function. `matcher` names the tools (or other words of the event) that it is for."""
    known = next((each for each in HOOK_EVENTS if each == event), None)
    if known is None:
        raise UsageError(f"there is no hook event {event!r}; there are: {', '.join(HOOK_EVENTS)}")

    def made(function: HookFunction) -> Hook:
        name = getattr(function, "__name__", None) or repr(function)
        return Hook(known, name, matcher, timeout, "program", function=function)

    return made
