"""The changes of a git worktree, merged into the workspace: all of them, or none.

Both sides are compared with the commit that the worktree began with (`system.git_trees`), without touching a file. What
comes out is an edit like any other: the user sees the diff of just what would be written, the policy judges each file,
and it is written whole or not at all. So merging what was merged already changes nothing, and a merge that a crash cut
short is simply made again. Where both sides changed the same lines nothing is merged, and the files are named.

No model calls this: a task does, when a subtask in a worktree has ended.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import Field

from joey.actions import WritePath
from joey.messages import ToolResult
from joey.system.filenames import quoted
from joey.system.git import Repository, find_repository
from joey.system.git_trees import (
    GitFailed,
    TreeEntry,
    changes_between,
    indexed_git,
    merge_trees,
    take_snapshot,
    write_files,
)
from joey.system.worktree_notes import Worktree
from joey.system.worktrees import Worktrees
from joey.tools.base import Params, Plan, ToolContext, ok
from joey.tools.display import Display
from joey.tools.editing.changes import FileChange, read_present
from joey.tools.editing.planning import EditRefused, EditTool, Prepared

_REGULAR = ("", "100644", "100755")
_MAX_NAMED = 10


class MergeParams(Params):
    worktree: str = Field(description="The name of the worktree.")


class MergeWorktree(EditTool[MergeParams]):
    """Merge the changes of one worktree."""

    name = "merge_worktree"
    params = MergeParams
    display = Display(("worktree",))

    def __init__(self, worktree: Worktree, worktrees: Worktrees) -> None:
        self._worktree = worktree
        self._worktrees = worktrees
        self._modes: list[tuple[Path, bool]] = []
        """Files that become executable, or no longer are."""

    def prepare(self, params: MergeParams, context: ToolContext) -> Prepared:
        try:
            return self._prepare(context.workspace)
        except GitFailed as error:
            raise EditRefused(f"{error}. Nothing was merged.") from None

    def _prepare(self, workspace: Path) -> Prepared:
        found = find_repository(workspace)
        if found is None:
            raise EditRefused(f"{quoted(str(workspace))} is not in a git repository any more. Nothing was merged.")
        theirs = self._worktrees.snapshot(self._worktree)
        with indexed_git(found) as git, tempfile.TemporaryDirectory(prefix="joey-merge-") as made:
            ours = take_snapshot(git)
            merged = merge_trees(git, self._worktree.base, ours.tree, theirs.tree)
            if merged.conflicts:
                conflicts = _named(merged.conflicts)
                raise EditRefused(f"It conflicts with what is there now, in {conflicts}. Nothing was merged.")
            entries = changes_between(git, ours.tree, merged.tree)
            _refuse_special(entries)
            write_files(git, merged.tree, [each.path for each in entries if each.new_mode], Path(made))
            changes = [self._change(each, found, workspace, Path(made)) for each in entries]
            if take_snapshot(git).tree != ours.tree:
                raise EditRefused("Files were changed meanwhile. Nothing was merged; try again.")
        self._modes = [
            (found.top / each.path, each.new_mode == "100755")
            for each in entries
            if each.old_mode and each.new_mode and each.old_mode != each.new_mode
        ]
        left = f"Not taken over, since they are repositories: {_named(theirs.nested)}." if theirs.nested else ""
        files = "1 file" if len(entries) == 1 else f"{len(entries)} files"
        headline = f"Merged: {files} changed." if entries else "There is nothing to merge."
        return Prepared(tuple(changes), headline, (left,) if left else (), show_state=False)

    def _change(self, entry: TreeEntry, found: Repository, workspace: Path, made: Path) -> FileChange:
        path = Path(os.path.realpath((found.top / entry.path).parent)) / Path(entry.path).name
        name = os.path.relpath(found.top / entry.path, workspace)
        new = (made / entry.path).read_bytes() if entry.new_mode else None
        like = self._worktree.path / entry.path if entry.new_mode and not entry.old_mode else None
        return FileChange(path, name, read_present(path, name), new, like)

    async def plan(self, params: MergeParams, context: ToolContext) -> Plan:
        plan = await super().plan(params, context)
        if not self._modes or plan.refusal is not None:
            return plan
        modes = tuple(self._modes)

        async def execute() -> ToolResult:
            result = ok(_only_modes(len(modes))) if plan.is_void else await plan.execute()
            if not result.is_error:
                for path, executable in modes:
                    _set_mode(path, executable=executable)
            return result

        return replace(plan, execute=execute, is_void=False, targets=(*plan.targets, *(path for path, _ in modes)))


def _only_modes(count: int) -> str:
    return f"Merged: only the executable bit changed, in {count} {'file' if count == 1 else 'files'}."


def merge_actions(plan: Plan) -> tuple[WritePath, ...]:
    """What a merge changes, for whoever keeps the files first."""
    return tuple(WritePath(str(target)) for target in plan.targets)


def _refuse_special(entries: Sequence[TreeEntry]) -> None:
    """A link may lead anywhere, and a submodule is another repository: neither is an edit of a file."""
    special = [each.path for each in entries if each.old_mode not in _REGULAR or each.new_mode not in _REGULAR]
    if special:
        what = f"Symbolic links or submodules are changed: {_named(special)}"
        raise EditRefused(f"{what}. Nothing was merged; git can merge the branch.")


def _named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _MAX_NAMED} more" if len(paths) > _MAX_NAMED else ""
    return ", ".join(quoted(path) for path in paths[:_MAX_NAMED]) + more


def _set_mode(path: Path, *, executable: bool) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        mode = os.fstat(descriptor).st_mode & 0o7777
        os.fchmod(descriptor, mode | (mode & 0o444) >> 2 if executable else mode & ~0o111)
    finally:
        os.close(descriptor)
