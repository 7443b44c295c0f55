"""What Joey claims of its speed and size, one row a claim: the figure, what it is measured beside, the limit.

A claim names a cell of a benchmark's table; where several rows or columns are named, the worst of them counts. The
figures of the last run of each benchmark are kept in a file, with the day and the machine, and the page on performance
is generated from that.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench.table import Table

RECORD = Path(__file__).with_name("last.json")


@dataclass(frozen=True, slots=True)
class Claim:
    what: str
    beside: str
    limit: float
    benchmark: str
    table: str
    """How its title begins."""
    rows: str
    """A pattern: the rows that it matches as a whole."""
    columns: Sequence[str]
    at_least: bool = False

    def figure(self, tables: Iterable[Table]) -> float | None:
        """The worst of the cells; None if the table has none, as where a part is not installed."""
        found = [
            number
            for table in tables
            if table.title.startswith(self.table)
            for number in table.numbers(re.compile(self.rows), self.columns)
        ]
        return (min(found) if self.at_least else max(found)) if found else None

    def holds(self, figure: float) -> bool:
        return figure >= self.limit if self.at_least else figure <= self.limit


START = "times `python -c pass`"
CLAIMS = (
    Claim("joey --help, CPU time", "python -c pass", 3, "startup", "Start-up", "joey --help", [START]),
    Claim("first frame of the terminal, CPU time", "python -c pass", 10, "startup", "Start-up",
          "joey, to its first frame", [START]),
    Claim("answer to an editor's initialize, CPU time", "an agent of five lines of Python", 2, "startup", "An editor",
          "joey acp.*|the same without a key", ["ratio"]),
    Claim("CPU of the idle terminal", "an idle Textual app with one input", 2, "idle", "Idle", "joey", ["ratio"]),
    Claim("a call of 200 KB, read as it streams", "a loop that makes one event a piece", 5, "parsing", "Streaming",
          "Joey", ["200 KB"]),
    Claim("the same in each dialect", "the same loop", 5, "dialects", "One write_to_file", "Joey, .*", ["200 KB"]),
    Claim("a task of many turns, CPU time", "a bare loop with the provider's SDK", 4, "loop", "A task of", "Joey.*",
          ["ratio"]),
    Claim("turn 1,000 on three APIs, CPU time", "turn 10", 1.2, "turns", "CPU of a turn", ".*", ["turn 1,000"]),
    Claim("search_files on 50,000 files", "rg", 2, "search", "search_files", ".*", ["Joey"]),
    Claim("codebase_search, nothing changed", "git status", 5, "indexing", "codebase_search",
          "search, nothing has changed", ["git status = 1"]),
    Claim("a checkpoint, nothing changed", "git status", 5, "checkpoints", "a checkpoint", "nothing changed since",
          ["git status"]),
    Claim("a command in the sandbox", "the command without it", 3, "commands", "A command", "in the sandbox.*",
          ["ratio"]),
    Claim("a request through the gateway", "the same without it", 2, "gateway", "a request", ".*", ["median"]),
    Claim("first answer of a new gateway, CPU time", "python -c pass", 5, "gateway", "Start-up", "joey gateway.*",
          [START]),
    Claim("the same, beside asyncio alone", "an asyncio server with a fixed answer", 4, "gateway", "Start-up",
          "joey gateway.*", ["times an asyncio server with a fixed answer"]),
    Claim("a task of 5,000 messages, opened on the page", "an empty one", 5, "web", "The page", "the long one",
          ["ratio"]),
    Claim("50 pages that watch a task, CPU of the server", "one page", 2, "web", "The page", "50 watchers", ["ratio"]),
    Claim("a turn in a fleet, ms of CPU added", "a bare loop", 5, "fleet", "A fleet", "  added per turn, ms",
          ["SQLite", "PostgreSQL"]),
    Claim("four workers", "one worker", 3, "fleet", "A fleet", "4 workers beside 1", ["SQLite", "PostgreSQL"],
          at_least=True),
    Claim("a plain install, MB", "aider 650, gptme 225 (quoted)", 110, "install", "A plain install", "Joey",
          ["MB with it"]),
    Claim("an install with everything, MB", "OpenHands 735 (quoted)", 735, "install", "A plain install",
          "Joey with everything", ["MB with it"]),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Measured:
    """A claim as the last run of its benchmark found it."""

    what: str
    figure: float
    beside: str
    limit: str
    holds: bool
    day: str
    machine: str


def measured(benchmark: str, tables: Sequence[Table]) -> list[Measured]:
    day = datetime.now(UTC).date().isoformat()
    found = [(claim, claim.figure(tables)) for claim in CLAIMS if claim.benchmark == benchmark]
    return [
        Measured(claim.what, figure, claim.beside, _limit(claim), claim.holds(figure), day, machine())
        for claim, figure in found
        if figure is not None
    ]


def _limit(claim: Claim) -> str:
    return f"at {'least' if claim.at_least else 'most'} {claim.limit:g}"


def machine() -> str:
    return f"{os.cpu_count()} cores, {platform.system()} on {platform.machine()}, Python {platform.python_version()}"


def summary(found: Iterable[Measured]) -> Table:
    table = Table("What is claimed", ["", "figure", "beside", "limit", "holds"])
    for each in found:
        table.add(each.what, f"{each.figure:g}", each.beside, each.limit, "yes" if each.holds else "NO")
    return table


def record(found: Iterable[Measured], path: Path = RECORD) -> None:
    """Keep these in place of what was known of the same claims."""
    known = {each.what: each for each in recorded(path)} | {each.what: each for each in found}
    kept = [asdict(known[claim.what]) for claim in CLAIMS if claim.what in known]
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def recorded(path: Path = RECORD) -> list[Measured]:
    if not path.exists():
        return []
    rows: list[Mapping[str, object]] = json.loads(path.read_text("utf-8"))
    return [Measured(**row) for row in rows]  # type: ignore[arg-type]  # as `record` wrote them
