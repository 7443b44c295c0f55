"""Compare and restore the files as they were before each change of a task.

  joey checkpoints                   list the checkpoints of the most recent task
  joey checkpoints diff [N]          show what restoring checkpoint N would change
  joey checkpoints restore [N]       show that diff, ask, and restore
  joey checkpoints undo              restore the files from before the last turn that changed something;
                                     again: from before the turn before that
  joey checkpoints redo              restore what was undone last

N is the last checkpoint by default. exit codes: 0 restored, 1 nothing was done, 2 invalid usage, 3 restored in part:
what is not as it was is named. --what selects what is restored: the files, the conversation (as a new task that
shares the beginning of this one), or both. The current files are saved as another checkpoint first.

examples:
  joey checkpoints restore 3 --task 20260101-120000-ab --what both
  joey checkpoints undo --yes
"""

from __future__ import annotations

import argparse
import json
import sys
from datetime import datetime
from pathlib import Path

from joey.app import checkpoints
from joey.checkpoints import Checkpoint, CheckpointStore, Restoration, plan_restore
from joey.errors import UsageError
from joey.journal.journal import Journal
from joey.journal.store import TaskEntry, TaskStore
from joey.system.folders import state_folder

PARTIAL = 3
"""The exit code where something is not as it was at the checkpoint, and was named."""
ACTIONS = ("list", "diff", "show", "restore", "undo", "redo")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", nargs="?", default="list", choices=ACTIONS, metavar="ACTION", help="what to do (default: list)"
    )
    parser.add_argument("number", nargs="?", type=int, metavar="N", help="number of a checkpoint (default: the last)")
    parser.add_argument("--task", default="last", metavar="ID", help="ID of a task (default: the last of this folder)")
    parser.add_argument(
        "--what", choices=("files", "conversation", "both"), default="files", help="what to restore (default: files)"
    )
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask")
    parser.add_argument("--json", action="store_true", help="with list: one JSON object per line")


def run(args: argparse.Namespace) -> int:
    tasks = TaskStore(state_folder() / "tasks")
    entry = tasks.find(args.task, Path.cwd())
    if args.action == "list":
        return _list(checkpoints.open_store(tasks, entry), as_json=args.json)
    if args.action in ("diff", "show"):
        _print_plan(_plan(args, tasks, entry))
        return 0
    # Whoever holds the journal owns the checkpoints: a task that is running is not changed under its feet.
    with Journal(tasks.journal_path(entry.task_id)) as journal:
        plan = _plan(args, tasks, entry)
        if changed := checkpoints.changed_since(tasks, entry.task_id, plan):
            print(checkpoints.changed_line(changed), file=sys.stderr)
        # A new task, as --what makes it, is the last one from then on.
        named = "" if (args.task, args.what) == ("last", "files") else f" --task {entry.task_id}"
        code = 0 if args.what == "conversation" else _restore(plan, journal, args.action, named, ask=not args.yes)
    if args.what != "files" and code in (0, PARTIAL):
        print(checkpoints.fork_before(tasks, entry, plan.checkpoint))
    return code


def _plan(args: argparse.Namespace, tasks: TaskStore, entry: TaskEntry) -> Restoration:
    if args.action in ("undo", "redo"):
        return checkpoints.plan_step(tasks, entry, args.action)
    store = checkpoints.open_store(tasks, entry)
    return plan_restore(store, checkpoints.last_checkpoint(store) if args.number is None else args.number)


def _list(store: CheckpointStore, *, as_json: bool) -> int:
    for checkpoint in store.checkpoints:
        print(json.dumps(_as_json(checkpoint)) if as_json else _line(checkpoint))
    if not store.checkpoints and not as_json:
        print("this task has changed no files", file=sys.stderr)
    return 0


def _as_json(checkpoint: Checkpoint) -> dict[str, object]:
    return {
        "id": checkpoint.id,
        "at": checkpoint.at,
        "turn": checkpoint.turn,
        "call_id": checkpoint.call_id,
        "label": checkpoint.label,
        "whole": checkpoint.whole,
        "not_kept": checkpoint.unkept,
    }


def _line(checkpoint: Checkpoint) -> str:
    when = datetime.fromtimestamp(checkpoint.at).strftime("%Y-%m-%d %H:%M:%S")  # noqa: DTZ006 - shown in local time
    missing = f"  ({len(checkpoint.unkept)} files not saved)" if checkpoint.unkept else ""
    return f"{checkpoint.id:>4}  turn {checkpoint.turn:<3}  {when}  {checkpoint.label}{missing}"


def _print_plan(plan: Restoration) -> None:
    print(plan.diff() or "no changes\n", end="")
    _print_left(plan.left)
    if plan.untouched:
        print(checkpoints.untouched_line(plan.untouched), file=sys.stderr)


def _print_left(left: dict[str, str]) -> None:
    for path, why in left.items():
        print(checkpoints.left_line(path, why), file=sys.stderr)


def _restore(plan: Restoration, journal: Journal, step: str, named: str, *, ask: bool) -> int:
    _print_plan(plan)
    if not plan.changes:
        return PARTIAL if plan.left else 0
    if ask and not _agreed(len(plan.changes)):
        print("nothing was changed", file=sys.stderr)
        return 1
    done = plan.apply()
    checkpoints.record_restored(journal, done)
    if done.way_back is not None:
        restored = len({change.path for change in plan.changes} & {change.path for change in done.changes})
        again = "" if step == "redo" else f"`joey checkpoints redo{named}` or "
        way_back = f"{again}`joey checkpoints restore {done.way_back.id}{named}` takes this back"
        wanted = len({change.path for change in plan.changes} | {*plan.left})
        print(f"restored {restored} of {wanted} paths; {way_back}", file=sys.stderr)
    _print_left({path: why for path, why in done.left.items() if path not in plan.left})
    return PARTIAL if done.left else 0


def _agreed(count: int) -> bool:
    if not sys.stdin.isatty():
        raise UsageError("no terminal to confirm on; use --yes to restore without asking")
    return input(f"Restore these {count} paths? [y/N] ").strip().lower() in ("y", "yes")
