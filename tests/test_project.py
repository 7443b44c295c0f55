"""What keeps the project easy to join: pinned versions, generated layers, and automation that uses the same targets."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from joey import __version__, protocols

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


# The site

SITE: dict[str, Any] = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))


def pages_in(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    return [page for each in (nav.values() if isinstance(nav, dict) else nav) for page in pages_in(each)]


def test_every_page_is_in_the_navigation_of_the_site_once() -> None:
    shown = [path for path in script("site_pages")["paths"]() if path.endswith(".md")]
    assert sorted(pages_in(SITE["nav"])) == shown, "mkdocs.yml lists the pages of the site under `nav`"


def test_what_pages_link_to_is_on_the_site() -> None:
    on_site = set(script("site_pages")["paths"]())
    link = re.compile(r"\]\((?!https?:|#)([^)\s#]+)")
    fence = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
    for page in pages_in(SITE["nav"]):
        for target in link.findall(fence.sub("", (ROOT / page).read_text(encoding="utf-8"))):
            linked = ((ROOT / page).parent / target).resolve().relative_to(ROOT).as_posix()
            assert linked in on_site, f"{page} links to {target}"


def test_the_site_is_strict_has_a_search_and_asks_no_other_server() -> None:
    assert SITE["strict"] and "search" in SITE["plugins"]
    assert SITE["theme"]["font"] is False
    assert set(SITE["validation"].values()) == {"warn"}


def test_words_after_the_language_of_a_block_are_not_for_the_site() -> None:
    shown = script("site_pages")["on_page_markdown"]("```python needs a model\nx = 1\n```\n")
    assert shown == "```python\nx = 1\n```\n"


# Automation

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def jobs(workflow: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"]
    return found


def targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_read_only_and_runs_targets_of_make(workflow: Path) -> None:
    assert yaml.safe_load(workflow.read_text(encoding="utf-8"))["permissions"] == {"contents": "read"}
    for name, job in jobs(workflow).items():
        assert "permissions" not in job and "timeout-minutes" in job, name
        used = [step["uses"] for step in job["steps"] if "uses" in step]
        assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", each) for each in used), name
        *_, last = (step["run"] for step in job["steps"] if "run" in step)
        assert last.removeprefix("make ") in targets(), name


def test_the_tests_run_on_every_python_from_the_oldest_that_is_supported() -> None:
    matrix = jobs(ROOT / ".github" / "workflows" / "ci.yml")["test"]["strategy"]["matrix"]
    assert matrix == {"os": ["ubuntu-latest", "macos-latest"], "python": ["3.11", "3.12", "3.13", "3.14"]}
    assert PROJECT["requires-python"] == f">={matrix['python'][0]}"


def test_hooks_before_a_commit_use_the_tools_of_the_environment() -> None:
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    assert repository["repo"] == "local"
    for hook in repository["hooks"]:
        program, *_ = hook["entry"].split()
        assert hook["language"] == "system" and program.startswith(".venv/bin/"), hook["id"]
        assert program.replace(".venv/bin", "$(BIN)") in MAKEFILE, "a hook runs what `make check` runs"


@pytest.mark.parametrize("name", ["bug", "idea"])
def test_a_form_for_issues_is_short_and_has_an_answer_that_is_required(name: str) -> None:
    form = yaml.safe_load((ROOT / ".github" / "ISSUE_TEMPLATE" / f"{name}.yml").read_text(encoding="utf-8"))
    assert {"name", "description", "body"} <= set(form)
    fields = [each for each in form["body"] if each["type"] != "markdown"]
    assert len(fields) <= 5 and len({each["id"] for each in fields}) == len(fields)
    assert any(each.get("validations", {}).get("required") for each in fields)


def test_the_form_for_bugs_offers_every_protocol() -> None:
    form = yaml.safe_load((ROOT / ".github" / "ISSUE_TEMPLATE" / "bug.yml").read_text(encoding="utf-8"))
    (field,) = [each for each in form["body"] if each.get("id") == "protocol"]
    assert set(field["attributes"]["options"][1:]) == set(protocols.names())


# Releases

DYNAMIC = '[project]\ndynamic = ["version"]\n'
READY = "# Changelog\n\n## Unreleased\n\n## 1.2.0 - 2026-11-16\n\n- Something new.\n\n## 1.1.0 - 2026-10-01\n\n- Old.\n"


@pytest.mark.parametrize(
    ("version", "changelog", "project", "expected"),
    [
        ("1.2.0", READY, DYNAMIC, []),
        ("1.2.0rc1", READY.replace("1.2.0", "1.2.0rc1"), DYNAMIC, []),
        ("1.3.0", READY, DYNAMIC, ["no entry `## 1.3.0 "]),
        ("1.2.0", READY.replace("- Something new.\n", ""), DYNAMIC, ["no entry"]),
        ("1.2.0", READY.replace(" - 2026-11-16", ""), DYNAMIC, ["no entry"]),
        ("1.2.0", READY.replace("Unreleased\n", "Unreleased\n\n- Not yet.\n"), DYNAMIC, ["under Unreleased"]),
        ("1.2.0", READY, '[project]\nversion = "1.2.0"\n', ["pyproject.toml"]),
        ("1.2", READY.replace("1.2.0", "1.2"), DYNAMIC, ["not a version"]),
    ],
)
def test_a_release_needs_one_version_and_its_entry(
    version: str, changelog: str, project: str, expected: list[str]
) -> None:
    found = script("release_check")["problems"](version, changelog, project)
    assert len(found) == len(expected)
    assert all(words in problem for words, problem in zip(expected, found, strict=True))


def test_the_version_is_read_where_it_is_written() -> None:
    source = (ROOT / "src" / "joey" / "__init__.py").read_text(encoding="utf-8")
    assert script("release_check")["version_in"](source) == __version__


def test_continuous_integration_is_check_and_test() -> None:
    commands = [line for line in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines() if "make" in line]
    assert commands == ["make check", "make test"]
