"""A journal, read once and then only as far as it grew: enough of it for a list of tasks and for finding places in it.

Most of a journal is messages and results, which a list does not need: their lines are recognized by how they begin and
passed over. So a task of 5,000 messages costs little more than an empty one, and looking again costs a `stat`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from joey.effects import Todo
from joey.journal.journal import read_line
from joey.journal.markdown import task_title
from joey.journal.records import (
    ChildOpened,
    LeftOut,
    MessagesHidden,
    ModelSet,
    ModeSet,
    ProfileSet,
    Record,
    TaskEnded,
    TaskOpened,
    TodosSet,
    TurnEnded,
)
from joey.usage import Usage

_MESSAGE = b'{"type":"message_added","message":{"type":"message","role":"'
_REPLY = _MESSAGE + b'assistant"'
_READ = tuple(
    b'{"type":"' + name
    for name in (b"task_opened", b"turn_ended", b"mode_set", b"profile_set", b"todos_set", b"task_ended",
                 b"messages_hidden", b"child_opened")
)  # fmt: skip


@dataclass(slots=True)
class JournalIndex:
    """What is known of one journal so far. `update` reads what was added since."""

    path: Path
    size: int = 0
    """How far it was read."""
    opened: TaskOpened | None = None
    started: float = 0.0
    changed: float = 0.0
    mode: str = ""
    profile: str = ""
    turns: int = 0
    usage: Usage = field(default_factory=Usage)
    context: int = 0
    """How many tokens the last request took."""
    cost: float | None = None
    todos: tuple[Todo, ...] = ()
    ended: TaskEnded | None = None
    children: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    """Where each reply begins: places at which reading can start, since its calls and their results follow it."""
    turns_before: list[int] = field(default_factory=list)
    _inode: int = 0

    def update(self) -> bool:
        """Whether there was something new. Raises OSError if the journal is gone."""
        status = self.path.stat()
        if self._inode and (status.st_ino != self._inode or status.st_size < self.size):
            self.__init__(self.path)  # type: ignore[misc] # another file: everything again
        self._inode = status.st_ino
        if status.st_size == self.size:
            return False
        before = self.size
        with self.path.open("rb") as lines:
            lines.seek(self.size)
            for line in lines:
                if not line.endswith(b"\n"):
                    break
                self._take(line)
                self.size += len(line)
        self.changed = max(self.changed, status.st_mtime)
        return self.size > before

    def _take(self, line: bytes) -> None:
        if line.startswith(_REPLY):
            self.starts.append(self.size)
            self.turns_before.append(self.turns)
        if line.startswith(_MESSAGE):
            self.ended = None
        elif line.startswith(_READ):
            for at, record in read_line(0, line):
                if not isinstance(record, LeftOut):
                    self._apply(at, record)

    def _apply(self, at: float, record: Record) -> None:
        match record:
            case TaskOpened():
                self.opened, self.mode, self.started = record, record.mode, at
            case TurnEnded(usage, cost):
                self.turns += 1
                self.context = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
                self._spend(usage, cost)
            case MessagesHidden(_, _, tokens, usage, cost):
                self.context = tokens or self.context
                self._spend(usage, cost)
            case ModeSet(mode):
                self.mode = mode
            case ModelSet(model) if self.opened is not None:
                self.opened = replace(self.opened, model=model)
            case ProfileSet(profile):
                self.profile = profile
            case TodosSet(todos):
                self.todos = todos
            case TaskEnded():
                self.ended = record
            case ChildOpened(child_id):
                self.children.append(child_id)
            case _:
                pass

    def _spend(self, usage: Usage, cost: float | None) -> None:
        self.usage += usage
        if cost is not None:
            self.cost = (self.cost or 0.0) + cost

    @property
    def title(self) -> str:
        return task_title(self.opened.text) if self.opened else ""

    def page(self, before: int, replies: int) -> tuple[int, int]:
        """Where so many replies begin that are before a place, and how many turns are before them."""
        at = max(0, bisect_left(self.starts, before) - replies)
        return (0, 0) if at == 0 else (self.starts[at], self.turns_before[at])


def read_between(path: Path, start: int, end: int) -> Iterator[tuple[float, Record]]:
    """The records between two places of a journal, with their times."""
    with path.open("rb") as file:
        file.seek(start)
        data = file.read(max(0, end - start))
    for number, line in enumerate(data.split(b"\n")[:-1]):
        if start > 0 or number > 0:
            yield from ((at, record) for at, record in read_line(0, line) if not isinstance(record, LeftOut))
