"""What is kept of a workspace, in one SQLite file: its files, their pieces, the words of the pieces, and vectors.

- `files`: a path (as bytes: names need not be text) with the size, time and hash it had when it was cut, and how.
- `texts`: what pieces say, each text once under its hash, compressed, with its vector when there is one. A piece that
  moves, or is in ten files, is embedded once.
- `pieces`: lines so and so of a file, with their name and text.
- `words`: a full-text index (FTS5) of the pieces, for ranking by keywords. It holds no text of its own, so taking
  a piece out means saying again what went in: `_entry` must not change without a new VERSION.

Each change is one transaction: a process killed at any instant leaves the state before or after it, and two writers
take turns. A file that is damaged, or of another version, is thrown away, for everything in it can be rebuilt.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import time
import uuid
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

from joey.errors import JoeyError
from joey.tools.index.pieces import CodePiece
from joey.tools.index.words import words

VERSION = 1
"""Of the tables, of the words and of the model: whoever changes one of them raises this."""
_WAIT = 20.0
"""Seconds to wait for another writer."""
_KEPT_TEXT = 20_000
"""A piece is one line at least, and a line can be a megabyte; this much of it is kept."""

_TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value);
CREATE TABLE files (path BLOB PRIMARY KEY, size INTEGER, mtime INTEGER, digest BLOB, cutter TEXT);
CREATE TABLE texts (id INTEGER PRIMARY KEY, digest BLOB UNIQUE, body BLOB, vector BLOB);
CREATE TABLE pieces (id INTEGER PRIMARY KEY, path BLOB, first INTEGER, last INTEGER, name TEXT, text INTEGER);
CREATE INDEX pieces_of_files ON pieces (path);
CREATE INDEX pieces_of_texts ON pieces (text);
CREATE INDEX texts_without_vector ON texts (id) WHERE vector IS NULL;
CREATE VIRTUAL TABLE words USING fts5 (name, path, body, content='', tokenize='porter unicode61');
"""


class IndexProblemError(JoeyError):
    """The index cannot be read or written now: a folder without rights, a full disk, a writer that does not end."""


class DamagedIndexError(IndexProblemError):
    """The file is not an index of this version, or is damaged. Rebuilding it helps."""


@dataclass(frozen=True, slots=True)
class FileState:
    """A file as it was when it was cut."""

    size: int
    mtime: int
    digest: bytes
    cutter: str


@dataclass(frozen=True, slots=True)
class CutFile:
    """A file that was read and cut."""

    path: str
    state: FileState
    pieces: tuple[CodePiece, ...]


@dataclass(frozen=True, slots=True)
class KeptPiece:
    """A piece as the index has it."""

    piece_id: int
    path: str
    first: int
    last: int
    name: str
    text_id: int
    text: str


@dataclass(frozen=True, slots=True)
class Counts:
    """How much there is."""

    files: int
    pieces: int
    texts: int
    without_vector: int
    updated: float | None
    """When it was last brought fully up to date, in seconds since 1970."""


@cache
def has_full_text() -> bool:
    """Whether this Python's SQLite can rank by words (FTS5). Nearly every one can."""
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        try:
            database.execute("CREATE VIRTUAL TABLE probe USING fts5 (body)")
        except sqlite3.OperationalError:
            return False
    return True


IndexState = tuple[str, int]
"""Which index it is, and how many changes were made to it: what was read of it holds as long as both stay."""


@dataclass(slots=True)
class IndexMemory:
    """What was read of an index, for those who ask it again and again."""

    files: tuple[IndexState, Mapping[str, FileState]] | None = None
    counts: tuple[IndexState, Counts] | None = None


