"""Asking an index. Before it is asked, it is brought up to date within an allowance, so that an answer never takes
long; the rest is reported. The allowance for vectors goes first to the pieces that rank best by keywords: where
little is embedded yet, those are the ones whose order matters.

Pieces are ranked twice, by their words and by what they mean, and one ranking is made of both:

    score = 0.8 * cosine + 0.2 * (keyword score / the best keyword score)

Measured on questions made from docstrings (`python -m bench search_quality`), this finds more than either alone and
than reciprocal ranks; the cosine has the larger part as it says how near a piece is, not only that it is the nearest.
Without the model, or for an index without vectors, the second part alone is the score.
"""

from __future__ import annotations

import contextlib
import importlib
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from joey.tools.index.model import Embedder
from joey.tools.index.store import Counts, DamagedIndexError, IndexMemory, IndexProblemError, IndexStore, KeptPiece
from joey.tools.index.update import Allowance, Freshness, Progress, Updating, only_writer
from joey.tools.index.words import search_words

SIZE = 384


class Vectors:
    """All the vectors of an index in one matrix: the nearest to a question by one product. 50,000 of them take 11 ms.

    Loads numpy when it is first asked: there are vectors only where numpy is.
    """

    def __init__(self, rows: Sequence[tuple[int, bytes]]) -> None:
        numpy: Any = importlib.import_module("numpy")
        if any(len(vector) != 2 * SIZE for _, vector in rows):
            raise DamagedIndexError("a vector of the index has the wrong length")
        self._numpy = numpy
        self._row_of = {text: row for row, (text, _) in enumerate(rows)}
        flat = numpy.frombuffer(b"".join(vector for _, vector in rows), dtype="<f2")
        self._matrix = flat.astype(numpy.float32).reshape(len(rows), SIZE)

    def nearest(self, wanted: Any, texts: dict[int, int], limit: int) -> dict[int, float]:
        """The pieces (given with their texts) whose cosine to the wanted vector is the greatest."""
        pieces = [piece for piece, text in texts.items() if text in self._row_of]
        if not pieces:
            return {}
        scores = (self._matrix @ wanted)[[self._row_of[texts[piece]] for piece in pieces]]
        keep = self._numpy.argpartition(-scores, limit)[:limit] if len(pieces) > limit else range(len(pieces))
        return {pieces[at]: float(scores[at]) for at in keep}


MEANING = 0.8
_CANDIDATES = 200
Scores = dict[int, float]
"""Pieces by their numbers; more is better."""


class Ranker:
    """Ranks the pieces of one index. Its vectors stay in memory as long as the index does not change."""

    def __init__(self) -> None:
        self.kept: tuple[int, Vectors] | None = None

    def by_words(self, store: IndexStore, question: str, under: str) -> Scores:
        """The best first, as BM25 has it."""
        return dict(store.by_words(search_words(question), under, _CANDIDATES))

    def by_meaning(self, store: IndexStore, model: Embedder | None, question: str, under: str) -> Scores:
        """The cosines of the nearest pieces; none without a model."""
        if model is None:
            return {}
        changes = store.changes
        if self.kept is None or self.kept[0] != changes:
            self.kept = changes, Vectors(store.vectors())
        return self.kept[1].nearest(model.embed([question])[0], store.texts_of(under), _CANDIDATES)


def fused(by_words: Scores, by_meaning: Scores, meaning: float = MEANING) -> Scores:
    """Both as one; `meaning` is the part of the cosine."""
    best = max(by_words.values(), default=0.0) or 1.0
    if not by_meaning:
        return {piece: score / best for piece, score in by_words.items()}
    return {
        piece: meaning * by_meaning.get(piece, 0.0) + (1 - meaning) * by_words.get(piece, 0.0) / best
        for piece in by_words.keys() | by_meaning.keys()
    }


_EMBEDDED_FIRST = 48
_LEAST = 0.15
"""What scores less by meaning has nothing to do with the question."""
_REBUILT = "The index was damaged or of another version, and is being rebuilt."
LoadModel = Callable[[], tuple[Embedder | None, str]]


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A question: in which folder ("" for all), how many answers, and how much may be done to be up to date first."""

    question: str
    under: str = ""
    limit: int = 10
    allowance: Allowance = field(default_factory=Allowance)
    progress: Progress = lambda _what, _done, _of: None


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A piece that answers a question."""

    piece: KeptPiece
    score: float
    changed: bool = False
    """The file has changed since; the lines may be others now."""
    also_in: tuple[str, ...] = ()
    """Other places that say the same."""


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """What was found, and how good an answer it can be."""

    found: tuple[SearchHit, ...]
    freshness: Freshness
    counts: Counts
    by_meaning: bool
    notes: tuple[str, ...] = ()


def too_wide(workspace: Path) -> str:
    """Why a folder is not indexed at all: nobody means their whole disk."""
    folder = workspace.resolve()
    if folder == Path(folder.anchor):
        return f"{folder} is the root of the file system and is not indexed. Work in the folder of a project."
    if folder == Path.home().resolve():
        return f"{folder} is the home directory and is not indexed as a whole. Work in the folder of a project."
    return ""


