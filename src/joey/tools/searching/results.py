"""What a search found, as the model reads it: files, and in them groups of neighbouring lines.

    # src/main.py
      11 | def main() -> None:
    > 12 |     print(greeting())
      13 |
    ----

A line that matched is marked. A group is one result; there may be at most so many.

ripgrep opens files by their paths, so a file or a folder that is replaced by a link while it searches leads it
anywhere. What it found is shown only if each line stands in the file as it is now, opened by its resolved path without
following a link. Lines are compared as bytes, one after the other: a file costs no more memory than its longest line.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Generator, Iterable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from joey.bounded.files import open_resolved
from joey.tools.searching.ripgrep import FoundLine

MAX_LINE = 500
MAX_LINES = 1_500
"""In all: where every line of a file matches, a single result is the whole file."""
_CUT = "[truncated...]"
_BEFORE_MATCH = 100


@dataclass(slots=True)
class Results:
    """Groups of lines by file, as they come in."""

    limit: int
    count: int = 0
    is_full: bool = False
    """A further group was found and left out."""
    files: dict[str, list[list[FoundLine]]] = field(default_factory=dict)
    _lines: int = 0
    _last: FoundLine | None = None

    def add(self, line: FoundLine) -> None:
        """Take in the next line. After `is_full` there is nothing to be gained by going on."""
        continues = self._continues(line)
        if self._lines >= MAX_LINES or (not continues and self.count == self.limit):
            self.is_full = True
            return
        if continues:
            self.files[line.path][-1].append(line)
        else:
            self.count += 1
            self.files.setdefault(line.path, []).append([line])
        self._lines += 1 + line.text.count("\n", 0, -1)
        self._last = line

    def drop(self, path: str) -> None:
        """Forget what was found in a file."""
        self.count -= len(self.files.pop(path))

    def _continues(self, line: FoundLine) -> bool:
        last = self._last
        if last is None or last.path != line.path or last.number is None or line.number is None:
            return False
        return line.number <= last.number + max(1, last.text.count("\n"))


def write(results: Results, names: dict[str, str]) -> str:
    """The results in words. `names` says what the model calls each path."""
    if not results.count:
        return "No results found."
    counted = "1 result" if results.count == 1 else f"{results.count} results"
    head = f"Found {counted}."
    if results.is_full:
        head = f"Showing the first {counted}; there are more. Narrow the search to see the rest."
    ordered = sorted(results.files.items(), key=lambda item: names[item[0]])
    return "\n\n".join([head, *(_file(names[path], groups) for path, groups in ordered)])


def _file(name: str, groups: Iterable[list[FoundLine]]) -> str:
    return "\n".join([f"# {name}", *("\n".join([*map(_line, group), "----"]) for group in groups)])


def _line(line: FoundLine) -> str:
    mark = ">" if line.matched else " "
    number = "?" if line.number is None else str(line.number)
    text = _window(line)
    if "\n" not in text:
        return f"{mark} {number:>3} | {text}".rstrip() if not text else f"{mark} {number:>3} | {text}"
    first = line.number or 0
    return "\n".join(f"{mark} {first + index:>3} | {part}" for index, part in enumerate(text.split("\n")))


def _window(line: FoundLine) -> str:
    """The line, cut to what may be shown, so that the match is in it."""
    text = line.text.rstrip("\r\n").replace("\r\n", "\n")
    if len(text) <= MAX_LINE:
        return text
    start = 0 if line.columns[1] <= MAX_LINE else max(0, min(line.columns[0] - _BEFORE_MATCH, len(text) - MAX_LINE))
    end = start + MAX_LINE
    return f"{_CUT + ' ' if start else ''}{text[start:end]}{' ' + _CUT if end < len(text) else ''}"


_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def stands_in(path: Path, found: Iterable[FoundLine]) -> bool:
    """Whether the file, given by its resolved path, has all these lines. One that cannot be opened has none. Blocks."""
    whole, starts = set[bytes](), set[bytes]()
    for each in found:
        if each.cut:
            starts.add(each.raw)
        else:
            whole.update(each.raw.removesuffix(b"\n").split(b"\n"))
    try:
        with open_resolved(path) as descriptor, closing(_lines(descriptor)) as lines:
            for line in lines:
                whole.discard(line)
                starts = {start for start in starts if not line.startswith(start)} if starts else starts
                if not whole and not starts:
                    return True
    except OSError:
        pass
    return False


def _lines(descriptor: int) -> Generator[bytes, None, None]:
    """The lines of a file as ripgrep takes them: UTF-16 as UTF-8, without a byte order mark, cut at NUL bytes, too."""
    start = os.pread(descriptor, 3, 0)
    if start.startswith(_UTF_16):
        with open(descriptor, encoding="utf-16", errors="replace", newline="\n", closefd=False) as text:
            yield from (line.removesuffix("\n").encode("utf-8", "replace") for line in text)
        return
    with open(descriptor, "rb", closefd=False) as file:
        if start == codecs.BOM_UTF8:
            yield file.readline().removesuffix(b"\n").removeprefix(start)
            file.seek(0)
        for line in file:
            yield line.removesuffix(b"\n")
            if b"\0" in line:
                yield from line.removesuffix(b"\n").split(b"\0")
