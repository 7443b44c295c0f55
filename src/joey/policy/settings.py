"""What the user has allowed, read once and frozen.

A profile is a starting point; every setting can be given on top of it.

| profile   | reads           | edits           | commands                        | the rest |
|-----------|-----------------|-----------------|---------------------------------|----------|
| strict    | ask             | ask             | by rules, else ask              | ask      |
| ask       | in the workspace| ask             | by rules, else ask              | ask      |
| edits     | in the workspace| in the workspace| by rules, else ask              | ask      |
| read-only | in the workspace| never           | by rules, else never            | never    |
| plan      | in the workspace| never           | ls, git log …, by rules         | never    |
| auto      | in the workspace| in the workspace| inside a full sandbox           | ask      |
| all       | anywhere        | anywhere        | any that no rule denies         | allowed  |

Deny rules and ignore files hold in every profile. `auto` rests on the sandbox: it is refused where that is not full.
`plan` is read-only until the user accepts a plan, and with it another profile. A profile can be switched while a task
runs; `CYCLE` is the order in which a front end offers them.

Approvals are set in several places: the user's file, the project's, the environment, flags. A later place goes over an
earlier one. A profile sets every decision again, so that `--approve read-only` means just that, whatever the files
allow one by one. Rules (allow, deny, and the lists of tools) add up.

An untrusted place, a project's file in a folder that is not trusted, can only take permissions away: of
each decision the stricter one holds, its deny rules count, and its allow rules do not.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from joey.errors import UsageError
from joey.policy.verdict import Decision


@dataclass(frozen=True, slots=True)
class ServerApprovals:
    """What tools of MCP servers may do."""

    tools: Decision = "ask"
    allow: tuple[str, ...] = ()
    """Tools that may be called without asking: `server/tool`, or `server/*`."""
    resources: Decision = "ask"


@dataclass(frozen=True, slots=True)
class PageApprovals:
    """Which pages may be opened."""

    elsewhere: Decision = "ask"
    """Those that are neither on this machine nor on the hosts of `allow`."""
    local: Decision = "allow"
    """Those that this machine serves."""
    allow: tuple[str, ...] = ()
    """Hosts whose pages may be opened without asking: `example.com`, or `*.example.com`."""


@dataclass(frozen=True, slots=True)
class CustomToolApprovals:
    """Which custom tools may run."""

    others: Decision = "ask"
    """Those that are not listed."""
    allow: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Attendance:
    """When the user is asked to continue, and how long a question waits."""

    followup_timeout: float | None = None
    """Seconds after which a question is answered with its first suggestion; None waits for the user."""
    max_requests: int | None = None
    """Requests to the model before the user is asked whether to continue."""
    max_cost: float | None = None
    """The same for dollars."""


_INSIDE: dict[str, tuple[str, str]] = {
    "mcp": ("servers", "tools"),
    "mcp_allow": ("servers", "allow"),
    "mcp_resources": ("servers", "resources"),
    "browser": ("pages", "elsewhere"),
    "browser_local": ("pages", "local"),
    "browser_allow": ("pages", "allow"),
    "custom_tools": ("custom", "others"),
    "custom_tools_allow": ("custom", "allow"),
    "followup_timeout": ("attendance", "followup_timeout"),
    "max_requests": ("attendance", "max_requests"),
    "max_cost": ("attendance", "max_cost"),
}
"""The names of settings that belong to a part, with the part and the field."""


@dataclass(frozen=True, slots=True)
class Settings:
    profile: str = "strict"
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
    mode_switches: Decision = "ask"
    subtasks: Decision = "ask"
    servers: ServerApprovals = field(default_factory=ServerApprovals)
    pages: PageApprovals = field(default_factory=PageApprovals)
    custom: CustomToolApprovals = field(default_factory=CustomToolApprovals)
    attendance: Attendance = field(default_factory=Attendance)

    def value(self, name: str) -> Any:
        """A setting by the name it has in settings files (without `approvals.`)."""
        part, inner = _INSIDE.get(name, ("", name))
        return getattr(getattr(self, part) if part else self, inner)

    def changed(self, **values: Any) -> Settings:
        """The same with these settings changed, by the names they have in settings files."""
        settings = self
        for name, value in values.items():
            part, inner = _INSIDE.get(name, ("", name))
            changes = {part: replace(getattr(settings, part), **{inner: value})} if part else {name: value}
            settings = replace(settings, **changes)
        return settings

    @classmethod
    def for_profile(cls, name: str) -> Settings:
        if name not in PROFILES:
            near = difflib.get_close_matches(name.replace("_", "-"), PROFILES, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"available profiles: {', '.join(PROFILES)}"
            raise UsageError(f"unknown profile {name!r}; {hint}")
        return PROFILES[name]

    def over_limit(self, requests: int, cost: float) -> str | None:
        """Why the user must be asked before the next request, counting since the last yes; None to go on."""
        if self.attendance.max_requests is not None and requests + 1 > self.attendance.max_requests:
            return f"the task has made {requests} requests; the limit is {self.attendance.max_requests}"
        # A hair of slack: costs are sums of small fractions.
        if self.attendance.max_cost is not None and cost > self.attendance.max_cost + 0.0001:
            return f"the task has cost ${cost:.2f}; the limit is ${self.attendance.max_cost:.2f}"
        return None

    def answer_after(self, suggestions: int) -> float | None:
        """After how many seconds a question with so many suggestions is answered with the first; None waits."""
        return self.attendance.followup_timeout or None if suggestions else None


def _kinds() -> dict[str, object]:
    """The type of each setting, by the name it has in settings files."""
    parts = {part: {each.name: each.type for each in fields(getattr(Settings(), part))} for part, _ in _INSIDE.values()}
    own = {each.name: each.type for each in fields(Settings) if each.name not in parts}
    return own | {name: parts[part][inner] for name, (part, inner) in _INSIDE.items()}


NAMES = tuple(_kinds())
"""Every setting, by the name it has in settings files."""
DECISIONS = tuple(name for name, kind in _kinds().items() if kind == "Decision")


def _reading_only(profile: str) -> Settings:
    return Settings(profile=profile, reads="allow").changed(
        writes="deny", writes_outside="deny", writes_protected="deny", commands="deny", mcp="deny",
        mcp_resources="deny", browser="deny", browser_local="deny", custom_tools="deny", subtasks="deny", widen="deny",
    )  # fmt: skip


def _everything() -> Settings:
    return Settings(profile="all", allow=("*",)).changed(**dict.fromkeys(DECISIONS, "allow"))


_LOOKING = ("ls", "git status", "git log", "git diff", "git show")
"""Commands with which a plan is made. Each is judged in all its words, and git by the settings of the repository."""

PROFILES: dict[str, Settings] = {
    "ask": Settings(profile="ask", reads="allow"),
    "edits": Settings(profile="edits", reads="allow", writes="allow"),
    "read-only": _reading_only("read-only"),
    "auto": Settings(profile="auto", reads="allow", writes="allow", confined=True),
    "all": _everything(),
    "plan": _reading_only("plan").changed(allow=_LOOKING),
    "strict": Settings(),
}
CYCLE = ("ask", "edits", "auto", "plan")


_STRICTNESS: tuple[Decision, ...] = ("allow", "ask", "deny")
_LISTS = ("allow", "deny", "mcp_allow", "browser_allow", "custom_tools_allow")
_LIMITS = ("max_requests", "max_cost")


@dataclass(frozen=True, slots=True)
class ApprovalSource:
    """What one place says about approvals, as a table of settings."""

    table: Mapping[str, Any]
    place: str = ""
    """Its name, for whoever asks where a value came from."""
    trusted: bool = True
    places: Mapping[str, str] = field(default_factory=dict)
    """Where exactly each setting stands."""

    def place_of(self, name: str) -> str:
        return self.places.get(name) or self.place


@dataclass(frozen=True, slots=True)
class Approvals:
    """The settings in force, and where each came from; what is not named there is a default."""

    settings: Settings
    places: Mapping[str, str]
    refused: tuple[str, ...] = ()
    """What an untrusted place sets that would have allowed more."""


def layered(sources: Iterable[ApprovalSource]) -> Approvals:
    """The approvals of several places, the weakest place first."""
    settings, places = Settings.for_profile("ask"), dict[str, str]()
    added: dict[str, tuple[str, ...]] = dict.fromkeys(_LISTS, ())
    refused: list[str] = []
    for each in sources:
        after = wanted = _laid_over(settings, each.table)
        if not each.trusted:
            after = _stricter(settings, wanted)
            refused += _without_effect(each.table, wanted, after)
        places |= _changes(settings, after, each)
        settings = after
        for name in _LISTS if each.trusted else ("deny",):
            if rules := tuple(each.table.get(name, ())):
                added[name] = (*added[name], *rules)
                places[name] = ", ".join(filter(None, (places.get(name), each.place_of(name))))
    lists: dict[str, Any] = {name: (*settings.value(name), *rules) for name, rules in added.items()}
    return Approvals(settings.changed(**lists), places, tuple(refused))


def _laid_over(settings: Settings, table: Mapping[str, Any]) -> Settings:
    single = {name: value for name, value in table.items() if name not in _LISTS and name != "profile"}
    if "profile" in table:
        profile = Settings.for_profile(table["profile"])
        kept = {name: settings.value(name) for name in (*_LIMITS, "followup_timeout")}
        settings = profile.changed(**kept)
    return settings.changed(**single)


def _stricter(settings: Settings, other: Settings) -> Settings:
    """The settings with what another would forbid taken away."""
    decisions: dict[str, Any] = {
        name: max(settings.value(name), other.value(name), key=_STRICTNESS.index) for name in DECISIONS
    }
    limits: dict[str, Any] = {name: _tighter(settings.value(name), other.value(name)) for name in _LIMITS}
    # `*` allows whatever the other allows.
    allow = tuple(rule for rule in settings.allow if rule in other.allow or "*" in other.allow)
    confined = settings.confined and other.confined
    return settings.changed(
        **decisions, **limits, confined=confined, allow=other.allow if "*" in settings.allow else allow
    )


def _without_effect(table: Mapping[str, Any], wanted: Settings, got: Settings) -> list[str]:
    """What of a table was not taken over as it is. Lists are another matter."""
    single = [name for name in table if name not in (*_LISTS, "profile") and got.value(name) != table[name]]
    by_profile = [name for name in DECISIONS if name not in table and got.value(name) != wanted.value(name)]
    return [*(["profile"] if "profile" in table and by_profile else []), *single]


def _tighter(one: float | None, other: float | None) -> float | None:
    given = [limit for limit in (one, other) if limit is not None]
    return min(given) if given else None


def _changes(before: Settings, after: Settings, source: ApprovalSource) -> dict[str, str]:
    """Which settings this place decided: those it named, and those its profile changed."""
    names = [name for name in NAMES if name not in _LISTS]
    return {
        name: source.place_of(name if name in source.table else "profile")
        for name in names
        if before.value(name) != after.value(name) or (name in source.table and after.value(name) == source.table[name])
    }
