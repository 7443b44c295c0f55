"""A status command of the user's: what it reads, what is shown of it, and that it can do no harm."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from joey.app.sources import settings_in_force
from joey.system.trust import TrustStore
from joey.terminal.status import Status, status_line
from joey.terminal.status_command import MAX_FAILURES, StatusCommand, status_json
from joey.usage import Usage

PUBLISHED = """\
#!/bin/bash
# As in Claude Code's documentation: model, folder and branch.
input=$(cat)
MODEL=$(echo "$input" | python3 -c 'import json,sys; print(json.load(sys.stdin)["model"]["display_name"])')
DIR=$(echo "$input" | python3 -c 'import json,sys; print(json.load(sys.stdin)["workspace"]["current_dir"])')
echo "[$MODEL] ${DIR##*/}"
"""


async def shown_by(folder: Path, command: str, *data: dict[str, Any], **options: Any) -> list[str]:
    """What is shown after each of these, when the command has ended."""
    shown: list[str] = []
    ended = asyncio.Event()

    def show(words: str) -> None:
        shown.append(words)
        ended.set()

    line = StatusCommand(command, folder, show, every=0.0, **options)
    for each in data:
        ended.clear()
        line.changed(each)
        await asyncio.wait_for(ended.wait(), 20)
    await line.close()
    return shown


async def test_a_script_written_for_claude_code_works(tmp_path: Path) -> None:
    script = tmp_path / "status.sh"
    script.write_text(PUBLISHED)
    status = Status(model="anthropic/claude-opus-5-5", window=1000, last=Usage(250))
    data = status_json(status, tmp_path, "", None)
    assert data["context_window"]["used_percentage"] == 25 and data["hook_event_name"] == "Status"
    assert await shown_by(tmp_path, f"bash {script}", data) == [f"[claude-opus-5-5] {tmp_path.name}"]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("echo one; echo two", "one"),
        (r"printf '\033[31mred\033[0m \033]0;title\007\033[2Jx'", "red x"),
        ("exit 3", "status command: exit code 3"),
        ("true", "status command: it printed nothing"),
        ("yes | head -c 3000000", "y"),
        ("sleep 30", "status command: it took too long"),
        ("no-such-program-here", "status command: exit code 127"),
    ],
)
async def test_the_first_line_is_shown_as_plain_words_and_a_failure_is_named(
    tmp_path: Path, command: str, words: str
) -> None:
    assert await shown_by(tmp_path, command, {"n": 1}, timeout=0.5 if "sleep" in command else 20.0) == [words]


async def test_after_some_failures_it_is_not_run_again(tmp_path: Path) -> None:
    shown = await shown_by(tmp_path, "echo x >> ran; false", *({"n": n} for n in range(MAX_FAILURES)))
    assert shown[-1].endswith("it is not run again")
    line = StatusCommand("echo x >> ran", tmp_path, shown.append, _failures=MAX_FAILURES)
    line.changed({"n": 99})
    await line.close()
    assert (tmp_path / "ran").read_text().count("x") == MAX_FAILURES


async def test_nothing_new_runs_nothing(tmp_path: Path) -> None:
    shown = asyncio.Event()
    line = StatusCommand("cat >> seen; echo x", tmp_path, lambda _words: shown.set(), every=0.0)
    line.changed({"n": 1})
    line.changed({"n": 2})
    await shown.wait()
    line.changed({"n": 2})
    await asyncio.sleep(0.2)
    await line.close()
    assert [json.loads(each)["n"] for each in (tmp_path / "seen").read_text().splitlines()] == [2]


def test_it_takes_the_place_of_the_counts_and_never_of_mode_and_approvals() -> None:
    status = Status("code", "m", "ask", own="mine", cost=1.0, usage=Usage(5, 5))
    assert status_line(status, 80).plain == "code mode  approve: ask  mine"
    assert status_line(replace(status, own="x" * 200), 40).plain.startswith("code mode  approve: ask  xxx")


def test_a_project_cannot_set_one_even_where_it_is_trusted(tmp_path: Path) -> None:
    (tmp_path / ".joey").mkdir()
    (tmp_path / ".joey" / "config.toml").write_text('[terminal]\nstatus_command = "touch stolen"\n')
    TrustStore().trust(tmp_path)
    assert settings_in_force(tmp_path).value("terminal.status_command") is None
