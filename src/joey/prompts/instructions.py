"""What the user's own files tell the model: rules and AGENTS.md, put together once for a task.

The order, for one mode (the same as Roo Code's):

1. rules of the mode: the user's `rules-MODE/`, then the project's `.joey/rules-MODE/`; if neither says anything,
   `.roorules-MODE`, else `.clinerules-MODE` in the project
2. a note that ignore files hold
3. `AGENTS.md` (else `AGENT.md`), then `AGENTS.local.md`
4. rules for every mode: as 1, with `rules/`, `.roorules` and `.clinerules`, the last a file or a folder

Where Joey's own folder is absent, Roo Code's is read: `~/.roo/` for the user's, `.roo/` for the project's. A folder is
read with the folders in it, in the order of the files' names. Links are followed a few times, never out of the
workspace (the user's: out of the user's folder), and no folder is read twice.

All of it together has a limit. What comes after it is cut at the end of a line, and the text says what is missing;
a file that cannot be read is named. Files that an ignore file hides are left out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from joey.bounded.files import read_start
from joey.system.filenames import quoted
from joey.system.folders import project_folder

LIMIT = 64 * 1024
"""Characters that the instructions of a mode may have in all."""
_NAMED = 50
"""How many of the files that found no room are named."""
_LINKS = 5
_MAX_FILES = 200
_FOLDERS_DEEP = 20
_SKIPPED = (
    ".ds_store", ".bak", ".cache", ".crdownload", ".db", ".dmp", ".dump", ".eslintcache", ".lock", ".log", ".old",
    ".part", ".partial", ".pyc", ".pyo", ".stackdump", ".swo", ".swp", ".temp", ".tmp", "thumbs.db",
)  # fmt: skip
_AGENTS = (("AGENTS.md", "AGENT.md"), ("AGENTS.local.md",))


@dataclass(frozen=True, slots=True)
class InstructionRoot:
    """Where files may be read, and how their paths are shown."""

    root: Path
    shown: str = ""

    def name(self, path: Path) -> str:
        inside = os.path.relpath(path, self.root)
        return f"{self.shown}/{inside}" if self.shown else inside

    def holds(self, path: Path) -> bool:
        """Whether a path, links followed, is still in here."""
        return path.resolve().is_relative_to(self.root.resolve())


@dataclass(frozen=True, slots=True)
class RuleFile:
    """A file of instructions, or the reason why it could not be read."""

    name: str
    text: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class InstructionFiles:
    """Where instructions may be for one user in one workspace."""

    workspace: Path
    user: Path
    home: Path = field(default_factory=Path.home)
    hidden: Callable[[Path], bool] = lambda _path: False
    """Whether an ignore file hides a file of the workspace."""
    ignore_files: tuple[str, ...] = ()
    """The ignore files that say anything."""

    def for_modes(self, modes: Iterable[str]) -> Mapping[str, str]:
        """The instructions of every mode. What all modes share is read once."""
        shared = [*self.agents(), *self.rules("rules")]
        return {mode: self._text(self.rules(f"rules-{mode}"), shared) for mode in modes}

    def rules(self, name: str) -> list[RuleFile]:
        """The rules in folders of this name, or, if there are none, in the old single files."""
        found = [rule for place, folder in self.rule_folders(name) for rule in self._folder(place, folder)]
        return found or self._single(name)

    def rule_folders(self, name: str) -> list[tuple[InstructionRoot, Path]]:
        """The folders that are read: of each pair, ours, else Roo Code's."""
        project = InstructionRoot(self.workspace)
        pairs = (
            (
                InstructionRoot(self.user, "~/.config/joey"),
                self.user / name,
                InstructionRoot(self.home / ".roo", "~/.roo"),
            ),
            (project, project_folder(self.workspace) / name, project),
        )
        folders = []
        for place, ours, other in pairs:
            theirs = (other.root if other.shown else other.root / ".roo") / name
            if ours.is_dir():
                folders.append((place, ours))
            elif theirs.is_dir():
                folders.append((other, theirs))
        return folders

    def agents(self) -> list[RuleFile]:
        """AGENTS.md and its like, in the workspace."""
        found = []
        for names in _AGENTS:
            paths = [self.workspace / name for name in names]
            found += self._first(paths)
        return found

    def _single(self, name: str) -> list[RuleFile]:
        """`.roorules`, else `.clinerules`, with the mode at the end."""
        for start in (".roorules", ".clinerules"):
            path = self.workspace / f"{start}{name.removeprefix('rules')}"
            rules = self._folder(InstructionRoot(self.workspace), path) if path.is_dir() else self._first([path])
            if rules:
                return rules
        return []

    def _first(self, paths: Iterable[Path]) -> list[RuleFile]:
        for path in paths:
            if path.exists() and not path.is_dir() and not self._left_out(path):
                rule = _read(InstructionRoot(self.workspace), path)
                return [rule] if rule.text or rule.problem else []
        return []

    def _folder(self, place: InstructionRoot, folder: Path) -> list[RuleFile]:
        paths = sorted(_files(place, folder), key=lambda path: (path.name.casefold(), str(path)))
        visible = (path for path in paths if not self._left_out(path))
        rules = (_read(place, path) for path in islice(visible, _MAX_FILES))
        return [rule for rule in rules if rule.text or rule.problem]

    def _left_out(self, path: Path) -> bool:
        return path.is_relative_to(self.workspace) and self.hidden(path)

    def _text(self, of_mode: list[RuleFile], shared: list[RuleFile]) -> str:
        note = _IGNORED.format(files=" and ".join(self.ignore_files)) if self.ignore_files else ""
        room = _Room(LIMIT)
        sections = [*room.sections(of_mode), note, *room.sections(shared), room.left_over()]
        return "\n\n".join(section for section in sections if section)


