"""The modes of a project that the user has not trusted: they may add, and neither replace nor widen.

Such a mode is used only if it is new, by slug and by name (letter case does not count: `Code` would pass for `code`),
and only with groups that the mode `code` has here, under the same restrictions. So choosing it, or switching to it,
never permits more than the user's own everyday mode does, and the built-in and the user's own modes stay what they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from joey.modes.builtin import DEFAULT_MODE
from joey.modes.mode import GroupRule, Mode

_TRUST = "this folder is not trusted (`joey tools --trust` trusts it)"


@dataclass(frozen=True, slots=True)
class Admitted:
    """The mode as it may be used, if it may be; and what was refused, in words."""

    mode: Mode | None
    refused: str = ""


def admit(mode: Mode, modes: Mapping[str, Mode]) -> Admitted:
    """An untrusted mode beside those that are not the project's."""
    taken = {text.casefold() for each in modes.values() for text in (each.slug, each.name)}
    if {mode.slug.casefold(), mode.name.casefold()} & taken:
        return Admitted(None, f"the mode {mode.slug!r} would replace another; not used, because {_TRUST}")
    limit = {rule.group: rule for rule in modes[DEFAULT_MODE].groups}
    kept = tuple(rule for each in mode.groups if (rule := _within(each, limit.get(each.group))) is not None)
    lost = [each.group for each in mode.groups if each not in kept]
    wider = f"the mode {mode.slug!r} would permit more than {DEFAULT_MODE!r} does ({', '.join(lost)})"
    return Admitted(replace(mode, groups=kept), f"{wider}; not used, because {_TRUST}" if lost else "")


def _within(rule: GroupRule, limit: GroupRule | None) -> GroupRule | None:
    """The rule, no wider than the other. Two different patterns are not compared: then the group is left out."""
    if limit is None or rule.file_regex == limit.file_regex or limit.file_regex is None:
        return None if limit is None else rule
    return limit if rule.file_regex is None else None
