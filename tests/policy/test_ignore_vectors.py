"""What Roo's ignore file hides and what Roo protects."""

from __future__ import annotations

import posixpath
from typing import Any

import pytest

from joey.actions import RunCommand
from joey.policy import IgnoreRules, Settings, Workspace, judge
from vectors_data import cases

OTHERWISE = {
    "ign-153": "a quoted file name is the same file",
    "ign-164": "every command of a pipeline is looked at",
    "prot-37": "a folder of rules further down steers the agent too",
    "prot-40": "CLAUDE.md is read as instructions too",
}


def workspace(rules: str | None) -> Workspace:
    ignore = IgnoreRules.read({".rooignore": rules or ""})
    return Workspace(
        "/nonexistent/ws", "/nonexistent/home", ignore, resolve=posixpath.normpath, exists=lambda _path: True
    )


def rows(name: str) -> list[Any]:
    # getInstructions makes words for the prompt, not a decision.
    return [pytest.param(case, id=case["id"]) for case in cases(name) if case.get("op") != "getInstructions"]


def answer(case: Any) -> Any:
    place, given = workspace(case["rooignore"]), case["input"]
    if case["op"] == "validateAccess":
        return place.locate(given).hidden_by is None
    if case["op"] == "filterPaths":
        return [path for path in given if place.locate(path).hidden_by is None]
    verdict = judge([RunCommand(given)], Settings(allow=("*",)), place)
    return next((part.subject for part in verdict.parts if part.decision == "deny"), None)


@pytest.mark.parametrize("case", rows("roo/rooignore"))
def test_ignore_files_hide_the_same(case: Any) -> None:
    assert (answer(case) == case["expected"]) == (case["id"] not in OTHERWISE)


@pytest.mark.parametrize("case", rows("roo/rooignore.protected"))
def test_the_same_files_are_protected(case: Any) -> None:
    protected = workspace(None).locate(case["path"]).protected is not None
    assert (protected == case["expected"]) == (case["id"] not in OTHERWISE)
