"""The Begin/End Patch grammar of `apply_patch`.

    patch    = "*** Begin Patch" section* "*** End Patch"     a heredoc around it (<<EOF … EOF) is taken off
    section  = "*** Add File: " path ("+" line)*
             | "*** Delete File: " path
             | "*** Update File: " path ["*** Move to: " path] chunk*      chunks may be missing if it moves
    chunk    = header* row+ ["*** End of File"]               the first chunk needs no header
    header   = "@@" | "@@ " a line of the file to look for | "@@ -12,3 +14,5 @@" line numbers, as diffs have them
    row      = " " kept line | "-" line to remove | "+" line to add | "" kept empty line
             | "\\ No newline at end of file"                  about the row above it

Several headers in a row go from the outside in (a class, then a method of it). Lines of the patch are counted from 1
in errors. Paths are taken as they are, without the white space around them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from joey.system.filenames import quoted, unquoted

_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_ADD, _DELETE, _UPDATE, _MOVE = "*** Add File: ", "*** Delete File: ", "*** Update File: ", "*** Move to: "
_END_OF_FILE = "*** End of File"
_HEREDOC = re.compile(r"(?:\w+\s+)?<<-?\s*(['\"]?)(\w+)\1\s*$")
_RANGE = re.compile(r"@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@ ?(.*)$")
_NO_NEWLINE = "\\ No newline at end of file"

Sign: TypeAlias = Literal[" ", "-", "+"]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows to keep, remove and add, and what says where they belong."""

    rows: tuple[tuple[Sign, str], ...]
    context: tuple[str, ...] = ()
    """Lines to look for first, one after the other; the rows come after the last of them."""
    line: int | None = None
    """The line the rows are said to begin at, from 1."""
    at_end: bool = False
    """The rows are the last of the file."""
    old_unfinished: bool = False
    """The file is said to have no final newline before the change …"""
    new_unfinished: bool = False
    """… and after it."""

    @property
    def old(self) -> tuple[str, ...]:
        return tuple(text for sign, text in self.rows if sign != "+")

    @property
    def new(self) -> tuple[str, ...]:
        return tuple(text for sign, text in self.rows if sign != "-")


@dataclass(frozen=True, slots=True)
class AddFile:
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class DeleteFile:
    path: str


@dataclass(frozen=True, slots=True)
class UpdateFile:
    path: str
    chunks: tuple[Chunk, ...]
    move_to: str | None = None


Section: TypeAlias = AddFile | DeleteFile | UpdateFile


@dataclass(frozen=True, slots=True)
class PatchError:
    """Why a patch cannot be read, and at which of its lines (None: the whole)."""

    line: int | None
    message: str


class _Wrong(Exception):  # noqa: N818 - never leaves this module
    def __init__(self, line: int | None, message: str) -> None:
        super().__init__(message)
        self.error = PatchError(line, message)


def read_patch(patch: str) -> tuple[Section, ...] | PatchError:
    """The sections of a patch in their order, or the first thing that is wrong with it."""
    lines = patch.strip("\n\r \t").split("\n")
    # \r\n on the frame is from the transport: it says nothing about the files.
    if lines[0].endswith("\r"):
        lines = [line.removesuffix("\r") for line in lines]
    lines = _without_heredoc(lines)
    if lines[0].strip() != _BEGIN:
        return PatchError(None, f"The first line of the patch must be '{_BEGIN}'.")
    if lines[-1].strip() != _END or len(lines) < 2:
        return PatchError(
            None, f"The last line of the patch must be '{_END}'. If the patch was cut off, send a smaller one."
        )
    reader = _Reader(lines[:-1])
    try:
        return tuple(reader.sections())
    except _Wrong as wrong:
        return wrong.error


def _without_heredoc(lines: list[str]) -> list[str]:
    opening = _HEREDOC.match(lines[0])
    if opening and len(lines) >= 4 and lines[-1].strip() == opening[2]:
        return lines[1:-1]
    return lines


