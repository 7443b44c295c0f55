"""Replace a string of a file in a stated number of places, or create a file."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from joey.system.filenames import quoted
from joey.tools.base import Params, PathText, ToolContext
from joey.tools.display import Display
from joey.tools.editing.document import with_ends_of
from joey.tools.editing.planning import EditRefused, OneFileTool, Prepared, new_file, no_changes, open_source
from joey.tools.editing.text_edit import Remedies, TextEdit, prepare_text_edits
from joey.wire import JsonObject

_REMEDIES = Remedies("Make old_string fit by adding lines around it,", "or set expected_replacements to the number.")


class EditFileParams(Params):
    file_path: PathText = Field(description="The file to change or create, relative to the workspace folder.")
    old_string: str = Field(description="The text to replace, exactly as it is in the file; empty to create the file.")
    new_string: str = Field(description="The text to put there, exactly as it should be.")
    expected_replacements: int = Field(1, ge=1, description="In how many places old_string is; all are replaced.")


class EditFile(OneFileTool[EditFileParams]):
    name = "edit_file"
    display = Display(("file_path",), kind="edit")
    params = EditFileParams
    example: JsonObject = {"file_path": "src/area.py", "old_string": "w + h", "new_string": "w * h"}
    field_aliases: Mapping[str, str] = {"path": "file_path"}
    opt_in = True

    def target(self, params: EditFileParams) -> str:
        return params.file_path

    def prepare(self, params: EditFileParams, context: ToolContext) -> Prepared:
        if not params.old_string:
            return _prepare_new(params, context)
        edit = TextEdit(params.old_string, params.new_string, params.expected_replacements)
        return prepare_text_edits(context, params.file_path, [edit], _REMEDIES)


def _prepare_new(params: EditFileParams, context: ToolContext) -> Prepared:
    source = open_source(context, params.file_path)
    if source is None:
        change = new_file(context, params.file_path, params.new_string)
    elif source.file.text == params.new_string:
        return Prepared((), no_changes(quoted(params.file_path)))
    elif not source.file.text:
        change = source.edited(with_ends_of(source.document, params.new_string))
    else:
        raise EditRefused(
            f"{quoted(params.file_path)} exists and is not empty, so it cannot be created. Nothing was changed. "
            "Put the text to replace in old_string, or use write_to_file to replace the whole file."
        )
    return Prepared((change,), f"File successfully written to {quoted(params.file_path)}", show_state=False)