class IndexStore:
    """An open index. `read_only` is for a folder that cannot be written: what is there can still be asked."""

    def __init__(self, file: Path, *, read_only: bool = False, memory: IndexMemory | None = None) -> None:
        self.file = file
        self.read_only = read_only
        self._memory = memory or IndexMemory()
        with _explained(file):
            address = f"{file.absolute().as_uri()}?mode={'ro' if read_only else 'rwc'}"
            self._db = sqlite3.connect(address, uri=True, timeout=_WAIT, isolation_level=None)
        try:
            self._prepare()
        except BaseException:
            self._db.close()
            raise

    def _prepare(self) -> None:
        with _explained(self.file):
            # Safe when a process is killed; when the power fails the index may be lost, and is rebuilt.
            self._db.execute("PRAGMA synchronous = NORMAL")
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            empty = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
        if version == 0 and empty and not self.read_only:
            self._make_tables()
        elif version != VERSION:
            raise DamagedIndexError(f"{self.file} is not an index of this version")

    def _make_tables(self) -> None:
        with self._changing():
            # Another process may have been first.
            if self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
                for statement in filter(str.strip, _TABLES.split(";")):
                    self._db.execute(statement)
                self._say("made", uuid.uuid4().hex)
                self._db.execute(f"PRAGMA user_version = {VERSION}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._db.close()

    # Changing

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        """One transaction: all of it or nothing."""
        with _explained(self.file):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                if self._db.execute("PRAGMA user_version").fetchone()[0] == VERSION:
                    self._say("changes", self.changes + 1)
                self._db.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise

    def _say(self, name: str, value: float | str) -> None:
        self._db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def put_files(self, cut: Iterable[CutFile]) -> None:
        """Files as they are now, in place of what was known of them."""
        with self._changing():
            for each in cut:
                path = os.fsencode(each.path)
                self._take_out(path)
                for piece in each.pieces:
                    self._put_piece(path, piece)
                state = each.state
                row = (path, state.size, state.mtime, state.digest, state.cutter)
                self._db.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)", row)

    def touch_files(self, states: Iterable[tuple[str, FileState]]) -> None:
        """Files that were written again with the same contents."""
        with self._changing():
            rows = [(state.size, state.mtime, os.fsencode(path)) for path, state in states]
            self._db.executemany("UPDATE files SET size = ?, mtime = ? WHERE path = ?", rows)

    def drop_files(self, paths: Iterable[str]) -> None:
        with self._changing():
            for path in map(os.fsencode, paths):
                self._take_out(path)
                self._db.execute("DELETE FROM files WHERE path = ?", (path,))

    def put_vectors(self, vectors: Iterable[tuple[int, bytes]]) -> None:
        with self._changing():
            rows = [(vector, text_id) for text_id, vector in vectors]
            self._db.executemany("UPDATE texts SET vector = ? WHERE id = ?", rows)

    def finish(self) -> None:
        """All is up to date: texts that no piece says any more can go."""
        with self._changing():
            self._db.execute("DELETE FROM texts WHERE id NOT IN (SELECT text FROM pieces)")
            self._say("updated", time.time())

    def _put_piece(self, path: bytes, piece: CodePiece) -> None:
        digest = hashlib.sha256(piece.meaning.encode("utf-8", "surrogatepass")).digest()
        body = zlib.compress(piece.text[:_KEPT_TEXT].encode("utf-8", "surrogatepass"))
        self._db.execute("INSERT OR IGNORE INTO texts (digest, body) VALUES (?, ?)", (digest, body))
        text_id = self._db.execute("SELECT id FROM texts WHERE digest = ?", (digest,)).fetchone()[0]
        row = (path, piece.first, piece.last, _storable(piece.name), text_id)
        done = self._db.execute("INSERT INTO pieces (path, first, last, name, text) VALUES (?, ?, ?, ?, ?)", row)
        entry = _entry(path, _storable(piece.name), piece.text[:_KEPT_TEXT])
        self._db.execute("INSERT INTO words (rowid, name, path, body) VALUES (?, ?, ?, ?)", (done.lastrowid, *entry))

    def _take_out(self, path: bytes) -> None:
        query = "SELECT p.id, p.name, t.body FROM pieces p JOIN texts t ON t.id = p.text WHERE p.path = ?"
        for piece_id, name, body in self._db.execute(query, (path,)).fetchall():
            row = (piece_id, *_entry(path, name, _text(body)))
            self._db.execute("INSERT INTO words (words, rowid, name, path, body) VALUES ('delete', ?, ?, ?, ?)", row)
        self._db.execute("DELETE FROM pieces WHERE path = ?", (path,))

    # Asking

    @property
    def changes(self) -> int:
        """Counts the changes ever made: what was computed at one count holds as long as it stays."""
        with _explained(self.file):
            found = self._db.execute("SELECT value FROM facts WHERE name = 'changes'").fetchone()
        return int(found[0]) if found else 0

    @property
    def state(self) -> IndexState:
        with _explained(self.file):
            facts = dict(self._db.execute("SELECT name, value FROM facts WHERE name IN ('made', 'changes')").fetchall())
        return facts.get("made", ""), int(facts.get("changes", 0))

    def files(self) -> Mapping[str, FileState]:
        state = self.state
        if self._memory.files is None or self._memory.files[0] != state:
            self._memory.files = state, self._read_files()
        return self._memory.files[1]

    def _read_files(self) -> dict[str, FileState]:
        with _explained(self.file):
            rows = self._db.execute("SELECT path, size, mtime, digest, cutter FROM files").fetchall()
        return {os.fsdecode(path): FileState(*rest) for path, *rest in rows}

    def counts(self) -> Counts:
        state = self.state
        if self._memory.counts is None or self._memory.counts[0] != state:
            self._memory.counts = state, self._count()
        return self._memory.counts[1]

    def _count(self) -> Counts:
        with _explained(self.file):
            updated = self._db.execute("SELECT value FROM facts WHERE name = 'updated'").fetchone()
            one = (
                "SELECT (SELECT count(*) FROM files), (SELECT count(*) FROM pieces), (SELECT count(*) FROM texts), "
                "(SELECT count(*) FROM texts WHERE vector IS NULL AND id IN (SELECT text FROM pieces))"
            )
            files, pieces, texts, without = self._db.execute(one).fetchone()
            return Counts(files, pieces, texts, without, updated[0] if updated else None)

    def texts_without_vector(self, limit: int, among: Iterable[int] | None = None) -> list[tuple[int, str]]:
        """What has to be embedded: the texts of these pieces, or any that a piece still says."""
        which = f" WHERE id IN ({_numbers(among)})" if among is not None else ""
        query = f"SELECT id FROM texts WHERE vector IS NULL AND id IN (SELECT text FROM pieces{which}) LIMIT ?"  # noqa: S608
        with _explained(self.file):
            found = [row[0] for row in self._db.execute(query, (limit,)).fetchall()]
            return [(text_id, self._meaning(text_id)) for text_id in found]

    def _meaning(self, text_id: int) -> str:
        query = "SELECT p.name, t.body FROM texts t JOIN pieces p ON p.text = t.id WHERE t.id = ? LIMIT 1"
        name, body = self._db.execute(query, (text_id,)).fetchone()
        return CodePiece(0, 0, name, _text(body)).meaning

    def by_words(self, words: Iterable[str], under: str, limit: int) -> list[tuple[int, float]]:
        """The pieces that say these words, the best first, with their scores (BM25, more is better)."""
        match = " OR ".join(f'"{word}"' for word in words)
        if not match:
            return []
        where, given = _under(under)
        there = f"AND words.rowid IN (SELECT p.id FROM pieces p WHERE {where}) " if under else ""  # noqa: S608 - `where` is ours
        query = (
            "SELECT words.rowid, -bm25(words, 4.0, 1.0, 1.0) AS score FROM words "  # noqa: S608 - so is `there`
            f"WHERE words MATCH ? {there}ORDER BY score DESC, words.rowid LIMIT ?"
        )
        with _explained(self.file):
            return [(piece, score) for piece, score in self._db.execute(query, (match, *given, limit)).fetchall()]

    def vectors(self) -> list[tuple[int, bytes]]:
        """Every text that has a vector."""
        with _explained(self.file):
            return self._db.execute("SELECT id, vector FROM texts WHERE vector IS NOT NULL ORDER BY id").fetchall()

    def texts_of(self, under: str) -> dict[int, int]:
        """The text of each piece below a folder."""
        where, given = _under(under)
        with _explained(self.file):
            query = f"SELECT p.id, p.text FROM pieces p WHERE {where}"  # noqa: S608 - `where` is ours
            return dict(self._db.execute(query, given).fetchall())

    def pieces(self, piece_ids: Iterable[int]) -> dict[int, KeptPiece]:
        query = (
            "SELECT p.id, p.path, p.first, p.last, p.name, p.text, t.body "  # noqa: S608 - numbers only
            f"FROM pieces p JOIN texts t ON t.id = p.text WHERE p.id IN ({_numbers(piece_ids)})"
        )
        with _explained(self.file):
            rows = self._db.execute(query).fetchall()
            return {each.piece_id: each for each in map(_kept, rows)}


