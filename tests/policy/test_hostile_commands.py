"""Command lines that were written to get past the policy: none is allowed without asking."""

from __future__ import annotations

import pytest

from hostile_workspace import make_workspace, settings_of
from joey.policy import Workspace
from joey.policy.shell.lines import judge_line
from joey.policy.verdict import combine
from vectors_data import cases


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return make_workspace(tmp_path_factory.mktemp("hostile"))


def test_no_hostile_line_is_allowed(workspace: Workspace) -> None:
    allowed = [
        (case["rules"], case["command"], verdict.reason)
        for case in cases("hostile/commands")
        if (
            verdict := combine(judge_line(case["command"], settings_of(case["rules"]), workspace, workspace.root))
        ).allowed
    ]
    assert allowed == []
