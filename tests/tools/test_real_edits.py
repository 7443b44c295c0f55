"""Edits that people really made: every changed file of two versions of some packages, and of our own history.

For each file the calls are made that a careful model would send, with as much of the lines around a change as tells
its place: one diff for the file, one list of replacements, one call for every single change, and one patch for the
whole set of files. Each must lead from the old bytes to the new bytes. The wheels are fetched by `make test`.
"""

from __future__ import annotations

import subprocess
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from joey.tools.base import ToolContext
from joey.tools.builtin.apply_diff import ApplyDiff
from joey.tools.builtin.apply_patch import ApplyPatch
from joey.tools.builtin.edit_file import EditFile
from joey.tools.builtin.search_and_replace import SearchAndReplace
from joey.tools.editing.blocks import Block, format_block
from joey.tools.editing.document import DiffPiece, Document, changes
from joey.tools.editing.matching import is_blank

ROOT = Path(__file__).parents[2]
WHEELS = ROOT / "tests" / ".cache" / "wheels"
PACKAGES = {
    "click": ("8.1.7", "8.2.1", 2000),
    "rich": ("13.9.4", "14.2.0", 400),
    "werkzeug": ("3.0.0", "3.1.3", 2400),
}
"""Old version, new version, and at least how many edits lead from one to the other."""
MAX_COMMITS, MAX_FILES = 30, 20
"""A history has commits of every size: of a large one, some files do."""
MAX_SINGLE_CALLS = 8
"""So many changes of a file are also made with one call each; every call waits for the disk."""

Files = dict[str, bytes]


@dataclass(frozen=True)
class Change:
    """One changed text file."""

    name: str
    old: Document
    new: Document

    @property
    def pieces(self) -> list[DiffPiece]:
        return changes(self.old.lines, self.new.lines)


def text_changes(old: Files, new: Files) -> Iterator[Change]:
    for name in sorted(old.keys() & new.keys()):
        if old[name] != new[name]:
            change = Change(name, Document.read(old[name].decode()), Document.read(new[name].decode()))
            assert len({*change.old.ends, *change.new.ends}) == 1, "line ends have tests of their own"
            yield change


# The calls a careful model would make


Matches = Callable[[Sequence[str]], bool]


def grown(piece: DiffPiece, lines: Sequence[str], matches: Matches, low: int, high: int) -> DiffPiece | None:
    """The piece with as many unchanged lines around it as it takes to fit, within bounds."""
    for extra in range(max(high - low, 1) + 1):
        before, after = min(extra, piece.old - low), min(extra, high - piece.old_end)
        first, last = piece.old - before, piece.old_end + after
        if first < last and matches(lines[first:last]):
            return DiffPiece("replace", first, last, piece.new - before, piece.new_end + after)
        if first == low and last == high:
            return None
    return None


def is_unique(lines: Sequence[str], wanted: Sequence[str]) -> bool:
    text, old = ("\n".join(["", *each, ""]) for each in (lines, wanted))
    return text.find(old, text.find(old) + 1) < 0


def bounds(pieces: Sequence[DiffPiece], at: int, count: int) -> tuple[int, int]:
    """How far the lines around a piece reach: to the pieces beside it."""
    return pieces[at - 1].old_end if at else 0, pieces[at + 1].old if at + 1 < len(pieces) else count


def blocks_for(change: Change) -> list[Block]:
    """Unique search lines where there are some between the neighbouring changes; otherwise a line number."""
    blocks, pieces, lines = [], change.pieces, change.old.lines
    for at, piece in enumerate(pieces):
        low, high = bounds(pieces, at, len(lines))
        unique = grown(piece, lines, lambda search: not is_blank(search) and is_unique(lines, search), low, high)
        chosen = unique or grown(piece, lines, lambda search: not is_blank(search), low, high)
        if chosen is None:
            chosen = grown(piece, lines, lambda search: not is_blank(search), 0, len(lines))
            assert chosen is not None
            return [Block(lines, change.new.lines)]
        pin = None if unique else chosen.old + 1
        blocks.append(Block(lines[chosen.old : chosen.old_end], change.new.lines[chosen.new : chosen.new_end], pin))
    return blocks


def replacements_for(change: Change) -> list[tuple[str, str]]:
    """Strings that are unique in what the ones before them made of the file."""
    pairs, lines, shift = [], list(change.old.lines), 0
    for piece in change.pieces:
        moved = DiffPiece(piece.kind, piece.old + shift, piece.old_end + shift, piece.new, piece.new_end)
        new = list(change.new.lines[piece.new : piece.new_end])
        # A line is removed together with a line end, so it takes one of its neighbours with it.
        alone = 0 if new else moved.old_end - moved.old
        chosen = grown(moved, lines, _unique_in("\n".join(lines), more_than=alone), 0, len(lines))
        assert chosen is not None
        new = [*lines[chosen.old : moved.old], *new, *lines[moved.old_end : chosen.old_end]]
        pairs.append(("\n".join(lines[chosen.old : chosen.old_end]), "\n".join(new)))
        lines[moved.old : moved.old_end] = change.new.lines[piece.new : piece.new_end]
        shift += (piece.new_end - piece.new) - (piece.old_end - piece.old)
    return pairs


def _unique_in(text: str, *, more_than: int) -> Matches:
    def matches(lines: Sequence[str]) -> bool:
        old = "\n".join(lines)
        return len(lines) > more_than and bool(old) and text.find(old, text.find(old) + 1) < 0

    return matches


