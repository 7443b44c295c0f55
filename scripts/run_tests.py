"""Run all tests side by side, and those that failed once more by themselves: `run_tests.py WORKERS`.

Many tests drive real browsers, terminals and servers, with others beside them on a few cores. One that fails there and
passes by itself is named as unsteady, to be fixed; the run passes. A test that fails twice fails the run, and so do
more failures than a few.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

_MAX_TRIED_AGAIN = 3
_FAILED_TESTS = 1
"""pytest's exit code for failed tests; others mean that not all of them were run."""


def main(workers: str, folder: Path = Path()) -> int:
    code = _pytest(folder, "-n", workers)
    if code != _FAILED_TESTS:
        return code
    failed = _failed(folder)
    if not 0 < len(failed) <= _MAX_TRIED_AGAIN:
        return code
    print(f"\nOnce more by themselves: {', '.join(failed)}", flush=True)
    if code := _pytest(folder, "-n", "0", "--last-failed"):
        return code
    print(f"\nUnsteady, passed only by themselves: {', '.join(failed)}", flush=True)
    return 0


def _pytest(folder: Path, *args: str) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *args], cwd=folder, check=False).returncode


def _failed(folder: Path) -> list[str]:
    """The tests of the last run that failed, as pytest keeps them."""
    kept = folder / ".pytest_cache/v/cache/lastfailed"
    return sorted(json.loads(kept.read_text("utf-8"))) if kept.exists() else []


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
