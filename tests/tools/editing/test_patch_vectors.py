"""The recorded answers of Roo's apply_patch, and where Joey means to answer otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from joey.tools.base import ToolContext
from joey.tools.builtin.apply_patch import ApplyPatch, ApplyPatchParams
from joey.tools.editing.document import Document
from joey.tools.editing.matching import places
from joey.tools.editing.patch import AddFile, Chunk, DeleteFile, PatchError, Section, read_patch
from joey.tools.editing.patch_edit import apply_chunks
from vectors_data import cases

AMBIGUOUS = "several places match and nothing says which: nobody guesses"
OTHERWISE: dict[str, str] = {
    "apply-13": "a missing final newline stays missing",
    "e2e-6": AMBIGUOUS,
    "e2e-15": AMBIGUOUS,
}


def each(set_name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases("roo/apply_patch", set=set_name), ids=lambda case: str(case["id"]))


def expect(same: bool, case: Any) -> None:
    assert same is (case["id"] not in OTHERWISE), OTHERWISE.get(case["id"], "differs from the recorded answer")


def as_recorded(section: Section) -> dict[str, Any]:
    match section:
        case AddFile(path, text):
            return {"type": "AddFile", "path": path, "contents": text}
        case DeleteFile(path):
            return {"type": "DeleteFile", "path": path}
    chunks = [
        {
            "changeContext": chunk.context[0] if chunk.context else None,
            "oldLines": list(chunk.old),
            "newLines": list(chunk.new),
            "isEndOfFile": chunk.at_end,
        }
        for chunk in section.chunks
    ]
    return {"type": "UpdateFile", "path": section.path, "movePath": section.move_to, "chunks": chunks}


@each("parse")
def test_a_patch_is_read_as_recorded(case: Any) -> None:
    sections = read_patch(case["patch"])
    if isinstance(sections, PatchError):
        expect("error" in case["expected"], case)
    else:
        expect([as_recorded(section) for section in sections] == case["expected"].get("hunks"), case)


@each("apply_chunks")
def test_chunks_are_applied_as_recorded(case: Any) -> None:
    chunks = [_chunk(chunk) for chunk in case["chunks"]]
    outcome = apply_chunks(Document.read(case["original"]), chunks)
    expect((None if outcome.failed else outcome.document.text) == case["expected"].get("content"), case)


def _chunk(recorded: Any) -> Chunk:
    rows: list[Any] = [("-", line) for line in recorded["oldLines"]] + [("+", line) for line in recorded["newLines"]]
    context = (recorded["changeContext"],) if recorded["changeContext"] else ()
    return Chunk(tuple(rows), context, at_end=recorded["isEndOfFile"])


@each("seek")
def test_lines_are_found_where_recorded(case: Any) -> None:
    if not case["pattern"]:
        return  # nothing is ever looked for: rows that are only added have a rule of their own
    found = places(case["lines"], case["pattern"], start=case["start"])[1]
    expect((found[-1 if case["eof"] else 0] if found else None) == case["expected"], case)


@each("end_to_end")
async def test_a_patch_does_what_was_recorded(case: Any, tmp_path: Path) -> None:
    for name, text in case["files"].items():
        (tmp_path / name).write_bytes(text.encode())
    await ApplyPatch().run(ApplyPatchParams(patch=case["patch"]), ToolContext(tmp_path, tmp_path))
    expect(_files(tmp_path) == _expected_files(case), case)


def _files(folder: Path) -> dict[str, str]:
    return {path.name: path.read_bytes().decode() for path in folder.iterdir()}


def _expected_files(case: Any) -> dict[str, str]:
    files = dict(case["files"])
    for change in case["expected"].get("changes", []):
        files.pop(change["path"], None)
        if change["type"] != "delete":
            files[change.get("move_path") or change["path"]] = change["new_content"]
    return files
