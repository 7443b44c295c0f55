"""Back to how files and conversation were: what every front end offers, and the command line in detail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from joey.checkpoints import Checkpoint, CheckpointStore, Restoration, plan_redo, plan_undo
from joey.errors import JoeyError, UsageError
from joey.journal.branch import branch
from joey.journal.journal import Journal, read_journal
from joey.journal.records import CheckpointMade
from joey.journal.store import TaskEntry, TaskStore
from joey.system.filenames import quoted
from joey.task.config import new_task_id

Step: TypeAlias = Literal["undo", "redo"]
_MAX_NAMES = 6
_NOTHING: dict[Step, str] = {
    "undo": "Nothing to undo: the files are as they were before the task changed any.",
    "redo": "Nothing to redo: nothing was undone, or the task has changed files since.",
}


def open_store(tasks: TaskStore, entry: TaskEntry) -> CheckpointStore:
    opened = entry.state.opened if entry.state else None
    if opened is None:
        raise UsageError(entry.problem or f"task {entry.task_id} is empty")
    return CheckpointStore(tasks.folder(entry.task_id) / "checkpoints", opened.folder)


def fork_before(tasks: TaskStore, entry: TaskEntry, checkpoint: Checkpoint) -> str:
    """A new task with all messages before the turn of this checkpoint. Returns its id."""
    task_id = new_task_id()
    records = branch(read_journal(tasks.journal_path(entry.task_id)), max(checkpoint.turn - 1, 0), task_id)
    with tasks.open(task_id) as journal:
        for record in records:
            journal.append(record)
    return task_id


def step_files(tasks: TaskStore, task_id: str, step: Step, *, do: bool) -> str:
    """Undo the last turn that changed files, or redo what was undone last; or say what that would do."""
    if not do:
        plan = plan_step(open_store(tasks, tasks.find(task_id)), step)
        untouched = f"\n{untouched_line(plan.untouched)}" if plan.untouched else ""
        return f"{plan.diff()}{_left(plan.left)}{untouched}\nType /{step} now to do this."
    with Journal(tasks.journal_path(task_id)) as journal:
        done = plan_step(open_store(tasks, tasks.find(task_id)), step).apply()
        if done.way_back is not None:
            journal.append(CheckpointMade(done.way_back.id, ""))
    more = "/redo takes this back, /undo goes further back" if step == "undo" else "/undo takes this back"
    return f"Restored {len({change.path for change in done.changes})} paths; {more}.{_left(done.left)}"


def untouched_line(paths: Sequence[str]) -> str:
    """What is there and was never looked at: whatever became of it, restoring does not change it."""
    names = ", ".join(map(quoted, paths[:_MAX_NAMES]))
    more = f" and {len(paths) - _MAX_NAMES} more" if len(paths) > _MAX_NAMES else ""
    return f"no part of checkpoints, so left as it is: {names}{more}"


def _left(left: Mapping[str, str]) -> str:
    return "".join(f"\nnot restored: {quoted(path)}: {why}" for path, why in left.items())


def plan_step(store: CheckpointStore, step: Step) -> Restoration:
    """What the step would do. JoeyError if there is nothing to undo or redo."""
    plan = plan_undo(store) if step == "undo" else plan_redo(store)
    if plan is None:
        raise JoeyError(_NOTHING[step])
    return plan


def last_checkpoint(store: CheckpointStore) -> int:
    if not store.checkpoints:
        raise UsageError("this task has changed no files; there is nothing to restore")
    return store.checkpoints[-1].id
