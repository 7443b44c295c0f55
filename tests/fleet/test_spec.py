"""Tasks as people write them down."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from joey.errors import UsageError
from joey.fleet import results
from joey.fleet.requests import request_text
from joey.fleet.spec import TaskSpec, check_batch, check_name, name_for_batch, read_tasks, tasks_for

DEFAULTS = TaskSpec("", "", repository="/srv/shop", settings={"model": "anthropic/a"})


def read(folder: Path, *lines: Any) -> list[TaskSpec]:
    path = folder / "tasks.jsonl"
    path.write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in lines))
    return read_tasks(path, DEFAULTS)


def test_a_line_takes_what_it_leaves_out_from_the_command(tmp_path: Path) -> None:
    one, two = read(
        tmp_path,
        {"id": "a", "prompt": "Do a."},
        {"id": 2, "prompt": "Do b.", "folder": "/srv/x", "max_turns": 5, "task.prompt": "small", "allow": ["ls"]},
    )
    assert (one.repository, one.settings) == ("/srv/shop", {"model": "anthropic/a"})
    assert (two.id, two.folder, two.repository) == ("2", "/srv/x", "")
    assert two.settings["limits.max_turns"] == 5
    assert two.settings["task.prompt"] == "small"


def test_a_task_is_the_same_after_the_database(tmp_path: Path) -> None:
    (task,) = read(tmp_path, {"id": "a", "prompt": "Do a.", "allow": ["ls", "cat"], "priority": 3})
    assert TaskSpec.read(task.text) == task


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["{"], "line 1: not JSON"),
        ([[]], "expected a JSON object"),
        ([{"id": "a"}], "needs an id and a prompt"),
        ([{"id": "a", "prompt": "x", "moddel": "y"}], "did you mean 'model'"),
        ([{"id": "a", "prompt": "x", "no.such": 1}], "unknown setting 'no.such'"),
        ([{"id": "../a", "prompt": "x"}], "cannot be the id of a task"),
        ([{"id": "a", "prompt": "x"}, {"id": "a", "prompt": "y"}], "two tasks with the id 'a'"),
        ([{"id": "a", "prompt": "x", "priority": "high"}], "priority must be a number"),
        ([{"id": "a", "prompt": "x", "max_turns": "many"}], "max_turns"),
        ([""], "has no tasks"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, lines: list[Any], words: str) -> None:
    with pytest.raises(UsageError, match=words.replace("(", r"\(")):
        read(tmp_path, *lines)


def test_one_prompt_is_a_task_for_each_repository(tmp_path: Path) -> None:
    (tmp_path / "repos").write_text("# ours\n/srv/shop v2\nhttps://host/team/shop.git\n\ngit@host:team/blog.git\n")
    tasks = tasks_for(tmp_path / "repos", "Update CI", DEFAULTS)
    assert [(task.id, task.repository, task.commit) for task in tasks] == [
        ("shop", "/srv/shop", "v2"),
        ("shop-2", "https://host/team/shop.git", ""),
        ("blog", "git@host:team/blog.git", ""),
    ]


def test_paths_are_those_of_the_folder_where_they_were_written(tmp_path: Path) -> None:
    assert TaskSpec("a", "x", "shop").in_place_of(tmp_path).repository == str(tmp_path / "shop")
    for address in ("https://host/shop", "git@host:shop"):
        assert TaskSpec("a", "x", address).in_place_of(tmp_path).repository == address


@pytest.mark.parametrize("name", ["a..b", "x.lock", "a."])
def test_an_id_that_git_would_refuse_is_refused_at_once(name: str) -> None:
    with pytest.raises(UsageError, match="git refuses such names"):
        check_name(name, "id of a task")


def test_a_batch_has_no_dot_since_that_would_make_two_tasks_of_one_name() -> None:
    assert name_for_batch("fix.v2") == "fix-v2"
    with pytest.raises(UsageError, match="a dot stands between batch and task"):
        check_batch("z.a")


def test_no_line_of_a_model_looks_like_one_of_the_status() -> None:
    words = "Colour?\nz.done  completed: all tests pass  (3 turns)" + "\n" * 60 + "rm" + " " * 3000 + "x"
    text = request_text(json.dumps({"type": "question_requested", "question": words, "suggestions": []}))
    first, *others = text.split("\n")
    assert first == "Colour?"
    assert all(line.startswith("  │ ") for line in others)
    assert "(59 empty lines)" in text and "rm (3000 spaces) x" in text
    command = {"type": "approval_requested", "name": "execute_command", "arguments": {"command": words}, "reason": "r"}
    assert all(line.startswith("  ") for line in request_text(json.dumps(command)).split("\n")[1:])


def test_a_folder_for_patches_that_cannot_be_made_is_an_error_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    nobody: Any = None
    with pytest.raises(UsageError, match="cannot make the folder"):
        list(results.patches(nobody, "batch", tmp_path / "file"))
