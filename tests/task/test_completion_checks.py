"""What a small model must look at before its word is taken that the task is done."""

from __future__ import annotations

from pathlib import Path

import pytest

from joey.actions import ReadPath, RunCommand, WritePath
from joey.commands import Answer
from joey.events import CompletionRequested, TaskCompleted, ToolRunFinished
from joey.task.profiles.small.completion_checks import CompletionChecks
from joey.task.profiles.small.problems import import_for, problem_in
from joey.testing.script import reply
from task_kit import SMALL, Kit, call, done


def checks(folder: Path, task: str = "Do it.") -> CompletionChecks:
    return CompletionChecks(task, folder, 4000)


def words(kept: CompletionChecks, claim: str = "It is well.") -> str:
    objection = kept.objection(claim)
    return objection.text if objection else ""


def test_a_file_that_was_written_and_not_looked_at_is_shown_once(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    kept = checks(tmp_path)
    kept.ran([WritePath("a.py", "create")])
    objection = words(kept)
    assert "a.py is now:\nx = 1" in objection and "Do it." not in objection
    kept.ran([WritePath("a.py", "modify")])
    assert kept.objection("It is well.") is None


@pytest.mark.parametrize("looked", [ReadPath("a.py"), RunCommand("python3 a.py", None)])
def test_a_file_that_was_read_or_run_is_not_questioned(tmp_path: Path, looked: ReadPath | RunCommand) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    kept = checks(tmp_path)
    kept.ran([WritePath("a.py", "create")])
    kept.ran([looked])
    assert kept.objection("I wrote a.py.") is None


def test_a_file_that_the_task_names_and_nobody_made_is_named_once(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("")
    kept = checks(tmp_path, "Write a.py and tests/test_a.py. See https://example.com/b.html, e.g. version 1.2.")
    kept.ran([WritePath("a.py", "modify"), ReadPath("a.py")])
    objection = words(kept)
    assert objection.startswith("tests/test_a.py does not exist.")
    assert objection.count("does not exist") == 1
    assert kept.objection("It is well.") is None


def test_a_file_that_was_there_and_is_gone_is_not_missed(tmp_path: Path) -> None:
    (tmp_path / "old.log").write_text("")
    kept = checks(tmp_path, "Delete old.log")
    (tmp_path / "old.log").unlink()
    kept.ran([RunCommand("rm old.log")])
    assert kept.objection("I deleted old.log.") is None


def test_a_file_that_the_task_names_is_to_be_looked_at_before_the_task_is_called_done(tmp_path: Path) -> None:
    kept = checks(tmp_path, "Run make.py, then tell me how many lines data.txt has.")
    (tmp_path / "make.py").write_text("")
    (tmp_path / "data.txt").write_text("1\n")
    kept.ran([RunCommand("python3 make.py")])
    objection = kept.objection("make.py ran.")
    assert (
        objection is not None and "not looked at data.txt" in objection.text and objection.suggested == ("read_file",)
    )
    kept.ran([ReadPath("data.txt")])
    assert kept.objection("data.txt has one line.") is None


def test_a_file_that_does_not_parse_is_to_be_put_right(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def f(:\n")
    kept = checks(tmp_path)
    kept.ran([WritePath("a.py", "create"), RunCommand("python3 a.py")])
    objection = kept.objection("a.py has a syntax error. Please fix it.")
    assert (
        objection is not None and objection.text == "a.py has a syntax error in line 1: invalid syntax\nPut it right."
    )
    assert kept.objection("I insist.") is None


@pytest.mark.parametrize(
    ("task", "claim", "doubted"),
    [
        ("Delete the file old.log.", "The file old.log has been deleted.", True),
        ("Tell me what is in old.log.", "It holds one line.", False),
        ("Who wrote old.log?", "Ada wrote it.", False),
    ],
)
def test_a_deed_is_not_believed_where_nothing_was_done(tmp_path: Path, task: str, claim: str, doubted: bool) -> None:
    (tmp_path / "old.log").write_text("Ada\n")
    kept = checks(tmp_path, task)
    kept.ran([ReadPath("old.log")])
    objection = kept.objection(claim)
    assert (objection is not None) == doubted
    # What it cannot do is overwrite a file because it was told to do something.
    assert objection is None or objection.suggested == ("execute_command",)
    assert kept.objection(claim) is None


def test_a_model_that_says_again_what_it_was_shown_means_what_it_said_before(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    kept = checks(tmp_path)
    kept.ran([WritePath("a.py", "create")])
    assert kept.claimed("I wrote a.py.") == "I wrote a.py."
    words(kept, "I wrote a.py.")
    assert kept.claimed("a.py is now:\nx = 1\n") == "I wrote a.py."
    assert kept.claimed("I set x to 1.") == "I set x to 1."


def test_files_that_are_there_are_looked_at_before_they_are_changed(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    assert "write_to_file" in checks(tmp_path, "Fix a.py").too_early
    for task in ("Write b.py", "Write test_a.py for a.py", "Write a haiku"):
        assert not checks(tmp_path, task).too_early
    kept = checks(tmp_path, "Fix a.py")
    kept.ran([ReadPath("a.py")])
    assert not kept.too_early


def test_a_syntax_error_is_told() -> None:
    assert problem_in("a.py", "def f(:\n") == "a.py has a syntax error in line 1: invalid syntax"
    assert "not valid" in (problem_in("a.json", "{") or "")
    assert problem_in("a.py", "x = 1") is problem_in("a.json", "{}") is problem_in("a.txt", "{") is None


async def test_the_first_claim_after_a_write_comes_back_with_the_file_and_the_second_goes_to_the_user(
    tmp_path: Path,
) -> None:
    write = reply(call("w", "write_to_file", path="a.py", file_text="print(1)\n"))
    kit = Kit(tmp_path, [write, done("one"), done("two")], **SMALL)
    finished = await kit.run("a.py, with one line")
    assert finished.outcome == "completed"
    results = {event.call_id: event.result.text for event in kit.of(ToolRunFinished)}
    assert "a.py is now:\nprint(1)" in results["one"]
    assert len(kit.of(CompletionRequested)) == len(kit.of(TaskCompleted)) == 1


async def test_a_claim_is_about_what_was_asked_for_last(tmp_path: Path) -> None:
    """First a question; then, as feedback, something to do, which the model only says it did."""
    answers = iter([Answer("completion_1", yes=False, text="Now delete old.log."), Answer("completion_2", yes=True)])
    script = [
        reply(call("r", "read_file", path="old.log")),
        done("answer", "It is Ada."),
        done("false", "I deleted old.log."),
        reply(call("rm", "execute_command", command="rm old.log")),
        done("true", "I deleted old.log."),
    ]
    kit = Kit(tmp_path, script, **SMALL, user=lambda _request: next(answers))
    (kit.workspace / "old.log").write_text("Ada\n")
    assert (await kit.run("Who wrote old.log?")).outcome == "completed"
    results = {event.call_id: event.result.text for event in kit.of(ToolRunFinished)}
    assert "delete old.log" in results["answer"] and "old.log is still there" in results["false"]
    assert not (kit.workspace / "old.log").exists()


async def test_a_task_that_was_interrupted_is_not_told_that_nothing_was_done(tmp_path: Path) -> None:
    touch = reply(call("w", "execute_command", command="touch done"))
    kit = Kit(tmp_path, [touch], **SMALL, max_turns=1, headless=True)
    assert (await kit.run("Make a file called done.")).outcome == "limit"
    assert kit.task is not None
    kit.change(max_turns=None)
    assert (await kit.resume(kit.task.id, [done("d", "I created it.")])).outcome == "completed"


async def test_a_model_with_room_is_taken_at_its_word(tmp_path: Path) -> None:
    write = reply(call("w", "write_to_file", path="a.py", file_text="print(1)\n"))
    kit = Kit(tmp_path, [write, done("one")])
    assert (await kit.run("Write a.py")).outcome == "completed"


async def test_the_same_call_is_refused_at_once(tmp_path: Path) -> None:
    read = [reply(call(f"r{n}", "read_file", path="a.txt")) for n in range(2)]
    kit = Kit(tmp_path, [*read, done()], **SMALL)
    (kit.workspace / "a.txt").write_text("hello\n")
    await kit.run("Read a.txt")
    results = [event.result for event in kit.of(ToolRunFinished)]
    assert "hello" in results[0].text and results[1].is_error and "was just made" in results[1].text


async def test_a_long_result_is_cut_in_its_middle_for_the_model(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [reply(call("r", "read_file", path="a.txt")), done()], **SMALL)
    (kit.workspace / "a.txt").write_text("first\n" + "middle\n" * 1500 + "last\n")
    await kit.run("Read a.txt")
    text = kit.of(ToolRunFinished)[0].result.text
    assert len(text) < 4300 and "first" in text and text.endswith("| last") and "characters are left out" in text


async def test_what_a_task_is_resumed_for_is_what_is_to_be_done(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [reply(call("r", "read_file", path="old.log")), done()], **SMALL, headless=True)
    (kit.workspace / "old.log").write_text("Ada\n")
    await kit.run("Who wrote old.log?")
    assert kit.task is not None
    await kit.resume(
        kit.task.id,
        [reply(call("s", "read_file", path="old.log")), done("false", "I deleted it."), done("d")],
        text="Now delete old.log.",
    )
    assert "still there" in {event.call_id: event.result.text for event in kit.of(ToolRunFinished)}["false"]


@pytest.mark.parametrize(
    ("files", "line"),
    [
        ({"factorial.py": "def factorial(n):\n    return 1\n"}, "from factorial import factorial"),
        ({"pkg/maths.py": "class factorial: ...\n"}, "from pkg.maths import factorial"),
        ({"other.py": "def fact(n): ...\n", "test_b.py": "def factorial(n): ...\n"}, None),
        ({"factorial.py": "def factorial(n:\n"}, None),
    ],
)
def test_the_import_that_a_file_lacks_is_known_where_the_name_is_defined(
    files: dict[str, str], line: str | None
) -> None:
    text = "import unittest\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        factorial(3)\n"
    assert import_for("test_factorial.py", text, {**files, "test_factorial.py": text}) == line
