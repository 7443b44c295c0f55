"""What has been tried so far: a line for each property, day and commit, with how many inputs and which of them failed.

The inputs of a property are numbered, and a number makes its input again, so a run begins behind the last number and
parts add up. A failure stays in the ledger until its input passes; then it is listed as fixed.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEDGER = Path(__file__).with_name("ledger.jsonl")


@dataclass(slots=True)
class Part:
    property: str
    day: str
    commit: str
    inputs: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    """The number of an input and what was wrong."""
    fixed: dict[str, str] = field(default_factory=dict)


class Ledger:
    def __init__(self, path: Path = LEDGER) -> None:
        self._path = path
        lines = path.read_text("utf-8").splitlines() if path.exists() else ()
        self.parts = [Part(**json.loads(line)) for line in lines]
        self._day, self._commit = datetime.now(UTC).date().isoformat(), _commit()

    @property
    def tried(self) -> Counter[str]:
        """How many inputs of each property."""
        found = Counter[str]()
        for part in self.parts:
            found[part.property] += part.inputs
        return found

    @property
    def failures(self) -> list[tuple[Part, str]]:
        return [(part, number) for part in self.parts for number in part.failed]

    def add(self, name: str, inputs: int, failed: dict[str, str]) -> None:
        key = (name, self._day, self._commit)
        part = next((each for each in self.parts if (each.property, each.day, each.commit) == key), None)
        if part is None:
            part = Part(*key)
            self.parts.append(part)
        part.inputs += inputs
        part.failed |= failed

    def save(self) -> None:
        new = self._path.with_suffix(".new")
        new.write_text("".join(f"{_line(part)}\n" for part in self.parts), "utf-8")
        new.replace(self._path)


def _line(part: Part) -> str:
    """Without what is empty."""
    return json.dumps({name: value for name, value in asdict(part).items() if value != {}}, ensure_ascii=False)


def _commit() -> str:
    """The last one that changed what is tried."""
    command = ["git", "log", "-1", "--format=%h", "--", "src"]
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True).stdout.strip()
