"""What only a real terminal shows: tmux, and pseudo-terminals with the line buffer of the kernel."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

import pytest

from typist_kit import RandomModel, Tmux


def seen(terminal: Tmux, text: str) -> str:
    """The screen, once it shows this text."""
    for _ in range(600):
        screen = terminal.screen()
        if text in screen:
            return screen
        time.sleep(0.1)
    raise AssertionError(terminal.screen())


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_an_editor_that_fails_gives_the_screen_back_with_the_draft(tmp_path: Path) -> None:
    folder, home, model = tmp_path / "project", tmp_path / "home", RandomModel(1)
    folder.mkdir()
    home.mkdir()
    variables = {"HOME": str(home), "OPENAI_API_KEY": "x", "XDG_STATE_HOME": str(home / "state"), "LANG": "C.UTF-8"}
    command = f"{sys.executable} -m joey --model openai/m --base-url {model.url} --api chat"
    terminal = Tmux(tmp_path / "tmux", command, folder, {**variables, "EDITOR": "false", "VISUAL": ""})
    try:
        seen(terminal, "code mode")
        terminal.text("a draft")
        seen(terminal, "a draft")
        terminal.keys("C-g")
        assert "a draft" in seen(terminal, "false ended with exit code 1; nothing was taken over")
        terminal.text(" goes on")
        seen(terminal, "a draft goes on")
    finally:
        terminal.close()
        model.shutdown()
        model.server_close()
