from __future__ import annotations

from typing import Any

import pytest

from joey.tools.shell.job import ExitStatus
from joey.tools.shell.output import collapse_repeats, shorten_output
from vectors_data import cases


@pytest.mark.parametrize("case", cases("roo/functions", fn="truncateOutput"), ids=lambda case: case["test"])
def test_long_output_is_shortened_as_recorded(case: Any) -> None:
    assert shorten_output(*case["args"]) == case["out"]


@pytest.mark.parametrize("case", cases("roo/functions", fn="applyRunLengthEncoding"), ids=lambda case: case["test"])
def test_repeated_lines_are_counted_as_recorded(case: Any) -> None:
    assert collapse_repeats(case["args"][0]) == case["out"]


def test_an_unfinished_last_line_is_no_repetition() -> None:
    text = "the very same line of output as before\n" * 3 + "the very same line of output as before"
    assert collapse_repeats(text).endswith("times>\nthe very same line of output as before")


@pytest.mark.parametrize(
    "case", cases("roo/functions", fn="BaseTerminalProcess.interpretExitCode"), ids=lambda case: str(case["args"])
)
def test_exit_codes_mean_what_was_recorded(case: Any) -> None:
    code = case["args"][1]
    if code is None:
        return  # there is no such thing as a process that ended without a code
    status, out = ExitStatus.of(code), case["out"]
    assert status.code == out["exitCode"]
    assert status.signal == out.get("signal")
    assert status.signal_name == out.get("signalName")
    assert status.may_dump_core == out.get("coreDumpPossible", False)
