"""Fetch programs of others from PyPI that tests talk to, each into an environment of its own: `fetch_pip.py FOLDER
PACKAGE …`.

A folder that could not be filled is deleted, so that a run that failed is tried again.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

_TIMEOUT = 600


def main(target: Path, *packages: str) -> int:
    if target.is_dir():
        return 0
    try:
        subprocess.run([sys.executable, "-m", "venv", str(target)], check=True, timeout=_TIMEOUT)
        pip = [str(target / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *packages], check=True, timeout=_TIMEOUT)
    except (subprocess.SubprocessError, OSError) as error:
        shutil.rmtree(target, ignore_errors=True)
        print(f"{error}; the tests that need {', '.join(packages)} will be skipped", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
