"""Read a file, or a part of it."""

from __future__ import annotations

import asyncio
import base64
import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self, TypeAlias

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from joey.bounded.documents import DocumentError
from joey.bounded.files import open_resolved
from joey.bounded.folders import names_in, place_of, reason
from joey.images.sizing import can_shrink, image_type
from joey.messages import ImageBlock, ToolResult
from joey.system.filenames import quoted
from joey.tools.base import Params, PathText, ToolContext, failed, ok
from joey.tools.display import Display
from joey.tools.options import BuiltinOptions
from joey.tools.paths import LocatedPaths, ReadingTool, UnusablePathError
from joey.tools.reading.kinds import describe_binary, extract, is_document
from joey.tools.reading.lines import (
    MAX_LINE,
    BlockOptions,
    Span,
    TextLines,
    block_around,
    excerpt,
    line_endings,
    number_lines,
    slice_lines,
)
from joey.tools.reading.older_shape import from_older_shape
from joey.tools.seen_files import digest, digest_of, note_seen_version
from joey.tools.shell.output import format_size
from joey.tools.textfile import NotTextError, read_text
from joey.tools.unsaved import unsaved
from joey.wire import JsonObject

MAX_LINES = 2_000
MAX_FILES = 5
_MAX_FILE = 100 * 1024 * 1024
MAX_TEXT_FILE = 16 * 1024 * 1024
"""Text is held whole, as bytes and as characters of up to four bytes each."""
_PIECE = 1024 * 1024
_HEAD = 64
_MAX_NAMES = 8
_MAX_IMAGE = 5 * 1024 * 1024
_MAX_IMAGES = 20 * 1024 * 1024
_UNSAVED = "As it is in the user's editor, with changes that are not saved."
_BETWEEN_FILES = "\n\n---\n\n"
_Show: TypeAlias = Callable[[Sequence[str]], str]


class Indentation(Params):
    anchor_line: int | None = Field(default=None, ge=1, description="The line whose block is wanted. Default: offset.")
    max_levels: int = Field(
        default=0,
        ge=0,
        description="How many levels of indentation to come out above the anchor; 0 goes to the margin.",
    )
    include_siblings: bool = Field(
        default=False, description="Take the neighbouring blocks at the outermost level too."
    )
    include_header: bool = Field(default=True, description="Take the comments above the block's header too.")
    max_lines: int | None = Field(default=None, ge=1, description="At most so many lines, whatever limit says.")


class FileRanges(Params):
    """A file in the older shape of the call: `{path, line_ranges: [[1, 50]]}`."""

    path: PathText
    line_ranges: tuple[tuple[int, int], ...] = ()


class ReadFileParams(Params):
    path: PathText = Field(description="The file to read, relative to the workspace (or absolute).")
    mode: Literal["slice", "indentation"] = Field(
        default="slice",
        description='"slice" reads lines from offset on; "indentation" the block of code around anchor_line.',
    )
    offset: int = Field(default=1, ge=1, description="The first line to read, counted from 1.")
    limit: int = Field(default=MAX_LINES, ge=1, description=f"How many lines to read, at most {MAX_LINES:,}.")
    indentation: Indentation | None = Field(default=None, description='Options of mode "indentation".')
    files: SkipJsonSchema[tuple[FileRanges, ...]] = ()


@dataclass(frozen=True, slots=True)
class _Part:
    """What was read of one file."""

    text: str
    image: ImageBlock | None = None
    failed: bool = False


class _ReadError(Exception):
    """Words for the model on why there is nothing to show."""


