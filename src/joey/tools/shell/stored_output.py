"""Reading what was kept of a command's output, a page at a time or what matches a pattern, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from joey.tools.searching.ripgrep import FoundLine, SearchError, search

_CHUNK = 1024 * 1024
_MAX_CHARACTER = 4


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a stored output. `start` and `end` are bytes, at the boundaries of characters."""

    start: int
    end: int
    total: int
    first_line: int
    text: str


def read_page(path: Path, offset: int, limit: int) -> Page:
    """About `limit` bytes from `offset` on, no character split: the start moves back to one, and so does the end."""
    with path.open("rb") as file:
        total = file.seek(0, 2)
        start = max(0, offset - _MAX_CHARACTER)
        file.seek(start)
        data = file.read(offset - start + limit + _MAX_CHARACTER)
        begin = _boundary(data, offset - start)
        end = max(_boundary(data, offset - start + limit), _next_boundary(data, begin + 1))
        file.seek(0)
        newlines = _count_newlines(file.read, start + begin)
    text = data[begin:end].decode("utf-8", "replace")
    return Page(start + begin, start + end, total, newlines + 1, text)


def _boundary(data: bytes, index: int) -> int:
    """The start of the character that the index is in."""
    index = min(index, len(data))
    while 0 < index < len(data) and data[index] & 0xC0 == 0x80:
        index -= 1
    return index


def _next_boundary(data: bytes, index: int) -> int:
    while index < len(data) and data[index] & 0xC0 == 0x80:
        index += 1
    return min(index, len(data))


def _count_newlines(read: Callable[[int], bytes], length: int) -> int:
    count = 0
    while length > 0 and (chunk := read(min(_CHUNK, length))):
        count += chunk.count(b"\n")
        length -= len(chunk)
    return count


@dataclass(frozen=True, slots=True)
class Matches:
    """The lines that match; `more` says that there are further ones."""

    lines: tuple[FoundLine, ...]
    more: bool


async def find_lines(path: Path, pattern: str, limit: int) -> Matches:
    """The lines that match the regular expression, whatever their letter case, up to so many bytes of them.

    What is no regular expression is searched for as it stands.
    """
    try:
        return await _find(path, ["-e", pattern], limit)
    except SearchError:
        return await _find(path, ["--fixed-strings", "-e", pattern], limit)


async def _find(path: Path, pattern: list[str], limit: int) -> Matches:
    found: list[FoundLine] = []
    arguments = ["--ignore-case", "--text", "--encoding", "none", *pattern, "--", path.name]
    async with aclosing(search(arguments, path.parent)) as lines:
        async for line in lines:
            limit -= len(line.text.encode())
            if limit < 0 and found:
                return Matches(tuple(found), True)
            found.append(line)
    return Matches(tuple(found), False)
