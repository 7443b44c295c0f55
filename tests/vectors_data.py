"""Recorded answers of the real systems: one JSON object a line, see vectors/README.md."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

_COPY = Path(__file__).parent / "vectors"
_SHARED = Path(__file__).parents[2] / "shared" / "vectors"
ROOT = Path(os.environ.get("JOEY_VECTORS") or (_SHARED if _SHARED.is_dir() else _COPY))


def cases(name: str, **wanted: Any) -> list[Any]:
    """The cases of one file, such as "roo/native", whose fields have the wanted values."""
    plain = ROOT / f"{name}.jsonl"
    packed = ROOT / f"{name}.jsonl.gz"  # the copy of a large file
    with plain.open(encoding="utf-8") if plain.exists() else gzip.open(packed, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines if line.strip()]
    return [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]


def meta(name: str) -> Any:
    """What the cases of one file share."""
    return json.loads((ROOT / f"{name}.meta.json").read_text(encoding="utf-8"))


def same_to_javascript(left: Any, right: Any) -> bool:
    """Equal as JSON, with numbers as JavaScript holds them: 1 is 1.0, but not true, and beyond 2^53 digits are lost."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same_to_javascript(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same_to_javascript, left, right))
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return float(left) == float(right)
    return bool(left == right)