class CodebaseIndex:
    """The index of one workspace. May be used from several threads; they take turns."""

    def __init__(
        self, workspace: Path, folder: Path, load_model: LoadModel, hidden: Callable[[str], bool] = lambda _path: False
    ) -> None:
        self.workspace = workspace
        self.folder = folder
        self._load_model = load_model
        self._hidden = hidden
        self._turn = threading.RLock()
        self.ranker = Ranker()
        self._memory = IndexMemory()

    @property
    def file(self) -> Path:
        return self.folder / "index.sqlite"

    # Building

    def build(self, progress: Progress, stopped: Callable[[], bool] = lambda: False) -> tuple[Freshness, str]:
        """Bring everything up to date; also the reason why there are no vectors, if there are none."""
        model, why_not = self._load_model()
        with self._turn, self._writing() as (store, _):
            if store is None or store.read_only:
                raise IndexProblemError(f"another process is updating the index in {self.folder}; wait for it to end")
            updating = Updating(store, self.workspace, self._hidden, model, Allowance(stopped=stopped), progress)
            updating.look()
            updating.read()
            updating.embed()
            return updating.finish(), why_not

    def counts(self) -> Counts | None:
        """What is in the index; None if there is none."""
        if not self.file.is_file():
            return None
        with IndexStore(self.file, read_only=True, memory=self._memory) as store:
            return store.counts()

    def behind(self) -> Freshness:
        """What has changed since; nothing is read and nothing is written."""
        with IndexStore(self.file, read_only=True, memory=self._memory) as store:
            return Updating(store, self.workspace, self._hidden, None).look()

    @property
    def size(self) -> int:
        """In bytes, on disk."""
        return self.file.stat().st_size if self.file.is_file() else 0

    def clear(self) -> None:
        """Throw it away."""
        with self._turn:
            self.ranker = Ranker()
            if self.folder.exists():
                shutil.rmtree(self.folder)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[tuple[IndexStore | None, tuple[str, ...]]]:
        """The index to write to, with notes; read-only if somebody else writes, None if there is nothing to read."""
        with only_writer(self.folder) as alone:
            store, notes = self._open(alone=alone)
            with store or contextlib.nullcontext():
                yield store, notes

    def _open(self, *, alone: bool) -> tuple[IndexStore | None, tuple[str, ...]]:
        if not alone:
            there = self.file.is_file()
            return (IndexStore(self.file, read_only=True, memory=self._memory) if there else None), (
                "Another process is updating the index.",
            )
        try:
            return IndexStore(self.file, memory=self._memory), ()
        except DamagedIndexError:
            self._throw_away()
            return IndexStore(self.file, memory=self._memory), (_REBUILT,)

    def _throw_away(self) -> None:
        self.ranker = Ranker()
        for name in (self.file.name, f"{self.file.name}-journal"):
            (self.folder / name).unlink(missing_ok=True)

    # Asking

    def search(self, what: SearchRequest) -> SearchAnswer:
        """The pieces that answer best, after bringing the index up to date."""
        model, why_not = self._load_model()
        notes = (why_not[:1].upper() + why_not[1:] + ".",) if why_not else ()
        with self._turn:
            try:
                return self._search(what, model, notes)
            except DamagedIndexError:
                # What is damaged in the middle of the file shows only when it is read.
                self._throw_away()
                return self._search(what, model, (*notes, _REBUILT))

    def _search(self, what: SearchRequest, model: Embedder | None, notes: tuple[str, ...]) -> SearchAnswer:
        try:
            with self._writing() as (store, changes):
                if store is not None:
                    return self._ask(store, what, model, (*notes, *changes))
        except DamagedIndexError:
            raise
        except IndexProblemError as problem:
            # What is there can still be asked, as it is.
            if not self.file.is_file():
                raise
            with IndexStore(self.file, read_only=True, memory=self._memory) as store:
                return self._ask(store, what, model, (*notes, f"The index could not be brought up to date: {problem}."))
        raise IndexProblemError("another process is making the index; ask again in a while")

    def _ask(
        self, store: IndexStore, what: SearchRequest, model: Embedder | None, notes: tuple[str, ...]
    ) -> SearchAnswer:
        updating = Updating(store, self.workspace, self._hidden, model, what.allowance, what.progress)
        updating.look()
        if not store.read_only:
            updating.read()
        by_words = self.ranker.by_words(store, what.question, what.under)
        if not store.read_only:
            updating.embed(list(by_words)[:_EMBEDDED_FIRST])
            updating.embed()
        freshness = updating.finish()
        by_meaning = self.ranker.by_meaning(store, model, what.question, what.under)
        scores = fused(by_words, by_meaning)
        found = _best(scores, store.pieces(scores), what.limit, freshness, self._visible)
        return SearchAnswer(tuple(found), freshness, store.counts(), bool(by_meaning), notes)

    def _visible(self, path: str) -> bool:
        """Not gone, and not hidden since: an index that could not be updated may still know what is."""
        file = self.workspace.resolve() / path
        return file.is_file() and not file.is_symlink() and not self._hidden(str(file))


def _best(
    scores: dict[int, float],
    pieces: dict[int, KeptPiece],
    limit: int,
    freshness: Freshness,
    visible: Callable[[str], bool],
) -> list[SearchHit]:
    """The best pieces, each text once with the other places that say it."""
    found: dict[int, SearchHit] = {}
    order = sorted(pieces.values(), key=lambda each: (-scores[each.piece_id], each.path, each.first))
    for piece in order:
        before = found.get(piece.text_id)
        if before is None and (len(found) == limit or scores[piece.piece_id] < _LEAST):
            continue
        if not visible(piece.path):
            continue
        if before is None:
            changed = piece.path in freshness.waiting
            found[piece.text_id] = SearchHit(piece, scores[piece.piece_id], changed)
        else:
            also = (*before.also_in, f"{piece.path}:{piece.first}")
            found[piece.text_id] = SearchHit(before.piece, before.score, before.changed, also)
    return list(found.values())