_IGNORED = """\
# Files that are not yours to see

{files} in the workspace: files and folders listed there can neither be read nor changed, by any tool. A call that
tries is refused; work without them, and say so if the task needs one."""


class _Room:
    """Gives out what is left of the limit, and remembers what did not fit."""

    def __init__(self, characters: int) -> None:
        self._left = characters
        self._missing: list[str] = []

    def sections(self, rules: Iterable[RuleFile]) -> Iterator[str]:
        for rule in rules:
            header = f"# Rules from {quoted(rule.name)}:"
            if rule.problem:
                yield f"{header}\n\n[This file could not be read: {rule.problem}]"
            elif self._left <= 0:
                self._missing.append(rule.name)
            else:
                yield f"{header}\n\n{self._cut(rule.text)}"

    def _cut(self, text: str) -> str:
        shown = text
        if len(text) > self._left:
            shown = text[: self._left]
            shown = shown[: shown.rfind("\n")] if "\n" in shown else shown
            shown += f"\n[Cut here: {len(shown):,} of {len(text):,} characters are shown. Read the file for the rest.]"
        self._left -= len(text)
        return shown

    def left_over(self) -> str:
        if not self._missing:
            return ""
        names = ", ".join(map(quoted, self._missing[:_NAMED]))
        names += f" and {len(self._missing) - _NAMED} more" if len(self._missing) > _NAMED else ""
        return f"[Not shown, since there is more than can be read at once: {names}. Read them if you need them.]"


def _files(place: InstructionRoot, folder: Path, links: int = 0, seen: frozenset[Path] = frozenset()) -> Iterator[Path]:
    """The files of a folder and of those in it."""
    real = folder.resolve()
    if real in seen or len(seen) >= _FOLDERS_DEEP or not place.holds(folder):
        return
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    for entry in entries:
        followed = links + entry.is_symlink()
        if followed > _LINKS:
            continue
        if entry.is_dir():
            yield from _files(place, entry, followed, seen | {real})
        elif not entry.is_dir() and place.holds(entry) and not _skipped(entry.name):
            yield entry


def _skipped(name: str) -> bool:
    lower = name.lower()
    return lower.endswith(_SKIPPED)


def _read(place: InstructionRoot, path: Path) -> RuleFile:
    name = place.name(path)
    try:
        real = path.resolve()
        if not real.is_relative_to(place.root.resolve()):
            return RuleFile(name, problem="it is a link that leads elsewhere")
        # A character has at most four bytes; a longer file is cut anyway, and its whole length is not needed.
        data = read_start(real, LIMIT * 4 + 4)
    except (OSError, RuntimeError) as error:
        return RuleFile(name, problem=getattr(error, "strerror", None) or "it cannot be opened")
    whole = len(data) < LIMIT * 4 + 4
    text = data.decode("utf-8-sig", "strict" if whole else "ignore") if _is_text(data, whole=whole) else None
    return RuleFile(name, problem="it is not UTF-8 text") if text is None else RuleFile(name, text.strip())


def _is_text(data: bytes, *, whole: bool) -> bool:
    if b"\0" in data:
        return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return not whole and error.start >= len(data) - 4  # the limit cut a character in two
    return True