class ReadFile(ReadingTool[ReadFileParams]):
    name = "read_file"
    display = Display(("path",), kind="read")
    group = "read"
    params = ReadFileParams
    field_aliases = {"file_path": "path", "file": "path", "filename": "path"}
    example = {"path": "src/main.py", "offset": 120, "limit": 80}

    def __init__(self, *, sees_images: bool = False, max_files: int = MAX_FILES, line_numbers: bool = True) -> None:
        self._line_numbers = line_numbers
        self._sees_images = sees_images
        self._max_files = max_files

    @classmethod
    def configured(cls, options: BuiltinOptions) -> Self:
        return cls(sees_images=options.sees_images, line_numbers=options.line_numbers)

    def adapted(self, arguments: JsonObject) -> JsonObject:
        return from_older_shape(arguments)

    def paths(self, params: ReadFileParams) -> list[str]:
        return [file.path for file in params.files] or [params.path]

    async def answer(self, params: ReadFileParams, context: ToolContext, found: LocatedPaths) -> ToolResult:
        if len(params.files) > self._max_files:
            return failed(
                f"Error: {len(params.files)} files in one call; at most {self._max_files} can be read at once. "
                "Read them in smaller groups."
            )
        if not params.files:
            parts = [await self._read(params.path, found, context, self._span_of(params))]
        else:
            parts = [await self._read(each.path, found, context, _ranges_of(each)) for each in params.files]
        return _result(parts)

    def _span_of(self, params: ReadFileParams) -> _Show:
        if self._line_numbers or params.mode == "indentation" or params.offset > 1:
            return lambda lines: _one_span(lines, params)
        return lambda lines: "\n".join(lines[: min(params.limit, MAX_LINES)])

    async def _read(self, given: str, found: LocatedPaths, context: ToolContext, show: _Show) -> _Part:
        try:
            path = _visible(context, found.path(given))
            part, version = await asyncio.to_thread(self._opened, path, context, show)
        except (_ReadError, UnusablePathError, DocumentError) as problem:
            return _Part(f"File: {quoted(given)}\nError: {problem}", failed=True)
        note_seen_version(context, path, version)
        return _Part(f"File: {quoted(given)}\n{part.text}", part.image)

    def _opened(self, path: Path, context: ToolContext, show: _Show) -> tuple[_Part, str]:
        """What is shown of a file, and which version of it that is."""
        _check(path, context)
        try:
            with open_resolved(path) as file:
                if (data := _unsaved(path, file, context)) is not None:
                    return _Part(f"{_UNSAVED}\n{_text(data, show)}"), digest(data)
                return self._shown(path, file, show), digest_of(file)
        except OSError as problem:
            raise _ReadError(f"it cannot be read: {reason(problem)}.") from None

    def _shown(self, path: Path, file: int, show: _Show) -> _Part:
        size = os.fstat(file).st_size
        if media_type := image_type(os.pread(file, _HEAD, 0)):
            return self._image(media_type, file, size)
        notes = []
        if is_document(path.suffix) and size:
            try:
                return _Part(_document(path.suffix, file, show))
            except DocumentError as problem:
                # A damaged notebook is still text, and whoever fixes it must see that text.
                if path.suffix.lower() != ".ipynb":
                    raise
                notes.append(f"Shown as plain text: {problem}.")
        data = _bytes_of(file, MAX_TEXT_FILE)
        return _Part("\n".join([*notes, _text(data, show)])) if data else _Part("(The file is empty: 0 bytes.)")

    def _image(self, media_type: str, file: int, size: int) -> _Part:
        words = f"{media_type}, {format_size(size)}"
        if not self._sees_images:
            return _Part(f"Image file ({words}). This model cannot look at images, so it is not shown.")
        # With something that makes it smaller before it is sent, it may be larger.
        limit = _MAX_IMAGES if can_shrink() else _MAX_IMAGE
        if size > limit:
            raise _ReadError(f"the image ({words}) is larger than {format_size(limit)}, the most that can be shown.")
        data = base64.b64encode(_bytes_of(file, limit)).decode("ascii")
        return _Part(f"Image file ({words})", ImageBlock(media_type, data))


def _unsaved(path: Path, file: int, context: ToolContext) -> bytes | None:
    """What an editor has of a text file, if that is not what is on the disk."""
    if context.editor is None or is_document(path.suffix) or os.fstat(file).st_size > MAX_TEXT_FILE:
        return None
    return unsaved(context, path, _bytes_of(file, MAX_TEXT_FILE))


def _text(data: bytes, show: _Show) -> str:
    try:
        file = read_text(data)
    except NotTextError:
        raise _ReadError(
            f"{describe_binary(data)}, {format_size(len(data))}: its content is not shown. "
            "If you need to look inside, use a program for it with execute_command."
        ) from None
    notes = [] if file.is_plain else [f"Encoding: {file.encoding_name}"]
    if endings := line_endings(file.text):
        notes.append(f"Line endings: {endings}")
    return "\n".join(
        [*notes, show(TextLines(file.text)) if file.text else "(The file is empty but for its byte order mark.)"]
    )


def _visible(context: ToolContext, path: Path) -> Path:
    if context.ignored(path):
        raise _ReadError("an ignore file hides it. Work without it, or ask the user to make it readable.")
    return path


def _check(path: Path, context: ToolContext) -> None:
    """Why there is nothing to open, in words that help to find what was meant."""
    try:
        with place_of(path) as place:
            status = place.status()
    except (FileNotFoundError, NotADirectoryError):
        raise _ReadError(f"there is no such file.{_what_there_is(path, context)}") from None
    except OSError as problem:
        raise _ReadError(f"it cannot be read: {reason(problem)}.") from None
    if stat.S_ISDIR(status.st_mode):
        raise _ReadError("it is a directory, not a file. Use list_files to see what is in it.")
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)):
        raise _ReadError("it is no ordinary file (a device, a pipe or a socket).")
    _check_size(status.st_size, _MAX_FILE)


