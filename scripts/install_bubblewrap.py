"""Install Debian's bubblewrap for the sandbox and its tests, where it is missing and we may."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from joey.sandbox import bubblewrap

_TIMEOUT = 300


def main() -> int:
    if bubblewrap.program():
        return 0
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        print("bubblewrap is missing and cannot be installed here; tests of the full sandbox skip", file=sys.stderr)
        return 1
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    quiet = [apt, "-qq", "-o", "DPkg::Lock::Timeout=120"]
    install = [*quiet, "install", "-y", "--no-install-recommends", "bubblewrap"]
    try:
        # The package may be known already; without lists nothing is found.
        for command in ([*quiet, "update"], install):
            subprocess.run(command, check=True, timeout=_TIMEOUT, env=environment, stdout=subprocess.DEVNULL)
    except (subprocess.SubprocessError, OSError) as error:
        print(f"{error}; tests of the full sandbox skip", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
