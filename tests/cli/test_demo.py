from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from joey.cli import main
from joey.testing.hello_model import FEEDBACK
from process_kit import all_ended_in, running_in


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the demo makes its folder, and must leave nothing."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    return tmp_path


@pytest.mark.parametrize(
    ("protocol", "provider"),
    [("native", "openai"), ("xml", "anthropic"), ("json_mix", "openai"), ("morph_xml", "anthropic")],
)
def test_without_a_terminal_the_demo_runs_to_its_end(
    protocol: str, provider: str, scratch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--protocol", protocol, "--provider", provider]) == 0
    shown = capsys.readouterr().out
    assert "The model is scripted" in shown
    assert "There is no terminal to ask at" in " ".join(shown.split())
    for call in ("read_file  notes.md", "write_to_file  server.py", "execute_command  ", "apply_diff  server.py"):
        assert f"● {call}" in shown
    assert shown.count("\n✓ Result\n") == 2
    assert "✗" not in shown
    # What the web server answered, before and after: the script holds neither of these lines.
    assert shown.index("200 text/plain Hello, World!") < shown.index(
        '200 application/json {"message": "Hello, World!"}'
    )
    assert "-        body = b" in shown  # the diff
    assert "+        body = b" in shown
    assert max(map(len, shown[: shown.index("›")].splitlines())) <= 80
    assert not list(scratch.iterdir())


def test_the_scratch_folder_can_be_kept(scratch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--yes", "--keep"]) == 0
    (folder,) = scratch.iterdir()
    assert str(folder) in capsys.readouterr().out.replace("\n", "")
    assert "application/json" in (folder / "hello" / "server.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("speed", ["0", "-1", "nan", "fast"])
def test_a_speed_that_is_none_is_refused(speed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--speed", speed]) == 2
    assert f"the speed is a number above 0, such as 2 or 0.5, not {speed!r}" in capsys.readouterr().err


class Terminal:
    """The demo on a pseudo-terminal of 80 columns, and a person who reads before they type."""

    def __init__(self, *options: str) -> None:
        self._controller, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        command = [sys.executable, "-m", "joey", "demo", "--speed", "8", *options]
        environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24", "NO_COLOR": "1"}
        self.process = subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, env=environment)
        os.close(terminal)
        self._pieces = self._read()
        self.shown = ""
        self._seen = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._controller)

    def _read(self) -> Iterator[str]:
        try:
            while select.select([self._controller], [], [], 60)[0] and (data := os.read(self._controller, 65536)):
                yield data.decode(errors="replace")
        except OSError:
            pass  # Linux says EIO when the other side of a terminal has closed.

    def until(self, *questions: str) -> str:
        """Read on until one of these stands there, and say which."""
        while not (found := [words for words in questions if words in self.shown[self._seen :]]):
            piece = next(self._pieces, None)
            assert piece is not None, f"the demo ended before it said {questions}:\n{self.shown}"
            self.shown += piece
        self._seen = len(self.shown)
        return found[0]

    def type(self, line: str) -> None:
        self.press(f"{line}\n")

    def press(self, keys: str) -> None:
        os.write(self._controller, keys.encode())

    def rest(self) -> int:
        self.shown += "".join(self._pieces)
        return self.process.wait(30)


def test_on_a_terminal_calls_grow_and_the_user_answers(scratch: Path) -> None:
    with Terminal("--plain") as terminal:
        terminal.until("Approve?")
        terminal.type("n")
        terminal.until("Enter accepts")
        terminal.type("I did not mean that.")  # a denied step is offered again, and nothing is derailed
        approvals = 0
        while terminal.until("Approve?", "Enter accepts") == "Approve?":
            terminal.type("y")
            approvals += 1
        terminal.type("Greet me in JSON.")
        while terminal.until("Approve?", "Enter accepts") == "Approve?":
            terminal.type("y")
            approvals += 1
        terminal.type("y")
        assert terminal.rest() == 0
    shown = terminal.shown
    assert approvals == 6
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown)
    assert plain.index("○ write_to_file") < plain.index("● write_to_file")
    assert f"such as: {FEEDBACK}" in " ".join(plain.split())
    assert shown.index("Greet me in JSON.") < shown.index("200 application/json")
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", shown), "NO_COLOR was set"
    assert not list(scratch.iterdir())


def test_at_a_terminal_it_is_shown_as_any_task_and_ends_when_the_user_quits(scratch: Path) -> None:
    with Terminal() as terminal:
        terminal.until("Approval required")
        terminal.press("\x11")  # Ctrl+Q
        assert terminal.rest() == 130
    assert "\x1b[?1049h" in terminal.shown and "Traceback" not in terminal.shown
    left = terminal.shown.rpartition("\x1b[?1049l")[2]
    assert "write_to_file" in left and "Nothing is left running. The scratch folder is removed." in left
    assert not list(scratch.iterdir())


def test_ctrl_c_ends_it_cleanly_with_all_it_started(scratch: Path) -> None:
    with Terminal("--plain", "--protocol", "xml") as terminal:
        for _ in range(2):
            terminal.until("Approve?")
            terminal.type("y")
        terminal.until("Approve?")
        assert running_in(scratch)
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.rest() == 130
    assert all_ended_in(scratch)
    assert "Traceback" not in terminal.shown
    assert not list(scratch.iterdir())


def test_a_second_ctrl_c_leaves_nothing_behind(scratch: Path) -> None:
    with Terminal("--plain") as terminal:
        for _ in range(2):
            terminal.until("Approve?")
            terminal.type("y")
        terminal.until("Approve?")
        assert running_in(scratch)
        terminal.process.send_signal(signal.SIGSTOP)  # so that both come before the first can have done its work
        terminal.process.send_signal(signal.SIGINT)
        terminal.process.send_signal(signal.SIGCONT)
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.rest() == 130
    assert all_ended_in(scratch)
    assert not list(scratch.iterdir())


@pytest.mark.parametrize("lines", [0, 3, 12])
def test_a_reader_that_leaves_ends_it_without_a_word(scratch: Path, lines: int) -> None:
    command = [sys.executable, "-m", "joey", "demo", "--yes"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        for _ in range(lines):
            process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 141
    assert not list(scratch.iterdir())
