"""The files that a request is about, shown whole beside it from the first turn.

A small model that sees the file and the request together writes the whole new file at once; one that has to find and
read it first often goes astray on the way. Shown are, as far as there is room: the files that the request names, what
these import of the workspace and the tests of it; and where it names none, all files of a small folder, or those in
which its words occur most. Nothing is shown that the model could not read by itself without asking.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from joey.bounded.files import read_resolved
from joey.policy.paths import Workspace
from joey.system.filenames import quoted
from joey.task.profiles.small.demands import renamed
from joey.task.profiles.small.problems import imports_of, is_test, missing_imports, problem_in
from joey.tools.base import ToolContext
from joey.tools.searching.listing import list_folder
from joey.tools.seen_files import note_seen
from joey.tools.textfile import NotTextError, read_text

_MAX_ENTRIES = 300
_MAX_SEARCHED = 40
_MAX_BYTES = 64 * 1024
_SMALL_FOLDER = 2_500
"""Characters. A folder with no more than that is shown whole."""
_MAX_FOUND = 3
_NAME = re.compile(r"[\w./-]*\w")
_WORD = re.compile(r"[A-Za-z_]\w{3,}")
_COMMON = """
about after also always another because before change check class code contain create does each every example file files
find first fixed folder from function have into line lines made make module name named number numbers output please
print prints python returns script should tell test tests text than that their them then there these they this those
used uses value when where which with without word words work works write wrong
"""


@dataclass(frozen=True, slots=True)
class FileBeside:
    """A file as it is when the request is made."""

    path: str
    text: str
    named: bool = False
    """Whether the request itself names it."""


@dataclass(frozen=True, slots=True)
class Beside:
    """What is shown with a request."""

    files: tuple[FileBeside, ...] = ()
    entries: tuple[str, ...] = ()
    """All files of the workspace, as far as they were listed."""

    def is_about(self, request: str) -> bool:
        """Whether a word of a request stands in the files."""
        everything = "\n".join(f"{each.path}\n{each.text}" for each in self.files).lower()
        return any(word in everything for word in _content_words(request))

    @property
    def text(self) -> str:
        """The words for the model: what is in the files, and what is wrong with them."""
        parts = [f"{quoted(each.path)}:\n```\n{each.text.rstrip()}\n```" for each in self.files]
        texts = {each.path: each.text for each in self.files}
        found = [problem for path, text in texts.items() if (problem := problem_in(path, text))]
        found += [problem for _, _, problem in missing_imports(texts)]
        return "\n\n".join([*parts, *(f"Note: {problem}." for problem in found)])


def files_beside(request: str, context: ToolContext, paths: Workspace, room: int) -> Beside:
    """What to show beside a request, in `room` characters. The model knows these files from then on."""
    listing = list_folder(context.workspace, recursive=True, limit=_MAX_ENTRIES, hidden=context.ignored, seconds=2.0)
    entries = tuple(entry for entry in listing.entries if not entry.endswith("/"))
    reader = _Reader(context, paths)
    files = list[FileBeside]()
    for path, named in _wanted(request, entries, reader.text):
        text = reader.text(path)
        if text is None or not text.strip() or any(path == each.path for each in files):
            continue
        share = room if named else room // 3
        if len(text) <= share:
            room -= len(text)
            reader.note(path)
            files.append(FileBeside(path, text, named))
    return Beside(tuple(files), entries)


def _wanted(request: str, entries: tuple[str, ...], text_of: Callable[[str], str | None]) -> Iterator[tuple[str, bool]]:
    """The files to show, the most important first, and whether the request names them."""
    named = named_files(request, entries)
    yield from ((path, True) for path in named)
    entries = tuple(path for path in entries if not path.startswith(".") and "/." not in path)
    if len(entries) <= _MAX_SEARCHED:
        yield from ((path, False) for path in _mentioning(request, entries, text_of))
    related = _related(named, entries, text_of)
    yield from ((path, False) for path in related)
    if named and len(entries) > _MAX_SEARCHED:
        return
    texts = {path: text for path in entries if (text := text_of(path)) is not None}
    if sum(map(len, texts.values())) <= _SMALL_FOLDER:
        yield from ((path, False) for path in entries)
    elif not named:
        yield from ((path, False) for path in _found(request, texts))


def named_files(request: str, entries: Iterable[str]) -> list[str]:
    """The files of a workspace that a request names, by their path or their last name, in its order."""
    words = dict.fromkeys(word.strip("./") if not word.startswith(".") else word for word in _NAME.findall(request))
    found = [path for word in words for path in entries if word in (path, path.rpartition("/")[2])]
    folders = [f"{word}/" for word in words if re.search(rf"folder (called |named )?{re.escape(word)}\b", request)]
    found += [path for folder in folders for path in entries if path.startswith(folder)]
    return list(dict.fromkeys(found))


def _related(named: list[str], entries: tuple[str, ...], text_of: Callable[[str], str | None]) -> list[str]:
    """What the named files import, which of them are tested by what, and what uses them, of the workspace."""
    found = [path for each in named for path in sorted(imports_of(text_of(each) or "")) if path in entries]
    modules = {path for path in (*named, *found) if path.endswith(".py")}
    if modules and len(entries) <= _MAX_SEARCHED:
        scripts = (path for path in entries if path.endswith(".py") and path not in modules)
        users = [path for path in scripts if imports_of(text_of(path) or "") & modules]
        found += sorted(users, key=lambda path: not is_test(path))
    return list(dict.fromkeys(found))


def _mentioning(request: str, entries: tuple[str, ...], text_of: Callable[[str], str | None]) -> list[str]:
    """The files in which a name stands that is to be another."""
    names = [old for old, _ in renamed(request)]
    return [path for path in entries if any(re.search(rf"\b{name}\b", text_of(path) or "") for name in names)]


def _found(request: str, texts: dict[str, str]) -> list[str]:
    """The files in which most of the request's words occur, names of files included."""
    words = _content_words(request)
    scores = {path: sum(word in f"{path}\n{text}".lower() for word in words) for path, text in texts.items()}
    best = sorted((path for path, score in scores.items() if score), key=lambda path: -scores[path])
    return best[:_MAX_FOUND]


def _content_words(request: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(request)}.difference(_COMMON.split())


class _Reader:
    """Reads what the model could read without asking, each file once."""

    def __init__(self, context: ToolContext, paths: Workspace) -> None:
        self._context = context
        self._paths = paths
        self._data: dict[str, tuple[Path, bytes] | None] = {}

    def text(self, path: str) -> str | None:
        if path not in self._data:
            self._data[path] = self._read(path)
        kept = self._data[path]
        try:
            return None if kept is None else read_text(kept[1]).text
        except NotTextError:
            return None

    def note(self, path: str) -> None:
        """The model knows this file now."""
        if kept := self._data.get(path):
            note_seen(self._context, *kept)

    def _read(self, path: str) -> tuple[Path, bytes] | None:
        found = readable(self._context.workspace / path, self._paths)
        try:
            return None if found is None else (found, read_resolved(found, _MAX_BYTES))
        except (OSError, RuntimeError):
            return None


def readable(path: Path, paths: Workspace) -> Path | None:
    """Where a file is, if it may be shown; None if it is outside, hidden, or keeps credentials."""
    try:
        resolved = path.resolve()
    except (OSError, RuntimeError):
        return None
    located = paths.locate(str(resolved))
    shown = located.problem is None and located.hidden_by is None and located.inside and not located.secret
    return resolved if shown else None
