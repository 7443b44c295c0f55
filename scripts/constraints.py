"""Writes constraints.txt: the exact version of every package that development installs, and says what changed.

    constraints.py            the versions in this environment, with which the tests were run
    constraints.py --newest   the newest versions that fit pyproject.toml and each other; nothing is installed

The file is made with the oldest Python that Joey supports, since new packages drop old Pythons and not the other way
round. It holds names and versions only: no registry, no path. Packages that only another system needs are not in it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
FILE = ROOT / "constraints.txt"
EXTRAS = ("bench", "dev", "local", "release", "site")
HEADER = """\
# The versions that the tests pass with; `make` installs these. `make constraints` writes down what is in .venv,
# `make upgrade` the newest. Who installs Joey to use it is not bound to them.
"""
PIN = re.compile(r"^([\w.-]+)==([^\s;]+)$", re.MULTILINE)


def main(argv: list[str]) -> int:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    oldest = project["requires-python"].removeprefix(">=")
    here = "{}.{}".format(*sys.version_info)
    if here != oldest:
        print(
            f"this is Python {here}; constraints are made with {oldest}: make clean, then PYTHON=python{oldest}",
            file=sys.stderr,
        )
        return 2
    before = pins(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    after = newest() if "--newest" in argv else installed(Requirement(f"joey[{','.join(EXTRAS)}]"))
    changes = changed(before, after)
    if changes:  # `make` installs again when the file is newer than what is installed
        FILE.write_text(written(after), encoding="utf-8")
    print("\n".join([*changes, f"constraints.txt: {len(after)} packages, {len(changes)} changed"]))
    return 0


def pins(text: str) -> dict[str, str]:
    return dict(PIN.findall(text))


def written(versions: Mapping[str, str]) -> str:
    return HEADER + "".join(f"{name}=={version}\n" for name, version in sorted(versions.items()))


def changed(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    return [
        f"{name} {before.get(name, 'new')} -> {after.get(name, 'gone')}"
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    ]


def installed(root: Requirement) -> dict[str, str]:
    """What `root` needs, directly or not, in the versions that are installed here."""
    versions = dict[str, str]()
    seen, waiting = set[tuple[str, str]](), [(root.name, extra) for extra in ("", *root.extras)]
    while waiting:
        name, extra = waiting.pop()
        if (canonicalize_name(name), extra) in seen:
            continue
        seen.add((canonicalize_name(name), extra))
        found = distribution_of(name)
        versions[canonicalize_name(name)] = found.version
        needed = [Requirement(each) for each in found.requires or ()]
        chosen = [each for each in needed if each.marker is None or each.marker.evaluate({"extra": extra})]
        waiting += [(each.name, wanted) for each in chosen for wanted in ("", *each.extras)]
    del versions[canonicalize_name(root.name)]
    return versions


def distribution_of(name: str) -> Any:
    try:
        return distribution(name)
    except PackageNotFoundError:
        raise SystemExit(f"{name} is not installed in this environment; `make constraints` installs it first") from None


def newest() -> dict[str, str]:
    """What pip would install if nothing were installed yet. Nothing is."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--report", "-"]
    resolved = subprocess.run([*pip, f"{ROOT}[{','.join(EXTRAS)}]"], stdout=subprocess.PIPE, check=False)
    if resolved.returncode:
        raise SystemExit("pip could not resolve the newest versions; its message is above")
    found = [each["metadata"] for each in json.loads(resolved.stdout)["install"]]
    return {canonicalize_name(each["name"]): each["version"] for each in found if each["name"] != "joey"}


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
