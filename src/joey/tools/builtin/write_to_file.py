"""Write a whole file."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from joey.tools.base import Params, ToolContext
from joey.tools.edit.document import with_ends_of
from joey.tools.edit.planning import EditRefused, Prepared, new_file, open_source
from joey.tools.edit.tool import OneFileTool
from joey.tools.seen_files import changed_since_seen, was_seen
from joey.wire import JsonObject


class WriteToFileParams(Params):
    path: str = Field(description="The file to write, relative to the workspace folder.")
    file_text: str = Field(description="The whole new content of the file, exactly as it should be.")


class WriteToFile(OneFileTool[WriteToFileParams]):
    name = "write_to_file"
    params = WriteToFileParams
    example: JsonObject = {"path": "src/greet.py", "file_text": "print('hello')\n"}
    aliases = ("write_file",)
    field_aliases: Mapping[str, str] = {"content": "file_text", "file_path": "path"}

    def __init__(self, *, careful: bool = False) -> None:
        """`careful` is for small models, which write what they have not read and write back what they have: an existing
        file must have been read, its last line stays ended, and writing the same again is an error."""
        self._careful = careful

    def target(self, params: WriteToFileParams) -> str:
        return params.path

    def prepare(self, params: WriteToFileParams, context: ToolContext) -> Prepared:
        source = open_source(context, params.path)
        if source is None:
            change = new_file(context, params.path, params.file_text)
            return Prepared((change,), f"File successfully written to {params.path}", show_state=False)
        if changed_since_seen(context, source.path, source.data):
            raise EditRefused(
                f"{params.path} was changed by somebody else since you last read it; writing it whole would undo that. "
                "Nothing was changed. Read the file again, then write it or edit the part you mean."
            )
        text = params.file_text
        if self._careful:
            if source.file.text.strip() and not was_seen(context, source.path):
                raise EditRefused(
                    f"Nothing was written: {params.path} exists, and you have not read it. Call read_file first."
                )
            text += "\n" if source.file.text.endswith("\n") and not text.endswith("\n") else ""
        document = with_ends_of(source.document, text)
        change = source.edited(document)
        if change.is_void and self._careful:
            raise EditRefused(
                f"Nothing was written: {params.path} holds exactly this already. "
                "For a question, call attempt_completion with the answer. For a change, write it with the change."
            )
        if change.is_void:
            return Prepared((), f"{params.path} already has exactly this content.")
        details = []
        if document.text != text:
            details.append("The line ends of the file were kept.")
        if not source.file.is_plain:
            details.append(f"The encoding of the file ({source.file.encoding_name}) was kept.")
        return Prepared((change,), f"File successfully written to {params.path}", tuple(details), show_state=False)
