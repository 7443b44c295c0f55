"""Back to how files and conversation were: what every front end offers, and the command line in detail."""

from __future__ import annotations

from joey.checkpoints import Checkpoint, CheckpointStore, plan_restore
from joey.errors import UsageError
from joey.journal.branch import branch
from joey.journal.journal import Journal, read_journal
from joey.journal.records import CheckpointMade
from joey.journal.store import TaskEntry, TaskStore
from joey.system.filenames import quoted
from joey.task.config import new_task_id


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


def undo(tasks: TaskStore, task_id: str, *, do: bool) -> str:
    """Restore the files as they were before the last turn that changed something, or say what that would do."""
    store = open_store(tasks, tasks.find(task_id))
    plan = plan_restore(store, chosen_checkpoint(store, undo=True))
    if not plan.changes:
        return "Nothing to undo: the files are as they were before the last change."
    if not do:
        return f"{plan.diff()}\nType /undo now to do this."
    with Journal(tasks.journal_path(task_id)) as journal:
        done = plan.apply()
        assert done.way_back is not None
        journal.append(CheckpointMade(done.way_back.id, ""))
    left = "".join(f"\nnot restored: {quoted(path)}: {why}" for path, why in done.left.items())
    way_back = f"`joey checkpoints restore {done.way_back.id} --task {task_id}` undoes this."
    return f"Restored {len({change.path for change in done.changes})} paths; {way_back}{left}"


def chosen_checkpoint(store: CheckpointStore, *, undo: bool) -> int:
    """The last checkpoint; with `undo`, the first one of the last turn that changed something."""
    made_by_calls = [checkpoint for checkpoint in store.checkpoints if checkpoint.call_id]
    if not made_by_calls:
        raise UsageError("this task has changed no files; there is nothing to restore")
    last = made_by_calls[-1]
    first_of_turn = next(checkpoint for checkpoint in made_by_calls if checkpoint.turn == last.turn)
    return first_of_turn.id if undo else store.checkpoints[-1].id
