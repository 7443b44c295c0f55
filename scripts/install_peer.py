"""Install another agent, to compare with (`make eval PEERS=aider,pi`), in an environment of its own.

What such an agent needs would not go together with our own packages, so none of ours are there, and our constraints do
not apply. Those of npm bring the Node that they need.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

import fetch_npm

FOLDER = Path(__file__).resolve().parents[1] / "evals" / ".cache"
PIP = {
    "aider": ("aider-chat==0.86.2",),
    "smolagents": ("smolagents[openai]==1.26.0",),
    "mini-swe-agent": ("mini-swe-agent==2.4.6",),
    "gptme": ("gptme==0.35.1",),
    "litellm": ("litellm[proxy]==1.105.3",),
}
NPM = {
    "pi": ("@earendil-works/pi-coding-agent@0.87.1", "node@24"),
    "opencode": ("opencode-ai@1.18.33", "node@24"),
    "codex": ("@openai/codex@0.166.0", "node@24"),
    "claude": ("@anthropic-ai/claude-code@2.1.325", "node@24"),
}


def main() -> int:
    if len(sys.argv) != 2 or sys.argv[1] not in PIP | NPM:
        print(f"usage: install_peer.py {'|'.join(PIP | NPM)}", file=sys.stderr)
        return 2
    name = sys.argv[1]
    print(f"installing {(PIP | NPM)[name][0]}, to compare with (once, some minutes)")
    failed = fetch_npm.main(FOLDER / name, *NPM[name]) if name in NPM else _from_pypi(FOLDER / name, *PIP[name])
    if not failed:
        (FOLDER / name / ".installed").touch()
    return failed


def _from_pypi(folder: Path, *packages: str) -> int:
    venv.create(folder, with_pip=True, clear=True)
    pip = (folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    return subprocess.run([*pip, *packages], check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())
