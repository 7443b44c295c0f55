"""Two rankings of the pieces of an index, by their words and by what they mean, and one made of both.

    score = 0.8 * cosine + 0.2 * (keyword score / the best keyword score)

Measured on questions made from docstrings (`python -m bench search_quality`), this finds more than either alone and
than reciprocal ranks; the cosine has the larger part as it says how near a piece is, not only that it is the nearest.
Without the model, or for an index without vectors, the second part alone is the score.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from joey.tools.index.model import Embedder
from joey.tools.index.store import DamagedIndexError, IndexStore
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
