"""Instructions for jobs that are rare enough not to stand in every prompt."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from joey.messages import ToolResult
from joey.tools.base import Params, Tool, ToolContext, ok
from joey.tools.display import Display

_FOLDER = Path(__file__).parent / "instructions"


class FetchInstructionsParams(Params):
    task: Literal["create_mcp_server", "create_mode"] = Field(description="The job you need instructions for.")


class FetchInstructions(Tool[FetchInstructionsParams]):
    name = "fetch_instructions"
    display = Display(("task",), kind="read")
    group = "read"
    params = FetchInstructionsParams
    example = {"task": "create_mode"}

    async def run(self, params: FetchInstructionsParams, context: ToolContext) -> ToolResult:
        return ok((_FOLDER / f"{params.task}.md").read_text(encoding="utf-8").strip())
