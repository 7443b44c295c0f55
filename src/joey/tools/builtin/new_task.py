"""Hand a piece of the work to a task of its own. The task loop starts it and returns its result."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, Field

from joey.actions import Action, StartSubtask
from joey.effects import SubtaskStarted
from joey.messages import ToolResult
from joey.tools.base import Params, Tool, ToolContext, failed, ok
from joey.tools.display import Display
from joey.tools.options import BuiltinOptions
from joey.tools.todos import parse_checklist

_MODE = "The slug of the mode the new task works in."
_MESSAGE = "Everything the new task needs to know: goal, context, limits, and what to report at the end."
_TODOS = "The first todo list of the new task, as a Markdown checklist, one item a line."
_NOT_MERGED = r"Its (?P<how>changes were not merged)\b"
"""How the words about the worktree of a subtask begin if its changes are still there (`joey.task.merges`)."""


class NewTaskParams(Params):
    mode: str = Field(min_length=1, description=_MODE)
    message: str = Field(min_length=1, description=_MESSAGE)
    todos: str | None = Field(None, description=_TODOS)


class NewTaskWithTodosParams(Params):
    mode: str = Field(min_length=1, description=_MODE)
    message: str = Field(min_length=1, description=_MESSAGE)
    todos: str = Field(min_length=1, description=_TODOS)


class NewTask(Tool[NewTaskParams | NewTaskWithTodosParams]):
    name = "new_task"
    display = Display(("mode", "message"), headed=True, failure=_NOT_MERGED)
    group = "modes"
    field_aliases = {"mode_slug": "mode"}
    example = {
        "mode": "code",
        "message": "Add a --port option to src/server.py and a test for it. Report the names of the files you changed.",
        "todos": "[ ] Add the option\n[ ] Write the test",
    }

    def __init__(self, *, needs_todos: bool = False) -> None:
        self.params: type[BaseModel] = NewTaskWithTodosParams if needs_todos else NewTaskParams

    @classmethod
    def configured(cls, options: BuiltinOptions) -> Self:
        return cls(needs_todos=options.subtask_needs_todos)

    def actions(self, params: NewTaskParams | NewTaskWithTodosParams, context: ToolContext) -> tuple[Action, ...]:
        return (StartSubtask(params.mode, context.subtask_model(params.mode)),)

    async def run(self, params: NewTaskParams | NewTaskWithTodosParams, context: ToolContext) -> ToolResult:
        if context.modes and params.mode not in context.modes:
            return failed(f"Invalid mode: {params.mode}. Modes: {', '.join(context.modes)}.")
        todos = parse_checklist(params.todos or "")
        if (params.todos or "").strip() and not todos:
            return failed("No line of `todos` is a checklist item. Write one item a line, such as: [ ] Run the tests")
        effect = SubtaskStarted(params.mode, params.message, todos)
        return ok(f"A new task was started in {params.mode} mode; its result follows when it is done.", effect=effect)
