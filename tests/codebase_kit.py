"""A workspace, its index, and a model for tests: vectors made of words, with a few words that mean the same."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from joey.tools.index.model import Embedder
from joey.tools.index.search import CodebaseIndex, SearchAnswer, SearchRequest
from joey.tools.index.update import Allowance, Freshness
from joey.tools.index.words import words

SAME = {
    "car": "vehicle",
    "automobile": "vehicle",
    "quick": "fast",
    "rapid": "fast",
    "remove": "delete",
    "erase": "delete",
}


class WordModel:
    """Each word is a direction; `seen` are the texts that had to be embedded, questions left out."""

    name = "words"

    def __init__(self) -> None:
        self.seen: list[str] = []

    def embed(self, texts: Sequence[str]) -> Any:
        if len(texts) > 1 or "\n" in texts[0]:
            self.seen += texts
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> Any:
        vector = np.full(384, 1e-3, dtype=np.float32)
        for word in words(text):
            digest = hashlib.sha256(SAME.get(word, word).encode()).digest()
            vector[int.from_bytes(digest[:4], "little") % 384] += 1
        return vector / np.linalg.norm(vector)


class Workshop:
    """A folder of files, and an index of it in another folder."""

    def __init__(self, folder: Path, *, with_model: bool = True) -> None:
        self.root, self.folder = folder / "project", folder / "index"
        self.root.mkdir()
        self.model = WordModel()
        self.with_model = with_model
        self.hidden: set[Path] = set()
        self.index = self.another()

    def another(self) -> CodebaseIndex:
        """The same index as another process would open it."""
        return CodebaseIndex(self.root, self.folder, self._load, lambda path: Path(path) in self.hidden)

    def _load(self) -> tuple[Embedder | None, str]:
        return (self.model, "") if self.with_model else (None, "the ranking by meaning is not installed")

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def build(self, stopped: Callable[[], bool] = lambda: False) -> Freshness:
        return self.index.build(lambda _what, _done, _of: None, stopped)[0]

    def search(self, question: str, under: str = "", **allowed: Any) -> SearchAnswer:
        return self.index.search(SearchRequest(question, under, allowance=Allowance(**allowed)))

    def paths(self, question: str, under: str = "", **allowed: Any) -> list[str]:
        return [each.piece.path for each in self.search(question, under, **allowed).found]


def function(name: str, body: str = "return 1") -> str:
    """A Python function long enough to be a piece of its own."""
    return f"def {name}(value):\n    # {'-' * 70}\n    {body}\n"
