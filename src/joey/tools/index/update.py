"""Keeping an index fresh: look at every file's size and time, read what differs, embed what is new.

1. The walk is that of list_files, so what .gitignore and the ignore files hide is not there; hidden files, links and
   what is no code or text (too large, binary, data, generated) are left out, too.
2. Files that are gone are taken out. Files whose size or time differs are read; if their hash is the same only the
   time is noted, otherwise they are cut again. Texts that were there before keep their vectors.
3. Texts without a vector are embedded, a batch at a time.

Each step is kept before the next begins, so that one that is stopped or killed goes on where it was. An update can be
given an allowance: then it does so much and says how much is left. Only one process updates an index at a time; others
search what there is.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TypeVar

from joey.bounded.folders import place_of, reason
from joey.system.folders import make_private
from joey.tools.index.model import Embedder
from joey.tools.index.pieces import cut
from joey.tools.index.store import CutFile, FileState, IndexProblemError, IndexStore
from joey.tools.index.syntax import cutter
from joey.tools.index.words import split_names
from joey.tools.searching.listing import look_at_files
from joey.tools.textfile import NotTextError, read_text

MAX_FILES = 50_000
MAX_FILE = 1_000_000
_MAX_DATA_FILE = 50_000
_FILES_AT_ONCE = 50
_TEXTS_AT_ONCE = 32
_ALWAYS = 1_000_000_000
_SECONDS_TO_WALK = 120.0

_SUFFIXES_NOT_READ = """
    .svg .csv .tsv .map .log .lock .jsonl .ndjson .ipynb .po .pot .snap .png .jpg .jpeg .gif .webp .ico .pdf .zip .gz
    .xz .bz2 .tar .whl .jar .class .o .so .a .dylib .dll .exe .pyc .woff .woff2 .ttf .otf .eot .mp3 .mp4 .wav .onnx
    .bin .db .sqlite .parquet .npy .pkl
