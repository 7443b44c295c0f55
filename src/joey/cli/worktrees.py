"""List, merge and remove the git worktrees that tasks and subtasks work in (`joey run --worktree`).

  joey worktrees                     list those of this repository; --all: of every repository
  joey worktrees merge NAME          show what merging would change in the checkout it was made from, ask, and merge;
                                     the worktree is removed then. With a conflict nothing is changed
  joey worktrees remove NAME         remove the folder; what is in it is committed to the branch joey/NAME, which stays
  joey worktrees remove NAME --discard   remove the folder and the branch with all changes

examples:
  joey worktrees --all
  joey worktrees remove parser
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path

from joey.errors import UsageError
from joey.messages import ShownDiff
from joey.system.filenames import quoted
from joey.system.git import find_repository
from joey.system.git_trees import GitFailed
from joey.system.worktree_notes import Worktree
from joey.system.worktrees import Worktrees
from joey.tools.base import ToolContext
from joey.tools.editing.merge import MergeParams, MergeWorktree

ACTIONS = ("list", "merge", "remove")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", nargs="?", default="list", choices=ACTIONS, metavar="ACTION", help="what to do (default: list)"
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="name of a worktree")
    parser.add_argument("--all", action="store_true", help="list the worktrees of every repository")
    parser.add_argument("--discard", action="store_true", help="with remove: the branch and all changes go, too")
    parser.add_argument("--yes", "-y", action="store_true", help="with merge: do not ask")
    parser.add_argument("--json", action="store_true", help="with list: one JSON object per line")


def run(args: argparse.Namespace) -> int:
    worktrees = Worktrees()
    if args.action == "list":
        return _list(worktrees, everywhere=args.all, as_json=args.json)
    worktree = _named(worktrees, args.name)
    if args.action == "merge":
        return asyncio.run(_merge(worktrees, worktree, ask=not args.yes))
    worktrees.remove(worktree, discard=args.discard)
    kept = "" if args.discard else f"; the branch {worktree.branch} has its changes, if there were any"
    print(f"removed {quoted(worktree.folder)}{kept}")
    return 0


def _named(worktrees: Worktrees, name: str | None) -> Worktree:
    if not name:
        raise UsageError("name a worktree; `joey worktrees` lists them")
    here = worktrees.named(name, Path.cwd())
    others = [each for each in worktrees.all() if each.name == name]
    found = here or (others[0] if len(others) == 1 else None)
    if found is None:
        where = "several repositories have one; go to one of them" if others else "`joey worktrees --all` lists them"
        raise UsageError(f"there is no worktree {quoted(name)} here; {where}")
    return found


async def _merge(worktrees: Worktrees, worktree: Worktree, *, ask: bool) -> int:
    context = ToolContext(worktree.origin, worktree.origin)
    plan = await MergeWorktree(worktree, worktrees).plan(MergeParams(worktree=worktree.name), context)
    for shown in plan.shown:
        print(shown.diff if isinstance(shown, ShownDiff) else "", end="")
    if plan.refusal is None and not plan.is_void and ask and not _agrees():
        print("nothing was merged", file=sys.stderr)
        return 1
    result = plan.refusal or await plan.execute()
    print(result.text, file=sys.stderr if result.is_error else sys.stdout)
    if result.is_error:
        return 1
    worktrees.remove(worktree, discard=True)
    return 0


def _agrees() -> bool:
    try:
        return input("merge? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


def _list(worktrees: Worktrees, *, everywhere: bool, as_json: bool) -> int:
    here = find_repository(Path.cwd())
    listed = [each for each in worktrees.all() if everywhere or _is_of(each, here.common if here else None)]
    for worktree in listed:
        state = _state(worktrees, worktree)
        print(json.dumps(_as_json(worktree, state)) if as_json else _line(worktree, state))
    if not listed and not as_json:
        print("there are no worktrees of Joey's here", file=sys.stderr)
    return 0


def _is_of(worktree: Worktree, common: Path | None) -> bool:
    found = find_repository(worktree.origin)
    return found is not None and found.common == common


def _state(worktrees: Worktrees, worktree: Worktree) -> str:
    try:
        status = worktrees.status(worktree)
    except GitFailed:
        return "incomplete"
    if not status.changed:
        return "no changes"
    return "changes, not all committed" if status.uncommitted else "changes, committed"


def _as_json(worktree: Worktree, state: str) -> dict[str, str]:
    return {
        "name": worktree.name,
        "branch": worktree.branch,
        "folder": worktree.folder,
        "repository": worktree.repository,
        "task": worktree.task,
        "made": worktree.made,
        "state": state,
    }


def _line(worktree: Worktree, state: str) -> str:
    of = f"  subtask {worktree.task}" if worktree.task else ""
    return f"{worktree.name:<24}  {state:<26}  {worktree.made[:16]}  {quoted(worktree.folder)}{of}"
