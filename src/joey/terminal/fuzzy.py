"""Which candidates go on from what was typed, the best first: for the menus of commands, files and tasks.

    modl    /model          the characters in their order, with others between them
    srv     src/server.py   a match at the beginning of the last part counts more than one in the middle

A candidate ranks by where the characters stand in it (its beginning, the beginning of its last part, inside,
scattered), then by how close together they are, then by its length. Candidates of equal rank keep their order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence


def ranked(wanted: str, candidates: Sequence[str]) -> list[str]:
    """All candidates that have the wanted characters in this order, the best first. Nothing wanted: all of them."""
    if not wanted:
        return list(candidates)
    wanted = wanted.casefold()
    # The lookahead finds the shortest run from each start; `search` alone would take the first.
    scattered = re.compile(f"(?=({'.*?'.join(map(re.escape, wanted))}))", re.DOTALL)
    found = [(rank, each) for each in candidates if (rank := _rank(wanted, each.casefold(), scattered)) is not None]
    return [each for _, each in sorted(found, key=lambda pair: pair[0])]


def _rank(wanted: str, known: str, scattered: re.Pattern[str]) -> tuple[int, int, int] | None:
    last = known.rstrip("/").rpartition("/")[2]
    if known.startswith(wanted):
        return 0, 0, 0
    if last.startswith(wanted):
        return 1, 0, len(known)
    if wanted in known:
        return 2, 0, len(known)
    spans = [len(match[1]) for match in scattered.finditer(known)]
    return (3, min(spans), len(known)) if spans else None
