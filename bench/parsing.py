"""Arguments of growing size, streamed in 4-character pieces: Joey beside its peers and the baseline."""

from __future__ import annotations

import argparse
import asyncio
import json
import tracemalloc
import typing
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from time import process_time
from typing import TypeVar

from bench.table import Table
from joey.chunks import ToolCallChunk
from joey.events import ToolCallDelta
from joey.protocols import get

SIZES_KB = (10, 50, 200, 1000)
PIECE = 4
CUTOFF_SECONDS = 30.0

T = TypeVar("T")
Reader = Callable[[list[str]], None]


class TooSlowError(Exception):
    """A peer passed the cut-off; the argument is how much of the input it had read."""


def run() -> list[Table]:
    streams = {size: pieces_of(arguments(size * 1024)) for size in SIZES_KB}
    baselines = {size: best(baseline, pieces) for size, pieces in streams.items()}
    table = Table(
        "Streaming one write_to_file call in 4-character pieces (times the baseline; one event object a piece is 1.0)",
        ["", *(f"{size} KB" for size in SIZES_KB), "per character, last size / first"],
    )
    joey = {
        size: best(joey_native, [ToolCallChunk(0, None, None, piece) for piece in pieces])
        for size, pieces in streams.items()
    }
    growth = (joey[SIZES_KB[-1]] / SIZES_KB[-1]) / (joey[SIZES_KB[0]] / SIZES_KB[0])
    table.add("baseline", *("1.0" for _ in SIZES_KB), "")
    table.add("Joey", *(f"{joey[size] / baselines[size]:.2f}" for size in SIZES_KB), f"{growth:.2f}")
    for name, reader in peers().items():
        table.add(name, *peer_cells(reader, streams, baselines))
    return [table, memory_table()]


def peer_cells(reader: Reader, streams: dict[int, list[str]], baselines: dict[int, float]) -> list[str]:
    cells: list[str] = []
    seconds: dict[int, float] = {}
    for size, pieces in streams.items():
        try:
            seconds[size] = timed(reader, pieces)
            cells.append(f"{seconds[size] / baselines[size]:,.1f}")
        except TooSlowError as error:
            cells.append(f"cut at {CUTOFF_SECONDS:.0f} s ({error})")
            break
    cells += ["not tried"] * (len(streams) - len(cells))
    done = list(seconds)
    growth = (seconds[done[-1]] / done[-1]) / (seconds[done[0]] / done[0]) if len(done) > 1 else None
    return [*cells, f"{growth:.1f} (to {done[-1]} KB)" if growth else ""]


def memory_table() -> Table:
    size = SIZES_KB[-1] * 1024
    pieces = pieces_of(arguments(size))
    tracemalloc.start()
    joey_native(ToolCallChunk(0, None, None, piece) for piece in pieces)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    table = Table("Memory for an argument of 1,000 KB", ["", "times the argument's size"])
    table.add("Joey, peak", f"{peak / size:.2f}")
    return table


# The input


def arguments(size: int) -> str:
    """The JSON of a write_to_file call whose text is real source code of about this size."""
    source = "".join(Path(str(module.__file__)).read_text("utf-8") for module in (argparse, typing, json))
    text = (source * (size // len(source) + 1))[:size]
    return json.dumps({"path": "src/module.py", "file_text": text})


def pieces_of(text: str) -> list[str]:
    return [text[start : start + PIECE] for start in range(0, len(text), PIECE)]


# The readers


def baseline(pieces: list[str]) -> None:
    path = ("file_text",)
    for piece in pieces:
        ToolCallDelta("call_1", path, piece, piece, False)


def joey_native(chunks: Iterable[ToolCallChunk]) -> None:
    parser = get("native").parser([])
    parser.feed(ToolCallChunk(0, "call_1", "write_to_file"))
    for chunk in chunks:
        parser.feed(chunk)
    parser.finish()


def peers() -> dict[str, Reader]:
    import jiter
    import jsonriver
    import partial_json_parser
    import pydantic_core

    def reparse(read: Callable[[bytes], object]) -> Reader:
        def reader(pieces: list[str]) -> None:
            buffer = bytearray()
            for piece in watched(pieces):
                buffer += piece.encode()
                read(bytes(buffer))

        return reader

    def reparse_text(read: Callable[[str], object]) -> Reader:
        def reader(pieces: list[str]) -> None:
            buffer = ""
            for piece in watched(pieces):
                buffer += piece
                read(buffer)

        return reader

    def read_jsonriver(pieces: list[str]) -> None:
        async def stream() -> AsyncIterator[str]:
            for piece in watched(pieces):
                yield piece

        async def read() -> None:
            async for _value in jsonriver.parse(stream()):
                pass

        asyncio.run(read())

    return {
        "jsonriver": read_jsonriver,
        "jiter, each prefix": reparse(lambda data: jiter.from_json(data, partial_mode="trailing-strings")),
        "pydantic_core, each prefix": reparse(
            lambda data: pydantic_core.from_json(data, allow_partial="trailing-strings")
        ),
        "partial-json-parser, each prefix": reparse_text(partial_json_parser.loads),
    }


# The clock


def watched(pieces: list[str]) -> Iterable[str]:
    """The pieces, until the time is up."""
    end = process_time() + CUTOFF_SECONDS
    for number, piece in enumerate(pieces):
        if number % 64 == 0 and process_time() > end:
            raise TooSlowError(f"at {100 * number // len(pieces)} %")
        yield piece


def timed(reader: Callable[[T], None], pieces: T) -> float:
    start = process_time()
    reader(pieces)
    return process_time() - start


def best(reader: Callable[[T], None], pieces: T, rounds: int = 5) -> float:
    return min(timed(reader, pieces) for _ in range(rounds))
