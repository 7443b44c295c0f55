"""Undo and redo: which checkpoint the next step back or forward goes to.

Everything is read off the checkpoints themselves, so it survives a restart. A checkpoint that a call made is a step.
One that was taken before files were restored names what was restored (`restores`), and is the way forward again:

    a step         joins the line; nothing can be redone any more
    back to one    the line ends before it, and the way forward goes on the stack
    forward        the line is again what it was, and the stack is cut there

Undoing goes to the first step of a turn, from the end of the line: the first one that is different from how things are
now. So turns that changed nothing are passed over, and undoing again goes further back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from joey.checkpoints.entries import Checkpoint
from joey.checkpoints.restore import Restoration, plan_restore
from joey.checkpoints.store import CheckpointStore
from joey.checkpoints.walk import walk


@dataclass(frozen=True, slots=True)
class Steps:
    """What can be undone and redone."""

    line: tuple[Checkpoint, ...] = ()
    """The steps that are in force, the oldest first."""
    forward: tuple[tuple[int, tuple[Checkpoint, ...]], ...] = ()
    """The checkpoints that redo what was undone, the next one last, each with the line as it was then."""

    def after(self, checkpoint: Checkpoint) -> Steps:
        if checkpoint.restores is None:
            return Steps((*self.line, checkpoint)) if checkpoint.call_id else self
        for at, (number, line) in enumerate(self.forward):
            if number == checkpoint.restores:
                return Steps(line, self.forward[:at])
        before = tuple(step for step in self.line if step.id < checkpoint.restores)
        return Steps(before, (*self.forward, (checkpoint.id, self.line)))


def steps_of(checkpoints: Iterable[Checkpoint]) -> Steps:
    steps = Steps()
    for checkpoint in checkpoints:
        steps = steps.after(checkpoint)
    return steps


def plan_undo(store: CheckpointStore) -> Restoration | None:
    """What undoing the last turn that changed something would do; None if there is none."""
    seen = walk(store.workspace, store.limits.paths)
    plans = (plan_restore(store, number, seen) for number in _beginnings(steps_of(store.checkpoints).line))
    return next((plan for plan in plans if plan.changes), None)


def plan_redo(store: CheckpointStore) -> Restoration | None:
    """What doing again what was undone last would do; None if nothing was undone, or something changed since."""
    forward = steps_of(store.checkpoints).forward
    return plan_restore(store, forward[-1][0]) if forward else None


def _beginnings(line: Iterable[Checkpoint]) -> Iterator[int]:
    """The first step of each turn, the last turn first."""
    first: dict[int, int] = {}
    for step in line:
        first.setdefault(step.turn, step.id)
    return reversed(first.values())
