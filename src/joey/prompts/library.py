"""The slash commands and skills there are.

A command is a Markdown file named after it, a skill is a folder with a `SKILL.md`. Of two with one name the later of
these places wins:

    commands   built in, ~/.roo/commands, commands/ in the user's folder, .roo/commands and .joey/commands here
    skills     ~/.agents/skills, ~/.roo/skills, skills/ in the user's folder, .agents/, .roo/ and .joey/skills here

`skills-MODE` beside `skills` holds skills for one mode, which win over the general ones of the same place. Files are
read when asked for, so that an edited one counts at once. One that cannot be used is named, and the others still load.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from joey.bounded.files import plain_text, read_resolved
from joey.bounded.formats import FormatError
from joey.bounded.formats.yaml import read_yaml
from joey.system.folders import project_folder

MAX_BYTES = 256 * 1024
_FRONT = re.compile(r"\A---[ \t]*\n(.*?)(?:\n)?^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)


class UnusableFileError(Exception):
    """The file cannot be used. The text says why, for the person who wrote it."""


@dataclass(frozen=True, slots=True)
class MarkdownFile:
    """What a file says about itself, and its text."""

    about: Mapping[str, Any]
    text: str

    def words(self, *keys: str) -> str:
        """The first of these that is there, as one line."""
        value = next((self.about[key] for key in keys if self.about.get(key) is not None), "")
        return " ".join(str(value).split())


def read_document(path: Path, within: Path | None = None) -> MarkdownFile:
    """Read a file. With `within`, only if it really is there: a project's link must not lead out of the project."""
    try:
        real = path.resolve()
        if within is not None and not real.is_relative_to(within.resolve()):
            raise UnusableFileError(f"it is a link that leads out of {within}")
        text = plain_text(read_resolved(real, MAX_BYTES))
    except UnicodeDecodeError as error:
        raise UnusableFileError(f"it is not UTF-8 (byte {error.start})") from None
    except (OSError, RuntimeError) as error:
        raise UnusableFileError(f"it cannot be read: {getattr(error, 'strerror', None) or error}") from None
    return parse_document(text)


def parse_document(text: str) -> MarkdownFile:
    text = text.replace("\r\n", "\n")
    front = _FRONT.match(text)
    if front is None:
        return MarkdownFile({}, text.strip())
    try:
        about = read_yaml(front[1]) or {}
    except FormatError as error:
        # The usual mistake is an unquoted colon in a description; a person meant the rest of the line.
        about = _plain_lines(front[1])
        if not about:
            raise UnusableFileError(f"its front matter is not YAML: {error}") from None
    if not isinstance(about, dict):
        raise UnusableFileError("its front matter must be `key: value` lines")
    return MarkdownFile({str(key): value for key, value in about.items()}, text[front.end() :].strip())


