"""Whether what a search found is really in the file that it names.

ripgrep opens files by their paths, so a file or a folder that is replaced by a link while it searches leads it
anywhere. What it found is shown only if each line stands in the file as it is now, opened by its resolved path without
following a link. Lines are compared as bytes, one after the other: a file costs no more memory than its longest line.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Generator, Iterable
from contextlib import closing
from pathlib import Path

from joey.bounded.files import open_resolved
from joey.tools.searching.ripgrep import FoundLine

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