def _kept(row: tuple[int, bytes, int, int, str, int, bytes]) -> KeptPiece:
    piece_id, path, first, last, name, text_id, body = row
    return KeptPiece(piece_id, os.fsdecode(path), first, last, name, text_id, _text(body))


def _numbers(each: Iterable[int]) -> str:
    """Numbers for `IN (…)`: SQLite limits how many can be handed over otherwise."""
    return ",".join(str(int(number)) for number in each)


def _entry(path: bytes, name: str, text: str) -> tuple[str, str, str]:
    """The words of a piece as the full-text index gets them."""
    where = path.decode("utf-8", "replace")
    return " ".join(words(name)), " ".join(words(where)), " ".join(words(text))


def _storable(name: str) -> str:
    return name.encode("utf-8", "replace").decode("utf-8")


def _text(body: bytes) -> str:
    return zlib.decompress(body).decode("utf-8", "surrogatepass")


def _under(folder: str) -> tuple[str, tuple[bytes, ...]]:
    """SQL for the pieces of one file, or of the files below a folder; "" is the workspace."""
    if not folder:
        return "1", ()
    path = os.fsencode(folder)
    # Everything that begins with `path/` lies between that and `path0`, 0 being the character after the slash.
    return "(p.path = ? OR (p.path > ? AND p.path < ?))", (path, path + b"/", path + b"0")


@contextlib.contextmanager
def _explained(file: Path) -> Iterator[None]:
    """SQLite's errors as ours: what is damaged can be rebuilt, anything else has to be reported."""
    try:
        yield
    except (zlib.error, UnicodeDecodeError) as error:
        raise DamagedIndexError(f"{file} is damaged: {error}") from None
    except sqlite3.OperationalError as error:
        if "no such" in str(error):
            raise DamagedIndexError(f"{file} is not an index of this version: {error}") from None
        raise IndexProblemError(f"{file}: {error}") from None
    except sqlite3.DatabaseError as error:
        raise DamagedIndexError(f"{file} is damaged: {error}") from None
