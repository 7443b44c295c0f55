"""Install a program of Debian's for the tests, where it is missing and we may: `install_debian.py PROGRAM WHAT_SKIPS`.

The package has the program's name, apart from those in the table.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

_PACKAGES = {"bwrap": "bubblewrap"}
_TIMEOUT = 300


def main(program: str, skipped: str) -> int:
    package = _PACKAGES.get(program, program)
    if shutil.which(program):
        return 0
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        print(f"{package} is missing and cannot be installed here; {skipped} are skipped", file=sys.stderr)
        return 1
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    quiet = [apt, "-qq", "-o", "DPkg::Lock::Timeout=120"]
    install = [*quiet, "install", "-y", "--no-install-recommends", package]
    try:
        # The package may be known already; without lists nothing is found.
        for command in ([*quiet, "update"], install):
            subprocess.run(command, check=True, timeout=_TIMEOUT, env=environment, stdout=subprocess.DEVNULL)
    except (subprocess.SubprocessError, OSError) as error:
        print(f"{error}; {skipped} are skipped", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
