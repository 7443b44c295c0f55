"""What you allowed with an answer, and no longer are asked about.

  joey permissions                     what holds in this folder, and in its last task
  joey permissions --task ID           the same with another task
  joey permissions revoke NUMBER       ask again about one of them; `all`: about each

An answer "don't ask again" holds in its task, also after it was resumed, or in this folder for every task. Rules that
you wrote into settings are another matter: see `joey approvals`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from joey.cli.flags import add_workspace_flag, workspace_in
from joey.errors import UsageError
from joey.journal.store import TaskStore
from joey.permissions import Granted


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", nargs="?", default="list", choices=("list", "revoke"), help="what to do (default: list)"
    )
    parser.add_argument("which", nargs="?", metavar="NUMBER", help="with revoke: a number of the list, or `all`")
    parser.add_argument("--task", metavar="ID", help="the task (default: the last one in this folder)")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    add_workspace_flag(parser)


def run(args: argparse.Namespace) -> int:
    from joey.app.permissions import granted_in
    from joey.app.tasks import task_store

    if (args.action == "revoke") is not bool(args.which):
        raise UsageError("usage: joey permissions [list | revoke NUMBER | revoke all]")
    workspace, store = workspace_in(args), task_store()
    task_id = store.find(args.task).task_id if args.task else _last_task(store, workspace)
    granted = granted_in(workspace, store, task_id)
    if args.action == "revoke":
        return _revoke(granted, args.which, workspace, store, task_id)
    for number, each in enumerate(granted, 1):
        print(json.dumps(_as_json(each)) if args.json else f"{number:>3}  {_place(each, task_id):<30}  {_words(each)}")
    if not granted and not args.json:
        print("nothing; every request for approval is shown")
    return 0


def _last_task(store: TaskStore, workspace: Path) -> str | None:
    """The newest task in this folder that a person started."""
    try:
        return store.find("last", workspace).task_id
    except UsageError:
        return None


def _place(granted: Granted, task_id: str | None) -> str:
    return "in this project" if granted.scope == "project" else f"in task {task_id}"


def _words(granted: Granted) -> str:
    from joey.system.visible import one_line

    return one_line(granted.permission.words)


def _as_json(granted: Granted) -> dict[str, str]:
    permission = granted.permission
    return {"scope": granted.scope, "kind": permission.kind, "subject": permission.subject, "words": permission.words}


def _revoke(granted: tuple[Granted, ...], which: str, workspace: Path, store: TaskStore, task_id: str | None) -> int:
    from joey.app.permissions import revoke

    if which != "all" and not (which.isdecimal() and 1 <= int(which) <= len(granted)):
        raise UsageError(f"there is no permission {which!r}; `joey permissions` lists them by number")
    for each in granted if which == "all" else granted[int(which) - 1 : int(which)]:
        revoke(each, workspace, store, task_id)
        print(f"revoked: {_words(each)}")
    return 0
