"""Replace a string of a file, once or everywhere, or several strings one after the other."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from joey.tools.base import Params, PathText, ToolContext
from joey.tools.display import Display
from joey.tools.editing.planning import EditRefused, OneFileTool, Prepared
from joey.tools.editing.text_edit import Remedies, TextEdit, prepare_text_edits
from joey.wire import JsonObject

_REMEDIES = Remedies("Make the old string unique by adding lines around it", "or set replace_all to change all.")


class Operation(Params):
    search: str = Field(description="The text to replace, exactly as it is in the file, and only once there.")
    replace: str = Field(description="The text to put there.")


class SearchAndReplaceParams(Params):
    file_path: PathText = Field(description="The file to change, relative to the workspace folder. It must exist.")
    old_string: str | None = Field(None, description="The text to replace, exactly as it is in the file.")
    new_string: str | None = Field(None, description="The text to put there, exactly as it should be.")
    replace_all: bool = Field(False, description="Replace every occurrence instead of the only one.")
    operations: list[Operation] | None = Field(
        None, description="Instead of old_string and new_string: several replacements, made in this order."
    )


class SearchAndReplace(OneFileTool[SearchAndReplaceParams]):
    name = "search_and_replace"
    display = Display(("file_path",), kind="edit")
    params = SearchAndReplaceParams
    example: JsonObject = {"file_path": "src/area.py", "old_string": "w + h", "new_string": "w * h"}
    aliases = ("edit",)
    field_aliases: Mapping[str, str] = {"path": "file_path"}
    opt_in = True

    def target(self, params: SearchAndReplaceParams) -> str:
        return params.file_path

    def prepare(self, params: SearchAndReplaceParams, context: ToolContext) -> Prepared:
        count = None if params.replace_all else 1
        if params.operations:
            if params.old_string is not None or params.new_string is not None:
                raise EditRefused(
                    "Give either old_string and new_string, or operations, not both. Nothing was changed."
                )
            edits = [TextEdit(each.search, each.replace, count) for each in params.operations]
        elif params.old_string is not None and params.new_string is not None:
            edits = [TextEdit(params.old_string, params.new_string, count)]
        else:
            missing = "new_string" if params.old_string is not None else "old_string"
            raise EditRefused(f"'{missing}' is missing: give old_string and new_string, or operations.")
        return prepare_text_edits(context, params.file_path, edits, _REMEDIES)
