"""What the subtasks of a task may take: each for itself, and all of them together.

A task and all below it share one budget. Each subtask reports before a turn what it has taken so far; those of earlier
runs are read from their journals once, when it matters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from joey.journal.replay import TaskState
from joey.task.settings import TaskLimits


class Taken(NamedTuple):
    """Turns, and dollars as far as prices are known."""

    turns: int = 0
    cost: float = 0.0

    @classmethod
    def by(cls, state: TaskState) -> Taken:
        return cls(state.turns, state.cost or 0.0)


@dataclass(slots=True, eq=False)
class Budget:
    """The budget of a task and its subtasks. `earlier` finds what subtasks of earlier runs took, by their ids."""

    limits: TaskLimits
    earlier: Callable[[], Mapping[str, Taken]] = dict
    _taken: dict[str, Taken] | None = field(default=None)

    def report(self, task_id: str, state: TaskState) -> None:
        """What a subtask has taken so far."""
        self._all[task_id] = Taken.by(state)

    @property
    def _all(self) -> dict[str, Taken]:
        if self._taken is None:
            self._taken = dict(self.earlier())
        return self._taken

    @property
    def taken(self) -> Taken:
        """What all subtasks took together."""
        return Taken(sum(each.turns for each in self._all.values()), sum(each.cost for each in self._all.values()))

    def exceeded(self, state: TaskState) -> str | None:
        """Why a subtask must not have another turn, or None."""
        own, everything, limits = Taken.by(state), self.taken, self.limits
        checks = (
            (own.turns, limits.subtask_turns, "the subtask reached its limit of {:g} turns"),
            (own.cost, limits.subtask_cost, "the subtask reached its cost limit of ${:g}"),
            (everything.turns, limits.all_subtasks_turns, "the subtasks together reached their limit of {:g} turns"),
            (everything.cost, limits.all_subtasks_cost, "the subtasks together reached their cost limit of ${:g}"),
        )
        reached = (why.format(limit) for taken, limit, why in checks if limit is not None and taken >= limit)
        return next(reached, None)
