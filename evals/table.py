"""The results as a table: one row a setting, for each half and for both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.table import Table

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
)


def table(lines: Sequence[dict[str, Any]]) -> Table:
    """Solved is a count; turns, tokens and seconds are means over the tasks; malformed calls and results that were
    reported and not true are sums."""
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
        str(sum(row["outcome"] == "completed" and not row["solved"] for row in rows)),
    ]


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers)
