"""Where a task stops by itself and the user decides whether it continues: limits, mistakes, a model that refuses."""

from __future__ import annotations

from joey.events import Outcome, TaskFinished
from joey.messages import Block, TextBlock
from joey.protocols.reply import Reply
from joey.task import wording
from joey.task.config import TaskConfig
from joey.task.log import TaskLog
from joey.task.profiles.base import Supervisor
from joey.task.requests import Requests
from joey.task.subtasks import Family
from joey.task.toolbox import Toolbox


class LimitChecks:
    """Counts what one task has spent and got wrong."""

    def __init__(self, config: TaskConfig, log: TaskLog, requests: Requests, toolbox: Toolbox, family: Family) -> None:
        self._config = config
        self._log = log
        self._requests = requests
        self._toolbox = toolbox
        self._family = family
        self._mistakes = 0
        self._turns_allowed, self._cost_allowed = 0, 0.0
        """How much of the limits the user has waved through."""

    async def exceeded(self) -> TaskFinished | None:
        """Before a turn: the end, if there must not be another."""
        state, max_turns = self._log.state, self._config.limits.max_turns
        if max_turns is not None and state.spending.turns >= max_turns:
            return TaskFinished("limit", f"the task reached its limit of turns ({max_turns})")
        if over := self._over_budget():
            return TaskFinished("limit", over)
        turns, cost = state.spending.turns, self._cost
        reason = self._toolbox.approvals.over_limit(turns - self._turns_allowed, cost - self._cost_allowed)
        if reason is None:
            return None
        if not await self._requests.continues(reason):
            return TaskFinished("limit", reason)
        self._turns_allowed, self._cost_allowed = state.spending.turns, self._cost
        return None

    @property
    def _cost(self) -> float:
        """What the task took; that of its subtasks counts with that of the task a person started."""
        below = self._family.budget.taken.cost if self._family.depth == 0 else 0.0
        return (self._log.state.spending.cost or 0.0) + below

    def _over_budget(self) -> str | None:
        """Why a subtask must not have another turn. Nobody is asked: its parent decides what to do about it."""
        if self._family.depth == 0:
            return None
        self._family.budget.report(self._log.task_id, self._log.state)
        return self._family.budget.exceeded(self._log.state)

    async def after_refusal(self, reply: Reply, reminder: str) -> list[Block] | TaskFinished:
        """The model itself will not. Asking it the same again is of no use, so the user says how to continue."""
        words = reply.text.strip()
        reason = f"The model refused to go on: {words}" if words else "The model refused to go on, and did not say why."
        continued = await self._requests.ask_to_continue(reason)
        if not continued.yes:
            return TaskFinished("refused", reason)
        guided = wording.guidance(reason, continued.text) if continued.text else wording.no_tool_used(reminder)
        return [TextBlock(guided)]

    async def after_turn(self, supervisor: Supervisor, *, succeeded: bool, denied: bool) -> list[Block] | TaskFinished:
        """After a turn: what the user has to say to a model that gets nothing right, or the end."""
        verdict = supervisor.take_verdict()
        self._mistakes = 0 if succeeded else self._mistakes + 1
        limit = self._config.limits.mistake_limit
        if not verdict and (not limit or self._mistakes < limit):
            return []
        why = ", and the last call was not approved" if denied else ""
        left = f" {supervisor.left}" if supervisor.left else ""
        turns = "turn" if self._mistakes == 1 else f"{self._mistakes} turns"
        reason = verdict or f"The last {turns} made no progress{why}.{left}"
        continued = await self._requests.ask_to_continue(reason)
        if not continued.yes:
            ended: Outcome = "limit" if self._config.hooks.headless else "cancelled"
            return TaskFinished("refused" if denied else ended, reason)
        self._mistakes = 0
        if not continued.text:
            return []
        return [TextBlock(wording.guidance(reason, continued.text)), *await self._requests.expand(continued.text)]