def chunks_for(change: Change) -> list[str]:
    """Rows of a patch, with the line numbers of a unified diff where the rows alone do not tell the place."""
    rows, pieces, lines = [f"*** Update File: {change.name}"], change.pieces, change.old.lines
    for at, piece in enumerate(pieces):
        low, high = bounds(pieces, at, len(lines))
        unique = grown(piece, lines, lambda old, low=low: is_unique(lines[low:], old), low, high)  # type: ignore[misc]
        chosen = unique or grown(piece, lines, bool, low, high)
        header = "@@"
        if chosen is None or not unique:
            header = f"@@ -{(chosen or piece).old + (chosen is not None)},1 +1,1 @@"
        chosen = chosen or piece
        rows += [
            header,
            *(" " + line for line in lines[chosen.old : piece.old]),
            *("-" + line for line in lines[piece.old : piece.old_end]),
            *("+" + line for line in change.new.lines[piece.new : piece.new_end]),
            *(" " + line for line in lines[piece.old_end : chosen.old_end]),
        ]
    return rows


def patch_for(old: Files, new: Files, changed: Iterable[Change]) -> str:
    rows = [f"*** Delete File: {name}" for name in sorted(old.keys() - new.keys())]
    for name in sorted(new.keys() - old.keys()):
        text = new[name].decode()
        lines = text.removesuffix("\n").split("\n") if text else []
        end = ["\\ No newline at end of file"] if text and not text.endswith("\n") else []
        rows += [f"*** Add File: {name}", *("+" + line for line in lines), *end]
    for change in changed:
        rows += chunks_for(change)
    return "\n".join(["*** Begin Patch", *rows, "*** End Patch"])


# Making them


class Bench:
    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace

    def put(self, files: Files) -> None:
        for name, data in files.items():
            path = self.workspace / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def files(self) -> Files:
        files = (path for path in self.workspace.rglob("*") if path.is_file())
        return {path.relative_to(self.workspace).as_posix(): path.read_bytes() for path in files}

    async def call(self, tool: Any, **arguments: Any) -> None:
        context = ToolContext(self.workspace, self.workspace)
        plan = await tool.plan(tool.params(**arguments), context)
        result = plan.refusal or await plan.execute()
        assert not result.is_error, result.text


async def apply_every_way(workspace: Path, old: Files, new: Files) -> int:
    """Lead the old files to the new ones with every tool; how many edits that took."""
    bench, edits = Bench(workspace), 0
    changed = [change for change in text_changes(old, new) if change.old.text]
    for change in changed:
        expected, path = new[change.name], workspace / change.name
        blocks, replacements = blocks_for(change), replacements_for(change)
        bench.put({change.name: old[change.name]})
        await bench.call(ApplyDiff(), path=change.name, diff="\n".join(map(format_block, blocks)))
        assert path.read_bytes() == expected, change.name
        bench.put({change.name: old[change.name]})
        operations = [{"search": before, "replace": after} for before, after in replacements]
        await bench.call(SearchAndReplace(), file_path=change.name, operations=operations)
        assert path.read_bytes() == expected, change.name
        bench.put({change.name: old[change.name]})
        singles = replacements[:MAX_SINGLE_CALLS]
        for before, after in singles:
            await bench.call(EditFile(), file_path=change.name, old_string=before, new_string=after)
        rest = [{"search": before, "replace": after} for before, after in replacements[MAX_SINGLE_CALLS:]]
        if rest:
            await bench.call(SearchAndReplace(), file_path=change.name, operations=rest)
        assert path.read_bytes() == expected, change.name
        edits += len(blocks) + len(replacements) + len(singles) + len(change.pieces)
    bench.put(old)
    patched = [change for change in changed if old[change.name]]
    await bench.call(ApplyPatch(), patch=patch_for(old, new, patched))
    assert bench.files() == new
    return edits + len(old.keys() ^ new.keys())


# Where they come from


def wheel_files(package: str, version: str) -> Files:
    wheel = next(WHEELS.glob(f"{package}-{version}-*.whl"), None)
    if wheel is None:
        pytest.skip(f"{package} {version} is not in {WHEELS.relative_to(ROOT)}; `make test` fetches it when it can")
    with zipfile.ZipFile(wheel) as archive:
        return dict(_texts((name, archive.read(name)) for name in archive.namelist() if ".dist-info/" not in name))


def _texts(files: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    for name, data in files:
        try:
            data.decode()
        except UnicodeDecodeError:
            continue
        if b"\0" not in data and b"\r" not in data and data:
            yield name, data


def git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False)
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""


def commit_files(commit: str) -> tuple[Files, Files]:
    """The text files that a commit changed, before and after."""
    names = [name for name in git("diff-tree", "-r", "--no-commit-id", "--name-only", commit).split("\n") if name]
    kept = [name for name in names if not name.startswith("tests/vectors/")][:MAX_FILES]
    old, new = (
        dict(_texts((name, git("show", f"{side}:{name}").encode()) for name in kept)) for side in (f"{commit}^", commit)
    )
    return old, new


@pytest.mark.parametrize("package", PACKAGES)
async def test_two_versions_of_a_package(
    package: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    before, after, at_least = PACKAGES[package]
    edits = await apply_every_way(tmp_path, wheel_files(package, before), wheel_files(package, after))
    record_property("real edits", edits)
    assert edits >= at_least


async def test_the_history_of_this_repository(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    commits = git("log", "--no-merges", f"-n{MAX_COMMITS}", "--format=%H").split()
    if len(commits) < 2:
        pytest.skip("not a git checkout with a history")
    edits = 0
    for commit in commits:
        workspace = tmp_path / commit
        workspace.mkdir()
        old, new = commit_files(commit)
        edits += await apply_every_way(workspace, old, new) if old else 0
    record_property("real edits", edits)
    assert edits
