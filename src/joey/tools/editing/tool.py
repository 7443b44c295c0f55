"""What the tools that edit files have in common: everything but how the edit is worked out."""

from __future__ import annotations

import os
from abc import abstractmethod
from dataclasses import replace
from pathlib import Path

from joey.actions import Action, WritePath
from joey.messages import ToolResult
from joey.tools.base import ParamsT, Plan, Tool, ToolContext
from joey.tools.editing.planning import EditRefused, Prepared, plan_edit, real_path
from joey.toolspec import Group


class EditTool(Tool[ParamsT]):
    """Subclasses work the edit out and list its actions; asking, writing and answering is done here."""

    group: Group = "edit"

    @abstractmethod
    def prepare(self, params: ParamsT, context: ToolContext) -> Prepared:
        """Work the edit out without changing anything. Raises EditRefused if it cannot be made."""

    async def plan(self, params: ParamsT, context: ToolContext) -> Plan:
        read = list[Path]()
        watched = replace(context, reading=read.append)
        plan = await plan_edit(context, lambda: self.prepare(params, watched), params)
        # A refusal quotes what was read, so that is judged, too: as a change, which is what the call declares.
        return replace(plan, targets=tuple(dict.fromkeys((*plan.targets, *read))))

    async def run(self, params: ParamsT, context: ToolContext) -> ToolResult:
        return await (await self.plan(params, context)).execute()


class OneFileTool(EditTool[ParamsT]):
    """Edits one file."""

    @abstractmethod
    def target(self, params: ParamsT) -> str:
        """The path of the file, as the model wrote it."""

    def actions(self, params: ParamsT, context: ToolContext) -> tuple[Action, ...]:
        name = self.target(params)
        try:
            exists = os.path.exists(real_path(context, name))  # noqa: PTH110 - also answers for impossible names
        except EditRefused:
            exists = False
        return (WritePath(name, "modify" if exists else "create"),)
