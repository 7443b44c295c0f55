"""Modes from files: the project's over the user's over the built-in ones.

| whose     | where |
|-----------|-------|
| user's    | `agents/**/*.md`, `custom_modes.yaml` and `modes/*.{yaml,yml,json,toml}` in the user's folder |
| project's | `.claude/agents/**/*.md`, `.joey/agents/**/*.md`, `.roomodes` (YAML or JSON) and `.joey/modes/*` |

A file holds one mode, or several in a list under `customModes`, with the keys that Roo Code's mode files have. Of two
modes with one slug the later place in the table wins, and within a file the first. One bad entry is reported with its
file and line, and the others still load. The modes of a project that the user has not trusted may add, and neither
replace nor widen. Such a mode is used only if it is new, by slug and by name (letter case does not count: `Code` would
pass for `code`), and only with groups that the mode `code` has here, under the same restrictions. So choosing it, or
switching to it, never permits more than the user's own everyday mode does, and the built-in and the user's own modes
stay what they are.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from joey.bounded.formats import Problem
from joey.modes.agents import read_agent_file
from joey.modes.builtin import BUILTIN_MODES, DEFAULT_MODE
from joey.modes.documents import ModeEntry, ModeFileError, read_entries
from joey.modes.mode import MODE_GROUPS, GroupRule, Mode, Origin, is_pattern
from joey.system.folders import project_folder
from joey.wire import JsonValue

_SUFFIXES = (".yaml", ".yml", ".json", ".toml")
_SLUG = re.compile(r"[a-zA-Z0-9-]{1,100}")
_REQUIRED = ("slug", "name", "roleDefinition")
_OPTIONAL = ("whenToUse", "description", "customInstructions")
_MAX_PROBLEMS = 20
_MAX_AGENTS = 500
_MAX_FOLDERS = 2_000
_KNOWN = {*_REQUIRED, *_OPTIONAL, "groups"}
_LEFT_ALONE = {"source", "rulesFiles", "iconName"}
"""What Roo Code's exported modes carry besides, of no use here."""


@dataclass(frozen=True, slots=True)
class LoadedModes:
    """Every mode there is, and what was wrong with the files."""

    modes: tuple[Mode, ...]
    problems: tuple[Problem, ...] = ()
    held_back: tuple[Problem, ...] = ()
    """What the project's files may not do, because the folder is not trusted."""

    def get(self, slug: str) -> Mode | None:
        return next((mode for mode in self.modes if mode.slug == slug), None)

    @property
    def slugs(self) -> tuple[str, ...]:
        return tuple(mode.slug for mode in self.modes)


def load_modes(workspace: Path, user: Path, *, trusted: bool = False) -> LoadedModes:
    """The modes that hold in a workspace, for the user with this folder."""
    modes = {mode.slug: mode for mode in BUILTIN_MODES}
    own: dict[str, Mode] = {}
    problems: list[Problem] = []
    held_back: list[Problem] = []
    for origin, path in mode_files(workspace, user):
        found, wrong = read_mode_file(path, origin)
        problems += wrong
        if origin == "project" and not trusted:
            own |= _admitted(found, modes, path, held_back)
        else:
            modes |= {mode.slug: mode for mode in found}
    return LoadedModes(tuple(_within_bases(modes | own, problems)), tuple(problems), tuple(held_back))


def _within_bases(modes: Mapping[str, Mode], problems: list[Problem]) -> Iterator[Mode]:
    """The modes, each within the one it names as its base. One whose base there is not is left out."""
    for mode in modes.values():
        base = modes.get(mode.base)
        if mode.base and (base is None or base.base):
            problems.append(Problem(mode.file, mode.line, f"there is no mode {mode.base!r}, so this agent is not used"))
        else:
            yield mode if base is None else mode.within(base)


