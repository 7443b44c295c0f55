"""The commands of a fleet, as people type them."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from fleet_kit import by_turn, done, git, repository, run_command, write
from joey.cli import main
from joey.testing.server import LocalServer
from joey_process import JoeyProcess


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    source = repository(tmp_path / "source", {"a.txt": "one\n"})
    lines = [{"id": name, "prompt": f"Do {name}."} for name in ("x", "y")]
    (source / "tasks.jsonl").write_text("\n".join(map(json.dumps, lines)))
    monkeypatch.chdir(source)
    return source


def test_tasks_are_added_once_looked_at_cancelled_and_tried_again(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add = ["fleet", "add", "tasks.jsonl", "--model", "anthropic/a", "--budget", "5", "--tenant", "me"]
    assert main(add) == 0
    assert "2 tasks added" in capsys.readouterr().err
    assert main(add) == 0
    assert "0 tasks added; 2 were there already" in capsys.readouterr().err
    assert main(["fleet", "status"]) == 0
    assert "tasks  2 queued, $0.0000 of $5" in capsys.readouterr().out
    assert main(["fleet", "cancel", "tasks.x"]) == 0
    assert main(["fleet", "status", "tasks", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()[1:]]
    assert [(row["id"], row["outcome"] or row["state"]) for row in rows] == [
        ("tasks.x", "cancelled"),
        ("tasks.y", "queued"),
    ]
    assert rows[0]["repository"] == str(place)
    assert main(["fleet", "retry", "tasks", "--failed", "--max-turns", "9"]) == 0
    assert "1 task in the queue again" in capsys.readouterr().out
    assert main(["fleet", "results", "tasks", "--patches", "out"]) == 1
    assert "tasks.x: is queued" in capsys.readouterr().err


def test_limits_and_schedules_are_kept(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fleet", "limits", "--per-tenant", "3", "--total", "8"]) == 0
    assert capsys.readouterr().out == "at once in the whole fleet: 8\nat once per tenant: 3\n"
    assert main(["fleet", "limits", "--total", "0"]) == 0
    assert "as many as there are slots\nat once per tenant: 3" in capsys.readouterr().out
    assert main(["fleet", "schedule", "nightly", "0 3 * * *", "tasks.jsonl"]) == 0
    assert main(["fleet", "schedule", "other", "often", "tasks.jsonl"]) == 2
    assert "'often' names no times" in capsys.readouterr().err
    assert main(["fleet", "schedules"]) == 0
    assert re.fullmatch(r"nightly  0 3 \* \* \*  next: \S+ 03:00:00  last: never\n", capsys.readouterr().out)
    assert main(["fleet", "unschedule", "nightly"]) == 0
    assert main(["fleet", "unschedule", "nightly"]) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["status", "nothing"], "there is no batch and no task 'nothing'"),
        (["answer", "nothing", "yes"], "there is no batch and no task"),
        (["add", "missing.jsonl"], "cannot read missing.jsonl"),
        (["run", "tasks.jsonl", "--workers", "0"], "must be a number from 1"),
        (["add", "tasks.jsonl", "--name", "a/b"], "cannot be the name of a batch"),
        (["watch"], "needs a terminal"),
    ],
)
def test_mistakes_are_explained(
    place: Path, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fleet", *arguments]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ({"repository": "/nowhere"}, "task 'x': /nowhere is not a git repository"),
        ({"folder": "nowhere"}, "nowhere is not a folder"),
        ({"model": "antropic/claude"}, "there is no provider 'antropic'; did you mean 'anthropic'?"),
    ],
)
def test_what_no_worker_here_could_do_is_not_added(
    place: Path, task: dict[str, str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "one.jsonl").write_text(json.dumps({"id": "x", "prompt": "Do it.", **task}))
    assert main(["fleet", "add", "one.jsonl"]) == 2
    assert words in capsys.readouterr().err
    assert main(["fleet", "status"]) == 0
    assert capsys.readouterr().out == ""


def test_an_ignore_file_that_a_clone_would_not_have_is_an_error(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / ".joeyignore").write_text("a.txt\n")
    assert main(["fleet", "add", "tasks.jsonl", "--name", "b"]) == 2
    assert ".joeyignore in" in (words := capsys.readouterr().err) and "is not committed as it is" in words
    git(place, "add", ".joeyignore")
    git(place, "-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-qm", "Hide it")
    assert main(["fleet", "add", "tasks.jsonl", "--name", "b"]) == 0


def test_without_a_model_nothing_is_added_to_run(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [each for each in os.environ if each.endswith("_API_KEY")]:
        monkeypatch.delenv(name)
    assert main(["fleet", "run", "tasks.jsonl"]) == 1
    assert "no model is configured" in capsys.readouterr().err
    assert main(["fleet", "status"]) == 0
    assert capsys.readouterr().out == ""


def test_a_project_cannot_redirect_the_fleet(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / ".joey").mkdir()
    (place / ".joey" / "config.toml").write_text('[fleet]\nurl = "mysql://x/y"\nfolder = "/nowhere"\n')
    assert main(["fleet", "add", "tasks.jsonl", "--model", "anthropic/a"]) == 0
    assert main(["fleet", "status"]) == 0
    assert "tasks  2 queued" in capsys.readouterr().out


def test_a_database_that_is_not_there_is_explained(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JOEY_FLEET_URL", "postgresql://joey@127.0.0.1:1/none")
    assert main(["fleet", "status"]) == 1
    assert "cannot open the fleet's database" in capsys.readouterr().err
    monkeypatch.setenv("JOEY_FLEET_URL", "mysql://x/y")
    assert main(["fleet", "status"]) == 2
    assert "must begin with postgresql://" in capsys.readouterr().err


async def test_a_whole_batch_runs_and_becomes_branches(tmp_path: Path) -> None:
    source = repository(tmp_path / "source", {"a.txt": "one\n"})
    joey = JoeyProcess(tmp_path)
    (joey.workspace / "tasks.jsonl").write_text(
        json.dumps({"id": "x", "prompt": "Do it.", "repository": str(source), "approve": "edits", "allow": ["cat"]})
    )
    model = by_turn(run_command(1, "cat a.txt"), write(2, "a.txt", "two\n"), done("It is done."))
    async with LocalServer(model) as server:
        options = ("--model", "anthropic/scripted", "--base-url", server.url, "--answer-hours", "0")
        ran = await joey("fleet", "run", "tasks.jsonl", *options)
        assert "one" in json.dumps(server.requests[1].body["messages"][-1]), "a clone is where commands may read"
    assert (ran.code, ran.out) == (0, "tasks: 1 completed\n")
    assert "tasks.x  completed: It is done.  (3 turns)" in ran.err
    results = await joey("fleet", "results", "tasks", "--branches")
    assert results.code == 0
    assert git(source, "show", "joey/tasks/x:a.txt") == "two\n"
