"""What becomes of a subtask's worktree when the subtask has ended: merged by approval, or kept where it is.

    nothing changed         the worktree is removed
    the subtask completed   its changes are judged and shown like any edit; approved, they are merged, and the worktree
                            is removed
    anything else           denied, in conflict, not completed: the changes are committed to the worktree's branch, and
                            the result says where they are

One at a time: the second is merged into what the first left. That a merge was made is written down before the worktree
goes, and a merge that was made already changes nothing, so a crash at any point loses nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from joey.commands import Answer
from joey.errors import JoeyError
from joey.events import ToolCallFinished, ToolRunFinished, ToolRunStarted
from joey.journal.records import ChildMerged, ChildOpened, merge_call
from joey.messages import Shown, TextBlock, ToolResult
from joey.system.filenames import quoted
from joey.system.worktree_notes import Worktree
from joey.system.worktrees import Worktrees
from joey.task.calls import Approved, Judged, Refused, Rules, approve, execute, judge
from joey.task.checkpoint import keep_files
from joey.task.config import TaskConfig
from joey.task.edit_checks import EditChecks
from joey.task.log import TaskLog
from joey.task.subtasks import Subtasks
from joey.task.toolbox import Toolbox
from joey.tools.editing.merge import MergeParams, MergeWorktree, merge_actions
from joey.tools.registry import ResolvedCall

Ask = Callable[[ToolCallFinished, Judged], Awaitable[Answer]]


@dataclass(slots=True, eq=False)
class Merges:
    """The worktrees of the subtasks of one task."""

    _config: TaskConfig
    _log: TaskLog
    _toolbox: Toolbox
    _subtasks: Subtasks
    _checks: EditChecks
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def settled(self, child: ChildOpened, result: ToolResult, ask: Ask) -> ToolResult:
        """The result of a subtask, with what became of its changes."""
        worktrees = self._config.workspace.worktrees
        if not child.worktree or worktrees is None:
            return result
        async with self._one_at_a_time:
            try:
                words, shown = await self._settle(child, worktrees, ask, completed=not result.is_error)
            except (JoeyError, OSError) as error:
                words, shown = f"What it changed could not be looked at: {error}. `joey worktrees` lists it.", ()
        return replace(result, content=(*result.content, TextBlock(words)), shown=(*result.shown, *shown))

    async def _settle(
        self, child: ChildOpened, worktrees: Worktrees, ask: Ask, *, completed: bool
    ) -> tuple[str, tuple[Shown, ...]]:
        worktree = await self._subtasks.worktree_of(child)
        if worktree is None:
            merged = child.child_id in self._log.state.calls.merged
            return "Its changes were merged." if merged else "Its worktree is gone.", ()
        if child.child_id in self._log.state.calls.merged:
            await asyncio.to_thread(worktrees.remove, worktree, discard=True)
            return "Its changes were merged.", ()
        if not (await asyncio.to_thread(worktrees.status, worktree)).changed:
            await asyncio.to_thread(worktrees.remove, worktree, discard=True)
            return "It changed no files.", ()
        if not completed:
            return await self._kept(worktree, worktrees, "The subtask did not complete."), ()
        return await self._merged(child, worktree, worktrees, ask)

    async def _merged(
        self, child: ChildOpened, worktree: Worktree, worktrees: Worktrees, ask: Ask
    ) -> tuple[str, tuple[Shown, ...]]:
        call = ToolCallFinished(merge_call(child.call_id), MergeWorktree.name, {"worktree": worktree.name})
        approved = await self._approved(call, child, MergeWorktree(worktree, worktrees), ask)
        if isinstance(approved, Refused):
            self._log.emit(ToolRunFinished(call.call_id, call.name, approved.result))
            return await self._kept(worktree, worktrees, approved.result.text), ()
        plan = approved.judged.plan
        await keep_files(self._log, self._toolbox, call, merge_actions(plan))
        self._log.sync()
        self._log.emit(ToolRunStarted(call.call_id, call.name, worktree.name))
        done = await execute(approved, self._log.folder)
        self._log.emit(ToolRunFinished(call.call_id, call.name, done))
        if done.is_error:
            return await self._kept(worktree, worktrees, done.text), ()
        self._log.record(ChildMerged(child.child_id))
        self._checks.note_edit(plan.targets)
        await asyncio.to_thread(worktrees.remove, worktree, discard=True)
        added = f"\nThe user added: {approved.comment}" if approved.comment else ""
        return f"{done.text}{added}", done.shown

    async def _approved(
        self, call: ToolCallFinished, child: ChildOpened, tool: MergeWorktree, ask: Ask
    ) -> Approved | Refused:
        """Judged as an edit of the subtask: its mode says which files it may change, the policy all else."""
        mode = child.subtask.mode if child.subtask is not None else ""

        def rules() -> Rules:
            return replace(self._toolbox.rules, mode=self._config.mode(mode))

        params = MergeParams(worktree=child.worktree)
        resolved = ResolvedCall(call.call_id, call.name, tool, params)
        judged = await judge(resolved, self._toolbox.context(call.call_id), rules())
        if isinstance(judged, Refused):
            return judged
        return await approve(judged, lambda judged: ask(call, judged), rules)

    async def _kept(self, worktree: Worktree, worktrees: Worktrees, why: str) -> str:
        """Its changes stay on its branch, for the user to decide."""
        await asyncio.to_thread(worktrees.commit, worktree, f"Changes of the subtask {worktree.task}")
        where = f"They are in the worktree {quoted(worktree.folder)}, on the branch {worktree.branch}"
        how = f"the user can merge them with `joey worktrees merge {worktree.name}`"
        return f"Its changes were not merged. {why}\n{where}; {how}."
