"""`joey scratch` without a terminal, against a local server."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from joey.cli.scratch import TASK
from joey.messages import ToolUseBlock
from joey.testing.script import reply
from joey.testing.server import LocalServer

DONE = reply(ToolUseBlock("d", "attempt_completion", {"result": "It prints 1."}))


async def scratch(folder: Path, *arguments: str, script: str = "a.py") -> tuple[int, str, str]:
    write = reply(ToolUseBlock("w", "write_to_file", {"path": script, "file_text": "print(1)\n"}))
    run = reply(ToolUseBlock("r", "execute_command", {"command": f"python3 {script}"}))
    environment = {**os.environ, "HOME": str(folder), "TMPDIR": str(folder), "ANTHROPIC_API_KEY": "test"}
    async with LocalServer([write, run, DONE]) as server:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "joey", "scratch", "--model", "anthropic/scripted",
            "--base-url", server.anthropic_url, *arguments,
            env=environment, stdin=asyncio.subprocess.DEVNULL, stdout=-1, stderr=-1,
        )  # fmt: skip
        out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


async def test_files_are_written_in_a_new_folder_that_is_shown_and_commands_are_refused(tmp_path: Path) -> None:
    code, out, err = await scratch(tmp_path)
    folder = Path(err.rpartition("The files are in ")[2].strip())
    assert (code, out) == (0, "It prints 1.\n")
    assert (folder / "a.py").read_text() == "print(1)\n"
    assert folder.parent == tmp_path and f"Folder: {folder} (new and empty)" in err
    assert TASK in err and "commands are refused" in err and "denied" in err


async def test_only_the_script_of_the_task_that_is_done_by_itself_may_run_unasked(tmp_path: Path) -> None:
    _, _, err = await scratch(tmp_path, script="squares.py")
    assert "python3 squares.py may run; other commands are refused" in err and "denied" not in err
    _, _, err = await scratch(tmp_path, "Print the squares", script="squares.py")
    assert "may run" not in err and "denied" in err


async def test_a_command_runs_when_it_was_allowed(tmp_path: Path) -> None:
    code, _, err = await scratch(tmp_path, "Print 1", "--allow", "python3")
    assert code == 0
    assert "python3 may run; other commands are refused" in err and "denied" not in err
