"""`joey tasks`: what was done before, listed, read, exported, forked, imported and deleted."""

from __future__ import annotations

import json
import os
import pty
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from joey.app.services import Services
from joey.app.tasks import TaskOptions
from joey.cli import main
from joey.journal.journal import Journal, JournalError, held, read_journal
from joey.journal.records import MessageAdded, Record, TaskEnded, TaskOpened, TurnEnded
from joey.journal.replay import replay
from joey.journal.store import TaskStore
from joey.messages import Message, TextBlock, ToolResultBlock, ToolUseBlock
from joey.usage import Usage

Captured = pytest.CaptureFixture[str]
OLD, NEW = "20260101-000000-aaa", "20260102-000000-bbb"


def message(role: str, *blocks: object) -> Record:
    return MessageAdded(Message(role, blocks))  # type: ignore[arg-type]


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two tasks: an old one that is complete after two turns, and a new one that is open."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    root = tmp_path / "joey" / "tasks"
    old: list[Record] = [
        TaskOpened(OLD, "Paint the shed", str(tmp_path), "code", "anthropic/m", "native"),
        message("user", TextBlock("Paint the shed")),
        message("assistant", ToolUseBlock("c1", "read_file", {"path": "shed.txt"})),
        TurnEnded(Usage(10, 1), 0.25),
        message("user", ToolResultBlock("c1", (TextBlock("a ```brown``` shed"),))),
        message("assistant", ToolUseBlock("c2", "attempt_completion", {"result": "Painted."})),
        TurnEnded(Usage(10, 1), 0.25),
        TaskEnded("completed", "Painted."),
    ]
    new: list[Record] = [TaskOpened(NEW, "Mow the lawn", str(tmp_path), "code", "anthropic/m", "native")]
    for at, (task_id, records) in enumerate([(OLD, old), (NEW, new)]):
        with Journal(root / task_id / "journal.jsonl", clock=lambda at=at: 1_767_225_600.0 + at) as journal:  # type: ignore[misc]
            for record in records:
                journal.append(record)
    return root


def test_the_list_has_the_newest_first(tasks: Path, tmp_path: Path, capsys: Captured) -> None:
    assert main(["tasks"]) == 0
    folder, first, second = capsys.readouterr().out.splitlines()
    assert folder == str(tmp_path)
    assert first.startswith(f"  {NEW}") and "open" in first and "Mow the lawn" in first
    assert second.startswith(f"  {OLD}") and "completed" in second


def test_the_list_is_in_the_order_of_the_times_that_it_shows(tasks: Path, tmp_path: Path, capsys: Captured) -> None:
    (tasks.parent / "tasks" / "order").write_text(f"{OLD}\n{NEW}\n")
    with Journal(tasks / OLD / "journal.jsonl", clock=lambda: 1_767_300_000.0) as journal:
        journal.append(TurnEnded(Usage(10, 1), 0.25))
    assert main(["tasks"]) == 0
    _folder, first, second = capsys.readouterr().out.splitlines()
    assert first.startswith(f"  {OLD}") and second.startswith(f"  {NEW}")
    assert [task.task_id for task in Services(TaskOptions(tmp_path), TaskStore(tasks)).tasks()] == [OLD, NEW]


