"""What a plain install weighs: this checkout installed by pip into an empty folder, counted and weighed there.

The figures of the peers are quoted, not measured here: fresh environments on Python 3.12, in October 2026.
"""

from __future__ import annotations

import compileall
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from bench.table import Table

CHECKOUT = Path(__file__).parents[1]
MAX_MEGABYTES = 110
MAX_DISTRIBUTIONS = 50
QUOTED = {
    "smolagents 1.26": ("54", "74", "27"),
    "gptme 0.35": ("159", "225", "77"),
    "aider 0.86": ("543", "650", "107"),
    "OpenHands 1.16": ("542", "735", "206"),
}


def run() -> list[Table]:
    columns = ["", "MB without byte code", "MB with it", "distributions"]
    table = Table("A plain install (sum of file sizes; the peers are quoted, not measured)", columns)
    table.add("Joey, at most", "", str(MAX_MEGABYTES), str(MAX_DISTRIBUTIONS))
    table.add("Joey", *weigh())
    table.add("Joey with MCP", *weigh("mcp"))
    table.add("Joey with everything", *weigh(extras()))
    for name, figures in QUOTED.items():
        table.add(f"{name} (quoted)", *figures)
    return [table]


def extras() -> str:
    """Those of users: what developers need is no part of an install."""
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["project"]
    return ",".join(sorted(set(project["optional-dependencies"]) - {"dev", "bench", "site", "release"}))


def weigh(extra: str = "") -> tuple[str, str, str]:
    """Megabytes without and with byte code, and how many distributions."""
    with tempfile.TemporaryDirectory() as folder:
        install(Path(folder), f"{CHECKOUT}[{extra}]" if extra else str(CHECKOUT))
        bare = megabytes(Path(folder))
        compileall.compile_dir(folder, quiet=2)
        count = len(list(Path(folder).glob("*.dist-info")))
        return f"{bare:.0f}", f"{megabytes(Path(folder)):.0f}", str(count)


def install(folder: Path, what: str) -> None:
    quiet = ["--quiet", "--quiet", "--disable-pip-version-check", "--no-compile"]
    subprocess.run([sys.executable, "-m", "pip", "install", *quiet, "--target", str(folder), what], check=True)


def megabytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
