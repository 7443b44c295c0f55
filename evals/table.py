"""The results as a table: one row a setting, for each half and for both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.table import Table

from joey.task.profiles.small.evidence import NOT_VERIFIED

_COLUMNS = (
    "setting",
    "tasks",
    "solved",
    "in 100",
    "turns",
    "tokens in",
    "(new)",
    "tokens out",
    "seconds",
    "malformed",
    "false",
    "unverified",
)


def table(lines: Sequence[dict[str, Any]]) -> Table:
    """Solved is a count; turns, tokens and seconds are means over the tasks; malformed calls, results that were
    reported and not true, and results that say they are not verified are sums."""
    shown = Table(*_COLUMNS, box=None, pad_edge=False)
    for half in ("dev", "held-out", "new", "all"):
        for setting in dict.fromkeys(line["setting"] for line in lines):
            rows = [line for line in lines if line["setting"] == setting and half in (line["half"], "all")]
            if rows:
                shown.add_row(f"{setting}, {half}", *_row(rows))
    return shown


def _row(rows: Sequence[dict[str, Any]]) -> list[str]:
    solved = sum(row["solved"] for row in rows)
    return [
        str(len(rows)),
        str(solved),
        f"{100 * solved / len(rows):.0f}",
        f"{_mean(row['turns'] for row in rows):.1f}",
        f"{_mean(row['tokens_in'] + row['tokens_cached'] for row in rows):.0f}",
        f"{_mean(row['tokens_in'] for row in rows):.0f}",
        f"{_mean(row['tokens_out'] for row in rows):.0f}",
        f"{_mean(row['seconds'] for row in rows):.1f}",
        str(sum(row["malformed"] + row["no_call"] for row in rows)),
        str(sum(is_false(row) for row in rows)),
        _unverified(rows),
    ]


def is_false(row: dict[str, Any]) -> bool:
    """Whether a task was reported as done, and is not solved. A result that says to the user first of all that it is
    not verified is no such report; it is counted by itself."""
    return bool(row["outcome"] == "completed" and not row["solved"]) and not is_unverified(row)


def is_unverified(row: dict[str, Any]) -> bool:
    return bool(row["outcome"] == "completed" and row["answer"].startswith(NOT_VERIFIED))


def _unverified(rows: Sequence[dict[str, Any]]) -> str:
    """How many results say that they are not verified, and how many of these are solved."""
    found = [row for row in rows if is_unverified(row)]
    return f"{len(found)} ({sum(row['solved'] for row in found)} solved)" if found else "0"


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers)
