"""What only a real terminal shows: tmux, and pseudo-terminals with the line buffer of the kernel."""

from __future__ import annotations

import asyncio
import shutil
import sys
from pathlib import Path

import pytest

from joey.testing.script import Faults, reply
from plain_kit import PlainTerminal
from screen_kit import ScratchServices
from task_kit import call, done
from typist_kit import RandomModel, Tmux


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_an_editor_that_fails_gives_the_screen_back_with_the_draft(tmp_path: Path) -> None:
    folder, home, model = tmp_path / "project", tmp_path / "home", RandomModel(1)
    folder.mkdir()
    home.mkdir()
    variables = {"HOME": str(home), "OPENAI_API_KEY": "x", "XDG_STATE_HOME": str(home / "state"), "LANG": "C.UTF-8"}
    command = f"{sys.executable} -m joey --model openai/m --base-url {model.url} --api chat"
    terminal = Tmux(tmp_path / "tmux", command, folder, {**variables, "EDITOR": "false", "VISUAL": ""})
    try:
        terminal.wait_for("code mode")
        terminal.text("a draft")
        terminal.wait_for("a draft")
        terminal.keys("C-g")
        assert "a draft" in terminal.wait_for("false ended with exit code 1; nothing was taken over")
        terminal.text(" goes on")
        terminal.wait_for("a draft goes on")
    finally:
        terminal.close()
        model.shutdown()
        model.server_close()


@pytest.mark.parametrize("key", ["y", "2", "3"])
async def test_a_line_begun_before_a_request_does_not_answer_it(tmp_path: Path, key: str) -> None:
    slowly = reply("I write it.", call("w", "write_to_file", path="a.txt", file_text="hello\n"), faults=Faults(pause=1))
    terminal = PlainTerminal(ScratchServices(tmp_path, [slowly, done()], "ask"))
    async with asyncio.timeout(60):
        await terminal.until("> ")
        terminal.type("go\n")
        await terminal.until("I write")
        terminal.type(key)
        await terminal.until(f"typed before this request: {key})")
        await terminal.until("or why not: ")
        terminal.type("\n")
        await terminal.until("or why not: ")
        assert not (terminal.services.folder / "a.txt").exists()
        terminal.type("y\n")
        await terminal.until("All done.")
    assert (terminal.services.folder / "a.txt").exists()
    await terminal.close()
