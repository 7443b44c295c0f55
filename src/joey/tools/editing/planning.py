"""From the files an edit would change to a tool's Plan: what is asked about is what is written. `EditTool` is what the
tools that edit files have in common: everything but how the edit is worked out.

The new bytes are made while planning. The diff that the user sees is made from them, and carrying the plan out
writes these bytes or nothing: if a file is no longer what it was, the plan fails.
"""

from __future__ import annotations

import asyncio
import os
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from difflib import unified_diff
from pathlib import Path

from pydantic import BaseModel

from joey.actions import Action, WritePath
from joey.messages import ShownDiff, ToolResult
from joey.system.filenames import quoted
from joey.tools.base import ParamsT, Plan, PlannedTool, ToolContext, failed, ok
from joey.tools.editing.changes import ChangeFailed, FileChange, commit, read_present
from joey.tools.editing.document import Document
from joey.tools.editing.document import changes as line_changes
from joey.tools.editing.outcomes import cut_line
from joey.tools.seen_files import changed_since_seen, digest, note_seen
from joey.tools.textfile import NotTextError, TextFile, UnencodableError, read_text
from joey.tools.unsaved import as_open, disk_of
from joey.toolspec import Group

_CONTEXT_LINES = 3
_MAX_STATE_LINES = 120
_MAX_LINE = 500
_REPEATED = (
    "Already applied: this call is the same as an earlier one, and the file has not changed since. "
    "To make the same change a second time, send it with more of the lines around it.\n"
    "Nothing was written."
)
_STALE = "Note: {} had been changed by somebody else since you last read it. The edit was made in what it is now."


