"""Fetch servers of others from npm that tests talk to: `fetch_npm.py FOLDER PACKAGE …`.

The folder appears only when all of them are there, so that a run that failed is tried again.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

_TIMEOUT = 180


def main(target: Path, *packages: str) -> int:
    npm = shutil.which("npm")
    if target.is_dir():
        return 0
    if npm is None:
        print("npm is not installed; the tests that need its servers will be skipped", file=sys.stderr)
        return 1
    target.parent.mkdir(parents=True, exist_ok=True)
    fetched = Path(tempfile.mkdtemp(dir=target.parent))
    try:
        command = [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(fetched), *packages]
        subprocess.run(command, check=True, timeout=_TIMEOUT)
    except (subprocess.SubprocessError, OSError) as error:
        shutil.rmtree(fetched, ignore_errors=True)
        print(f"{error}; the tests that need these servers will be skipped", file=sys.stderr)
        return 1
    fetched.rename(target)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
