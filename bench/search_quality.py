"""Does codebase_search find the function that a sentence is about? Questions made from docstrings answer that.

From the packages in this environment a thousand functions are taken whose docstrings begin with a sentence; the
docstring is removed, each function is a file of its own with a name that says nothing, and the sentence of every
second one is asked. How often is the right file the first, among the first five, among the first ten?

A docstring is written by someone who looks at the code, so that it shares words with it: questions that people ask
share fewer, and the figures are to be read as a comparison. The second table takes only the questions that share no
word with the name of the function.
"""

from __future__ import annotations

import ast
import random
import sqlite3
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.table import Table
from joey.tools.index import model
from joey.tools.index.search import CodebaseIndex, Ranker, Scores, fused
from joey.tools.index.store import IndexStore
from joey.tools.index.words import search_words, words

FUNCTIONS = 1_000
_SEED = 7
_DEEP = 100
_NOWHERE = 10_000
Ranking = list[str]


@dataclass(frozen=True, slots=True)
class Pair:
    """A function without its docstring, and the question it answers."""

    file: str
    name: str
    code: str
    question: str

    @property
    def is_named(self) -> bool:
        return bool(set(search_words(self.question)) & set(words(self.name)))


def run() -> list[Table]:
    pairs = [Pair(f"f{at:04}.py", *each) for at, each in enumerate(functions(FUNCTIONS))]
    questions = pairs[::2]
    with tempfile.TemporaryDirectory() as folder:
        rankings = ranked(Path(folder), pairs, questions)
    unnamed = [at for at, pair in enumerate(questions) if not pair.is_named]
    some = {way: [ranks[at] for at in unnamed] for way, ranks in rankings.items()}
    return [
        table(f"{len(questions)} questions from docstrings, {len(pairs):,} functions", rankings),
        table(f"the {len(unnamed)} of them that share no word with the function's name", some),
    ]


def table(title: str, rankings: dict[str, list[int]]) -> Table:
    made = Table(title, ["ranking", "recall@1", "recall@5", "recall@10", "MRR@10"])
    for way, ranks in rankings.items():
        cells = [f"{sum(rank < max_count for rank in ranks) / len(ranks):.3f}" for max_count in (1, 5, 10)]
        made.add(way, *cells, f"{sum(1 / (rank + 1) for rank in ranks if rank < 10) / len(ranks):.3f}")
    return made


# The functions


def functions(max_count: int) -> list[tuple[str, str, str]]:
    """Name, code and question of so many functions, always the same ones in the same environment."""
    places = (sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"))
    files = sorted({path for place in places for path in Path(place).rglob("*.py") if _is_library(path)})
    random.Random(_SEED).shuffle(files)
    found: dict[str, tuple[str, str, str]] = {}
    questions: set[str] = set()
    for path in files:
        for name, code, question in _functions_of(path):
            if code not in found and question not in questions:
                found[code] = (name, code, question)
                questions.add(question)
        if len(found) >= 3 * max_count:
            break
    chosen = sorted(found.values())
    random.Random(_SEED).shuffle(chosen)
    return chosen[:max_count]


def _is_library(path: Path) -> bool:
    return not {"test", "tests", "idlelib", "lib2to3", "_vendor", "joey"} & set(path.parts)


def _functions_of(path: Path) -> Iterator[tuple[str, str, str]]:
    try:
        source = path.read_text("utf-8")
        tree = ast.parse(source)
    except (OSError, ValueError, SyntaxError):
        return
    lines = source.split("\n")
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and len(node.body) > 1:
            question = (ast.get_docstring(node) or "").partition("\n")[0].strip()
            first, last = node.body[0].lineno - 1, node.body[0].end_lineno or 0
            code = "\n".join([*lines[node.lineno - 1 : first], *lines[last : node.end_lineno]])
            if len(question.split()) >= 5 and 150 <= len(code) <= 3_000:
                yield node.name, code + "\n", question


# The rankings


def ranked(folder: Path, pairs: list[Pair], questions: list[Pair]) -> dict[str, list[int]]:
    """For every way of ranking, at which place each question found its function (from 0)."""
    root = folder / "project"
    root.mkdir()
    for pair in pairs:
        (root / pair.file).write_text(pair.code)
    index = CodebaseIndex(root, folder / "index", model.load)
    index.build(lambda _what, _done, _of: None)
    plain = _plain(pairs)
    by_words, by_meaning, both = zip(*_rankings(index.file, questions), strict=True)
    ways: dict[str, list[Ranking]] = {
        "plain keywords (BM25 of whole words)": [plain(pair.question) for pair in questions],
        "keywords here (parts of names, stems)": list(by_words),
        "embedding alone": list(by_meaning),
        "reciprocal ranks of both": [_reciprocal(*each) for each in zip(by_words, by_meaning, strict=True)],
        "Joey: 0.8 cosine + 0.2 keywords": list(both),
    }
    return {
        way: [_place(found, pair.file) for found, pair in zip(rankings, questions, strict=True)]
        for way, rankings in ways.items()
    }


def _rankings(file: Path, questions: list[Pair]) -> Iterator[tuple[Ranking, Ranking, Ranking]]:
    """By keywords, by meaning and by both, from one index that is complete."""
    ranker, (embedder, why_not) = Ranker(), model.load()
    assert embedder is not None, why_not
    with IndexStore(file, read_only=True) as store:
        for pair in questions:
            by_words = ranker.by_words(store, pair.question, "")
            by_meaning = ranker.by_meaning(store, embedder, pair.question, "")
            paths = {piece: kept.path for piece, kept in store.pieces(by_words.keys() | by_meaning.keys()).items()}
            yield (
                _in_order(by_words, paths),
                _in_order(by_meaning, paths),
                _in_order(fused(by_words, by_meaning), paths),
            )


def _in_order(scores: Scores, paths: dict[int, str]) -> Ranking:
    best = sorted(scores, key=lambda piece: -scores[piece])
    return list(dict.fromkeys(paths[piece] for piece in best))[:_DEEP]


def _plain(pairs: list[Pair]) -> Callable[[str], Ranking]:
    database = sqlite3.connect(":memory:")
    database.execute(
        "CREATE VIRTUAL TABLE code USING fts5 (file UNINDEXED, body, tokenize = \"unicode61 tokenchars '_'\")"
    )
    database.executemany("INSERT INTO code VALUES (?, ?)", [(pair.file, pair.code) for pair in pairs])

    def ranking(question: str) -> Ranking:
        match = " OR ".join(f'"{word}"' for word in question.replace('"', " ").split())
        query = "SELECT file FROM code WHERE code MATCH ? ORDER BY rank LIMIT ?"
        return [row[0] for row in database.execute(query, (match, _DEEP))]

    return ranking


def _reciprocal(one: Ranking, other: Ranking, k: int = 60) -> Ranking:
    scores: dict[str, float] = {}
    for ranking in (one, other):
        for place, file in enumerate(ranking):
            scores[file] = scores.get(file, 0.0) + 1 / (k + place)
    return sorted(scores, key=lambda file: -scores[file])


def _place(ranking: Ranking, file: str) -> int:
    return ranking.index(file) if file in ranking else _NOWHERE
