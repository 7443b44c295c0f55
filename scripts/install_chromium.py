"""Install Debian's Chromium for the tests of browser_action, where there is none and we may: `install_chromium.py`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from joey.tools.browser.chromium import find_chromium

_TIMEOUT = 300


def main() -> int:
    if find_chromium():
        return 0
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        print("there is no Chromium, and it cannot be installed here; the tests that need it skip", file=sys.stderr)
        return 1
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    quiet = [apt, "-qq", "-o", "DPkg::Lock::Timeout=120"]
    install = [*quiet, "install", "-y", "--no-install-recommends", "chromium"]
    try:
        # The lists may be there already; without them nothing is found.
        for command in ([*quiet, "update"], install):
            subprocess.run(command, check=True, timeout=_TIMEOUT, env=environment, stdout=subprocess.DEVNULL)
    except (subprocess.SubprocessError, OSError) as error:
        print(f"{error}; the tests that need Chromium skip", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
