"""Replace the task's todo list."""

from __future__ import annotations

from pydantic import Field

from joey.effects import TodosUpdated
from joey.messages import ShownText, ToolResult
from joey.tools.base import Params, Tool, ToolContext, failed, ok
from joey.tools.display import Display
from joey.tools.todos import parse_checklist, render_checklist, unread_lines


class UpdateTodoListParams(Params):
    todos: str = Field(
        description="The whole list as a Markdown checklist, one item a line: [ ] pending, [-] in progress, [x] done."
    )


class UpdateTodoList(Tool[UpdateTodoListParams]):
    name = "update_todo_list"
    display = Display(role="todos", kind="think")
    group = "always"
    feature = "todo_list"
    params = UpdateTodoListParams
    example = {"todos": "[x] Read the code\n[-] Write the test\n[ ] Run all tests"}

    async def run(self, params: UpdateTodoListParams, context: ToolContext) -> ToolResult:
        todos = parse_checklist(params.todos)
        if params.todos.strip() and not todos:
            return failed("No line of `todos` is a checklist item. Write one item a line, such as: [ ] Run the tests")
        unread = unread_lines(params.todos)
        note = f" Lines that are no items were left out: {'; '.join(unread)[:300]}" if unread else ""
        shown = (ShownText(render_checklist(todos)),)
        return ok(
            f"Todo list updated: {len(todos)} {'item' if len(todos) == 1 else 'items'}.{note}",
            shown=shown,
            effect=TodosUpdated(todos),
        )