class EditRefused(Exception):  # noqa: N818 - carries the answer to the model
    """The edit cannot be made; the text says why and what to do, and `suggested` with which tools."""

    def __init__(self, words: str, *, suggested: tuple[str, ...] = ()) -> None:
        super().__init__(words)
        self.suggested = suggested


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file as it is now."""

    name: str
    path: Path
    data: bytes
    file: TextFile

    @property
    def document(self) -> Document:
        return Document.read(self.file.text)

    def edited(self, document: Document) -> FileChange:
        try:
            return FileChange(self.path, self.name, self.data, self.file.encode(document.text))
        except UnencodableError as error:
            raise EditRefused(f"{quoted(self.name)}: {error}. Nothing was changed.") from None


def real_path(context: ToolContext, name: str) -> Path:
    """The file behind a path: relative to the workspace, links followed."""
    return _followed(named_path(context, name), name)


def named_path(context: ToolContext, name: str) -> Path:
    """The entry a path names: like `real_path`, but a link at its end stays a link.

    A path that can be read in two ways is refused, for what is written must be what was judged and shown.
    """
    if "\0" in name or not name.strip():
        raise EditRefused(f"{quoted(name)} is no path. Give the path of a file, relative to the workspace folder.")
    if name == "~" or name.startswith("~/"):
        raise EditRefused(
            f"{quoted(name)}: '~' is not understood here. Give the path from the workspace folder, or from '/'."
        )
    if name.endswith("/"):
        raise EditRefused(f"{quoted(name)} names a folder. Give the path of a file; its folders are made with it.")
    whole = context.workspace / name
    path = Path(os.path.normpath(whole))
    if _followed(whole, name) != _followed(path, name):
        raise EditRefused(
            f"{quoted(name)}: '..' behind a symbolic link can mean two files. Give the path without '..'."
        )
    return _followed(path.parent, name) / path.name


def _followed(path: Path, name: str) -> Path:
    """A path with its links followed. One that changes meanwhile (a folder that becomes a link) is refused."""
    try:
        return Path(os.path.realpath(path))
    except OSError as error:
        words = f"{quoted(name)} cannot be followed: {error.strerror}. Nothing was changed; try again."
        raise EditRefused(words) from None


def open_source(context: ToolContext, name: str) -> SourceFile | None:
    """A text file to be edited; None if it is not there. Raises EditRefused if it cannot be edited."""
    path = real_path(context, name)
    context.reading(path)
    data = as_open(context, path, read_present(path, name))
    try:
        return None if data is None else SourceFile(name, path, data, read_text(data))
    except NotTextError as error:
        raise EditRefused(f"{quoted(name)} cannot be edited as text: {error}.") from None


def new_file(context: ToolContext, name: str, text: str) -> FileChange:
    """A file that is not there yet."""
    try:
        return FileChange(real_path(context, name), name, None, TextFile("").encode(text))
    except UnencodableError as error:
        raise EditRefused(f"{quoted(name)}: {error}. Nothing was changed.") from None


def not_as_read(context: ToolContext, path: Path, name: str, data: bytes | None) -> str:
    """What to add to a failure if the file is no longer what the model read; empty if it is."""
    if data is None or not changed_since_seen(context, path, data):
        return ""
    return f"\nNote: {quoted(name)} was changed by somebody else since you last read it. Read it again."


def missing_file(name: str) -> EditRefused:
    return EditRefused(
        f"{quoted(name)} does not exist. Check the path (list_files shows what there is); "
        "to create it, use write_to_file."
    )


@dataclass(frozen=True, slots=True)
class Prepared:
    """An edit that can be made: the changes, and what to tell the model when it is done."""

    changes: tuple[FileChange, ...]
    headline: str
    details: tuple[str, ...] = ()
    show_state: bool = True


async def plan_edit(context: ToolContext, prepare: Callable[[], Prepared], call: BaseModel) -> Plan:
    """The Plan for an edit. The same call sent again is recognised if the files have not changed in between."""
    try:
        prepared = await asyncio.to_thread(prepare)
    except EditRefused as refused:
        return refusal(str(refused), refused.suggested)
    except ChangeFailed as failure:
        return refusal(str(failure))
    changes = tuple(change for change in prepared.changes if not change.is_void)
    if not changes:
        return _nothing_to_do((_unchanged(prepared), *prepared.details))
    key = _key(call)
    if _is_repeated(context, key, changes):
        return _nothing_to_do((_REPEATED,))
    shown = tuple(ShownDiff(change.name, diff_of(change)) for change in changes)
    stale = [_STALE.format(quoted(change.name)) for change in changes if _is_stale(context, change)]
    # Of a file that was just sent whole, the model knows all there is to know.
    states = [new_state(change) for change in changes if prepared.show_state and change.old is not None]
    text = "\n".join(part for part in [prepared.headline, *prepared.details, *stale, *states] if part)

    async def execute() -> ToolResult:
        try:
            await asyncio.to_thread(commit, changes, disk=disk_of(context))
        except ChangeFailed as error:
            return failed(str(error))
        for change in changes:
            note_seen(context, change.path, change.new)
        _remember(context, key, changes)
        return ok(text, shown=shown)

    return Plan((), execute, shown, targets=tuple(change.path for change in changes))


def refusal(text: str, suggested: tuple[str, ...] = ()) -> Plan:
    result = failed(text)
    return Plan((), _answering(result), refusal=result, suggested=suggested)


def diff_of(change: FileChange) -> str:
    """A unified diff for the user. Line ends are only shown where they are what changes."""
    old, new = _text(change.old), _text(change.new)
    if old is None or new is None:
        return f"Binary file {quoted(change.name)} changes.\n"
    keep_returns = old.replace("\r\n", "\n") == new.replace("\r\n", "\n")
    rows = unified_diff(
        _rows(old, keep_returns=keep_returns),
        _rows(new, keep_returns=keep_returns),
        "/dev/null" if change.old is None else quoted(f"a/{change.name}"),
        "/dev/null" if change.new is None else quoted(f"b/{change.name}"),
        n=_CONTEXT_LINES,
    )
    return "".join(row if row.endswith("\n") else row + "\n\\ No newline at end of file\n" for row in rows)


def new_state(change: FileChange) -> str:
    """The places that changed as they are now, with line numbers, so that nobody needs to read the file again."""
    old, new = _text(change.old), _text(change.new)
    if old is None or new is None or change.new is None:
        return ""
    before, after = Document.read(old).lines, Document.read(new).lines
    last = len(after) - (after[-1] == "")
    near: set[int] = set()
    for piece in line_changes(before, after):
        near.update(range(max(piece.new - _CONTEXT_LINES, 0), min(piece.new_end + _CONTEXT_LINES, last)))
    rows: list[str] = []
    width = len(str(max(near, default=0) + 1))
    for number in sorted(near):
        rows += ["…"] if rows and number - 1 not in near else []
        rows.append(f"{number + 1:>{width}} | {cut_line(after[number], _MAX_LINE)}")
    if len(rows) > _MAX_STATE_LINES:
        rows = [*rows[:_MAX_STATE_LINES], f"… {len(rows) - _MAX_STATE_LINES} more lines"]
    return "\n".join([f"{quoted(change.name)} now reads:", *rows]) if rows else f"{quoted(change.name)} is empty now."


def _unchanged(prepared: Prepared) -> str:
    """The first line for an edit that changes nothing: it is what people see of it."""
    names = [quoted(name) for name in dict.fromkeys(change.name for change in prepared.changes)]
    return no_changes(*names) if names else prepared.headline


def no_changes(*names: str) -> str:
    """That files already are as an edit would make them."""
    return f"No changes: {', '.join(names)} already {'has' if len(names) == 1 else 'have'} this content."


def _nothing_to_do(words: Sequence[str]) -> Plan:
    return Plan((), _answering(ok("\n".join(words))), is_void=True)


def _answering(result: ToolResult) -> Callable[[], Awaitable[ToolResult]]:
    async def answer() -> ToolResult:
        return result

    return answer


def _is_stale(context: ToolContext, change: FileChange) -> bool:
    return change.old is not None and changed_since_seen(context, change.path, change.old)


def _key(call: BaseModel) -> str:
    return digest(f"{type(call).__qualname__} {call.model_dump()!r}".encode("utf-8", "surrogatepass"))


def _versions(changes: Sequence[FileChange], *, new: bool) -> dict[str, str | None]:
    sides = ((change, change.new if new else change.old) for change in changes)
    return {str(change.path): None if side is None else digest(side) for change, side in sides}


class _AppliedEdits(dict[str, dict[str, str | None]]):
    """The versions that each edit left behind, by the edit."""


def _is_repeated(context: ToolContext, key: str, changes: Sequence[FileChange]) -> bool:
    return context.memory[_AppliedEdits].get(key) == _versions(changes, new=False)


def _remember(context: ToolContext, key: str, changes: Sequence[FileChange]) -> None:
    context.memory[_AppliedEdits][key] = _versions(changes, new=True)


def _text(data: bytes | None) -> str | None:
    try:
        return read_text(data or b"").text
    except NotTextError:
        return None


def _rows(text: str, *, keep_returns: bool) -> list[str]:
    if not keep_returns:
        text = text.replace("\r\n", "\n")
    return [row + "\n" for row in text.split("\n")[:-1]] + [row for row in text.split("\n")[-1:] if row]


class EditTool(PlannedTool[ParamsT]):
    """Subclasses work the edit out and list its actions; asking, writing and answering is done here."""

    group: Group = "edit"

    @abstractmethod
    def prepare(self, params: ParamsT, context: ToolContext) -> Prepared:
        """Work the edit out without changing anything. Raises EditRefused if it cannot be made."""

    async def plan(self, params: ParamsT, context: ToolContext) -> Plan:
        read = list[Path]()
        watched = replace(context, reading=read.append)
        plan = await plan_edit(context, lambda: self.prepare(params, watched), params)
        # A refusal quotes what was read, so that is judged, too: as a change, which is what the call declares.
        return replace(plan, targets=tuple(dict.fromkeys((*plan.targets, *read))))


class OneFileTool(EditTool[ParamsT]):
    """Edits one file."""

    @abstractmethod
    def target(self, params: ParamsT) -> str:
        """The path of the file, as the model wrote it."""

    def actions(self, params: ParamsT, context: ToolContext) -> tuple[Action, ...]:
        name = self.target(params)
        try:
            exists = os.path.exists(real_path(context, name))  # noqa: PTH110 - also answers for impossible names
        except EditRefused:
            exists = False
        return (WritePath(name, "modify" if exists else "create"),)
