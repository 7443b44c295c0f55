"""One long argument in dialects of open models, in 4-character pieces: every engine against the baseline, and beside it
what the parsers of vLLM and SGLang cost where they were measured; and a model that repeats one marker for ever."""

from __future__ import annotations

from bench.parsing import PIECE, SIZES_KB, arguments, baseline, best, pieces_of
from bench.table import Table
from bench.text_protocols import cells, reading, stream
from joey.protocols import get
from joey.protocols.dialects.protocol import DialectProtocol
from joey.protocols.dialects.spec import Channels, Dialect, Tagged

DIALECTS = (
    "hermes", "llama3_json", "mistral_v11", "kimi_k2", "deepseek_v31", "qwen3_coder", "glm47", "deepseek_v32",
    "minimax_m2", "pythonic", "lfm2", "gemma4", "harmony",
)  # fmt: skip
RECORDED = {
    # Seconds of CPU for one argument of 10, 50 and 100 KB in 4-character pieces: vLLM 0.32, SGLang 0.5.23. They were
    # measured once, on a shared machine, each stopped after 30 seconds; they cannot be run here.
    "hermes": ("0.14, 1.75, 7.31", "2.4, over 30"),
    "llama3_json": ("2.5, over 30", "2.71, over 30"),
    "mistral_v11": ("0.14, 0.53, 0.94", "0.93, 22.4, over 30"),
    "kimi_k2": ("0.10, 0.44, 1.03", "0.03, 0.29, 1.24"),
    "deepseek_v31": ("0.86, 18.6, over 30", "0.43, 11.6, over 30"),
    "qwen3_coder": ("4.49, over 30", "0.03, 0.39, 1.62"),
    "glm47": ("1.86, over 30", "0.04, 0.28, 1.13"),
    "deepseek_v32": ("0.06, 0.66, 1.61", "0.28, 6.79, 26.2"),
    "minimax_m2": ("7.76, over 30", "0.16, 3.49, 14.9"),
    "pythonic": ("1.84, over 30", "1.2, 3.13, 3.75"),
    "lfm2": ("7.58, over 30", "0.03, 0.21, 0.62"),
    "gemma4": ("0.16, 3.84, 13.5", "0.02, 0.22, 0.80"),
    "harmony": ("0.23, 0.18, 0.45", "0.05, 0.66, 2.56"),
}


def run() -> list[Table]:
    return [engines(), repeated(), others()]


def engines() -> Table:
    table = Table(
        f"One write_to_file call in a dialect, in {PIECE}-character pieces (times the baseline)",
        ["", *(f"{size} KB" for size in SIZES_KB), "per character, last size / first"],
    )
    baselines = {size: best(baseline, pieces_of(arguments(size * 1024)), rounds=3) for size in SIZES_KB}
    table.add("baseline", *("1.0" for _ in SIZES_KB), "")
    for name in DIALECTS:
        seconds = {size: best(reading(name), pieces_of(_written(name, size)), rounds=3) for size in SIZES_KB}
        table.add(f"Joey, {name} ({_engine(name)})", *cells(seconds, baselines))
    return table


def repeated() -> Table:
    """In an argument, where each might end it or begin a call: what is looked at ahead must have an end."""
    table = Table(
        "One marker again and again in an argument (per character, 128 KB / 8 KB)", ["", "whole", "in pieces"]
    )
    for name in DIALECTS:
        growth = [max(_growth(name, marker, whole) for marker in _markers(name)) for whole in (True, False)]
        table.add(f"Joey, {name} ({_engine(name)})", *(f"{each:.2f}" for each in growth))
    return table


def _growth(name: str, marker: str, whole: bool) -> float:
    before = _written(name, 1).partition("# Author")[0]
    texts = [before + marker * (size * 1024 // len(marker)) for size in (8, 128)]
    few, many = (best(reading(name), [text] if whole else pieces_of(text), rounds=2) / len(text) for text in texts)
    return many / few


def _markers(name: str) -> list[str]:
    """What opens and closes a call, and a value."""
    calls = _dialect(name).calls
    part = calls.body if isinstance(calls, Channels) else calls
    groups = [part.open, part.close, *([part.key, part.value_end] if isinstance(part, Tagged) else [])]
    return [group[0] for group in groups if group] or ["{"]


def others() -> Table:
    table = Table(
        "What one argument of 10, 50 and 100 KB cost other parsers (recorded, seconds)", ["", "vLLM", "SGLang"]
    )
    for name, row in RECORDED.items():
        table.add(name, *row)
    return table


def _written(name: str, size: int) -> str:
    """The call alone: in a dialect of messages, text has a header of its own."""
    return stream(name, size).removeprefix("I will write it.\n")


def _engine(name: str) -> str:
    return _dialect(name).engine


def _dialect(name: str) -> Dialect:
    protocol = get(name)
    assert isinstance(protocol, DialectProtocol)
    return protocol.dialect