def _plain_lines(text: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for line in text.splitlines():
        match = re.match(r"([A-Za-z][\w-]*):[ \t]+(.*)", line)
        if match is None:
            return {}
        found[match[1]] = match[2].strip()
    return found


Origin: TypeAlias = Literal["built-in", "user", "project"]
NAME = re.compile(r"[a-zA-Z0-9_.-]+")
_SKILL_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_PLACEHOLDER = re.compile(r"\\\$|\$ARGUMENTS\b|\$\{ARGUMENTS\}|\$([1-9])(?!\d)")
_BUILTIN = Path(__file__).parent / "builtin"


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """Words a person has written once and uses by name."""

    name: str
    body: str
    origin: Origin
    path: Path
    description: str = ""
    argument_hint: str = ""
    mode: str | None = None

    def filled(self, arguments: str) -> str:
        """The words with what was typed behind the name: `$ARGUMENTS` is all of it, `$1` its first word (quotes hold
        words together), `\\$` a dollar sign. In one pass: an argument is never taken for a placeholder."""
        words = split_words(arguments)

        def value(match: re.Match[str]) -> str:
            if match[0] == "\\$":
                return "$"
            if match[1] is None:
                return arguments
            index = int(match[1]) - 1
            return words[index] if index < len(words) else ""

        return _PLACEHOLDER.sub(value, self.body).strip()


@dataclass(frozen=True, slots=True)
class Skill:
    """Instructions for a kind of work, read when that work comes up."""

    name: str
    description: str
    body: str
    origin: Origin
    path: Path
    modes: tuple[str, ...] = ()
    """The modes it is for; empty: all."""

    def is_for(self, mode: str) -> bool:
        return not self.modes or mode in self.modes


@dataclass(slots=True)
class _Found:
    commands: dict[str, SlashCommand] = field(default_factory=dict)
    skills: dict[tuple[str, tuple[str, ...]], Skill] = field(default_factory=dict)
    flaws: dict[Path, str] = field(default_factory=dict)


class Library:
    """What one user has in one workspace."""

    def __init__(self, workspace: Path, user: Path, home: Path | None = None) -> None:
        self.workspace, self.user = workspace, user
        self.home = home or Path.home()

    def commands(self) -> dict[str, SlashCommand]:
        """The commands by name, in the order of their names."""
        return dict(sorted(self._commands().commands.items()))

    def skills(self, mode: str | None = None) -> dict[str, Skill]:
        """The skills by name; with a mode, those for it, and of two with one name the one that names the mode."""
        offered = [skill for skill in self._skills().skills.values() if mode is None or skill.is_for(mode)]
        chosen: dict[str, Skill] = {}
        for skill in offered:
            known = chosen.get(skill.name)
            if known is None or _strength(skill) >= _strength(known):
                chosen[skill.name] = skill
        return dict(sorted(chosen.items()))

    def flaws(self) -> dict[Path, str]:
        """The files that cannot be used, and why."""
        return {**self._commands().flaws, **self._skills().flaws}

    # Commands

    def _commands(self) -> _Found:
        found = _Found()
        for origin, folder in self._command_folders():
            for path in sorted(folder.glob("*.md")) if folder.is_dir() else ():
                try:
                    command = _command(path, origin, self._within(origin))
                except UnusableFileError as error:
                    found.flaws[path] = str(error)
                else:
                    found.commands[command.name] = command
        return found

    def _command_folders(self) -> Iterator[tuple[Origin, Path]]:
        yield "built-in", _BUILTIN
        yield "user", self.home / ".roo" / "commands"
        yield "user", self.user / "commands"
        yield "project", self.workspace / ".roo" / "commands"
        yield "project", project_folder(self.workspace) / "commands"

    def _within(self, origin: Origin) -> Path | None:
        return self.workspace if origin == "project" else None

    # Skills

    def _skills(self) -> _Found:
        found = _Found()
        for origin, parent in self._skill_parents():
            for folder in _skill_folders(parent):
                path = folder / "SKILL.md"
                try:
                    skill = _skill(path, origin, self._within(origin))
                except UnusableFileError as error:
                    found.flaws[path] = str(error)
                else:
                    found.skills[skill.name, skill.modes] = skill
        return found

    def _skill_parents(self) -> Iterator[tuple[Origin, Path]]:
        yield "user", self.home / ".agents"
        yield "user", self.home / ".roo"
        yield "user", self.user
        yield "project", self.workspace / ".agents"
        yield "project", self.workspace / ".roo"
        yield "project", project_folder(self.workspace)


def _strength(skill: Skill) -> tuple[bool, bool]:
    return skill.origin == "project", bool(skill.modes)


def _command(path: Path, origin: Origin, within: Path | None) -> SlashCommand:
    if not NAME.fullmatch(path.stem):
        raise UnusableFileError(
            "its name may have letters, digits, '_', '.' and '-' only, because it is what one types"
        )
    document = read_document(path, within)
    if not document.text:
        raise UnusableFileError("it has no text: what the command says stands below the front matter")
    return SlashCommand(
        path.stem,
        document.text,
        origin,
        path,
        document.words("description"),
        document.words("argument-hint", "argument_hint"),
        document.words("mode") or None,
    )


def _skill_folders(parent: Path) -> Iterator[Path]:
    """The skills of `skills` and then of each `skills-MODE`, which are stronger."""
    places = [parent / "skills", *sorted(parent.glob("skills-*"))] if parent.is_dir() else []
    for place in places:
        if place.is_dir():
            yield from sorted(folder for folder in place.iterdir() if (folder / "SKILL.md").exists())


def _skill(path: Path, origin: Origin, within: Path | None) -> Skill:
    folder = path.parent.name
    document = read_document(path, within)
    name, description = document.words("name") or folder, document.words("description")
    if not _SKILL_NAME.fullmatch(name) or len(name) > 64:
        raise UnusableFileError(f"the name {name!r} must be small letters, digits and single '-', at most 64")
    if name != folder:
        raise UnusableFileError(f"the name {name!r} must be that of its folder, {folder!r}")
    if not 1 <= len(description) <= 1024:
        raise UnusableFileError("its front matter needs a description of 1 to 1024 characters: what it is good for")
    place = path.parent.parent.name
    modes = (place.removeprefix("skills-"),) if place.startswith("skills-") else _modes(document)
    return Skill(name, description, document.text, origin, path, modes)


def _modes(document: MarkdownFile) -> tuple[str, ...]:
    given: Any = document.about.get("modeSlugs", document.about.get("mode"))
    listed = given if isinstance(given, list) else [given] if given else []
    return tuple(str(mode) for mode in listed)


def split_words(arguments: str) -> list[str]:
    try:
        return shlex.split(arguments)
    except ValueError:
        return arguments.split()