"""
_NOT_READ = frozenset(_SUFFIXES_NOT_READ.split())
"""Files with these suffixes are no code and no prose; most are binary."""
_DATA = frozenset({".json", ".xml", ".yaml", ".yml", ".html", ".txt", ".toml", ".sql"})
"""Read only when small: larger ones are data, and would drown the code."""
_LOCKS = frozenset({"package-lock.json", "pnpm-lock.yaml", "composer.lock", "go.sum", "npm-shrinkwrap.json"})

Progress = Callable[[str, int, int], None]
"""What is being done ("files" or "pieces"), how many are done, and of how many."""
ItemT = TypeVar("ItemT")


@dataclass(slots=True)
class Allowance:
    """How much an update may do; it counts down."""

    files: int = _ALWAYS
    texts: int = _ALWAYS
    stopped: Callable[[], bool] = lambda: False


@dataclass(slots=True)
class Freshness:
    """What an update found and left."""

    files: int = 0
    """Files of the workspace that belong in the index."""
    waiting: set[str] = field(default_factory=set)
    """Files that are new or have changed and were not read yet."""
    unembedded: int = 0
    too_many: bool = False
    problem: str = ""
    """Why the index could not be brought up to date, if it could not."""
    dropped: int = 0
    read: int = 0
    embedded: int = 0

    @property
    def is_complete(self) -> bool:
        return not (self.waiting or self.unembedded or self.problem)


@contextlib.contextmanager
def only_writer(folder: Path) -> Iterator[bool]:
    """Whether nobody else updates the index now; if so, nobody will until the end of the block."""
    try:
        make_private(folder)
        lock = (folder / "lock").open("w")
    except OSError as error:
        raise IndexProblemError(f"the index in {folder} cannot be written: {reason(error)}") from None
    with lock as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True


def files_of(workspace: Path, hidden: Callable[[str], bool]) -> tuple[dict[str, os.stat_result], bool]:
    """The files that belong in an index, relative to the workspace, and whether there are more than fit."""
    files, missing = look_at_files(workspace.resolve(), limit=2 * MAX_FILES, hidden=hidden, seconds=_SECONDS_TO_WALK)
    found = {name: info for name, info in files.items() if _belongs(name, info.st_size)}
    return dict(islice(found.items(), MAX_FILES)), missing or len(found) > MAX_FILES


def _belongs(path: str, size: int) -> bool:
    name = path.rpartition("/")[2].lower()
    if name.startswith(".") or ".min." in name or name in _LOCKS or not 0 < size <= MAX_FILE:
        return False
    suffix = suffix_of(name)
    return suffix not in _NOT_READ and (suffix not in _DATA or size <= _MAX_DATA_FILE)


def suffix_of(path: str) -> str:
    """As PurePath says it, in lower case, without the price of one: it is asked of every file."""
    stem, dot, suffix = path.rpartition(".")
    return f".{suffix.lower()}" if stem and dot and "/" not in suffix else ""


class Updating:
    """One update of one index."""

    def __init__(
        self,
        store: IndexStore,
        workspace: Path,
        hidden: Callable[[str], bool],
        embedder: Embedder | None,
        allowance: Allowance | None = None,
        progress: Progress = lambda _what, _done, _of: None,
    ) -> None:
        self._store = store
        self._root = workspace.resolve()
        self._hidden = hidden
        self._embedder = embedder
        self._allowed = allowance or Allowance()
        self._progress = progress
        self.freshness = Freshness()

    def look(self) -> Freshness:
        """What differs from the index, without reading a file; what is gone is taken out."""
        found, self.freshness.too_many = files_of(self._root, self._hidden)
        known = self._store.files()
        self.freshness.files = len(found)
        self.freshness.waiting = {path for path, info in found.items() if _differs(known.get(path), path, info)}
        gone = [path for path in known if path not in found]
        if gone and not self._store.read_only:
            for some in _batches(gone, 500):
                self._store.drop_files(some)
        self.freshness.dropped = len(gone)
        self._known = known
        return self.freshness

    def read(self) -> None:
        """Read and cut what differs, as much as is allowed."""
        todo = sorted(self.freshness.waiting)
        for some in _batches(todo[: self._allowed.files], _FILES_AT_ONCE):
            if self._allowed.stopped():
                return
            self._read_batch(some)
            self._progress("files", self.freshness.read, len(todo))

    def _read_batch(self, paths: list[str]) -> None:
        cut_files: list[CutFile] = []
        touched: list[tuple[str, FileState]] = []
        for path in paths:
            file = self._read(path)
            before = self._known.get(path)
            if before is not None and (before.digest, before.cutter) == (file.state.digest, file.state.cutter):
                touched.append((path, file.state))
            else:
                cut_files.append(file)
        if touched:
            self._store.touch_files(touched)
        if cut_files:
            self._store.put_files(cut_files)
        self._allowed.files -= len(paths)
        self.freshness.read += len(paths)
        self.freshness.waiting -= set(paths)

    def _read(self, path: str) -> CutFile:
        """A file and its pieces. One that is no text has none; one that cannot be read is tried again each time."""
        way = cutter(suffix_of(path))
        try:
            # The state is that of the open file: what is read is what was looked at, and no link is followed.
            with place_of(self._root / path) as place, place.reading() as file:
                info = os.fstat(file.fileno())
                data = file.read(MAX_FILE + 1) if stat.S_ISREG(info.st_mode) else b""
        except OSError as error:
            state = FileState(-1, -1, hashlib.sha256(reason(error).encode()).digest(), way)
            return CutFile(path, state, ())
        state = FileState(info.st_size, info.st_mtime_ns, hashlib.sha256(data).digest(), way)
        try:
            return CutFile(path, state, tuple(cut(read_text(data).text, path)))
        except NotTextError:
            return CutFile(path, state, ())

    def embed(self, first: Iterable[int] | None = None) -> None:
        """Make vectors for texts that have none: those of these pieces, or all, as many as are allowed."""
        embedder = self._embedder
        if embedder is None:
            return
        total = self._store.counts().without_vector if first is None else 0
        while self._allowed.texts > 0 and not self._allowed.stopped():
            texts = self._store.texts_without_vector(min(_TEXTS_AT_ONCE, self._allowed.texts), first)
            if not texts:
                break
            rows = embedder.embed([split_names(text) for _, text in texts])
            kept = [row.astype("<f2").tobytes() for row in rows]
            self._store.put_vectors(zip((text_id for text_id, _ in texts), kept, strict=True))
            self._allowed.texts -= len(texts)
            self.freshness.embedded += len(texts)
            self._progress("pieces", self.freshness.embedded, total)

    def finish(self) -> Freshness:
        """Say how much is left, and tidy up if nothing is."""
        counts, left = self._store.counts(), self.freshness
        left.unembedded = counts.without_vector if self._embedder else 0
        is_new = left.dropped or left.read or left.embedded or counts.updated is None
        if left.is_complete and is_new and not self._store.read_only:
            self._store.finish()
        return left


def _differs(known: FileState | None, path: str, info: os.stat_result) -> bool:
    if known is None or (known.size, known.mtime) != (info.st_size, info.st_mtime_ns):
        return True
    return known.cutter != cutter(suffix_of(path))


def _batches(items: list[ItemT], size: int) -> Iterator[list[ItemT]]:
    rest = iter(items)
    while some := list(islice(rest, size)):
        yield some
