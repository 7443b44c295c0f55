"""Replace one unique string of a file."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from joey.tools.base import Params, PathText, ToolContext
from joey.tools.display import Display
from joey.tools.editing.planning import OneFileTool, Prepared
from joey.tools.editing.text_edit import Remedies, TextEdit, prepare_text_edits
from joey.wire import JsonObject

_REMEDIES = Remedies("Make old_string unique by adding lines around it.")


class SearchReplaceParams(Params):
    file_path: PathText = Field(description="The file to change, relative to the workspace folder. It must exist.")
    old_string: str = Field(description="The text to replace, exactly as it is in the file, and only once there.")
    new_string: str = Field(description="The text to put there, exactly as it should be.")


class SearchReplace(OneFileTool[SearchReplaceParams]):
    name = "search_replace"
    display = Display(("file_path",), kind="edit")
    params = SearchReplaceParams
    example: JsonObject = {"file_path": "src/area.py", "old_string": "w + h", "new_string": "w * h"}
    field_aliases: Mapping[str, str] = {"path": "file_path"}
    opt_in = True

    def target(self, params: SearchReplaceParams) -> str:
        return params.file_path

    def prepare(self, params: SearchReplaceParams, context: ToolContext) -> Prepared:
        edits = [TextEdit(params.old_string, params.new_string)]
        return prepare_text_edits(context, params.file_path, edits, _REMEDIES)
