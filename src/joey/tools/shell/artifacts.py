"""Where the output of commands is kept with the task: `commands/cmd-1.txt`, `cmd-2.txt`, … in its storage; and reading
it, a page at a time or what matches a pattern, in bounded memory.

An id is a number nobody has used in this task, made by creating the file, so ids stay unique and keep their meaning
when a task is resumed, and when two commands begin at once. Beside each output stands what is known of its command
(`cmd-1.json`), so that it can be told later how it ended, or that nobody saw it end. Output may hold anything:
folder and files are the user's alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import asdict, dataclass
from pathlib import Path

from joey.system.folders import close_to_others, make_private, private_file
from joey.tools.searching.ripgrep import FoundLine, SearchError, search

ARTIFACT_ID = re.compile(r"cmd-\d+\.txt")


@dataclass(frozen=True, slots=True)
class CommandRecord:
    """A command whose output is kept. The exit code is missing while it runs, or if its end was not seen."""

    command: str
    cwd: str
    exit_code: int | None = None


def folder_of(storage: Path) -> Path:
    return storage / "commands"


def new_artifact(storage: Path) -> Path:
    """A new empty file under an id of its own. Raises OSError."""
    folder = folder_of(storage)
    make_private(folder)
    close_to_others(folder)
    number = max((int(path.stem[4:]) for path in artifacts(storage)), default=0)
    while True:
        number += 1
        path = folder / f"cmd-{number}.txt"
        try:
            open(path, "xb", opener=private_file).close()
        except FileExistsError:
            continue
        return path


def artifacts(storage: Path) -> list[Path]:
    """The outputs kept, oldest first."""
    found = (path for path in folder_of(storage).glob("cmd-*.txt") if ARTIFACT_ID.fullmatch(path.name))
    return sorted(found, key=lambda path: int(path.stem[4:]))


def kept_bytes(storage: Path) -> int:
    """How large the outputs kept are together."""
    return sum(path.stat().st_size for path in artifacts(storage))


def write_record(artifact: Path, record: CommandRecord) -> None:
    temporary = artifact.with_suffix(".json.new")
    with open(temporary, "w", encoding="utf-8", opener=private_file) as file:
        file.write(json.dumps(asdict(record)))
    temporary.replace(artifact.with_suffix(".json"))


def read_record(artifact: Path) -> CommandRecord | None:
    try:
        return CommandRecord(**json.loads(artifact.with_suffix(".json").read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


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
