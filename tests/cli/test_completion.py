"""Completion scripts: made of the parsers, and understood by the shells."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from joey.cli import COMMANDS, GROUPS, main
from joey.cli.completion import every_command


def script(capsys: pytest.CaptureFixture[str], shell: str) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


def test_every_command_and_its_options_are_known() -> None:
    commands = {each.name: each for each in every_command()}
    assert list(commands) == list(COMMANDS)
    assert {"list", "get", "set", "path"} <= set(commands["config"].words)
    approve = next(option for option in commands["run"].options if "--approve" in option.names)
    assert approve.takes and {"ask", "edits"} <= set(approve.choices)
    json = next(option for option in commands["config"].options if "--json" in option.names)
    assert not json.takes


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("joey ta", ["tasks"]),
        ("joey run --appr", ["--approve"]),
        ("joey run --approve e", ["edits"]),
        ("joey config s", ["set"]),
        ("joey --res", ["--resume"]),
        ("joey tasks sh", ["show"]),
        ("joey tasks show 2026", ["20260101-1", "20260102-2"]),
        ("joey tasks show --jso", ["--json"]),
        ("joey resume 20260102", ["20260102-2"]),
        ("joey run --resume 20260101", ["20260101-1"]),
        ("joey --resume 20260101", ["20260101-1"]),
        ("joey help ta", ["tasks"]),
        ("joey hel", ["help"]),
    ],
)
def test_bash_offers_what_the_parsers_take(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, typed: str, offered: list[str]
) -> None:
    for task_id in ("20260101-1", "20260102-2"):
        (tmp_path / "joey" / "tasks" / task_id).mkdir(parents=True)
    words = typed.split(" ")
    line = f'COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _joey; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run(
        ["bash", "-c", f"{script(capsys, 'bash')}\n{line}"],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": os.defpath, "XDG_STATE_HOME": str(tmp_path)},
    )
    assert done.stdout.split() == offered and not done.stderr


@pytest.mark.parametrize(("shell", "checks"), [("zsh", "-n"), ("fish", "--no-execute")])
def test_other_shells_can_read_theirs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, shell: str, checks: str
) -> None:
    text = script(capsys, shell)
    assert "checkpoints" in text and "approve" in text
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed; its script was made and not read")
    (tmp_path / "script").write_text(text)
    done = subprocess.run([shell, checks, str(tmp_path / "script")], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_help_is_in_groups_and_help_of_a_command_is_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    everything = capsys.readouterr().out
    assert all(f"\n{title}:\n" in everything for title in GROUPS)
    with pytest.raises(SystemExit) as ended:
        main(["help", "run"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("usage: joey run")
    assert main(["help", "runn"]) == 2
    assert "did you mean `joey run`?" in capsys.readouterr().err
