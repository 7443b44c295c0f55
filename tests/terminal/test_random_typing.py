"""Somebody types at random while requests appear: nothing is lost, nothing is answered by accident.

A few seconds here; `make typing MINUTES=30 SEED=7` for as long as wanted, with what was typed in `build/typing`.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
from pathlib import Path

import pytest

from typist_kit import RandomModel, Tmux, Typist

MINUTES = float(os.environ.get("JOEY_TYPING_MINUTES", "0.15"))
SEED = int(os.environ.get("JOEY_TYPING_SEED", "7"))


@pytest.mark.timeout(MINUTES * 60 + 300)
@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_nothing_is_lost_and_nothing_is_answered_by_accident(tmp_path: Path) -> None:
    folder, home = tmp_path / "project", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    model = RandomModel(SEED)
    variables = {"HOME": str(home), "OPENAI_API_KEY": "x", "XDG_STATE_HOME": str(home / "state"), "LANG": "C.UTF-8"}
    command = f"{sys.executable} -m joey --model openai/m --base-url {model.url} --api chat"
    terminal = Tmux(tmp_path / "tmux", f"{command}; echo ended with $?; sleep 9999", folder, variables)
    typist = Typist(terminal, model, folder, random.Random(SEED))
    try:
        typist.work(MINUTES * 60)
        screen = terminal.screen()
        print(f"\n{MINUTES:g} minutes, {typist.actions}, {len(typist.sent)} messages, {model.requests} requests")
        assert not typist.findings(), f"{typist.findings()}\n{screen}"
        assert "ended with" not in screen and "Traceback" not in screen and "went wrong" not in screen, screen
    finally:
        terminal.close()
        model.shutdown()
        model.server_close()
