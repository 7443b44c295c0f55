from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from joey.cli import main


def test_the_demo_shows_every_call_and_says_that_it_is_scripted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    shown = capsys.readouterr().out
    assert "The model is scripted" in shown
    for tool in ("read_file", "execute_command", "write_to_file", "attempt_completion"):
        assert f"✓ {tool}" in shown
    assert "app.get('/hello'" in shown


def test_on_a_terminal_the_calls_are_seen_growing() -> None:
    """Run on a real pseudo-terminal: an unfinished call must have been drawn before the finished one."""
    controller, terminal = pty.openpty()
    command = [sys.executable, "-m", "joey", "demo", "--speed", "4", "--size", "12"]
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40"}
    process = subprocess.Popen(command, stdout=terminal, stderr=terminal, stdin=terminal, env=environment)
    os.close(terminal)
    shown = b""
    try:
        while data := os.read(controller, 65536):
            shown += data
    except OSError:
        pass  # Linux says EIO when the other side of a terminal has closed.
    os.close(controller)
    assert process.wait() == 0
    text = shown.decode()
    assert text.index("… write_to_file") < text.index("✓ write_to_file")
