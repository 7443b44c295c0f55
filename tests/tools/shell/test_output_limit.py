"""The output kept of the commands of a task has a limit, and reaching it is reported."""

from __future__ import annotations

from pathlib import Path

from joey.tools.shell.artifacts import artifacts, kept_bytes
from joey.tools.shell.output import PREVIEW, CommandOutput

LINE = b"x" * 99 + b"\n"


def printed(storage: Path, lines: int) -> CommandOutput:
    output = CommandOutput(storage, max_kept=4 * PREVIEW)
    for _ in range(lines):
        output.feed(LINE)
    output.finish()
    return output


def test_output_beyond_the_limit_of_the_task_is_not_kept_and_that_is_reported(tmp_path: Path) -> None:
    assert printed(tmp_path, 300).problem == ""
    second = printed(tmp_path, 300)
    assert "have reached their limit" in second.problem
    assert second.size == 30_000 and second.preview().endswith("x\n")
    assert kept_bytes(tmp_path) <= 4 * PREVIEW
    printed(tmp_path, 120)
    assert "limit" in printed(tmp_path, 300).problem
    assert kept_bytes(tmp_path) <= 4 * PREVIEW + PREVIEW
    assert len(artifacts(tmp_path)) >= 2


def test_small_output_needs_no_room(tmp_path: Path) -> None:
    assert printed(tmp_path, 5).problem == "" and artifacts(tmp_path) == []
