"""What Roo's ignore file hides and what Roo protects."""

from __future__ import annotations

from typing import Any

from joey.actions import RunCommand
from joey.policy import IgnoreRules, Settings, Workspace, judge
from vectors_data import cases

OTHERWISE = {
    "ign-105": "an ignored folder is hidden itself, not only what is in it",
    "ign-151": "the pattern of a search is not a file",
    "ign-153": "a quoted file name is the same file",
    "ign-164": "every command of a pipeline is looked at",
    "prot-37": "a folder of rules further down steers the agent too",
    "prot-21": "a dot name that is not known to be harmless asks",
    "prot-44": "a dot name that is not known to be harmless asks",
    "prot-40": "CLAUDE.md is read as instructions too",
}


def workspace(rules: str | None) -> Workspace:
    ignore = IgnoreRules.read({".rooignore": rules or ""})
    return Workspace("/nonexistent/ws", "/nonexistent/home", ignore, exists=lambda _path: True)


def answer(case: Any) -> Any:
    place, given = workspace(case["rooignore"]), case["input"]
    if case["op"] == "validateAccess":
        return place.locate(given).hidden_by is None
    if case["op"] == "filterPaths":
        return [path for path in given if place.locate(path).hidden_by is None]
    verdict = judge([RunCommand(given)], Settings(allow=("*",)), place)
    return next((part.subject for part in verdict.parts if part.decision == "deny"), None)


def test_ignore_files_hide_the_same_except_where_listed() -> None:
    # getInstructions makes words for the prompt, not a decision.
    decisions = [case for case in cases("roo/rooignore") if case["op"] != "getInstructions"]
    differing = {case["id"] for case in decisions if answer(case) != case["expected"]}
    assert differing == {name for name in OTHERWISE if name.startswith("ign")}


def test_the_same_files_are_protected_except_where_listed() -> None:
    place = workspace(None)
    found = {case["id"]: place.locate(case["path"]).protected is not None for case in cases("roo/rooignore.protected")}
    differing = {case["id"] for case in cases("roo/rooignore.protected") if found[case["id"]] != case["expected"]}
    assert differing == {name for name in OTHERWISE if name.startswith("prot")}
