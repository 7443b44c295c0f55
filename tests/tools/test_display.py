"""What a call is about, for people: as its tool says, or else its first line of text."""

from __future__ import annotations

from typing import Any

import pytest

from joey.tools.builtin import builtin_display, builtin_tools
from joey.tools.display import Display, flat


@pytest.mark.parametrize(
    ("tool", "arguments", "summary"),
    [
        ("execute_command", {"cwd": "src", "command": "make"}, "make"),
        ("read_file", {"files": [{"path": "a.py"}, {"path": "b.py"}]}, "a.py, b.py"),
        ("write_to_file", {"file_text": "one line", "path": "a.txt"}, "a.txt"),
        ("write_to_file", {"file_path": "a.txt", "file_text": "x\ny\n"}, "a.txt"),
        ("search_files", {"path": "src", "regex": "TODO"}, "TODO, src"),
        ("mcp--library--search", {"text": "two\nlines", "words": ["wsgi"], "limit": 5}, "wsgi"),
        ("mcp--library--search", {}, ""),
        ("apply_patch", {"patch": "*** Begin Patch\n*** End Patch"}, ""),
    ],
)
def test_a_call_is_told_from_others_by_what_it_is_about(tool: str, arguments: dict[str, Any], summary: str) -> None:
    assert builtin_display(tool).summary(flat(arguments)) == summary


def test_every_subject_is_an_argument_of_its_tool() -> None:
    for tool in builtin_tools():
        assert set(tool.display.subject) <= set(tool.params.model_fields), tool.name


def test_a_result_of_a_command_that_failed_is_known_by_its_beginning() -> None:
    display = builtin_display("execute_command")
    assert display.failed("Command failed: exit code 1.") and display.failed("Command in 'a b' failed: exit code 1.")
    assert not display.failed("Command executed.\nOutput:\nCommand failed: exit code 1.")
    assert not Display().failed("Command failed: exit code 1.")
