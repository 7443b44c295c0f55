"""The journal of a task as recorded steps, and the file written again from them.

A step records the lines that a turn added to the journals of a task and of its subtasks. So the recorded steps, one
after the other, are the journals; a machine that has none writes them from there. The path of the workspace, which may
be another one on each machine, stands in the steps as a word of its own.

A journal that is there is kept as long as it begins with what is recorded: then it knows more, namely how far the turn
under way had come, and what was begun there is not repeated blindly.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joey.journal.store import TaskStore
from joey.system.folders import make_private, private_file

_WORKSPACE = "joey-fleet-workspace:"
_COMPRESSION = 1
"""The fastest: a turn is encoded while others of the worker wait."""
_COSTS = ("turn_ended", "messages_hidden")


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """What a step returns: it is kept by the engine for good."""

    journals: Mapping[str, str]
    """The lines that were added, by the id of the journal."""
    turns: int = 0
    cost: float = 0.0
    head: str = ""
    """The commit of the files after the turn; empty if there is none."""
    outcome: str = ""
    """How the task ended with this turn; empty if it goes on, `asks` if it waits for a person."""
    message: str = ""
    """The result, the reason, or the request for the person as JSON."""

    def encoded(self) -> dict[str, Any]:
        text = json.dumps(dict(self.journals)).encode()
        data = base64.b64encode(zlib.compress(text, _COMPRESSION)).decode("ascii")
        return {
            "lines": data, "turns": self.turns, "cost": self.cost,
            "head": self.head, "outcome": self.outcome, "message": self.message,
        }  # fmt: skip

    @classmethod
    def decoded(cls, data: Mapping[str, Any]) -> RecordedTurn:
        packed = base64.b64decode(data["lines"]) if "lines" in data else base64.b85decode(data["journals"])  # as it was
        journals = json.loads(zlib.decompress(packed))
        return cls(journals, data["turns"], data["cost"], data["head"], data["outcome"], data["message"])


def joined(turns: Iterable[RecordedTurn]) -> dict[str, str]:
    """The journals as far as they are recorded."""
    whole: dict[str, list[str]] = {}
    for turn in turns:
        for journal, lines in turn.journals.items():
            whole.setdefault(journal, []).append(lines)
    return {journal: "".join(pieces) for journal, pieces in whole.items()}


def called_tools(turn: RecordedTurn) -> set[str]:
    """The names of the tools that were begun in a turn."""
    lines = (line for text in turn.journals.values() for line in text.splitlines())
    return {str(json.loads(line)["name"]) for line in lines if line.startswith('{"type":"run_began"')}


class JournalFiles:
    """The journals of a task and its subtasks on this machine, and how much of each is recorded."""

    def __init__(self, store: TaskStore, workspace: Path) -> None:
        self._store = store
        self._path = json.dumps(str(workspace))[1:-1]
        self._recorded: dict[str, int] = {}
        """Bytes of each file that are recorded."""
        self._looked: dict[str, tuple[int, int]] = {}
        """Bytes of each file that were looked at, and the turns found in them."""

    def restore(self, recorded: Mapping[str, str]) -> bool:
        """Make the files begin with what is recorded. True: they were there and did, so what else is in them counts."""
        local = {path.parent.name: path for path in self._store.root.glob("*/journal.jsonl")}
        continues = bool(local) and all(
            name in local and self._neutral(local[name].read_bytes()).startswith(lines.encode())
            for name, lines in recorded.items()
        )
        for name, path in local.items():
            if continues:
                self.know(name)
            else:
                path.unlink()
        for name, lines in recorded.items():
            data = self._own(lines)
            self._recorded[name] = len(data)
            if not continues:
                self._write(name, data)
        return continues

    def know(self, journal: str) -> None:
        """A journal belongs to the task."""
        self._recorded.setdefault(journal, 0)

    def new_turns(self) -> int:
        """How many turns are in the files and not recorded."""
        return sum(self._turns_in(journal) for journal in self._recorded)

    def _turns_in(self, journal: str) -> int:
        at, turns = self._looked.get(journal, (self._recorded[journal], 0))
        data = self._read(journal, at)
        turns += sum(line.startswith(b'{"type":"turn_ended"') for line in data.splitlines())
        self._looked[journal] = at + len(data), turns
        return turns

    def take(self) -> RecordedTurn:
        """What is in the files and not recorded; it counts as recorded from now on."""
        self._looked = {}
        lines: dict[str, str] = {}
        turns, cost = 0, 0.0
        for journal, at in self._recorded.items():
            data = self._read(journal, at)
            if not data:
                continue
            self._recorded[journal] = at + len(data)
            lines[journal] = self._neutral(data).decode()
            more, spent = _counted(data.splitlines())
            turns, cost = turns + more, cost + spent
        return RecordedTurn(lines, turns, cost)

    def _read(self, journal: str, start: int) -> bytes:
        """Whole lines from here on."""
        try:
            with self._store.journal_path(journal).open("rb") as file:
                file.seek(start)
                data = file.read()
        except FileNotFoundError:
            return b""
        return data[: data.rfind(b"\n") + 1]

    def _write(self, journal: str, data: bytes) -> None:
        path = self._store.journal_path(journal)
        make_private(path.parent)
        with open(path, "wb", opener=private_file) as file:
            file.write(data)

    def _neutral(self, data: bytes) -> bytes:
        return data.replace(self._path.encode(), _WORKSPACE.encode())

    def _own(self, lines: str) -> bytes:
        return lines.replace(_WORKSPACE, self._path).encode()


def _counted(lines: Sequence[bytes]) -> tuple[int, float]:
    """How many turns are in these lines, and what was paid for them."""
    turns, cost = 0, 0.0
    for line in lines:
        if line.startswith(tuple(f'{{"type":"{kind}"'.encode() for kind in _COSTS)):
            record = json.loads(line)
            turns += record["type"] == "turn_ended"
            cost += record.get("cost") or 0.0
    return turns, cost
