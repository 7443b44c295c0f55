"""Joey is killed while commands run in a sandbox without namespaces: they end with it all the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from joey.sandbox import landlock
from process_kit import all_ended_in

pytestmark = pytest.mark.skipif(sys.platform != "linux" or not landlock.version(), reason="the kernel has no Landlock")

JOEY = """
import asyncio, os, sys
from pathlib import Path
from joey.sandbox import Walls, open_partial

async def main():
    workspace = Path(sys.argv[1])
    sandbox = await open_partial(Walls(workspace))
    nothing = os.open(os.devnull, os.O_RDWR)
    for _ in range(10):
        line = "trap '' TERM HUP; sleep 300 & sleep 300; true"
        await sandbox.start(["sh", "-c", line], workspace, dict(os.environ), (nothing,) * 3)
    print("ready", flush=True)
    await asyncio.sleep(300)

asyncio.run(main())
"""


def test_commands_of_a_partial_sandbox_end_when_joey_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", JOEY, str(tmp_path)], stdout=subprocess.PIPE) as joey:
        assert joey.stdout is not None and joey.stdout.readline() == b"ready\n"
        joey.kill()
    assert all_ended_in(tmp_path)
