"""Fetch Toad, a client of the Agent Client Protocol, and the Python 3.14 that it needs, for one test: `fetch_toad.py
FOLDER`.

That Python comes from Debian's packages, unpacked beside Toad and run with its own C library: nothing is installed, and
nothing of the system changes. The folder appears only when all is there, so that a run that failed is tried again.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pip

_TOAD = "batrachian-toad==0.6.20"
_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
_SECONDS = 200
_START = """\
#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
libraries=$(echo "$here"/root/usr/lib/*-linux-gnu)
python=$here/root/usr/bin/python3.14
run() { exec "$libraries"/ld-linux-*.so.* --library-path "$libraries" --argv0 "$python" "$python" "$@"; }
"""
_TOADS = """run -c "import sys; sys.path.insert(0, '$here/packages'); from toad.cli import main; main()" "$@"\n"""


def main(target: Path) -> int:
    if target.is_dir():
        return 0
    missing = [each for each in ("apt-get", "dpkg-deb") if shutil.which(each) is None]
    if missing or platform.machine() != "x86_64" or not Path(_KEYS).exists():
        print("Toad needs a newer Python, which only Debian has for us; its test will be skipped", file=sys.stderr)
        return 1
    target.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=target.parent))
    try:
        _unpack_python(folder)
        _install_toad(folder)
    except (subprocess.SubprocessError, OSError) as error:
        print(f"{error}; the test with Toad will be skipped", file=sys.stderr)
        shutil.rmtree(folder, ignore_errors=True)
        return 1
    folder.rename(target)
    return 0


def _unpack_python(folder: Path) -> None:
    apt = folder / "apt"
    for each in ("lists/partial", "archives/partial", "etc"):
        (apt / each).mkdir(parents=True)
    (apt / "status").touch()
    (apt / "sources.list").write_text(f"deb [signed-by={_KEYS}] http://deb.debian.org/debian sid main\n")
    places: dict[str, object] = {
        "Dir::State::status": apt / "status", "Dir::State::lists": apt / "lists", "Dir::Cache": apt,
        "Dir::Cache::archives": apt / "archives", "Dir::Etc::sourcelist": apt / "sources.list",
        "Dir::Etc::sourceparts": apt / "etc", "Dir::Etc::preferencesparts": apt / "etc",
        "APT::Sandbox::User": "root", "Acquire::Languages": "none", "Debug::NoLocking": "true",
    }  # fmt: skip
    options = [word for name, value in places.items() for word in ("-o", f"{name}={value}")]
    _run("apt-get", *options, "-qq", "update")
    _run("apt-get", *options, "-qq", "-y", "-d", "--no-install-recommends", "install", "python3.14", "libstdc++6")
    for package in sorted((apt / "archives").glob("*.deb")):
        _run("dpkg-deb", "-x", str(package), str(folder / "root"))
    shutil.rmtree(apt)


def _install_toad(folder: Path) -> None:
    python, toad = folder / "python", folder / "toad"
    python.write_text(f'{_START}run "$@"\n')
    toad.write_text(f"{_START}{_TOADS}")
    for each in (python, toad):
        each.chmod(0o755)
    where = ["--target", str(folder / "packages"), "--break-system-packages"]
    _run(str(python), pip.__path__[0], "install", "-qq", "--root-user-action=ignore", *where, _TOAD)


def _run(*command: str) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(command, check=True, timeout=_SECONDS, env=environment, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).absolute()))