def _admitted(
    found: Iterable[Mode], modes: Mapping[str, Mode], path: Path, held_back: list[Problem]
) -> dict[str, Mode]:
    admitted: dict[str, Mode] = {}
    for mode in found:
        allowed = admit(mode, modes)
        if allowed.mode is not None:
            admitted[mode.slug] = allowed.mode
        if allowed.refused:
            held_back.append(Problem(str(path), mode.line, allowed.refused))
    return admitted


def mode_files(workspace: Path, user: Path) -> Iterator[tuple[Origin, Path]]:
    """The mode files there are, the strongest last."""
    yield from (("user", path) for path in _agents_below(user / "agents"))
    yield from (("user", path) for path in _existing([user / "custom_modes.yaml"]))
    yield from (("user", path) for path in _in_folder(user / "modes"))
    for agents in (workspace / ".claude" / "agents", project_folder(workspace) / "agents"):
        yield from (("project", path) for path in _agents_below(agents))
    yield from (("project", path) for path in _existing([workspace / ".roomodes"]))
    yield from (("project", path) for path in _in_folder(project_folder(workspace) / "modes"))


def read_mode_file(path: Path, origin: Origin) -> tuple[list[Mode], list[Problem]]:
    """The good modes of one file, and what is wrong with the others. An agent (`.md`) is a mode, too."""
    if path.suffix == ".md":
        return read_agent_file(path, origin)
    try:
        entries = read_entries(path)
    except ModeFileError as error:
        return [], [Problem(str(path), error.line, str(error))]
    modes: dict[str, Mode] = {}
    problems: list[Problem] = []
    for entry in entries:
        check = _Check(entry, path, origin, alone=len(entries) == 1)
        mode = check.mode()
        if mode is not None and mode.slug in modes:
            check.complain("slug", f"a mode {mode.slug!r} came before in this file; this one is left out")
        elif mode is not None:
            modes[mode.slug] = mode
        problems += check.problems
    return list(modes.values()), problems


def _existing(paths: Iterable[Path]) -> list[Path]:
    return [path for path in paths if path.exists() and not path.is_dir()]  # a pipe is there, and reported


