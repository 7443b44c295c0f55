"""A mode: a role for the model, and the groups of tools it may use in it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from joey.bounded.regexes import MAX_PATTERN, PatternError, compile_pattern, finds
from joey.toolspec import Group

Origin: TypeAlias = Literal["built-in", "user", "project"]

MODE_GROUPS: tuple[Group, ...] = tuple(group for group in get_args(Group) if group not in ("modes", "always"))
"""The groups a mode can have or lack. Tools of the groups `modes` and `always` are in every mode."""


@dataclass(frozen=True, slots=True)
class GroupRule:
    """A group that a mode has; with a `file_regex`, its tools may change only files whose path the regex finds."""

    group: Group
    file_regex: str | None = None
    description: str | None = None

    def permits(self, path: str) -> bool:
        """Whether a file may be changed. A pattern that cannot be read, or takes too long, permits nothing."""
        try:
            return self.finds(path)
        except PatternError:
            return False

    def finds(self, path: str) -> bool:
        """Whether the pattern finds the path. Raises PatternError."""
        # A line break would let `$` match before it, where the pattern's author meant the end.
        return self.file_regex is None or ("\n" not in path and finds(_in_python(self.file_regex), path))

    def within(self, limit: GroupRule | None) -> GroupRule | None:
        """The rule, no wider than the other. Two different patterns are not compared: then the group is left out."""
        if limit is None or self.file_regex == limit.file_regex or limit.file_regex is None:
            return None if limit is None else self
        return limit if self.file_regex is None else None


@dataclass(frozen=True, slots=True)
class Mode:
    """What the model is in this mode, and what it may do."""

    slug: str
    name: str
    role: str
    groups: tuple[GroupRule, ...] = ()
    when_to_use: str = ""
    description: str = ""
    instructions: str = ""
    origin: Origin = "built-in"
    file: str = ""
    """The file it was read from; empty for built-in modes."""
    line: int = 0
    """The line of it there."""
    model: str = ""
    """The model of a subtask in this mode, as its file names it; empty: that of its task."""
    base: str = ""
    """The mode whose groups and restrictions it keeps within, by its slug."""
    untrusted: bool = False
    """Whether it came with a project that the user has not trusted."""

    @property
    def only_reads(self) -> bool:
        """Whether it is a mode for looking: it reads files, and has neither the tools that edit them nor commands."""
        return self.rule("read") is not None and self.rule("edit") is None and self.rule("command") is None

    def rule(self, group: Group) -> GroupRule | None:
        """The mode's rule for a group, or None if it does not have the group."""
        if group in ("modes", "always"):
            return GroupRule(group)
        return next((rule for rule in self.groups if rule.group == group), None)

    def within(self, other: Mode) -> Mode:
        """This mode without the groups that the other one lacks, and with its restrictions."""
        kept = (rule.within(other.rule(rule.group)) for rule in self.groups)
        return replace(self, groups=tuple(filter(None, kept)))


def is_pattern(text: str) -> bool:
    """Whether this is a file pattern."""
    return compile_pattern(_in_python(text)) is not None


def _in_python(pattern: str) -> str:
    """A file pattern as mode files write it (the syntax of JavaScript, whose named groups look different)."""
    translated = re.sub(r"\(\?<(?=[A-Za-z_])", "(?P<", pattern[: MAX_PATTERN + 1])
    return re.sub(r"\\k<(\w+)>", r"(?P=\1)", translated)
