"""What the user has allowed, read once and frozen.

A profile is a starting point; every setting can be given on top of it.

| profile   | reads           | edits           | commands                        | the rest |
|-----------|-----------------|-----------------|---------------------------------|----------|
| ask       | ask             | ask             | by rules, else ask              | ask      |
| edits     | in the workspace| in the workspace| by rules, else ask              | ask      |
| read-only | in the workspace| never           | by rules, else never            | never    |
| auto      | in the workspace| in the workspace| inside a full sandbox           | ask      |
| all       | anywhere        | anywhere        | any that no rule denies         | allowed  |

Deny rules and ignore files hold in every profile. `auto` rests on the sandbox: it is refused where that is not full.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, fields
from typing import Any

from joey.errors import UsageError
from joey.policy.verdict import Decision


@dataclass(frozen=True, slots=True)
class Settings:
    profile: str = "ask"
    reads: Decision = "ask"
    reads_outside: Decision = "ask"
    writes: Decision = "ask"
    writes_outside: Decision = "ask"
    writes_protected: Decision = "ask"
    allow: tuple[str, ...] = ()
    """Rules for commands that may run without asking."""
    deny: tuple[str, ...] = ()
    """Rules for commands that never run."""
    commands: Decision = "ask"
    """What happens to a command that no rule names."""
    confined: bool = False
    """Whether commands that no rule denies run without asking, because a full sandbox holds them."""
    widen: Decision = "ask"
    """What happens when a command needs more than the sandbox gives: the network, another folder, or no sandbox."""
    mcp: Decision = "ask"
    mcp_allow: tuple[str, ...] = ()
    """Tools of MCP servers that may be called without asking: `server/tool`, or `server/*`."""
    mcp_resources: Decision = "ask"
    browser: Decision = "ask"
    """Opening pages elsewhere than on this machine and the hosts of `browser_allow`."""
    browser_local: Decision = "allow"
    """Opening pages that this machine serves."""
    browser_allow: tuple[str, ...] = ()
    """Hosts whose pages may be opened without asking: `example.com`, or `*.example.com`."""
    custom_tools: Decision = "ask"
    custom_tools_allow: tuple[str, ...] = ()
    mode_switches: Decision = "ask"
    subtasks: Decision = "ask"
    followup_timeout: float | None = None
    """Seconds after which a question is answered with its first suggestion; None waits for the user."""
    max_requests: int | None = None
    """Requests to the model before the user is asked whether to go on."""
    max_cost: float | None = None
    """The same for dollars."""

    @classmethod
    def for_profile(cls, name: str) -> Settings:
        if name not in PROFILES:
            near = difflib.get_close_matches(name.replace("_", "-"), PROFILES, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"available profiles: {', '.join(PROFILES)}"
            raise UsageError(f"unknown profile {name!r}; {hint}")
        return PROFILES[name]

    def over_limit(self, requests: int, cost: float) -> str | None:
        """Why the user must be asked before the next request, counting since the last yes; None to go on."""
        if self.max_requests is not None and requests + 1 > self.max_requests:
            return f"the task has made {requests} requests; the limit is {self.max_requests}"
        # A hair of slack: costs are sums of small fractions.
        if self.max_cost is not None and cost > self.max_cost + 0.0001:
            return f"the task has cost ${cost:.2f}; the limit is ${self.max_cost:.2f}"
        return None

    def answer_after(self, suggestions: int) -> float | None:
        """After how many seconds a question with so many suggestions is answered with the first; None waits."""
        return self.followup_timeout if suggestions and self.followup_timeout else None


def _everything() -> Settings:
    decisions: dict[str, Any] = {field.name: "allow" for field in fields(Settings) if field.type == "Decision"}
    return Settings(profile="all", allow=("*",), **decisions)


PROFILES: dict[str, Settings] = {
    "ask": Settings(),
    "edits": Settings(profile="edits", reads="allow", writes="allow"),
    "read-only": Settings(
        profile="read-only", reads="allow", writes="deny", writes_outside="deny", writes_protected="deny",
        commands="deny", mcp="deny", mcp_resources="deny", browser="deny", browser_local="deny",
        custom_tools="deny", subtasks="deny", widen="deny",
    ),
    "auto": Settings(profile="auto", reads="allow", writes="allow", confined=True),
    "all": _everything(),
}  # fmt: skip
