"""The tools of a small model: few, in short words, and a writer that looks before it overwrites."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from joey.system.filenames import quoted
from joey.tools.base import Tool, ToolContext
from joey.tools.builtin import builtin_tools
from joey.tools.builtin.write_to_file import WriteToFile, WriteToFileParams
from joey.tools.editing.planning import EditRefused, OneFileTool, Prepared, SourceFile, open_source
from joey.tools.options import BuiltinOptions
from joey.tools.seen_files import changed_since_seen, was_seen
from joey.toolspec import ToolSpec

CORE = (
    "read_file",
    "write_to_file",
    "edit_file",
    "search_files",
    "execute_command",
    "ask_followup_question",
    "attempt_completion",
)
"""What small work needs, in the order in which a small model is told of it."""
_MAX_SHOWN = 300
_MAX_COMPARED = 300


def careful_tools(options: BuiltinOptions) -> tuple[Tool[Any], ...]:
    """The built-in tools: lines are shown without numbers, which would be copied into files, and writing is careful."""
    tools = builtin_tools(replace(options, line_numbers=False))
    return tuple(CarefulWriter(tool) if isinstance(tool, WriteToFile) else tool for tool in tools)


def short_spec(spec: ToolSpec) -> ToolSpec:
    """The same tool for a model with little room: one sentence, and only the arguments no call can do without.

    A file is called `path` by every tool that takes it by that name.
    """
    required = (name for name in spec.parameters if name in (spec.schema.get("required") or ()))
    needed = {name: "path" if spec.aliases.get("path") == name else name for name in required}
    properties = {new: spec.schema["properties"][old] for old, new in needed.items()}
    schema = {**spec.schema, "properties": properties, "required": list(properties)}
    example = {new: spec.example[old] for old, new in needed.items() if old in spec.example}
    return replace(spec, description=spec.summary, schema=schema, example=example)


class CarefulWriter(OneFileTool[WriteToFileParams]):
    """write_to_file for models that write what they have not read and write back what they have: an existing file must
    have been read, its last line stays ended, writing the same again is an error, and what leaves most of the file out
    must be sent twice."""

    name, group, params = WriteToFile.name, WriteToFile.group, WriteToFile.params
    aliases, field_aliases, example = WriteToFile.aliases, WriteToFile.field_aliases, WriteToFile.example

    def __init__(self, inner: WriteToFile) -> None:
        self._inner = inner
        self.description = inner.description

    def target(self, params: WriteToFileParams) -> str:
        return self._inner.target(params)

    def prepare(self, params: WriteToFileParams, context: ToolContext) -> Prepared:
        context.memory[_Targets].add(params.path)
        source = open_source(context, params.path)
        if source is None or changed_since_seen(context, source.path, source.data):
            return self._inner.prepare(params, context)
        _take_care(source, params, context)
        ends = source.file.text.endswith("\n") and not params.file_text.endswith("\n")
        text = params.file_text + "\n" if ends else params.file_text
        prepared = self._inner.prepare(params.model_copy(update={"file_text": text}), context)
        if not prepared.changes:
            raise EditRefused(
                f"Nothing was written: {quoted(params.path)} holds exactly this already.",
                suggested=(*(() if _insists(context, params) else (self.name,)), "edit_file", "attempt_completion"),
            )
        return prepared


def _take_care(source: SourceFile, params: WriteToFileParams, context: ToolContext) -> None:
    """Refuse to overwrite what was not read, and, once, to leave most of it out."""
    old = source.file.text
    if old.strip() and not was_seen(context, source.path):
        raise EditRefused(
            f"Nothing was written: {quoted(params.path)} exists, and you have not read it. Call read_file first.",
            suggested=("read_file",),
        )
    if (lost := _left_out(old, _kept_in(params, context))) and not _insists(context, params):
        raise EditRefused(
            f"Nothing was written: {quoted(params.path)} would lose {lost}\nWrite all of it, these lines and yours.",
            suggested=("write_to_file", "edit_file"),
        )


def _kept_in(params: WriteToFileParams, context: ToolContext) -> str:
    """What is written, and what stands in the other files of such calls: a line that was moved there is not lost."""
    texts = [params.file_text]
    for path in sorted(context.memory[_Targets] - {params.path}):
        with suppress(EditRefused):
            other = open_source(context, path)
            texts.append("" if other is None else other.file.text)
    return "\n".join(texts)


def _left_out(old: str, new: str) -> str:
    """The lines that would be lost, if they are most of the file. One that was only changed is not lost, and an only
    line may well be the one to change."""
    lines = [line.strip() for line in old.splitlines() if line.strip()]
    kept = [line.strip() for line in new.splitlines()[:_MAX_COMPARED]]
    lost = [line for line in lines if line not in new and not get_close_matches(line, kept, 1)]
    return "; ".join(lost)[:_MAX_SHOWN] if len(lines) > 1 and len(lost) * 2 > len(lines) else ""


class _Targets(set[str]):
    """The paths of the calls."""


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
