"""What a small model must look at before its word is taken that the task is done."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from joey.actions import ReadPath, RunCommand, WritePath
from joey.events import CompletionRequested, TaskCompleted, ToolRunFinished
from joey.task.claims import Claims, problem_in
from joey.task.settings import TaskSettings
from joey.testing.script import reply
from task_kit import SETTINGS, Kit, call, done

SMALL: TaskSettings = replace(SETTINGS, context_window=8192).in_form("auto")


def claims(folder: Path, task: str = "Do it.") -> Claims:
    return Claims(task, folder, 4000)


def test_a_file_that_was_written_and_not_looked_at_is_shown_once(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    kept = claims(tmp_path)
    kept.ran([WritePath("a.py", "create")])
    doubt = kept.doubt()
    assert doubt is not None and "a.py is now:\nx = 1" in doubt and "Do it." not in doubt
    kept.ran([WritePath("a.py", "modify")])
    assert kept.doubt() is None


@pytest.mark.parametrize("looked", [ReadPath("a.py"), RunCommand("python3 a.py", None)])
def test_a_file_that_was_read_or_run_is_not_in_doubt(tmp_path: Path, looked: ReadPath | RunCommand) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    kept = claims(tmp_path)
    kept.ran([WritePath("a.py", "create")])
    kept.ran([looked])
    assert kept.doubt() is None


def test_a_file_that_the_task_names_and_nobody_made_is_named_once(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("")
    kept = claims(tmp_path, "Write a.py and tests/test_a.py. See https://example.com/b.html, e.g. version 1.2.")
    doubt = kept.doubt()
    assert doubt is not None and doubt.startswith("tests/test_a.py does not exist.")
    assert doubt.count("does not exist") == 1
    assert kept.doubt() is None


def test_a_file_that_was_there_and_is_gone_is_not_missed(tmp_path: Path) -> None:
    (tmp_path / "old.log").write_text("")
    kept = claims(tmp_path, "Delete old.log")
    (tmp_path / "old.log").unlink()
    assert kept.doubt() is None


def test_a_syntax_error_is_told() -> None:
    assert problem_in("a.py", "def f(:\n") == "a.py has a syntax error in line 1: invalid syntax"
    assert "not valid" in (problem_in("a.json", "{") or "")
    assert problem_in("a.py", "x = 1") is problem_in("a.json", "{}") is problem_in("a.txt", "{") is None


async def test_the_first_claim_after_a_write_comes_back_with_the_file_and_the_second_goes_to_the_user(
    tmp_path: Path,
) -> None:
    write = reply(call("w", "write_to_file", path="a.py", file_text="print(1)\n"))
    kit = Kit(tmp_path, [write, done("one"), done("two")], settings=SMALL)
    finished = await kit.run("Write a.py")
    assert finished.outcome == "completed"
    results = {event.call_id: event.result.text for event in kit.of(ToolRunFinished)}
    assert "a.py is now:\nprint(1)" in results["one"]
    assert len(kit.of(CompletionRequested)) == len(kit.of(TaskCompleted)) == 1


async def test_a_model_with_room_is_taken_at_its_word(tmp_path: Path) -> None:
    write = reply(call("w", "write_to_file", path="a.py", file_text="print(1)\n"))
    kit = Kit(tmp_path, [write, done("one")])
    assert (await kit.run("Write a.py")).outcome == "completed"


async def test_the_same_call_is_refused_at_once(tmp_path: Path) -> None:
    read = [reply(call(f"r{n}", "read_file", path="a.txt")) for n in range(2)]
    kit = Kit(tmp_path, [*read, done()], settings=SMALL)
    (kit.workspace / "a.txt").write_text("hello\n")
    await kit.run("Read a.txt")
    results = [event.result for event in kit.of(ToolRunFinished)]
    assert "hello" in results[0].text and results[1].is_error and "was just made" in results[1].text


async def test_a_long_result_is_cut_in_its_middle_for_the_model(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [reply(call("r", "read_file", path="a.txt")), done()], settings=SMALL)
    (kit.workspace / "a.txt").write_text("first\n" + "middle\n" * 1500 + "last\n")
    await kit.run("Read a.txt")
    text = kit.of(ToolRunFinished)[0].result.text
    assert len(text) < 4300 and "first" in text and text.endswith("| last") and "characters are left out" in text
