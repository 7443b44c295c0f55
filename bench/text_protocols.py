"""The same write_to_file call in each text protocol, and plain text, in 4-character pieces: Joey, peers, the baseline.

The peers of the text protocols are JavaScript: they run on node in the same run, installed into bench/node by npm, and
are timed inside their process, without its start. Without node and npm their rows say so.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from bench.parsing import PIECE, SIZES_KB, arguments, baseline, best, pieces_of
from bench.table import Table
from joey.events import TextDelta
from joey.messages import TextBlock, ToolUseBlock
from joey.protocols import get, names
from joey.toolspec import ToolSpec

NODE = Path(__file__).parent / "node"
CUTOFF_SECONDS = 20.0
PEERS = {
    "@ai-sdk-tool/parser 2.1.7, json_mix": ("json_mix 2.1.7", "json_mix"),
    "@ai-sdk-tool/parser 4.1.26, json_mix": ("json_mix 4.1.26", "json_mix"),
    "@ai-sdk-tool/parser 2.1.7, morph_xml": ("morph_xml 2.1.7", "morph_xml"),
    "@ai-sdk-tool/parser 4.1.26, morph_xml": ("morph_xml 4.1.26", "morph_xml"),
    "partial-json, each prefix of the JSON": ("partial-json", "arguments"),
}
TOOL = ToolSpec(
    "write_to_file",
    "",
    {
        "type": "object",
        "properties": {"path": {"type": "string"}, "file_text": {"type": "string"}},
        "required": ["path", "file_text"],
    },
)


def run() -> list[Table]:
    return [call_table(), plain_table()]


def call_table() -> Table:
    table = Table(
        f"One write_to_file call in {PIECE}-character pieces (times the baseline; one event object a piece is 1.0)",
        ["", *(f"{size} KB" for size in SIZES_KB), "per character, last size / first"],
    )
    baselines = {size: best(baseline, pieces_of(arguments(size * 1024)), rounds=3) for size in SIZES_KB}
    table.add("baseline", *("1.0" for _ in SIZES_KB), "")
    for protocol in text_protocols():
        seconds = {size: best(reading(protocol), pieces_of(stream(protocol, size)), rounds=3) for size in SIZES_KB}
        table.add(f"Joey, {protocol}", *cells(seconds, baselines))
    trouble = install()
    for title, (peer, protocol) in PEERS.items():
        if trouble or protocol not in (*names(), "arguments"):
            table.add(title, *("not run" for _ in SIZES_KB), trouble or "")
        else:
            table.add(title, *peer_cells(peer, protocol, baselines))
    return table


def plain_table() -> Table:
    table = Table(
        f"Plain text in {PIECE}-character pieces (times the baseline; one TextDelta a piece is 1.0)",
        ["", *(f"{size} KB" for size in SIZES_KB), "per character, last size / first"],
    )
    texts = {size: pieces_of(json.loads(arguments(size * 1024))["file_text"]) for size in SIZES_KB}
    baselines = {size: best(plain_baseline, pieces, rounds=3) for size, pieces in texts.items()}
    table.add("baseline", *("1.0" for _ in SIZES_KB), "")
    for protocol in text_protocols():
        seconds = {size: best(reading(protocol), pieces, rounds=3) for size, pieces in texts.items()}
        table.add(f"Joey, {protocol}", *cells(seconds, baselines))
    return table


def text_protocols() -> list[str]:
    return [name for name in names() if get(name).in_text and name != "tool_choice"]


def stream(protocol: str, size: int) -> str:
    """What a model would write to call the tool with a text of so many kilobytes."""
    if protocol == "arguments":
        return arguments(size * 1024)
    block = get(protocol).encode_call(ToolUseBlock("", TOOL.name, json.loads(arguments(size * 1024))))
    assert isinstance(block, TextBlock)
    return f"I will write it.\n{block.text}\n"


def reading(protocol: str) -> Callable[[list[str]], None]:
    def read(pieces: list[str]) -> None:
        parser = get(protocol).parser([TOOL])
        for piece in pieces:
            parser.feed(piece)
        parser.finish()

    return read


def plain_baseline(pieces: list[str]) -> None:
    for piece in pieces:
        TextDelta(piece)


def cells(seconds: dict[int, float], baselines: dict[int, float]) -> list[str]:
    first, last = SIZES_KB[0], SIZES_KB[-1]
    growth = (seconds[last] / last) / (seconds[first] / first)
    return [*(f"{seconds[size] / baselines[size]:.2f}" for size in SIZES_KB), f"{growth:.2f}"]


# The peers


def install() -> str | None:
    """Fetch the peers. The answer is why they cannot be had, if they cannot."""
    if (NODE / "node_modules").is_dir():
        return None
    if not (shutil.which("node") and shutil.which("npm")):
        return "needs node and npm"
    command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"]
    done = subprocess.run(command, cwd=NODE, check=False, capture_output=True, text=True)
    return f"npm failed: {done.stderr.strip()[-60:]}" if done.returncode else None


def peer_cells(peer: str, protocol: str, baselines: dict[int, float]) -> list[str]:
    row: list[str] = []
    seconds: dict[int, float] = {}
    for size in SIZES_KB:
        command = ["node", "peer.mjs", peer, str(CUTOFF_SECONDS)]
        done = subprocess.run(
            command, cwd=NODE, check=True, capture_output=True, text=True, input=stream(protocol, size)
        )
        answer = json.loads(done.stdout)
        if answer["came"] < 1:
            row.append(f"cut at {CUTOFF_SECONDS:.0f} s (at {answer['came']:.0%})")
            break
        seconds[size] = answer["seconds"]
        row.append(f"{seconds[size] / baselines[size]:,.1f}")
    row += ["not tried"] * (len(SIZES_KB) - len(row))
    done_sizes = list(seconds)
    if len(done_sizes) < 2:
        return [*row, ""]
    first, last = done_sizes[0], done_sizes[-1]
    return [*row, f"{(seconds[last] / last) / (seconds[first] / first):.1f} (to {last} KB)"]
