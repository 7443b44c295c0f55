"""Fetch what tests use of others from npm: `fetch_npm.py FOLDER [--alone] PACKAGE …`, `--alone` without what they need.

The folder appears only when all of them are there, so that a run that failed is tried again.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

_TIMEOUT = 600


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
        if packages[0] == "--alone":
            _unpack(npm, fetched, packages[1:])
        else:
            command = [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(fetched), *packages]
            subprocess.run(command, check=True, timeout=_TIMEOUT)
    except (subprocess.SubprocessError, OSError) as error:
        shutil.rmtree(fetched, ignore_errors=True)
        print(f"{error}; the tests that need these servers will be skipped", file=sys.stderr)
        return 1
    fetched.rename(target)
    return 0


def _unpack(npm: str, target: Path, packages: tuple[str, ...]) -> None:
    """Each package below its name, as it was published."""
    for package in packages:
        command = [npm, "pack", "--silent", "--pack-destination", str(target), package]
        packed = subprocess.run(command, check=True, timeout=_TIMEOUT, capture_output=True, text=True)
        archive = target / packed.stdout.split()[-1]
        with tarfile.open(archive) as opened:
            opened.extractall(target / package.rpartition("@")[0], filter="data")
        archive.unlink()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
