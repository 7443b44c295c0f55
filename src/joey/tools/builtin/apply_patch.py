"""Change, create, delete and move files with one patch."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from pydantic import Field

from joey.actions import Action
from joey.tools.base import Params, ToolContext
from joey.tools.display import Display
from joey.tools.editing.patch import PatchError, read_patch
from joey.tools.editing.patch_planning import patch_actions, prepare_patch
from joey.tools.editing.planning import EditRefused, EditTool, Prepared
from joey.toolspec import CustomForm
from joey.wire import JsonObject


class ApplyPatchParams(Params):
    patch: str = Field(description="The whole patch, from '*** Begin Patch' to '*** End Patch'.")


class ApplyPatch(EditTool[ApplyPatchParams]):
    name = "apply_patch"
    params = ApplyPatchParams
    display = Display(kind="edit")
    field_aliases: Mapping[str, str] = {"input": "patch"}
    example: JsonObject = {
        "patch": "*** Begin Patch\n*** Update File: area.py\n@@\n-    return w + h\n+    return w * h\n*** End Patch"
    }
    opt_in = True

    @cached_property
    def custom(self) -> CustomForm:  # type: ignore[override]
        """The grammar of OpenAI's Codex (Apache-2.0), word for word: models were trained on it."""
        return CustomForm("patch", Path(__file__).with_suffix(".lark").read_text(encoding="utf-8"))

    def actions(self, params: ApplyPatchParams, context: ToolContext) -> tuple[Action, ...]:
        sections = read_patch(params.patch)
        return () if isinstance(sections, PatchError) else patch_actions(sections)

    def prepare(self, params: ApplyPatchParams, context: ToolContext) -> Prepared:
        sections = read_patch(params.patch)
        if isinstance(sections, PatchError):
            where = "" if sections.line is None else f"Line {sections.line}: "
            raise EditRefused(f"The patch cannot be read. {where}{sections.message}\nNothing was changed.")
        return prepare_patch(context, sections)