def test_the_list_has_this_folder_first_and_subtasks_below_their_task(
    tasks: Path, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    for task_id, parent in (("20250101-here", None), ("20250102-child", "20250101-here")):
        with Journal(tasks / task_id / "journal.jsonl", clock=lambda: 1_735_689_600.0) as journal:
            journal.append(TaskOpened(task_id, "Paint\nit", str(here), "code", "m", "native", parent))
    assert main(["tasks"]) == 0
    lines = [line[:19].rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines[1:3] == ["  20250101-here  20", "    20250102-child"]
    assert [line[2:] for line in lines[4:]] == [NEW[:17], OLD[:17]]
    assert main(["tasks", "show", "last"]) == 0
    assert capsys.readouterr().out.startswith("# Paint it\n")
    assert main(["tasks", "--json"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {(each["id"], each["parent"]) for each in found if each["folder"] == str(here)} == {
        ("20250101-here", None), ("20250102-child", "20250101-here"),
    }  # fmt: skip


def test_a_task_that_cannot_be_read_is_listed_with_the_reason(tasks: Path, capsys: Captured) -> None:
    (tasks / NEW / "journal.jsonl").write_text('{"format": "joey-journal", "version": 1}\nnonsense\n')
    assert main(["tasks"]) == 0
    listed = capsys.readouterr().out
    assert "unreadable" in listed and "line 2: not JSON" in listed
    assert main(["tasks", "show", NEW]) == 2
    assert "line 2" in capsys.readouterr().err


def test_json_is_one_object_a_line(tasks: Path, capsys: Captured) -> None:
    assert main(["tasks", "list", "--json"]) == 0
    new, old = map(json.loads, capsys.readouterr().out.splitlines())
    assert (new["id"], new["status"], new["turns"], new["cost"]) == (NEW, "open", 0, None)
    assert (old["id"], old["status"], old["turns"], old["cost"]) == (OLD, "completed", 2, 0.5)
    assert old["text"] == "Paint the shed"


def test_search_finds_words_anywhere_in_a_task(tasks: Path, capsys: Captured) -> None:
    assert main(["tasks", "search", "BROWN"]) == 0
    assert [line[2:21] for line in capsys.readouterr().out.splitlines()[1:]] == [OLD]
    assert main(["tasks", "search", "purple"]) == 0
    assert "no task contains this text" in capsys.readouterr().err


def test_search_does_not_look_into_what_joey_added_to_a_message(tasks: Path, capsys: Captured) -> None:
    with Journal(tasks / NEW / "journal.jsonl") as journal:
        details = "<environment_details>\nFiles:\nLICENSE\n</environment_details>"
        journal.append(message("user", TextBlock("Mow it, please"), TextBlock(details)))
    assert main(["tasks", "search", "LICENSE"]) == 0
    assert NEW not in capsys.readouterr().out
    assert main(["tasks", "search", "mow it"]) == 0
    assert NEW in capsys.readouterr().out


def test_show_and_export_are_the_same_markdown(tasks: Path, tmp_path: Path, capsys: Captured) -> None:
    assert main(["tasks", "show", "20260101"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("# Paint the shed\n") and "**read_file**" in shown
    assert "````\na ```brown``` shed\n````" in shown
    assert main(["tasks", "export", OLD, str(tmp_path / "shed.md")]) == 0
    assert (tmp_path / "shed.md").read_text() == shown.removesuffix("\n")
    assert main(["tasks", "export", OLD, str(tmp_path / "nowhere" / "shed.md")]) == 2
    capsys.readouterr()
    assert main(["tasks", "export", OLD, "-"]) == 0
    assert capsys.readouterr().out == shown


def test_what_fills_the_window_of_a_task(tasks: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    assert main(["tasks", "context", OLD]) == 0
    assert capsys.readouterr().out.startswith("Context: 11 tokens\n  [SSSSS")


def test_delete_removes_everything_kept_with_it(tasks: Path, capsys: Captured) -> None:
    closed = tasks / OLD / "checkpoints"
    closed.mkdir()
    (closed / "contents.pack").write_text("kept")
    closed.chmod(0o500)
    with Journal(tasks / "child" / "journal.jsonl") as journal:
        journal.append(TaskOpened("child", "Buy paint", str(tasks), "code", "anthropic/m", "native", parent_id=OLD))
    assert main(["tasks", "delete", OLD, "--yes"]) == 0
    assert [path.name for path in tasks.iterdir()] == [NEW]
    assert f"deleted {OLD} and its 1 subtask" in capsys.readouterr().out


def test_a_task_that_cannot_be_read_can_be_deleted(tasks: Path) -> None:
    (tasks / OLD / "journal.jsonl").write_text("nonsense")
    assert main(["tasks", "delete", OLD, "--yes"]) == 0
    assert not (tasks / OLD).exists()


def test_a_running_task_is_not_deleted(tasks: Path, capsys: Captured) -> None:
    with Journal(tasks / OLD / "journal.jsonl"):
        assert main(["tasks", "delete", OLD, "--yes"]) == 1
    assert "open elsewhere" in capsys.readouterr().err
    assert (tasks / OLD / "journal.jsonl").is_file()


def test_without_a_terminal_nothing_is_deleted_unless_told_so(tasks: Path, capsys: Captured) -> None:
    assert main(["tasks", "delete", OLD]) == 2
    assert "use --yes" in capsys.readouterr().err
    assert (tasks / OLD).is_dir()


@pytest.mark.parametrize(("typed", "left"), [("y\n", [NEW]), ("\n", [NEW, OLD]), ("", [NEW, OLD])])
def test_delete_asks(tasks: Path, monkeypatch: pytest.MonkeyPatch, typed: str, left: list[str]) -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs) as keyboard:
        monkeypatch.setattr("sys.stdin", keyboard)
        os.write(ours, typed.encode() or b"\x04")
        assert main(["tasks", "delete", OLD]) == (0 if len(left) == 1 else 1)
    os.close(ours)
    assert sorted((path.name for path in tasks.iterdir()), reverse=True) == left


def test_what_a_killed_delete_left_is_no_task_and_goes_with_the_next(tasks: Path, capsys: Captured) -> None:
    (tasks / OLD).rename(tasks / f".deleted-{OLD}")
    assert main(["tasks"]) == 0
    assert OLD not in capsys.readouterr().out
    assert main(["tasks", "delete", NEW, "--yes"]) == 0
    assert not list(tasks.iterdir())


def test_whoever_waited_for_a_task_that_was_deleted_meanwhile_hears_of_it(tasks: Path) -> None:
    path = tasks / OLD / "journal.jsonl"
    with ThreadPoolExecutor() as pool, held(path):
        waiting = pool.submit(Journal, path)
        while [link.resolve() for link in Path("/proc/self/fd").iterdir()].count(path.resolve()) < 2:
            time.sleep(0.01)
        (tasks / OLD).rename(tasks / f".deleted-{OLD}")
    with pytest.raises(JournalError, match="was deleted"):
        waiting.result()


def test_a_fork_shares_the_first_turns_and_is_open(tasks: Path, capsys: Captured) -> None:
    assert main(["tasks", "fork", OLD, "--turn", "1"]) == 0
    forked = capsys.readouterr().out.strip()
    state = replay(read_journal(tasks / forked / "journal.jsonl"))
    assert state.opened is not None and state.opened.task_id == forked
    assert [message.role for message in state.messages] == ["user", "assistant", "user"]
    assert state.spending.turns == 1 and state.ended is None
    assert main(["tasks", "fork", OLD, "--turn", "9"]) == 2
    assert "only 2 turns" in capsys.readouterr().err
    assert len(list(tasks.glob("*/journal.jsonl"))) == 3


@pytest.mark.parametrize(
    ("block", "protocol"),
    [
        ({"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "a"}}, "native"),
        ({"type": "text", "text": "<read_file>\n<path>a</path>\n</read_file>"}, "xml"),
    ],
)
def test_an_imported_task_goes_on_in_its_own_protocol(
    tasks: Path, tmp_path: Path, capsys: Captured, block: object, protocol: str
) -> None:
    folder = tmp_path / "roo"
    folder.mkdir()
    rows = [{"role": "user", "content": "<task>\nFix it\n</task>"}, {"role": "assistant", "content": [block]}]
    (folder / "api_conversation_history.json").write_text(json.dumps(rows))
    assert main(["tasks", "import", str(folder), "--model", "ollama/qwen3"]) == 0
    imported = capsys.readouterr().out.strip()
    opened = replay(read_journal(tasks / imported / "journal.jsonl")).opened
    assert opened is not None
    assert (opened.text, opened.model, opened.protocol) == ("Fix it", "ollama/qwen3", protocol)


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["show"], "needs the ID of a task"),
        (["import"], "needs a folder"),
        (["import", "/nowhere"], "cannot read /nowhere/api_conversation_history.json"),
        (["show", "nope"], "there is no task 'nope'"),
        (["show", "2026"], "is the beginning of 2 tasks"),
    ],
)
def test_a_wrong_question_is_answered_with_what_is_wrong(
    tasks: Path, capsys: Captured, args: list[str], complaint: str
) -> None:
    assert main(["tasks", *args]) == 2
    assert complaint in capsys.readouterr().err


def test_no_tasks_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert main(["tasks"]) == 0
    assert "there are no tasks yet" in capsys.readouterr().err


def test_an_export_replaces_no_file_unless_told_so(tasks: Path, tmp_path: Path, capsys: Captured) -> None:
    there = tmp_path / "task.md"
    there.write_text("mine")
    assert main(["tasks", "export", OLD, str(there)]) == 2
    assert "is there already" in capsys.readouterr().err and there.read_text() == "mine"
    assert main(["tasks", "export", OLD, str(there), "--yes"]) == 0
    assert "Paint the shed" in there.read_text()
