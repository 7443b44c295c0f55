"""`joey resume` as people run it: at a terminal and without one."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from joey.cli import main
from joey.journal.journal import Journal, read_journal
from joey.journal.records import ChildOpened, MessageAdded, RunBegan, TaskEnded, TaskOpened
from joey.journal.replay import replay
from joey.messages import Message, TextBlock, ToolUseBlock
from joey.testing.script import Scripted, reply
from joey.testing.server import LocalServer

WRITE = reply(ToolUseBlock("w", "write_to_file", {"path": "a.txt", "file_text": "hello\n"}))
DONE = reply(ToolUseBlock("d", "attempt_completion", {"result": "Went on."}))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with one task in it that was killed while a command ran."""
    (tmp_path / "project").mkdir()
    path = tmp_path / "state" / "joey" / "tasks" / "20260101-000000-abc" / "journal.jsonl"
    with Journal(path) as journal:
        journal.append(
            TaskOpened(
                "20260101-000000-abc", "Do it", str(tmp_path / "project"), "code", "anthropic/scripted", "native"
            )
        )
        journal.append(MessageAdded(Message("user", (TextBlock("Do it"),))))
        call = ToolUseBlock("x", "execute_command", {"command": "make"})
        journal.append(MessageAdded(Message("assistant", (call,))))
        journal.append(RunBegan("x", "execute_command"))
    return tmp_path


def environment(home: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.endswith("_API_KEY") and key != "JOEY_MODEL"}
    return {**kept, "HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "ANTHROPIC_API_KEY": "test"}


async def test_in_a_terminal_the_user_decides(home: Path) -> None:
    async with LocalServer([WRITE, DONE]) as server:
        screen, inside = os.openpty()
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "joey", "resume", "2026", "and go on", "--base-url", server.anthropic_url,
            cwd=home, env=environment(home), stdin=inside, stdout=inside, stderr=inside,
        )  # fmt: skip
        os.close(inside)
        shown = await answer(screen, [("Approve?", "y\n"), ("Enter accepts", "\n")])
        assert await process.wait() == 0, shown
        os.close(screen)
        first = server.requests[0].body["messages"][-1]["content"]
    assert (home / "project" / "a.txt").read_text() == "hello\n"
    assert "Resuming: Do it" in re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert first[0]["tool_use_id"] == "x" and "interrupted" in first[0]["content"]
    assert first[1]["text"] == "<user_message>\nand go on\n</user_message>"


async def test_in_a_terminal_a_finished_task_waits_for_a_message(home: Path) -> None:
    with Journal(home / "state" / "joey" / "tasks" / "20260101-000000-abc" / "journal.jsonl") as journal:
        journal.append(TaskEnded("completed", "Done."))
    async with LocalServer([DONE]) as server:
        screen, inside = os.openpty()
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "joey", "resume", "--base-url", server.anthropic_url,
            cwd=home / "project", env=environment(home), stdin=inside, stdout=inside, stderr=inside,
        )  # fmt: skip
        os.close(inside)
        shown = await answer(screen, [("type a message to continue", "and now?\n"), ("Result", "\n/quit\n")])
        assert await process.wait() == 0, shown
        os.close(screen)
        assert len(server.requests) == 1
        text = server.requests[0].body["messages"][-1]["content"][1]["text"]
        assert text == "<user_message>\nand now?\n</user_message>"


async def answer(screen: int, answers: Iterable[tuple[str, str]]) -> str:
    """Read the screen until each prompt shows up, and type what belongs to it."""
    shown = ""
    for prompt, line in answers:
        while prompt not in shown.rpartition("\0")[2]:
            shown += (await asyncio.to_thread(os.read, screen, 4096)).decode()
        os.write(screen, line.encode())
        shown += "\0"
    return shown


async def test_without_a_terminal_it_goes_on_headless(home: Path) -> None:
    out, err, code = await resume(home, [WRITE, DONE], "2026", "--approve", "edits", cwd=home)
    assert (code, out) == (0, "Went on.\n"), err
    assert f"note: this task works in {home / 'project'}, not in {home}" in err
    assert (home / "project" / "a.txt").exists()


async def test_after_a_kill_inside_a_subtask_the_task_that_a_person_started_is_resumed(home: Path) -> None:
    tasks, project = home / "state" / "joey" / "tasks", str(home / "project")
    call = ToolUseBlock("n", "new_task", {"mode": "code", "message": "Look"})
    with Journal(tasks / "20260102-parent" / "journal.jsonl") as journal:
        journal.append(TaskOpened("20260102-parent", "Big", project, "code", "anthropic/scripted", "native"))
        journal.append(MessageAdded(Message("user", (TextBlock("Big"),))))
        journal.append(MessageAdded(Message("assistant", (call,))))
        journal.append(RunBegan("n", "new_task"))
        journal.append(ChildOpened("20260103-child", "n"))
    with Journal(tasks / "20260103-child" / "journal.jsonl", clock=lambda: time.time() + 60) as journal:
        journal.append(
            TaskOpened(
                "20260103-child", "Look", project, "code", "anthropic/scripted", "native", "20260102-parent", "n"
            )
        )
    found = reply(ToolUseBlock("d", "attempt_completion", {"result": "Found it."}))
    out, err, code = await resume(home, [found, DONE], "--approve", "edits")
    assert (code, out) == (0, "Went on.\n"), err
    assert "note:" not in err
    ended = {path.parent.name: replay(read_journal(path)).ended for path in tasks.glob("*/journal.jsonl")}
    assert ended["20260103-child"] == TaskEnded("completed", "Found it.")
    assert ended["20260102-parent"] == TaskEnded("completed", "Went on.")


async def resume(
    home: Path, script: list[Scripted], *args: str, cwd: Path | None = None
) -> tuple[str, str, int | None]:
    async with LocalServer(script) as server:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "joey", "resume", *args, "--base-url", server.anthropic_url,
            cwd=cwd or home / "project", env=environment(home), stdin=-3, stdout=-1, stderr=-1,
        )  # fmt: skip
        out, err = await process.communicate()
        return out.decode(), err.decode(), process.returncode


def test_an_unknown_task_is_named(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test")
    assert main(["resume", "nope"]) == 2
    assert "there is no task 'nope'" in capsys.readouterr().err
