"""Write a whole file."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from joey.system.filenames import quoted
from joey.tools.base import Params, PathText, ToolContext
from joey.tools.display import Display
from joey.tools.editing.document import with_ends_of
from joey.tools.editing.planning import EditRefused, OneFileTool, Prepared, new_file, no_changes, open_source
from joey.tools.seen_files import changed_since_seen
from joey.wire import JsonObject


class WriteToFileParams(Params):
    path: PathText = Field(description="The file to write, relative to the workspace folder.")
    file_text: str = Field(description="The whole new content of the file, exactly as it should be.")


class WriteToFile(OneFileTool[WriteToFileParams]):
    name = "write_to_file"
    display = Display(("path",), kind="edit")
    params = WriteToFileParams
    example: JsonObject = {"path": "src/greet.py", "file_text": "print('hello')\n"}
    aliases = ("write_file",)
    field_aliases: Mapping[str, str] = {"content": "file_text", "file_path": "path"}

    def target(self, params: WriteToFileParams) -> str:
        return params.path

    def prepare(self, params: WriteToFileParams, context: ToolContext) -> Prepared:
        source = open_source(context, params.path)
        if source is None:
            change = new_file(context, params.path, params.file_text)
            return Prepared((change,), f"File successfully written to {quoted(params.path)}", show_state=False)
        if changed_since_seen(context, source.path, source.data):
            raise EditRefused(
                f"{quoted(params.path)} was changed by somebody else since you last read it; "
                "writing it whole would undo that. Nothing was changed. "
                "Read the file again, then write it or edit the part you mean."
            )
        document = with_ends_of(source.document, params.file_text)
        change = source.edited(document)
        if change.is_void:
            return Prepared((), no_changes(quoted(params.path)))
        details = []
        if document.text != params.file_text:
            details.append("The line ends of the file were kept.")
        if not source.file.is_plain:
            details.append(f"The encoding of the file ({source.file.encoding_name}) was kept.")
        return Prepared(
            (change,), f"File successfully written to {quoted(params.path)}", tuple(details), show_state=False
        )
