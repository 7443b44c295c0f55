"""A task in a git worktree of its own: made before it begins, and its changes on a branch when it is completed."""

from __future__ import annotations

import contextlib
from datetime import datetime
from pathlib import Path
from secrets import token_hex

from joey.journal.replay import TaskState
from joey.system.filenames import quoted
from joey.system.git_trees import GitFailed
from joey.system.worktree_notes import worktree_around
from joey.system.worktrees import Worktrees, counterpart

_MAX_SUBJECT = 68


def worktree_for(folder: Path, name: str) -> Path:
    """The folder that stands for this one in a worktree: that of the name, or a new one. Without a name, one is made
    up. Raises UsageError or GitFailed."""
    worktrees = Worktrees()
    name = name or f"{datetime.now().strftime('%m%d-%H%M')}-{token_hex(2)}"  # noqa: DTZ005 - local time is meant
    known = worktrees.named(name, folder)
    worktree = known if known is not None and known.ready else worktrees.make(folder, name)
    return counterpart(worktree, folder)


def keep_on_branch(folder: Path, state: TaskState) -> None:
    """Put what a completed task changed on the branch of its worktree, if it has one. One that did not complete leaves
    its changes in the files, where it continues."""
    worktree = worktree_around(folder)
    if worktree is None or worktree.task or state.opened is None or state.ended is None:
        return
    if state.ended.outcome == "completed":
        subject = " ".join(state.opened.text.split())
        subject = subject if len(subject) <= _MAX_SUBJECT else f"{subject[: _MAX_SUBJECT - 1]}…"
        with contextlib.suppress(GitFailed, OSError):  # that they are not on the branch is reported with the place
            Worktrees().commit(worktree, f"{subject or 'Changes'}\n\nTask {state.opened.task_id}")


def left_in(folder: Path) -> str:
    """Where the changes of a worktree are now, and what to do with them; empty for a folder that is in none."""
    worktree = worktree_around(folder)
    if worktree is None:
        return ""
    try:
        status = Worktrees().status(worktree)
    except (GitFailed, OSError) as error:
        return str(error)
    clean_up = f"`joey worktrees remove {worktree.name}` removes the folder"
    if not status.changed:
        return f"nothing was changed in the worktree {quoted(worktree.folder)}; {clean_up}"
    where = f"the changes are in the worktree {quoted(worktree.folder)}"
    if status.uncommitted:
        return f"{where}, not committed yet; resume the task, or see `joey worktrees`"
    return (
        f"{where}, on the branch {worktree.branch}; `joey worktrees merge {worktree.name}` takes them over, {clean_up}"
    )
