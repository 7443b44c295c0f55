"""Fetch the data of the Berkeley Function Calling Leaderboard: `python scripts/bfcl.py FOLDER`.

The `bfcl-eval` wheel carries it. The wheel is taken alone, because what it depends on is gigabytes; of its files only
the questions and answers of the single-turn categories are kept. Without a network the tests that need them are
skipped and say so; this script then says why and fails.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

WHEEL = "bfcl-eval==2026.3.23"
CATEGORIES = ("simple_python", "simple_java", "simple_javascript", "multiple", "parallel", "parallel_multiple")
WITHOUT_ANSWERS = ("irrelevance",)  # no function is of use: the right answer is no call
LIVE_CATEGORIES = ("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple")


def main(folder: Path) -> int:
    with tempfile.TemporaryDirectory() as scratch:
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command = [*download, "--retries", "1", "--timeout", "15", "--dest", scratch, WHEEL]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode:
            print(f"the BFCL data cannot be had: {done.stderr.strip()[-300:]}", file=sys.stderr)
            return 1
        keep(next(Path(scratch).glob("*.whl")), folder)
    return 0


def keep(wheel: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel) as archive:
        for category in (*CATEGORIES, *LIVE_CATEGORIES, *WITHOUT_ANSWERS):
            for kind, inside in (("questions", ""), ("answers", "possible_answer/")):
                if kind == "questions" or category not in WITHOUT_ANSWERS:
                    data = archive.read(f"bfcl_eval/data/{inside}BFCL_v4_{category}.json")
                    (folder / f"{category}.{kind}.jsonl").write_bytes(data)


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
