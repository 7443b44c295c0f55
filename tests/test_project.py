"""What keeps the project easy to join: pinned versions, generated layers, and automation that uses the same targets."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
PROJECT: dict[str, Any] = tomllib.loads(PYPROJECT)["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
CONSTRAINTS = (ROOT / "constraints.txt").read_text(encoding="utf-8")


def script(name: str) -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts" / f"{name}.py"))


# Versions


def direct_requirements() -> list[Requirement]:
    listed = [*PROJECT["dependencies"], *(each for extra in EXTRAS.values() for each in extra)]
    return [each for each in map(Requirement, listed) if each.name != "joey"]


@pytest.mark.parametrize("needed", direct_requirements(), ids=str)
def test_every_requirement_is_pinned_to_a_version_that_it_permits(needed: Requirement) -> None:
    pins = script("constraints")["pins"](CONSTRAINTS)
    assert needed.specifier.contains(pins[canonicalize_name(needed.name)])


def test_the_constraints_are_names_and_versions_and_nothing_else() -> None:
    lines = [line for line in CONSTRAINTS.splitlines() if not line.startswith("#")]
    assert [line for line in lines if not re.fullmatch(r"[a-z0-9.-]+==[\w.!+]+", line)] == []
    assert lines == sorted(set(lines), key=lambda line: line.split("==")[0])


def test_make_installs_nothing_without_the_constraints() -> None:
    (install,) = [line for line in MAKEFILE.splitlines() if "/pip install" in line]
    assert "--constraint constraints.txt" in install


def test_new_constraints_say_what_changed() -> None:
    changed = script("constraints")["changed"]
    assert changed({"a": "1", "b": "1", "c": "1"}, {"a": "1", "b": "2", "d": "1"}) == [
        "b 1 -> 2",
        "c 1 -> gone",
        "d new -> 1",
    ]


def test_what_is_installed_is_found_with_what_it_needs_itself() -> None:
    found = script("constraints")["installed"](Requirement("jsonschema"))
    assert {"attrs", "referencing", "rpds-py"} <= set(found)
    assert "jsonschema" not in found


# Layers


def test_the_layers_are_shown_with_every_package_and_its_purpose() -> None:
    table = script("docs")["layers_table"](PYPROJECT)
    packages = {path.stem for path in (ROOT / "src" / "joey").iterdir() if path.suffix == ".py" or path.is_dir()}
    shown = re.findall(r"^\|.*\| `(\w+)` \| .+ \|$", table, re.MULTILINE)
    assert sorted(shown) == sorted(name for name in packages if not name.startswith("__"))


def test_a_layer_without_an_explanation_is_an_error() -> None:
    silent = re.sub(r'    # .+\n(    "errors")', r"\1", PYPROJECT)
    assert silent != PYPROJECT
    with pytest.raises(SystemExit, match="one comment line"):
        script("docs")["layers_table"](silent)
