"""What providers write when a request cannot be served, from the table in `wordings.toml`: its kind, and the counts.

Providers agree on no status, type or code for "too long", so the words decide, in the order of ORDER: what speaks of a
limit over time, or of the answer's length only, often holds the words for a long conversation as well.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

Kind: TypeAlias = Literal["beyond", "throttled", "answer", "conversation", "key", "refused"]
ORDER: tuple[Kind, ...] = get_args(Kind)
_MAX_READ = 20_000
"""Characters of a message that are searched: the patterns are ours, the message is not."""
_MAX_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Wording:
    """One way to say it: see `wordings.toml`."""

    kind: Kind
    provider: str
    pattern: re.Pattern[str]
    example: str
    source: str


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a message says. `allowed` is how long an answer may be for the same conversation, if it says so; `share` how
    much of the conversation the model takes, if it says so."""

    kind: Kind
    allowed: int | None = None
    share: float | None = None
    about_window: bool = False
    """Whether the window is what is too small, rather than what the model may write at once."""


@functools.cache
def wordings() -> tuple[Wording, ...]:
    """The table, in the order in which it is searched."""
    data = tomllib.loads(Path(__file__).with_name("wordings.toml").read_text(encoding="utf-8"))
    rows = [Wording(**{**row, "pattern": re.compile(row["pattern"], re.IGNORECASE)}) for row in data["wording"]]
    return tuple(sorted(rows, key=lambda row: ORDER.index(row.kind)))


def meaning_of(message: str) -> Meaning | None:
    """What the words say, None if they are none of those in the table."""
    read = message[:_MAX_READ]
    for wording in wordings():
        found = wording.pattern.search(read)
        if found is not None:
            return _meaning(wording.kind, found.groupdict())
    return None


def _meaning(kind: Kind, groups: Mapping[str, str | None]) -> Meaning:
    counts = {name: int(value.replace(",", "")) for name, value in groups.items() if value and len(value) < _MAX_DIGITS}
    window, answer = counts.get("window"), counts.get("answer")
    prompt = counts.get("prompt", counts["total"] - answer if answer and "total" in counts else None)
    if kind == "conversation" or (prompt and window and prompt >= window):
        return Meaning("conversation", share=window / prompt if prompt and window else None)
    allowed = window - prompt if prompt and window else counts.get("allowed", counts.get("beyond", 0) - 1)
    return Meaning(kind, allowed=allowed if allowed > 0 else None, about_window=window is not None)
