"""Install another agent, to compare with (`make eval PEERS=aider`), in an environment of its own.

What such an agent needs would not go together with our own packages, so none of ours are there, and our constraints do
not apply.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "evals" / ".cache"
PACKAGES = {"aider": "aider-chat==0.86.2"}


def main() -> int:
    if len(sys.argv) != 2 or sys.argv[1] not in PACKAGES:
        print(f"usage: install_peer.py {'|'.join(PACKAGES)}", file=sys.stderr)
        return 2
    name = sys.argv[1]
    print(f"installing {PACKAGES[name]}, to compare with (once, some minutes)")
    venv.create(FOLDER / name, with_pip=True, clear=True)
    pip = (FOLDER / name / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    if subprocess.run([*pip, PACKAGES[name]], check=False).returncode:
        return 1
    (FOLDER / name / ".installed").touch()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
