"""Process groups are found again by number and mark, with real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from joey.system.processes import ProcessGroup, group_led_by, still_running

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="marks come from /proc")


@pytest.fixture
def led() -> Iterator[subprocess.Popen[bytes]]:
    """A shell that leads a session, with a program in the background that outlives it."""
    line = "sleep 300 > /dev/null & echo started; read -r _"
    with subprocess.Popen(
        ["sh", "-c", line], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == b"started\n"
        yield process
        os.killpg(process.pid, signal.SIGKILL)


def test_a_group_runs_as_long_as_anything_of_it_does(led: subprocess.Popen[bytes]) -> None:
    group = group_led_by(led.pid)
    other = ProcessGroup(os.getpid(), "")
    assert still_running([group, other]) == {group}
    led.communicate(b"\n")
    assert still_running([group]) == {group}, "the shell is gone, the program in the background is not"


def test_a_number_that_was_used_again_is_not_mistaken_for_the_group(led: subprocess.Popen[bytes]) -> None:
    group = group_led_by(led.pid)
    assert not still_running([replace(group, mark=group.mark + "1"), replace(group, mark="")])


def test_a_group_that_was_killed_is_gone(led: subprocess.Popen[bytes]) -> None:
    group = group_led_by(led.pid)
    with subprocess.Popen(["sleep", "300"], start_new_session=True) as own:
        mine = group_led_by(own.pid)
        own.kill()
        os.waitid(os.P_PID, own.pid, os.WEXITED | os.WNOWAIT)
        assert still_running([group, mine]) == {group}, "one that nobody has waited for yet does not run, either"
