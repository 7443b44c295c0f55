"""`joey approvals explain`."""

from __future__ import annotations

import io
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from joey.app.permissions import project_permissions
from joey.cli import main
from joey.permissions import Permission


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def explain(capsys: pytest.CaptureFixture[str], *args: str) -> Any:
    assert main(["approvals", "explain", *args, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_it_names_every_command_and_the_rule(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = explain(capsys, "echo hi | cat; rm x", "--allow", "echo", "--deny", "rm")
    assert answer["verdict"] == "deny"
    found = {command["command"]: (command["verdict"], command["rule"]) for command in answer["commands"]}
    assert found == {"rm x": ("deny", "rm"), "echo hi": ("allow", "echo"), "cat": ("ask", None)}
    assert answer["commands"][-1]["words"] == ["rm", "x"]
    assert answer["paths"] == []


@pytest.mark.parametrize("line", ["echo a", "cd src && echo a", "echo a; sleep 1", "true || echo a", "time echo a"])
def test_a_command_that_does_nothing_is_named_once(folder: Path, capsys: pytest.CaptureFixture[str], line: str) -> None:
    found = explain(capsys, line)["commands"]
    assert len({each["command"] for each in found}) == len(found)
    assert [each["verdict"] for each in found] == ["ask", *["allow"] * (len(found) - 1)]


def test_a_command_that_does_nothing_and_stands_there_twice_has_one_verdict(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = explain(capsys, "echo a; echo a")
    assert [each["verdict"] for each in answer["commands"]] == ["ask", "ask"]
    assert answer["reason"] == "`echo a`: no rule names it"


def test_a_file_that_a_line_writes_hides_no_command_behind_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = explain(capsys, "echo hi > out.txt && rm -f x", "--allow", "echo")
    files = "changing files of the workspace requires approval"
    assert answer["reason"] == f"`out.txt`: {files}; `rm -f x`: no rule names it"


def test_what_was_allowed_in_the_project_with_an_answer_counts(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    assert explain(capsys, "make it")["verdict"] == "ask"
    project_permissions(folder.resolve()).add(Permission("command", "make it"))
    assert explain(capsys, "make it")["verdict"] == "allow"
    assert explain(capsys, "make it again")["verdict"] == "ask"


def test_a_line_that_is_not_plain_shows_what_is_seen_in_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = explain(capsys, 'echo "$(rm x)"', "--allow", "echo", "--deny", "rm")
    assert answer["verdict"] == "deny"
    assert {command["command"]: command["verdict"] for command in answer["commands"]} == {
        "rm x": "deny",
        'echo "$(rm x)"': "ask",
    }
    assert "a command substitution" in answer["doubts"][0]["reason"]


def test_many_questions_are_answered_in_one_process(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = [
        {"command": "ls", "rules": "--allow ls"},
        {"command": "ls"},
        {"path": "a/b", "do": "write", "rules": "--approve edits"},
        {"path": "../b", "do": "read", "rules": "--approve edits"},
        {"command": "npm test --silent", "rules": "--allow 'npm test' --deny '*'"},
        {"command": "rm x", "rules": "--approve all --deny rm"},
        {"path": "a\ud800b", "do": "write"},
        {"command": "ls \ud800\u2028"},
    ]
    wrong = [
        "{",
        "[]",
        '{"path": "a"}',
        '{"command": "ls", "rules": "--frobnicate"}',
        '{"command": "ls", "rules": "\'"}',
    ]
    lines = [*(json.dumps(question) for question in questions), "", *wrong]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines)))
    assert main(["approvals", "explain", "--batch"]) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    decisions = ["allow", "ask", "allow", "ask", "allow", "deny", "deny", "ask", *["deny"] * len(wrong)]
    assert [answer["decision"] for answer in answers] == decisions
    assert [bool(answer.get("error")) for answer in answers] == [False] * len(questions) + [True] * len(wrong)
    assert all(answer["reason"] for answer in answers)


def test_without_rules_a_command_asks(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(capsys, "ls")["verdict"] == "ask"
    assert explain(capsys, "pwd")["verdict"] == "ask"
    assert explain(capsys, "git log")["verdict"] == "ask"


def test_headless_a_question_is_a_refusal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = explain(capsys, "ls", "--headless")
    assert answer["verdict"] == "deny"
    assert "no user is there to approve" in answer["reason"]


def test_files_a_command_writes_are_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = explain(capsys, "echo x > ../y", "--allow", "echo")
    assert answer["verdict"] == "ask"
    assert [path["path"] for path in answer["paths"]] == ["../y"]


def test_paths_are_judged_for_reading_and_writing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / ".joeyignore").write_text("secret.txt\n")
    edits = ("--profile", "edits")
    assert explain(capsys, "--path", "a.txt", *edits)["verdict"] == "allow"
    assert explain(capsys, "--path", "../a.txt", *edits)["verdict"] == "ask"
    assert explain(capsys, "--path", "secret.txt", *edits)["verdict"] == "deny"
    protected = explain(capsys, "--path", "AGENTS.md", *edits)
    assert (protected["verdict"], protected["paths"][0]["read"], protected["paths"][0]["write"]) == (
        "ask",
        "allow",
        "ask",
    )


def test_a_path_through_a_link_is_where_the_link_leads(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "out").symlink_to(folder.parent)
    answer = explain(capsys, "--path", "out/x", "--profile", "edits")
    assert answer["verdict"] == "ask"
    assert answer["paths"][0]["inside"] is False


def test_text_says_the_same(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["approvals", "explain", "git log && rm x", "--allow", "git log", "--deny", "rm"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("deny: `rm x`: denied by the rule `rm`\n")
    assert "allow  git log" in out


def test_wrong_usage_names_what_is_missing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for args in (["approvals"], ["approvals", "explain"]):
        assert main(args) == 2
        assert "give a command line" in capsys.readouterr().err
    for flag in ("--approve", "--profile"):
        assert main(["approvals", "explain", "ls", flag, "edit"]) == 2
        assert f"argument {flag}: must be one of 'ask', 'edits'" in capsys.readouterr().err


GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "approvals.md"


def test_the_guide_shows_what_is_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = re.findall(r"```console\n\$ joey (.*?)\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(shown) >= 5
    for command, output in shown:
        assert main(shlex.split(command)) == 0
        assert capsys.readouterr().out == output
