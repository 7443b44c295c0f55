"""The world that the tools of a task are given, and what they report through it."""

from __future__ import annotations

from pathlib import Path

from joey.events import SandboxReported
from joey.tools.base import Confined
from task_kit import Kit


def test_the_sandbox_is_reported_with_the_first_command_and_when_it_changes(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [])
    toolbox = kit.assemble().toolbox
    full, none = Confined("full", "none", "full, no network"), Confined("full", "on", "full")
    for number, confined in enumerate([full, full, none, none, full]):
        toolbox.context(f"c{number}").confined(confined)
    assert [event.message for event in kit.of(SandboxReported)] == ["full, no network", "full", "full, no network"]
