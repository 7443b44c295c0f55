"""Fetch the wheels that tests/tools/test_real_edits.py edits into each other: `fetch_wheels.py FOLDER`.

The folder appears only when all of them are there, so that a run that failed is tried again.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

WHEELS = (
    *("click==8.1.7", "click==8.2.1"),
    *("rich==13.9.4", "rich==14.2.0"),
    *("werkzeug==3.0.0", "werkzeug==3.1.3"),
)


def main(target: Path) -> int:
    if target.is_dir():
        return 0
    target.parent.mkdir(parents=True, exist_ok=True)
    fetched = Path(tempfile.mkdtemp(dir=target.parent))
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--retries=1", "--timeout=20"]
    for wheel in WHEELS:  # one by one: pip refuses two versions of a package in one call
        done = subprocess.run([*pip, "--only-binary=:all:", "--dest", str(fetched), wheel], check=False)
        if done.returncode:
            print(f"{wheel} cannot be had; the tests that need it will be skipped", file=sys.stderr)
            shutil.rmtree(fetched)
            return 1
    fetched.rename(target)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
