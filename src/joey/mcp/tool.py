"""A server's tool as one of ours.

The model sees the schema the server gave, in the form that providers accept, and a call is checked against exactly
that before anything is asked or sent. What a server says of its own tools (that one only reads, say) is not believed:
every call needs approval, and arguments that are named like paths count as changes to them.
"""

from __future__ import annotations

import json
import time
from typing import Annotated, Any

from pydantic import AfterValidator, RootModel, ValidationError

from joey.actions import Action, CallServer
from joey.frames import in_prompt
from joey.mcp.checking import SchemaChecker, UnusableSchemaError
from joey.mcp.errors import CallError
from joey.mcp.listing import ListedTool
from joey.mcp.names import PREFIX, SEPARATOR, safe_part
from joey.mcp.results import call_result
from joey.mcp.servers import Server
from joey.messages import ToolResult
from joey.schema.normalise import normalise, without_booleans
from joey.schema.repair import ArgumentRepair
from joey.tools.base import Tool, ToolContext, failed
from joey.tools.restrict import mentioned_paths, path_actions
from joey.wire import JsonObject

MAX_DESCRIPTION = 4_000
_BETWEEN_PROGRESS = 0.1

Arguments = RootModel[dict[str, Any]]


class McpTool(Tool[Arguments]):
    """One tool of one server. Raises UnusableSchemaError if its input schema is no schema."""

    group = "mcp"
    params: type[Arguments]

    def __init__(self, server: Server, tool: ListedTool, name: str, *, listed: bool = True) -> None:
        self.name, self.server, self.tool, self.listed = name, server, tool, listed
        self.namespace = SEPARATOR.join((PREFIX, safe_part(server.name)))
        self.description = described(tool)
        # Checked as it came: rewriting it first would hide (or trip over) what is wrong with it.
        SchemaChecker(tool.input_schema)
        normalised = normalise(without_booleans(tool.input_schema), close_objects=False)
        self.notes = normalised.notes
        """What of the schema cannot be sent to the model."""
        self.schema = {"properties": {}, "additionalProperties": False, **normalised.schema}
        checker = SchemaChecker(self.schema)
        self._output = _output_checker(tool)

        def validated(arguments: dict[str, Any]) -> dict[str, Any]:
            if problems := checker.problems(arguments):
                raise ValueError("; ".join(problems))
            return arguments

        self.params = RootModel[Annotated[dict[str, Any], AfterValidator(validated)]]

    @property
    def origin(self) -> str:
        """Where it comes from, for lists of tools."""
        return self.server.name

    def checked(self, arguments: JsonObject) -> Arguments | str:
        """The arguments, checked; or what is wrong with them."""
        repaired = ArgumentRepair(self.schema).arguments(arguments)
        try:
            return self.params.model_validate_json(json.dumps(repaired), strict=True)
        except ValidationError as error:
            return "; ".join(str(each.get("ctx", {}).get("error", each["msg"])) for each in error.errors())

    def actions(self, params: Arguments, context: ToolContext) -> tuple[Action, ...]:
        named, mentioned = path_actions(self.group, params.root), mentioned_paths(self.group, params.root)
        return (CallServer(self.server.name, self.tool.name), *named, *mentioned)

    async def run(self, params: Arguments, context: ToolContext) -> ToolResult:
        what = f"{self.server.name}/{self.tool.name}"
        try:
            answer = await self.server.call(self.tool.name, params.root, _Progress(context), context.ask_form)
        except CallError as error:
            return failed(f"Error: {error}")
        return call_result(answer, what, context, notes=self._lies(answer))

    def _lies(self, answer: JsonObject) -> list[str]:
        if self._output is None or answer.get("isError"):
            return []
        if "structuredContent" not in answer:
            return ["(The server promised structured data with this answer, and sent none.)"]
        problems = self._output.problems(answer["structuredContent"])
        return (
            [f"(This answer is not what the server's own schema promises: {'; '.join(problems)})"] if problems else []
        )


def described(tool: ListedTool) -> str:
    """The server's words, within bounds, and with nothing that passes for a section of the prompt."""
    text = in_prompt(tool.description.strip())
    return text if len(text) <= MAX_DESCRIPTION else f"{text[:MAX_DESCRIPTION]}… (cut)"


def _output_checker(tool: ListedTool) -> SchemaChecker | None:
    if tool.output_schema is None:
        return None
    try:
        return SchemaChecker(tool.output_schema)
    except UnusableSchemaError:
        return None


class _Progress:
    """Shows a call's progress: now and then, however often a server reports it."""

    def __init__(self, context: ToolContext) -> None:
        self._show = context.progress
        self._last = float("-inf")

    def __call__(self, done: float, total: float | None, message: str | None) -> None:
        now = time.monotonic()
        if now - self._last < _BETWEEN_PROGRESS and done != total:
            return
        self._last = now
        count = f"{done:g}/{total:g}" if total else f"{done:g}"
        self._show(f"{message[:500]} ({count})\n" if message else f"{count}\n")