@dataclass(slots=True)
class _Reader:
    lines: Sequence[str]
    at: int = 1
    found: list[Section] = field(default_factory=list)

    def sections(self) -> list[Section]:
        while self.at < len(self.lines):
            if not self.lines[self.at].strip():
                self.at += 1
                continue
            self.found.append(self._section())
        return self.found

    def _section(self) -> Section:
        header = self.lines[self.at].strip()
        self.at += 1
        if path := _path_after(header, _ADD):
            return AddFile(path, self._added())
        if path := _path_after(header, _DELETE):
            return DeleteFile(path)
        if path := _path_after(header, _UPDATE):
            return self._update(path)
        raise _Wrong(
            self.at,
            f"'{header}' begins no section. Sections begin with '{_ADD}path', '{_DELETE}path' or '{_UPDATE}path'; "
            "in an Add section every line begins with '+'.",
        )

    def _added(self) -> str:
        rows: list[str] = []
        finished = True
        while self.at < len(self.lines) and (self.lines[self.at].startswith("+") or self._is_no_newline()):
            if self._is_no_newline():
                finished = False
            else:
                rows.append(self.lines[self.at][1:])
            self.at += 1
        return "\n".join(rows) + ("\n" if rows and finished else "")

    def _update(self, path: str) -> UpdateFile:
        move_to = None
        if self.at < len(self.lines):
            move_to = _path_after(self.lines[self.at].strip(), _MOVE)
            self.at += move_to is not None
        chunks: list[Chunk] = []
        while self.at < len(self.lines) and not self._begins_section():
            if not self.lines[self.at].strip() and self._only_blank_until_section():
                self.at += 1
                continue
            chunks.append(self._chunk(first=not chunks))
        if not chunks and move_to is None:
            raise _Wrong(self.at, f"The Update section for {quoted(path)} is empty: it needs at least one chunk.")
        return UpdateFile(path, tuple(chunks), move_to)

    def _chunk(self, *, first: bool) -> Chunk:
        context, line = self._headers()
        if not context and line is None and not first and not self._header_just_read():
            raise _Wrong(
                self.at + 1,
                f"Expected '@@' or '@@ a line of the file' before the next chunk, got: '{self.lines[self.at]}'.",
            )
        return self._rows(tuple(context), line)

    def _headers(self) -> tuple[list[str], int | None]:
        context: list[str] = []
        line = None
        while self.at < len(self.lines) and _is_header(self.lines[self.at]):
            header = self.lines[self.at].rstrip()
            numbers = _RANGE.match(header)
            if numbers:
                line = int(numbers[1])
            elif text := header[3:]:
                context.append(text)
            self.at += 1
        return context, line

    def _header_just_read(self) -> bool:
        return _is_header(self.lines[self.at - 1])

    def _rows(self, context: tuple[str, ...], line: int | None) -> Chunk:
        rows: list[tuple[Sign, str]] = []
        unfinished: set[Sign] = set()
        at_end = False
        while self.at < len(self.lines) and not at_end:
            text = self.lines[self.at]
            if _is_header(text) or self._begins_section():
                break
            if text.strip() == _END_OF_FILE:
                at_end = True
            elif self._is_no_newline():
                unfinished |= {rows[-1][0]} if rows else set()
            else:
                rows.append(self._row(text))
            self.at += 1
        if not rows:
            at = self.at if at_end else self.at + 1
            raise _Wrong(at, "Update hunk does not contain any lines: after '@@' come lines with ' ', '-' or '+'.")
        old_open, new_open = bool(unfinished & {" ", "-"}), bool(unfinished & {" ", "+"})
        return Chunk(tuple(rows), context, line, at_end or bool(unfinished), old_open, new_open)

    def _row(self, text: str) -> tuple[Sign, str]:
        sign = text[:1]
        if sign in ("", "\r"):
            return " ", text
        if sign == " ":
            return " ", text[1:]
        if sign == "-":
            return "-", text[1:]
        if sign == "+":
            return "+", text[1:]
        raise _Wrong(
            self.at + 1,
            f"Unexpected line in an Update section: '{text}'. Every line begins with ' ' (kept), '-' (removed) "
            "or '+' (added); a chunk begins with '@@', alone or followed by a space and a line of the file.",
        )

    def _begins_section(self) -> bool:
        return self.lines[self.at].strip().startswith((_ADD.rstrip(), _DELETE.rstrip(), _UPDATE.rstrip()))

    def _only_blank_until_section(self) -> bool:
        rest = (line for line in self.lines[self.at :] if line.strip())
        following = next(rest, None)
        return following is None or following.strip().startswith((_ADD, _DELETE, _UPDATE))

    def _is_no_newline(self) -> bool:
        return self.lines[self.at].rstrip() == _NO_NEWLINE


def _path_after(header: str, keyword: str) -> str | None:
    return (unquoted(header.removeprefix(keyword).strip()) or None) if header.startswith(keyword) else None


def _is_header(line: str) -> bool:
    return line.rstrip() == "@@" or line.startswith("@@ ")
