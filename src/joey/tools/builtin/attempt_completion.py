"""Say that the task is done. Whether it is, the task decides (`joey.task.completion`)."""

from __future__ import annotations

from pydantic import Field

from joey.actions import Action, AskUser
from joey.effects import CompletionProposed
from joey.messages import ToolResult
from joey.tools.base import Params, Tool, ToolContext, ok
from joey.tools.display import Display


class AttemptCompletionParams(Params):
    result: str = Field(description="What was done, as a final statement that does not end in a question or an offer.")


class AttemptCompletion(Tool[AttemptCompletionParams]):
    name = "attempt_completion"
    display = Display(("result",), role="result")
    group = "always"
    params = AttemptCompletionParams
    example = {"result": "The server now reads its port from PORT; the tests pass."}

    def actions(self, params: AttemptCompletionParams, context: ToolContext) -> tuple[Action, ...]:
        return (AskUser(),)

    async def run(self, params: AttemptCompletionParams, context: ToolContext) -> ToolResult:
        return ok(params.result, effect=CompletionProposed(params.result))
