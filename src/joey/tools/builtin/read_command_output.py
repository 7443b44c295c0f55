"""Read what was kept of a command's output."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from pydantic import Field

from joey.bounded.folders import reason
from joey.messages import ToolResult
from joey.tools.base import Params, Tool, ToolContext, failed, ok
from joey.tools.display import Display
from joey.tools.reading.lines import shorten
from joey.tools.shell.artifacts import ARTIFACT_ID, Matches, artifacts, find_lines, folder_of, read_page, read_record
from joey.tools.shell.job import ExitStatus, describe_status
from joey.tools.shell.jobs import Jobs
from joey.tools.shell.output import format_size

LIMIT = 40_960
_MAX_LIMIT = 256 * 1024
_MAX_MATCH = 2_000


class ReadCommandOutputParams(Params):
    artifact_id: str = Field(description="The id that execute_command gave, such as cmd-3.txt.")
    search: str | None = Field(
        default=None, description="Show only lines that match this regular expression, whatever their letter case."
    )
    offset: int = Field(default=0, ge=0, description="The byte to begin at.")
    limit: int = Field(default=LIMIT, ge=1, description="How many bytes to show at most.")


class ReadCommandOutput(Tool[ReadCommandOutputParams]):
    name = "read_command_output"
    display = Display(("artifact_id",), kind="read")
    group = "command"
    params = ReadCommandOutputParams
    field_aliases = {"id": "artifact_id", "job_id": "artifact_id", "pattern": "search"}
    example = {"artifact_id": "cmd-3.txt", "search": "error|failed"}

    async def run(self, params: ReadCommandOutputParams, context: ToolContext) -> ToolResult:
        path = _artifact(params.artifact_id, context)
        if path is None:
            return failed(_unknown(params.artifact_id, context))
        try:
            if params.search:
                return await _search(path, params, context)
            return await _read(path, params, context)
        except OSError as problem:
            return failed(f"Error: {path.name} cannot be read: {reason(problem)}.")


def _artifact(given: str, context: ToolContext) -> Path | None:
    name = given.strip() if given.strip().endswith(".txt") else f"{given.strip()}.txt"
    path = folder_of(context.storage) / name
    return path if ARTIFACT_ID.fullmatch(name) and path.is_file() else None


def _unknown(given: str, context: ToolContext) -> str:
    known = [path.name for path in artifacts(context.storage)]
    there = f"Kept outputs: {', '.join(known[-20:])}." if known else "No output has been kept in this task."
    shape = "" if re.fullmatch(r"cmd-\d+(\.txt)?", given.strip()) else " An id looks like cmd-3.txt."
    return f"Error: there is no kept output {given!r}.{shape} {there}"


async def _read(path: Path, params: ReadCommandOutputParams, context: ToolContext) -> ToolResult:
    page = await asyncio.to_thread(read_page, path, params.offset, min(params.limit, _MAX_LIMIT))
    if params.offset >= max(page.total, 1):
        return failed(f"Error: offset {params.offset} is beyond the end of {path.name}, which has {page.total} bytes.")
    more = page.end < page.total
    shown = f"Showing bytes {page.start}-{page.end}"
    head = [
        *_head(path, context),
        f"Total size: {format_size(page.total)} | {shown} | {'TRUNCATED' if more else 'COMPLETE'}",
        *([f"To read on, use offset={page.end}."] if more else []),
    ]
    return ok("\n".join([*head, "", _numbered(page.text, page.first_line) if page.total else "(no output)"]))


def _numbered(text: str, first: int) -> str:
    lines = text.removesuffix("\n").split("\n")
    return "\n".join(f"{number:>5} | {line}" for number, line in enumerate(lines, first))


async def _search(path: Path, params: ReadCommandOutputParams, context: ToolContext) -> ToolResult:
    assert params.search is not None
    if "\0" in params.search:
        return failed("Error: a NUL character cannot be searched for.")
    matches = await find_lines(path, params.search, min(params.limit, _MAX_LIMIT))
    head = [*_head(path, context), f'Search: "{params.search}"', _count(matches)]
    shown = [
        f"{'?' if line.number is None else line.number:>5} | {shorten(line.text.rstrip(chr(10)), _MAX_MATCH)}"
        for line in matches.lines
    ]
    return ok("\n".join([*head, "", *shown]).rstrip("\n"))


def _count(matches: Matches) -> str:
    if not matches.lines:
        return "No matches found."
    if matches.more:
        return f"Showing the first {len(matches.lines)} matches; there are more. Narrow the search, or raise limit."
    return f"Total matches: {len(matches.lines)}"


def _head(path: Path, context: ToolContext) -> list[str]:
    job, record = context.memory[Jobs].find(path.name), read_record(path)
    head = [f"[Command Output: {path.name}]"]
    if record is not None:
        head.append(f"Command: {record.command}")
    if job is not None:
        return [*head, f"Status: {describe_status(job.exit, is_running=job.is_running)}"]
    if record is not None and record.exit_code is None:
        return [*head, "Status: unknown; Joey was stopped before the command ended"]
    return head if record is None else [*head, f"Status: {ExitStatus.of(record.exit_code or 0)}"]
