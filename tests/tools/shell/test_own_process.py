"""As an ordinary user, because root may read everything."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

WITHOUT_RIGHTS = ("setpriv", "--securebits=+noroot,+noroot_locked", "--bounding-set=-all", "--inh-caps=-all")
"""Root as a user like any other."""
RUN = """
import asyncio, os, sys, tempfile
from pathlib import Path
from joey.tools.base import ToolContext
from joey.tools.builtin.execute_command import ExecuteCommand, ExecuteCommandParams
with tempfile.TemporaryDirectory() as folder:
    command = ExecuteCommandParams(command=sys.argv[1])
    print(asyncio.run(ExecuteCommand().run(command, ToolContext(Path(folder), Path(folder)))).text)
"""
READ = (
    "import os, subprocess; print(subprocess.run(['cat', f'/proc/{os.getpid()}/environ'], capture_output=True).stdout)"
)


def as_an_ordinary_user(code: str, *arguments: str) -> str:
    done = subprocess.run(
        [*(WITHOUT_RIGHTS if os.geteuid() == 0 else ()), sys.executable, "-c", code, *arguments],
        env={**os.environ, "OTHER_API_KEY": "swordfish", "HOME": "/nonexistent"},
        check=False,
        capture_output=True,
        text=True,
    )
    return done.stdout + done.stderr


@pytest.fixture(autouse=True)
def can_be_tried() -> None:
    if sys.platform != "linux":
        pytest.skip("only Linux shows the environment of processes as files")
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed: root cannot be an ordinary user")
    if "swordfish" not in as_an_ordinary_user(READ):
        pytest.skip("processes are closed to each other here anyway")


@pytest.mark.parametrize("command", ["cat /proc/$PPID/environ", "cat < /proc/$PPID/environ", "cat /proc/$PPID/mem"])
def test_a_command_cannot_read_the_keys_of_joey_itself(command: str) -> None:
    shown = as_an_ordinary_user(RUN, command)
    assert "Command" in shown and "swordfish" not in shown
    assert "Permission denied" in shown


def test_programs_that_joey_starts_are_as_ever() -> None:
    """A command can look at its own process and at those that it started."""
    shown = as_an_ordinary_user(RUN, "cat /proc/self/environ /proc/$$/environ | tr '\\0' '\\n' | grep -c ^HOME=")
    assert shown.endswith("Output:\n2\n"), shown
