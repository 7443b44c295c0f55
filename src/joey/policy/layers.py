"""Approvals set in several places, as one set of settings: the user's file, the project's, the environment, flags.

A later place goes over an earlier one. A profile sets every decision again, so that `--approve read-only` means just
that, whatever the files allow one by one. Rules (allow, deny, and the lists of tools) add up.

An untrusted place, a project's file in a folder that is not trusted, can only take permissions away: of
each decision the stricter one holds, its deny rules count, and its allow rules do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from joey.policy.settings import DECISIONS, NAMES, Settings
from joey.policy.verdict import Decision

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
