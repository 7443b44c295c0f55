"""Change, create, delete and move files with one patch.

Each section works on what the ones before it made of the files. The files of a patch live in a small table of their
present bytes while it is worked out, so that two sections for one file add up, a file that was just added can be
updated, and one that was deleted can be added again. Nothing is written until every section has been worked out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from pydantic import Field

from joey.actions import Action, WritePath
from joey.system.filenames import quoted
from joey.tools.base import Params, ToolContext
from joey.tools.display import Display
from joey.tools.editing.changes import FileChange, read_present
from joey.tools.editing.document import Document
from joey.tools.editing.outcomes import report
from joey.tools.editing.patch import AddFile, DeleteFile, PatchError, Section, UpdateFile, read_patch
from joey.tools.editing.patch_edit import apply_chunks
from joey.tools.editing.planning import EditRefused, EditTool, Prepared, named_path, new_file, not_as_read, real_path
from joey.tools.textfile import NotTextError, UnencodableError, read_text
from joey.tools.unsaved import as_open
from joey.toolspec import CustomForm
from joey.wire import JsonObject


def patch_actions(sections: Sequence[Section]) -> tuple[Action, ...]:
    """Everything the patch would touch: for a move, both ends."""
    actions: list[Action] = []
    for section in sections:
        match section:
            case AddFile(path):
                actions.append(WritePath(path, "create"))
            case DeleteFile(path):
                actions.append(WritePath(path, "delete"))
            case UpdateFile(path, _, None):
                actions.append(WritePath(path, "modify"))
            case UpdateFile(path, _, move_to):
                actions += [WritePath(path, "delete"), WritePath(move_to or path, "create")]
    return tuple(dict.fromkeys(actions))


def prepare_patch(context: ToolContext, sections: Sequence[Section]) -> Prepared:
    if not sections:
        raise EditRefused("The patch has no sections, so there is nothing to change.")
    table = _Table(context)
    failures, done = [], []
    for section in sections:
        try:
            done.append(table.apply(section))
        except EditRefused as refused:
            failures.append(str(refused))
    if failures:
        possible = [f"Sections that would fit: {len(done)} of {len(sections)}."] if done else []
        raise EditRefused(
            "\n".join(["The patch was not applied; nothing was changed in any file.", *failures, *possible])
        )
    return Prepared(table.changes(), "Patch applied.", tuple(done))


@dataclass(slots=True)
class _Entry:
    """A file as it was and as it will be."""

    name: str
    old: bytes | None
    new: bytes | None
    like: Path | None = None


@dataclass(slots=True)
class _Table:
    context: ToolContext
    entries: dict[Path, _Entry] = field(default_factory=dict)

    def apply(self, section: Section) -> str:
        """Work out one section; the answer says what it does."""
        match section:
            case AddFile():
                return self._add(section)
            case DeleteFile():
                return self._delete(section)
            case UpdateFile():
                return self._update(section)

    def changes(self) -> tuple[FileChange, ...]:
        entries = self.entries.items()
        return tuple(FileChange(path, entry.name, entry.old, entry.new, entry.like) for path, entry in entries)

    def _add(self, section: AddFile) -> str:
        entry = self._entry(section.path, real_path(self.context, section.path))
        data = new_file(self.context, section.path, section.text).new
        if entry.new == data:
            return f"{quoted(section.path)}: already there with this content."
        if entry.new is not None:
            raise EditRefused(
                f"{quoted(section.path)}: cannot be added, it exists. Use '*** Update File: {quoted(section.path)}'."
            )
        entry.new = data
        return f"{quoted(section.path)}: added."

    def _delete(self, section: DeleteFile) -> str:
        entry = self._entry(section.path, named_path(self.context, section.path), as_link=True)
        if entry.new is None:
            raise EditRefused(f"{quoted(section.path)}: cannot be deleted, it does not exist.")
        entry.new = None
        return f"{quoted(section.path)}: deleted."

    def _update(self, section: UpdateFile) -> str:
        path = real_path(self.context, section.path)
        entry = self._entry(section.path, path)
        if entry.new is None:
            raise EditRefused(f"{quoted(section.path)}: cannot be updated, it does not exist. Check the path.")
        new, words = self._updated(section, entry.new)
        if section.move_to is None or real_path(self.context, section.move_to) == path:
            entry.new = new
            return words
        self._move(section.path, section.move_to, new)
        return f"{words}\n{quoted(section.path)}: moved to {quoted(section.move_to)}."

    def _updated(self, section: UpdateFile, data: bytes) -> tuple[bytes, str]:
        if not section.chunks:
            return data, f"{quoted(section.path)}: content unchanged."
        try:
            file = read_text(data)
            outcome = apply_chunks(Document.read(file.text), section.chunks)
            words = (
                report(outcome.verdicts, f"{quoted(section.path)}: chunk")
                if section.chunks
                else f"{quoted(section.path)}: unchanged."
            )
            if outcome.failed:
                path = real_path(self.context, section.path)
                raise EditRefused(words + not_as_read(self.context, path, section.path, self.entries[path].old))
            return file.encode(outcome.document.text), words
        except (NotTextError, UnencodableError) as error:
            raise EditRefused(f"{quoted(section.path)}: {error}.") from None

    def _move(self, name: str, target: str, data: bytes) -> None:
        there = self._entry(target, real_path(self.context, target))
        if there.new is not None:
            raise EditRefused(
                f"{quoted(name)}: cannot be moved, {quoted(target)} exists. Delete it first, or choose another name."
            )
        source = named_path(self.context, name)
        here = self._entry(name, source, as_link=True)
        there.new, there.like = data, source if here.old is not None else None
        here.new = None

    def _entry(self, name: str, path: Path, *, as_link: bool = False) -> _Entry:
        if path not in self.entries:
            self.context.reading(path)
            data = as_open(self.context, path, read_present(path, name, as_link=as_link))
            self.entries[path] = _Entry(name, data, data)
        return self.entries[path]


class ApplyPatchParams(Params):
    patch: str = Field(description="The whole patch, from '*** Begin Patch' to '*** End Patch'.")


class ApplyPatch(EditTool[ApplyPatchParams]):
    name = "apply_patch"
    params = ApplyPatchParams
    display = Display(kind="edit")
    field_aliases: Mapping[str, str] = {"input": "patch"}
    example: JsonObject = {
        "patch": "*** Begin Patch\n*** Update File: area.py\n@@\n-    return w + h\n+    return w * h\n*** End Patch"
    }
    opt_in = True

    @cached_property
    def custom(self) -> CustomForm:  # type: ignore[override]
        """The grammar of OpenAI's Codex (Apache-2.0), word for word: models were trained on it."""
        return CustomForm("patch", Path(__file__).with_suffix(".lark").read_text(encoding="utf-8"))

    def actions(self, params: ApplyPatchParams, context: ToolContext) -> tuple[Action, ...]:
        sections = read_patch(params.patch)
        return () if isinstance(sections, PatchError) else patch_actions(sections)

    def prepare(self, params: ApplyPatchParams, context: ToolContext) -> Prepared:
        sections = read_patch(params.patch)
        if isinstance(sections, PatchError):
            where = "" if sections.line is None else f"Line {sections.line}: "
            raise EditRefused(f"The patch cannot be read. {where}{sections.message}\nNothing was changed.")
        return prepare_patch(context, sections)
