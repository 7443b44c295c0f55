"""Say that the task is done. The task loop shows the result and asks the user."""

from __future__ import annotations

from pydantic import Field

from joey.actions import Action, AskUser
from joey.effects import CompletionProposed
from joey.messages import ToolResult
from joey.tools.base import Params, Tool, ToolContext, failed, ok
from joey.tools.todos import open_todos, render_checklist


class AttemptCompletionParams(Params):
    result: str = Field(description="What was done, as a final statement that does not end in a question or an offer.")


class AttemptCompletion(Tool[AttemptCompletionParams]):
    name = "attempt_completion"
    group = "always"
    params = AttemptCompletionParams
    example = {"result": "The server now reads its port from PORT; the tests pass."}

    def __init__(self, *, needs_closed_todos: bool = False) -> None:
        self._needs_closed_todos = needs_closed_todos

    def actions(self, params: AttemptCompletionParams, context: ToolContext) -> tuple[Action, ...]:
        return (AskUser(),)

    async def run(self, params: AttemptCompletionParams, context: ToolContext) -> ToolResult:
        problem = self._problem(params, context)
        return failed(problem) if problem else ok(params.result, effect=CompletionProposed(params.result))

    def _problem(self, params: AttemptCompletionParams, context: ToolContext) -> str | None:
        if context.failed_this_turn:
            tools = ", ".join(dict.fromkeys(context.failed_this_turn))
            return (
                f"The task cannot be completed in this turn because a tool failed in it: {tools}. "
                "Read the error, put it right or work around it, and call attempt_completion in a later turn."
            )
        still_open = open_todos(context.todos)
        if self._needs_closed_todos and still_open:
            return (
                f"The task cannot be completed while todos are open:\n{render_checklist(still_open)}\n"
                "Do them, or take them off the list with update_todo_list, and call attempt_completion again."
            )
        if not params.result.strip():
            return 'The argument "result" is empty. Say in it what was done.'
        return None
