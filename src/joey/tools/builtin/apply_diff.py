"""Change parts of a file with SEARCH/REPLACE blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from pydantic import Field

from joey.system.filenames import quoted
from joey.tools.base import Params, PathText, ToolContext
from joey.tools.display import Display
from joey.tools.editing.block_edit import apply_blocks
from joey.tools.editing.blocks import BlockError, read_blocks
from joey.tools.editing.outcomes import report
from joey.tools.editing.planning import EditRefused, OneFileTool, Prepared, missing_file, not_as_read, open_source
from joey.tools.options import BuiltinOptions
from joey.wire import JsonObject


class ApplyDiffParams(Params):
    path: PathText = Field(description="The file to change, relative to the workspace folder. It must exist.")
    diff: str = Field(description="One or more SEARCH/REPLACE blocks, as described.")


class ApplyDiff(OneFileTool[ApplyDiffParams]):
    """`fuzzy` is how alike (0 to 1) lines must be that are found nowhere else; None leaves that stage out."""

    name = "apply_diff"
    display = Display(("path",), kind="edit")
    params = ApplyDiffParams
    field_aliases: Mapping[str, str] = {"file_path": "path"}
    example: JsonObject = {
        "path": "src/area.py",
        "diff": "<<<<<<< SEARCH\n    return w + h\n=======\n    return w * h\n>>>>>>> REPLACE",
    }

    def __init__(self, *, fuzzy: float | None = None) -> None:
        self._fuzzy = fuzzy

    @classmethod
    def configured(cls, options: BuiltinOptions) -> Self:
        return cls(fuzzy=options.edit_likeness)

    def target(self, params: ApplyDiffParams) -> str:
        return params.path

    def prepare(self, params: ApplyDiffParams, context: ToolContext) -> Prepared:
        source = open_source(context, params.path)
        if source is None:
            raise missing_file(params.path)
        blocks = read_blocks(params.diff)
        if isinstance(blocks, BlockError):
            raise EditRefused(f"{blocks.message}\nNothing was changed.")
        outcome = apply_blocks(source.document, blocks, fuzzy=self._fuzzy)
        verdicts = report(outcome.verdicts, "Block")
        if outcome.failed:
            note = not_as_read(context, source.path, source.name, source.data)
            raise EditRefused(
                f"The diff was not applied to {quoted(params.path)}; nothing was changed.\n{verdicts}{note}"
            )
        return Prepared((source.edited(outcome.document),), f"Changes applied to {quoted(params.path)}", (verdicts,))
