"""Install a program of Debian's for the tests, where it is missing and we may: `install_debian.py PROGRAM WHAT_SKIPS`.

The package has the program's name, apart from those in the table. Several of these may run at once: they wait for each
other, since apt does not.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from joey.tools.browser.chromium import find_chromium

_PACKAGES = {"bwrap": "bubblewrap", "pg_ctlcluster": "postgresql"}
_TIMEOUT = 300


def main(program: str, skipped: str) -> int:
    package = _PACKAGES.get(program, program)
    if _is_there(program):
        return 0
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        print(f"{package} is missing and cannot be installed here; {skipped} are skipped", file=sys.stderr)
        return 1
    try:
        with Path(tempfile.gettempdir(), "joey-apt.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            _install(apt, package)
    except (subprocess.SubprocessError, OSError) as error:
        print(f"{error}; {skipped} are skipped", file=sys.stderr)
        return 1
    return 0


def _is_there(program: str) -> bool:
    return bool(find_chromium() if program == "chromium" else shutil.which(program))


def _install(apt: str, package: str) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    quiet = [apt, "-qq", "-o", "DPkg::Lock::Timeout=120"]
    # The package may be known already; without lists nothing is found.
    for command in ([*quiet, "update"], [*quiet, "install", "-y", "--no-install-recommends", package]):
        subprocess.run(command, check=True, timeout=_TIMEOUT, env=environment, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
