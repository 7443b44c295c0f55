"""The supervisor for small models: it refuses the same call at once, disables tools that can do no good, and checks
facts before a completion goes to the user."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from joey.actions import Action
from joey.messages import ToolResult
from joey.policy.paths import Workspace
from joey.task.profiles.base import Objection, Supervisor
from joey.task.profiles.small.completion_checks import CompletionChecks
from joey.task.repetition import Repetition
from joey.tools.base import Plan, failed
from joey.wire import JsonValue


class SmallSupervisor(Supervisor):
    def __init__(self, folder: Path, paths: Workspace, repetition_limit: int, result_limit: int) -> None:
        super().__init__(Repetition(repetition_limit, at_once=True))
        self._folder = folder
        self._paths = paths
        self._result_limit = result_limit
        self._checks = self._checks_of("", ())

    def _checks_of(self, text: str, touched: Iterable[str], *, underway: bool = False) -> CompletionChecks:
        return CompletionChecks(
            text, self._folder, self._result_limit, touched=tuple(touched), underway=underway, hidden=self._not_shown
        )

    def _not_shown(self, path: Path) -> bool:
        located = self._paths.locate(str(path))
        return located.problem is not None or located.hidden_by is not None or not located.inside

    def new_request(self, text: str, *, underway: bool = False) -> None:
        self._checks = self._checks_of(text, self._checks.touched, underway=underway)

    def new_message(self) -> None:
        self._checks.is_question = False

    def on_refusal(self, tool: str, name: str, arguments: JsonValue, plan: Plan, refusal: ToolResult) -> ToolResult:
        self._unsuccessful.append((tool, self._suggested(plan.suggested)))
        if tool in plan.suggested:
            refusal = failed(f"{refusal.text}{self._checks.reminder}")
        return super().on_refusal(tool, name, arguments, plan, refusal)

    def after(self, name: str, arguments: JsonValue, actions: Sequence[Action], result: ToolResult) -> None:
        if not result.is_error:
            self._checks.ran(actions)
        super().after(name, arguments, actions, result)

    def completion(self, claim: str) -> str | Objection:
        self._unsuccessful.clear()
        claim = self._checks.claimed(claim)
        objection = self._checks.objection(claim)
        if objection is None:
            return claim
        if objection.suggested:
            self._unsuccessful.append(("attempt_completion", self._suggested(objection.suggested)))
        return objection

    def _suggested(self, tools: tuple[str, ...]) -> tuple[str, ...]:
        """A model that was asked a question and calls without success has seen what it will see: it gets to answer."""
        ends = not tools or "attempt_completion" in tools
        return ("attempt_completion",) if self._checks.is_question and ends else tools

    def _disabled(self, tools: set[str]) -> Iterable[str]:
        yield from super()._disabled(tools)
        yield from self._checks.too_early
