"""The lines of everyday work are what they claim to be: lines that bash takes, under flags that Joey takes."""

from __future__ import annotations

import argparse
import shlex
import subprocess

import pytest

from joey.cli import run
from joey.cli.flags import settings_in
from policy.everyday_lines import EVERYDAY, NOT_PLAIN

LINES = [line for line, *_ in (*EVERYDAY, *NOT_PLAIN)]


def test_there_are_enough_of_them_and_none_twice() -> None:
    assert len(EVERYDAY) >= 260
    assert len(NOT_PLAIN) >= 60
    assert len(set(LINES)) == len(LINES)


def test_bash_takes_every_line() -> None:
    # A bash for each, so that a line which does not end its own syntax cannot swallow the next.
    script = "\n".join(f"bash -n <<< {shlex.quote(line)} || echo REFUSED" for line in LINES)
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize("rules", sorted({case[1] for case in (*EVERYDAY, *NOT_PLAIN)}))
def test_the_rules_are_flags_of_joey_run(rules: str) -> None:
    parser = argparse.ArgumentParser()
    run.configure(parser)
    args = parser.parse_args(["a task", *shlex.split(rules)])
    given = settings_in(args)
    assert given["approvals.profile"] == "edits"
    assert given["approvals.allow"]