def _check_size(size: int, limit: int) -> None:
    if size > limit:
        raise _ReadError(
            f"the file has {format_size(size)}; read_file reads up to {format_size(limit)} of such a file. "
            "Use search_files, or a part of it with execute_command (sed -n '100,200p')."
        )


def _bytes_of(file: int, limit: int) -> bytes:
    """All there is. What claims to be empty may not be: the size is checked again while reading."""
    _check_size(os.fstat(file).st_size, limit)
    data = bytearray()
    while piece := os.pread(file, _PIECE, len(data)):
        data += piece
        if len(data) > limit:
            raise _ReadError(f"the file goes on beyond {format_size(limit)}, the most that read_file reads.")
    return bytes(data)


def _what_there_is(path: Path, context: ToolContext) -> str:
    """The file of that name in other letter case, or with another suffix, if there is one; else what is in its folder,
    since not every model has a tool to list it."""
    try:
        with place_of(path) as place:
            beside = sorted(name for name in names_in(place.folder) if not context.ignored(path.parent / name))
    except OSError:
        return " Nor is there such a folder."
    near = [name for name in beside if name.lower() == path.name.lower() or Path(name).stem == path.stem]
    if near:
        return f" Beside it there is: {', '.join(map(quoted, near[:_MAX_NAMES]))}."
    more = f" and {len(beside) - _MAX_NAMES} more" if len(beside) > _MAX_NAMES else ""
    return (
        f" Its folder has: {', '.join(map(quoted, beside[:_MAX_NAMES]))}{more}." if beside else " Its folder is empty."
    )


def _document(suffix: str, file: int, show: _Show) -> str:
    extracted = extract(suffix, file)
    cut = f" Only the beginning: {extracted.cut}." if extracted.cut else ""
    note = f"Text extracted from: {extracted.source}.{cut} Line numbers are those of this text, not of the file."
    lines = TextLines(extracted.text)
    return f"{note}\n{show(lines) if lines else '(It holds no text.)'}"


def _one_span(lines: Sequence[str], params: ReadFileParams) -> str:
    if params.mode == "indentation":
        return _block(lines, params, params.indentation or Indentation())
    limit = min(params.limit, MAX_LINES)
    span = slice_lines(len(lines), params.offset, limit)
    if span is None:
        raise _ReadError(f"offset {params.offset} is beyond the end of the file, which has {_lines(len(lines))}.")
    return excerpt(lines, span, limit)


def _block(lines: Sequence[str], params: ReadFileParams, wanted: Indentation) -> str:
    anchor = wanted.anchor_line or params.offset
    limit = min(params.limit, wanted.max_lines or params.limit, MAX_LINES)
    options = BlockOptions(wanted.max_levels, wanted.include_siblings, wanted.include_header)
    span = block_around(lines, anchor, limit, options)
    if span is None:
        raise _ReadError(f"anchor_line {anchor} is out of range: the file has {_lines(len(lines))}.")
    text = excerpt(lines, span, limit)
    return text if span.cut else f"{text}\n\nIncluded ranges: {span.first}-{span.last} (total: {len(lines)} lines)"


def _ranges_of(file: FileRanges) -> _Show:
    if not file.line_ranges:
        return lambda lines: excerpt(lines, Span(1, min(len(lines), MAX_LINES), len(lines) > MAX_LINES), MAX_LINES)
    return lambda lines: "\n\n".join(_one_range(lines, first, last) for first, last in file.line_ranges)


def _one_range(lines: Sequence[str], first: int, last: int) -> str:
    if first < 1 or last < first:
        raise _ReadError(f"{first}-{last} is no range of lines: they are counted from 1, the first one first.")
    if first > len(lines):
        raise _ReadError(f"lines {first}-{last} are beyond the end of the file, which has {_lines(len(lines))}.")
    end = min(last, len(lines), first + MAX_LINES - 1)
    cut = f" (cut after {MAX_LINES:,} lines)" if end < min(last, len(lines)) else ""
    return (
        f"Lines {first}-{end} of {len(lines)}{cut}:\n{number_lines(lines[first - 1 : end], first, max_length=MAX_LINE)}"
    )


def _result(parts: Sequence[_Part]) -> ToolResult:
    """The parts as one answer. Images follow the text, as far as they are allowed together."""
    images, texts, room = [], [], _MAX_IMAGES
    for part in parts:
        size = len(part.image.data) * 3 // 4 if part.image else 0
        if part.image and size > room:
            texts.append(
                f"{part.text}\nNot shown: the images of one call may have {format_size(_MAX_IMAGES)} together."
            )
            continue
        if part.image:
            images.append(part.image)
        texts.append(part.text)
        room -= size
    text = _BETWEEN_FILES.join(texts)
    return failed(text) if all(part.failed for part in parts) else ok(text, *images)


def _lines(count: int) -> str:
    return f"{count:,} line" if count == 1 else f"{count:,} lines"
