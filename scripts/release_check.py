"""Checks a release as its users will get it.

    release_check.py package    build, check the metadata, install the wheel alone in an empty environment, run the demo
    release_check.py            the same, after the version and the changelog were checked

The wheel is built from the source archive, so a file that is missing there is noticed. It is installed without the
constraints: what pyproject.toml permits is what users get.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"


def main(argv: list[str]) -> int:
    version = version_in((ROOT / "src" / "joey" / "__init__.py").read_text(encoding="utf-8"))
    if argv != ["package"]:
        found = problems(
            version,
            changelog=(ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
            project=(ROOT / "pyproject.toml").read_text(encoding="utf-8"),
        )
        if found:
            print("\n".join(["not ready for a release:", *found]), file=sys.stderr)
            return 1
    check_package(build(version), version)
    print(f"joey {version}: dist/ holds what was checked")
    return 0


def version_in(source: str) -> str:
    """The only place where the version is written."""
    return "".join(re.findall(r'^__version__ = "(.+)"$', source, re.MULTILINE))


def problems(version: str, changelog: str, project: str) -> list[str]:
    found = []
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version):
        found.append(f"src/joey/__init__.py: {version} is not a version such as 1.2.0 or 1.2.0rc1")
    if "version" in tomllib.loads(project)["project"]:
        found.append("pyproject.toml: the version is written in src/joey/__init__.py only; remove it here")
    sections = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL))
    if sections.get("Unreleased", "").strip():
        found.append(f"CHANGELOG.md: move what is under Unreleased to `## {version} - YYYY-MM-DD`")
    dated = [
        text for title, text in sections.items() if re.fullmatch(rf"{re.escape(version)} - \d{{4}}-\d\d-\d\d", title)
    ]
    if not any(text.strip() for text in dated):
        found.append(f"CHANGELOG.md: there is no entry `## {version} - YYYY-MM-DD`")
    return found


def build(version: str) -> Path:
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", DIST, ROOT)
    built = sorted(path.name for path in DIST.iterdir())
    if built != [f"joey-{version}-py3-none-any.whl", f"joey-{version}.tar.gz"]:
        raise SystemExit(
            f"dist/ should hold the wheel and the source archive of {version}; it holds {', '.join(built)}"
        )
    run(sys.executable, "-m", "twine", "check", "--strict", *DIST.iterdir())
    return DIST / built[0]


def check_package(wheel: Path, version: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        programs = Path(folder) / "bin"
        run(programs / "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
        shown = subprocess.run([programs / "joey", "--version"], cwd=folder, capture_output=True, text=True, check=True)
        if version not in shown.stdout:
            raise SystemExit(f"the installed joey is {shown.stdout.strip()}, not {version}")
        run(programs / "joey", "demo", "--yes", cwd=Path(folder))


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    print("$", *(each.name if isinstance(each, Path) else each for each in command), flush=True)
    finished = subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, check=False)
    if finished.returncode:
        raise SystemExit(f"failed with exit code {finished.returncode}")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
