"""Checks after edits: what the model hears of them, how often, and what the user is offered."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from joey.app.checks import CheckAnswers, find_checks
from joey.events import ApprovalRequested, CheckFinished
from joey.policy.settings import Settings
from joey.task.edit_checks import about, with_files
from joey.task.settings import CheckSettings
from joey.testing.script import Scripted, reply
from task_kit import Kit, call, done, yes

LINT = "! grep -nH bad {*.py}"
"""Complains about each line with `bad` in it, as a linter does."""


def write(number: int, text: str, name: str = "a.py") -> Scripted:
    return reply(call(f"w{number}", "write_to_file", path=name, file_text=text))


def checked(folder: Path, script: list[Scripted], *commands: str, **changes: Any) -> Kit:
    return Kit(folder, script, checks=CheckSettings(commands, **changes.pop("settings", {})), **changes)


def codes(kit: Kit) -> list[int | None]:
    return [each.exit_code for each in kit.of(CheckFinished)]


async def test_complaints_about_changed_files_go_to_the_model_with_the_result(tmp_path: Path) -> None:
    kit = checked(tmp_path, [write(1, "fine\nbad line\n"), write(2, "fine\n"), done()], LINT)
    assert (await kit.run()).outcome == "completed"
    complaint, *_ = [message for message in kit.sent if "The project's checks ran" in str(message)]
    assert "`! grep -nH bad a.py` failed (exit code 1):\\na.py:2:bad line" in str(complaint)
    assert codes(kit) == [1, 0], "once for each turn that edits, and not at the end again"


async def test_a_turn_that_edits_nothing_is_not_checked(tmp_path: Path) -> None:
    kit = checked(tmp_path, [reply(call("l", "list_files", path=".")), write(1, "bad", "notes.txt"), done()], LINT)
    await kit.run()
    assert codes(kit) == []


async def test_the_end_of_a_turn_waits_for_the_checks_of_its_own_edits(tmp_path: Path) -> None:
    both = reply(
        call("w1", "write_to_file", path="a.py", file_text="bad"), call("d1", "attempt_completion", result="x")
    )
    kit = checked(tmp_path, [both, write(2, "fine"), done("d2")], LINT)
    assert (await kit.run()).outcome == "completed"
    assert "a.py:1:bad" in str(kit.provider.requests[1].messages[-1]) and codes(kit) == [1, 0]


async def test_after_some_rounds_the_checks_stop(tmp_path: Path) -> None:
    kit = checked(tmp_path, [*(write(n, f"bad {n}") for n in range(5)), done()], LINT, settings={"rounds": 2})
    assert (await kit.run()).outcome == "completed"
    assert codes(kit) == [1, 1] and "The checks do not run again for now" in str(kit.sent)


async def test_a_formatter_changes_files_and_the_model_hears_of_it(tmp_path: Path) -> None:
    kit = checked(tmp_path, [write(1, "x=1"), done()], "sed -i s/=/\\ =\\ / {files}")
    await kit.run()
    assert (kit.workspace / "a.py").read_text() == "x = 1"
    assert "changed a.py; read before you edit again" in str(kit.sent)


async def test_a_check_that_hangs_or_is_denied_does_not_hold_up_the_task(tmp_path: Path) -> None:
    policy = Settings.for_profile("all").changed(deny=("false",))
    kit = checked(tmp_path, [write(1, "x"), done()], "sleep 60", "false", settings={"timeout": 0.3}, approvals=policy)
    assert (await kit.run()).outcome == "completed"
    assert codes(kit) == [None, None] and "your rules do not allow it" in kit.of(CheckFinished)[1].output


# What is offered


@pytest.mark.parametrize(("policy", "accepted"), [("ask", True), ("all", True)])
async def test_what_is_found_is_offered_once_and_the_answer_is_kept(
    tmp_path: Path, policy: str, accepted: bool
) -> None:
    answers = CheckAnswers(tmp_path / "checks.json", tmp_path)
    settings = {"found": (LINT,), "remember": answers.keep}
    kit = checked(tmp_path, [write(1, "bad"), write(2, "x"), done()], settings=settings)
    kit.user = lambda request: replace(yes(request), always=True, scope="project")
    await kit.run()
    offers = [each for each in kit.of(ApprovalRequested) if each.name == "checks_after_edits"]
    assert len(offers) == 1 and offers[0].shown[0].text == LINT
    assert codes(kit) == [1, 0] and answers.answer == (LINT,)


@pytest.mark.parametrize(("accepts", "ran", "kept"), [(True, [1], None), (False, [], ())])
async def test_a_yes_holds_for_the_task_and_a_no_for_good(
    tmp_path: Path, accepts: bool, ran: list[int], kept: tuple[str, ...] | None
) -> None:
    answers = CheckAnswers(tmp_path / "checks.json", tmp_path)
    settings = {"found": (LINT,), "remember": answers.keep}
    kit = checked(tmp_path, [write(1, "bad"), done()], settings=settings)
    kit.user = lambda request: replace(yes(request), yes=accepts or not isinstance(request, ApprovalRequested))
    await kit.run()
    assert codes(kit) == ran and answers.answer == kept


async def test_with_nobody_there_nothing_is_offered(tmp_path: Path) -> None:
    answers = CheckAnswers(tmp_path / "checks.json", tmp_path)
    kit = checked(
        tmp_path, [write(1, "bad"), done()], settings={"found": (LINT,), "remember": answers.keep}, headless=True
    )
    await kit.run()
    assert codes(kit) == [] and answers.answer is None


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("pyproject.toml", "[tool.ruff]\n", ["ruff check {*.py}"]),
        ("pyproject.toml", "[tool.ruff]\n[tool.mypy]\n", ["ruff check {*.py}", "mypy {*.py}"]),
        ("pyproject.toml", "[tool", []),
        ("pyproject.toml", "tool = 3", []),
        ("package.json", '{"scripts": {"lint": "eslint .", "typecheck": 3}}', ["npm run -s lint"]),
        ("package.json", "[" * 5000, []),
        ("Cargo.toml", "", ["cargo check -q"]),
        ("go.mod", "", ["go vet ./..."]),
        ("README.md", "ruff", []),
    ],
)
def test_the_files_of_a_project_name_its_checks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, found: list[str]
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for program in ("ruff", "mypy", "npm", "cargo", "go"):
        (programs / program).touch(mode=0o755)
    monkeypatch.setenv("PATH", str(programs))
    (tmp_path / name).write_text(text)
    assert [*find_checks(tmp_path)] == found
    monkeypatch.setenv("PATH", str(tmp_path))
    assert [*find_checks(tmp_path)] == [], "what is not installed is not offered"


@pytest.mark.parametrize(
    ("command", "changed", "line"),
    [
        ("lint", ["a.py"], "lint"),
        ("lint {files}", ["a b.py", "c"], "lint 'a b.py' c"),
        ("lint {*.py,*.pyi}", ["a.py", "b.txt", "x/c.pyi"], "lint a.py x/c.pyi"),
        ("lint {*.py}", ["b.txt"], None),
        ("lint {files}", ["-rf"], "lint ./-rf"),
        ("awk '{print $1}' x", ["a.py"], "awk '{print $1}' x"),
    ],
)
def test_a_command_may_name_the_changed_files(command: str, changed: list[str], line: str | None) -> None:
    assert with_files(command, changed) == line


def test_of_the_output_what_is_about_the_changed_files_is_sent_or_its_end() -> None:
    output = "b.py:1: x\na.py:1: y\n" * 3
    assert about(output, [Path("/w/a.py")]) == "a.py:1: y\na.py:1: y\na.py:1: y"
    assert about("1\n" * 90 + "end", [Path("/w/a.py")]).endswith("1\nend")
    assert "[10 more lines]" in about("a.py\n" * 70, [Path("/w/a.py")])
