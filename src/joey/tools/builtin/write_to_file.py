"""Write a whole file."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from joey.system.filenames import quoted
from joey.tools.base import Params, PathText, ToolContext
from joey.tools.editing.document import with_ends_of
from joey.tools.editing.planning import EditRefused, Prepared, Source, new_file, open_source
from joey.tools.editing.tool import OneFileTool
from joey.tools.seen_files import changed_since_seen, was_seen
from joey.wire import JsonObject

_MAX_SHOWN = 300


class WriteToFileParams(Params):
    path: PathText = Field(description="The file to write, relative to the workspace folder.")
    file_text: str = Field(description="The whole new content of the file, exactly as it should be.")


class WriteToFile(OneFileTool[WriteToFileParams]):
    name = "write_to_file"
    params = WriteToFileParams
    example: JsonObject = {"path": "src/greet.py", "file_text": "print('hello')\n"}
    aliases = ("write_file",)
    field_aliases: Mapping[str, str] = {"content": "file_text", "file_path": "path"}

    def __init__(self, *, careful: bool = False) -> None:
        """`careful` is for small models, which write what they have not read and write back what they have: an existing
        file must have been read, its last line stays ended, writing the same again is an error, and what leaves
        most of the file out must be sent twice."""
        self._careful = careful

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
        text = params.file_text
        if self._careful:
            _take_care(source, params, context)
            text += "\n" if source.file.text.endswith("\n") and not text.endswith("\n") else ""
        document = with_ends_of(source.document, text)
        change = source.edited(document)
        if change.is_void and self._careful:
            raise EditRefused(
                f"Nothing was written: {quoted(params.path)} holds exactly this already.",
                instead=(*(() if _insists(context, params) else (self.name,)), "edit_file", "attempt_completion"),
            )
        if change.is_void:
            return Prepared((), f"{quoted(params.path)} already has exactly this content.")
        details = []
        if document.text != text:
            details.append("The line ends of the file were kept.")
        if not source.file.is_plain:
            details.append(f"The encoding of the file ({source.file.encoding_name}) was kept.")
        return Prepared(
            (change,), f"File successfully written to {quoted(params.path)}", tuple(details), show_state=False
        )


def _take_care(source: Source, params: WriteToFileParams, context: ToolContext) -> None:
    """Refuse to overwrite what was not read, and, once, to leave most of it out."""
    old = source.file.text
    if old.strip() and not was_seen(context, source.path):
        raise EditRefused(
            f"Nothing was written: {quoted(params.path)} exists, and you have not read it. Call read_file first.",
            instead=("read_file",),
        )
    if (lost := _left_out(old, params.file_text)) and not _insists(context, params):
        raise EditRefused(
            f"Nothing was written: {quoted(params.path)} would lose {lost}\nWrite all of it, these lines and yours.",
            instead=("write_to_file", "edit_file"),
        )


def _left_out(old: str, new: str) -> str:
    """The lines that would be lost, if they are most of the file. An only line may well be the one to change."""
    lines = [line.strip() for line in old.splitlines() if line.strip()]
    lost = [line for line in lines if line not in new]
    return "; ".join(lost)[:_MAX_SHOWN] if len(lines) > 1 and len(lost) * 2 > len(lines) else ""


class _RefusedWrites(set[tuple[str, str]]):
    """The paths and texts of the calls that were refused."""


def _insists(context: ToolContext, params: WriteToFileParams) -> bool:
    """Whether this very call was made before."""
    refused = context.memory[_RefusedWrites]
    call = (params.path, params.file_text)
    if call in refused:
        return True
    refused.add(call)
    return False