def _in_folder(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(path for path in _existing(folder.iterdir()) if path.suffix in _SUFFIXES)


def _agents_below(folder: Path) -> list[Path]:
    """Collections of agents sort them into folders; of two with one name, the one nearer to the top counts."""
    found: list[Path] = []
    for inner, folders, names in islice(os.walk(folder), _MAX_FOLDERS):
        folders.sort()
        paths = sorted(Path(inner, name) for name in names if name.endswith(".md") and name.lower() != "readme.md")
        found += _existing(paths)[: _MAX_AGENTS - len(found)]
    return sorted(found, key=lambda path: -len(path.parts))


class _Check:
    """One entry of a file, checked key by key."""

    def __init__(self, entry: ModeEntry, path: Path, origin: Origin, *, alone: bool) -> None:
        self._entry, self._path, self._origin, self._alone = entry, path, origin, alone
        self.problems: list[Problem] = []

    def complain(self, key: str, message: str) -> None:
        if len(self.problems) < _MAX_PROBLEMS:  # whoever fixes those sees the next ones
            self.problems.append(Problem(str(self._path), self._entry.line_of(key), message))

    def mode(self) -> Mode | None:
        data = self._entry.value
        if not isinstance(data, dict):
            what = (
                f"cannot be read: {data}" if isinstance(data, Exception) else f"must be a mapping, got {_named(data)}"
            )
            self.complain("", f"a mode {what}")
            return None
        if self._alone and self._path.suffix in _SUFFIXES:
            data = {"slug": self._path.stem, **data}
        texts = {key: self._text(data, key) for key in (*_REQUIRED, *_OPTIONAL)}
        groups = self._groups(data.get("groups"), present="groups" in data)
        bad = bool(self.problems)
        self._note_unknown_keys(data)
        return None if bad else self._made(texts, groups)

    def _made(self, texts: dict[str, str], groups: Sequence[GroupRule]) -> Mode:
        return Mode(
            slug=texts["slug"],
            name=texts["name"],
            role=texts["roleDefinition"],
            groups=tuple(groups),
            when_to_use=texts["whenToUse"],
            description=texts["description"],
            instructions=texts["customInstructions"],
            origin=self._origin,
            file=str(self._path),
            line=self._entry.line_of("slug"),
        )

    def _text(self, data: dict[str, Any], key: str) -> str:
        value = data.get(key)
        if value is None and key in _OPTIONAL:
            return ""
        if value is None:
            self.complain(key, f"a mode needs {key!r}")
        elif not isinstance(value, str):
            self.complain(key, f"{key!r} must be a string, got {_named(value)}")
        elif key in _REQUIRED and not value.strip():
            self.complain(key, f"{key!r} must not be empty")
        elif key == "slug" and not _SLUG.fullmatch(value):
            self.complain(key, f"'slug' is letters, digits and hyphens, 100 at most, got {value[:80]!r}")
        else:
            return value
        return ""

    def _groups(self, value: JsonValue, *, present: bool) -> list[GroupRule]:
        if not present:
            self.complain("groups", "a mode needs 'groups' (an empty list for none)")
        elif not isinstance(value, list):
            self.complain("groups", f"'groups' must be a list, got {_named(value)}")
        else:
            return self._rules(value)
        return []

    def _rules(self, items: list[Any]) -> list[GroupRule]:
        rules: dict[str, GroupRule] = {}
        for item in items:
            rule = self._rule(item)
            if rule is None:
                continue
            if rule.group in rules:
                self.complain("groups", f"the group {rule.group!r} is there twice")
            rules[rule.group] = rule
        # Every mode has the group `modes`; a file may name it all the same.
        return [rule for rule in rules.values() if rule.group != "modes"]

    def _rule(self, item: JsonValue) -> GroupRule | None:
        name, options = (item[0], item[1]) if isinstance(item, list) and len(item) == 2 else (item, {})
        if name not in (*MODE_GROUPS, "modes") or not isinstance(options, dict):
            shown = f"{item!r}; a group is one of {', '.join(MODE_GROUPS)}, or [group, {{fileRegex, description}}]"
            self.complain("groups", f"there is no group {shown}")
            return None
        regex, description = options.get("fileRegex"), options.get("description")
        if regex is not None and (not isinstance(regex, str) or not is_pattern(regex)):
            shown = f"{regex!r}"[:200]
            self.complain("groups", f"the fileRegex of {name!r} is no regular expression: {shown}")
        if description is not None and not isinstance(description, str):
            self.complain("groups", f"the description of {name!r} must be a string, got {_named(description)}")
        if unknown := sorted(set(map(str, options)) - {"fileRegex", "description"}):
            self.complain("groups", f"the group {name!r} has no option {unknown[0]!r} (only fileRegex and description)")
        return GroupRule(name, regex, description)

    def _note_unknown_keys(self, data: dict[Any, Any]) -> None:
        for key in data:
            if key not in _KNOWN | _LEFT_ALONE:
                self.complain(str(key), f"a mode has no {key!r}; it is ignored (known: {', '.join(sorted(_KNOWN))})")


def _named(value: JsonValue) -> str:
    kinds: dict[type, str] = {
        dict: "a mapping",
        list: "a list",
        str: "a string",
        bool: "a boolean",
        type(None): "nothing",
    }
    return kinds.get(type(value), f"{value!r}")


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
    kept = tuple(rule for each in mode.groups if (rule := each.within(limit.get(each.group))) is not None)
    lost = [each.group for each in mode.groups if each not in kept]
    wider = f"the mode {mode.slug!r} would permit more than {DEFAULT_MODE!r} does ({', '.join(lost)})"
    return Admitted(replace(mode, groups=kept, untrusted=True), f"{wider}; not used, because {_TRUST}" if lost else "")
