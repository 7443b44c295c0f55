"""Back to how files and conversation were: what every front end offers, and the command line in detail."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import indent
from typing import Literal, TypeAlias

from joey.checkpoints import Checkpoint, CheckpointStore, Restoration, plan_redo, plan_undo
from joey.checkpoints.entries import Change, Verb
from joey.checkpoints.restore import OwnTimes, Restored, changed_at
from joey.errors import JoeyError, UsageError
from joey.journal.copies import branch
from joey.journal.journal import Journal, read_journal, read_timed
from joey.journal.records import CheckpointMade, RunEnded, TaskEnded, merge_call
from joey.journal.store import TaskEntry, TaskStore
from joey.system.filenames import quoted
from joey.task.config import new_task_id

Step: TypeAlias = Literal["undo", "redo"]
How: TypeAlias = Literal["", "now", "anyway"]
"""Only say what would be done; do it; do it also where somebody else changed the files since."""
_WOULD: dict[Verb, str] = {"create": "bring back", "change": "restore", "remove": "delete"}
_DONE: dict[Verb, str] = {"create": "brought back", "change": "restored", "remove": "deleted"}
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
    return fork_task(tasks, entry, max(checkpoint.turn - 1, 0))


def fork_task(tasks: TaskStore, entry: TaskEntry, turn: int | None = None) -> str:
    """A new task that shares the first turns of this one, or all of them. Returns its id."""
    task_id = new_task_id()
    turns = entry.state.spending.turns if entry.state else 0
    records = branch(read_journal(tasks.journal_path(entry.task_id)), turns if turn is None else turn, task_id)
    with tasks.open(task_id) as journal:
        for record in records:
            journal.append(record)
    return task_id


@dataclass(frozen=True, slots=True)
class StepPlan:
    """What an undo or a redo would do, for people to look at first."""

    diff: str
    changed: tuple[str, ...]
    """What somebody else changed after the last step of the task, and would be overwritten."""
    left: Mapping[str, str]
    """What stays as it is, and why."""


def look_at_step(tasks: TaskStore, task_id: str, step: Step) -> StepPlan:
    """What the step would do. JoeyError if there is nothing to undo or redo."""
    plan = plan_step(tasks, tasks.find(task_id), step)
    return StepPlan(plan.diff(), tuple(changed_since(tasks, task_id, plan)), plan.left)


def step_files(tasks: TaskStore, task_id: str, step: Step, how: How) -> str:
    """Undo the last turn that changed files, or redo what was undone last; or say what that would do. `now` does not
    touch what somebody else changed since, `anyway` does."""
    if how != "":
        with Journal(tasks.journal_path(task_id)) as journal:
            plan = plan_step(tasks, tasks.find(task_id), step)
            if how == "anyway" or not changed_since(tasks, task_id, plan):
                return _do(plan, journal, step)
    plan = plan_step(tasks, tasks.find(task_id), step)
    untouched = f"\n{untouched_line(plan.untouched)}" if plan.untouched else ""
    headline = f"{step.capitalize()} would {_named(plan.changes, _WOULD)}:"
    how_to = _how_to(step, changed_since(tasks, task_id, plan))
    return f"{headline}\n{_below(plan.diff())}{_left(plan.left)}{untouched}\n{how_to}"


def _below(diff: str) -> str:
    """Every line as far to the right as the others: a line of context begins with a space of its own."""
    return indent(diff, "  ", lambda _line: True)


def _do(plan: Restoration, journal: Journal, step: Step) -> str:
    done = plan.apply()
    record_restored(journal, done)
    restored = {change.path for change in done.changes}
    what = _named([change for change in plan.changes if change.path in restored], _DONE)
    more = "/redo takes this back, /undo goes further back" if step == "undo" else "/undo takes this back"
    return f"{step.capitalize()}: {what or 'nothing was changed'}; {more}.{_left(done.left)}"


def record_restored(journal: Journal, done: Restored) -> None:
    """Write down what was put back, so that the model is told when the task goes on."""
    if done.way_back is not None:
        paths = tuple(quoted(change.path) for change in done.changes)
        journal.append(CheckpointMade(done.way_back.id, "", paths))


def _how_to(step: Step, changed: Sequence[str]) -> str:
    if not changed:
        return f"Type /{step} now to do this."
    return f"{changed_line(changed)}. Type /{step} anyway to do this all the same."


def _named(changes: Iterable[Change], verbs: Mapping[Verb, str]) -> str:
    """What is done to which paths: `delete a.py, b.py and bring back c.py`."""
    paths: dict[Verb, list[str]] = {}
    for change in changes:
        is_folder = "folder" in (change.now.kind, change.wanted.kind)
        paths.setdefault(change.verb, []).append(change.path + "/" * is_folder)
    return " and ".join(f"{verbs[verb]} {_names(each)}" for verb, each in paths.items())


def _names(paths: Sequence[str]) -> str:
    names = ", ".join(map(quoted, paths[:_MAX_NAMES]))
    return f"{names} and {len(paths) - _MAX_NAMES} more" if len(paths) > _MAX_NAMES else names


def changed_since(tasks: TaskStore, task_id: str, plan: Restoration) -> list[str]:
    """What would be overwritten or deleted, and is not as a call, an undo or a redo of the task left it."""
    own = own_times(tasks, task_id, plan.store)
    here = (change.path for change in plan.changes if change.now.kind in ("file", "link", "unkept"))
    return [path for path in here if not own.hold(changed_at(plan.store.place(path)))]


def own_times(tasks: TaskStore, task_id: str, store: CheckpointStore) -> OwnTimes:
    """When the task changed files, or could have: from the checkpoint before a call to its end, if only with the task;
    and while files were undone or redone."""
    made = {each.id: each.at for each in store.checkpoints}
    spans: list[tuple[float, float]] = []
    running: dict[str, float] = {}
    for at, record in read_timed(tasks.journal_path(task_id)):
        match record:
            case CheckpointMade(checkpoint=number, call_id=""):
                spans.append((made.get(number, at), at))
            case CheckpointMade(call_id=call_id):
                running[call_id] = at
            case RunEnded(call_id=call_id):
                begun = (running.pop(each, None) for each in (call_id, merge_call(call_id)))
                spans += [(start, at) for start in begun if start is not None]
            case TaskEnded():
                spans += [(start, at) for start in running.values()]
                running.clear()
            case _:
                pass
    return OwnTimes(tuple(spans))


def changed_line(paths: Sequence[str]) -> str:
    """Which paths somebody else changed after the last step of the task."""
    return f"Not by Joey, but after its last step, this was changed as well: {_names(paths)}"


def untouched_line(paths: Sequence[str]) -> str:
    """What is there and was never looked at: whatever became of it, restoring does not change it."""
    return f"no part of checkpoints, so left as it is: {_names(paths)}"


def left_line(path: str, why: str) -> str:
    """A path that is not as it was at the checkpoint, and why."""
    return f"not as it was: {quoted(path)}: {why}"


def _left(left: Mapping[str, str]) -> str:
    return "".join(f"\n{left_line(path, why)}" for path, why in left.items())


def plan_step(tasks: TaskStore, entry: TaskEntry, step: Step) -> Restoration:
    """What the step would do. JoeyError if there is nothing to undo or redo."""
    store = open_store(tasks, entry)
    plan = plan_undo(store, own_times(tasks, entry.task_id, store)) if step == "undo" else plan_redo(store)
    if plan is None:
        raise JoeyError(_NOTHING[step])
    return plan


def last_checkpoint(store: CheckpointStore) -> int:
    if not store.checkpoints:
        raise UsageError("this task has changed no files; there is nothing to restore")
    return store.checkpoints[-1].id
