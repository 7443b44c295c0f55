"""Checkpoints in a running task, and the command line over them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from joey.checkpoints import CheckpointLimits, CheckpointStore, plan_restore
from joey.cli import main
from joey.cli.checkpoints import PARTIAL
from joey.events import CheckpointStarted
from joey.journal.journal import Journal, read_journal
from joey.journal.records import CheckpointMade, RunBegan
from joey.journal.replay import replay
from joey.journal.store import TaskStore
from joey.testing.script import reply
from task_kit import Kit, call, done


@pytest.fixture
def kit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kit:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    kit = Kit(
        tmp_path / "kit",
        [
            reply("Writing.", call("w", "write_to_file", path="a.txt", file_text="new\n")),
            reply("Removing.", call("r", "read_file", path="a.txt"), call("x", "execute_command", command="rm -rf *")),
            done(),
        ],
    )
    kit.change(store=TaskStore(tmp_path / "joey" / "tasks"), checkpoints=CheckpointLimits())
    monkeypatch.chdir(kit.workspace)
    (kit.workspace / "a.txt").write_text("old\n")
    (kit.workspace / "kept").mkdir()
    (kit.workspace / "kept" / "b.txt").write_text("b\n")
    return kit


async def test_a_checkpoint_that_takes_longer_than_a_moment_is_reported(
    kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    def events() -> list[str]:
        return [event.call_id for event in kit.events if isinstance(event, CheckpointStarted)]

    monkeypatch.setattr("joey.task.checkpoint._MOMENT", 0.0)
    await kit.run("Change it.")
    assert events() == ["w", "x"]


def task_id(kit: Kit) -> str:
    assert kit.task is not None
    return kit.task.id


async def test_each_change_has_a_checkpoint_written_down_before_it(kit: Kit) -> None:
    assert (await kit.run()).outcome == "completed"
    assert list(kit.workspace.iterdir()) == []
    records = list(read_journal(kit.store.journal_path(task_id(kit))))
    steps = [record for record in records if isinstance(record, (CheckpointMade, RunBegan))]
    assert steps[:3] == [CheckpointMade(1, "w"), RunBegan("w", "write_to_file"), RunBegan("r", "read_file")]
    assert steps[3:5] == [CheckpointMade(2, "x"), RunBegan("x", "execute_command")]
    store = CheckpointStore(kit.store.folder(task_id(kit)) / "checkpoints", kit.workspace)
    assert [(c.id, c.turn, c.label) for c in store.checkpoints] == [
        (1, 1, "write_to_file: a.txt"),
        (2, 2, "execute_command: rm -rf *"),
    ]
    plan_restore(store, 2).apply()
    assert (kit.workspace / "a.txt").read_text() == "new\n"
    assert (kit.workspace / "kept" / "b.txt").read_text() == "b\n"
    plan_restore(store, 1).apply()
    assert (kit.workspace / "a.txt").read_text() == "old\n"


async def test_a_task_without_checkpoints_keeps_nothing(kit: Kit) -> None:
    kit.change(checkpoints=None)
    await kit.run()
    assert not (kit.store.folder(task_id(kit)) / "checkpoints").exists()


async def test_a_checkpoint_that_cannot_be_taken_does_not_stop_the_task(kit: Kit) -> None:
    kit.change(new_id=lambda: "t1")
    kit.store.folder("t1").mkdir(parents=True)
    (kit.store.folder("t1") / "checkpoints").write_text("a file where the folder should be")
    assert (await kit.run()).outcome == "completed"
    assert any("no checkpoint could be taken" in getattr(event, "text", "") for event in kit.events)


async def test_the_command_line_lists_shows_and_goes_back(kit: Kit, capsys: pytest.CaptureFixture[str]) -> None:
    await kit.run()
    assert main(["checkpoints"]) == 0
    assert "turn 2" in (listed := capsys.readouterr().out) and "rm -rf *" in listed
    assert main(["checkpoints", "diff", "1"]) == 0
    assert "+old\n" in capsys.readouterr().out
    assert main(["checkpoints", "undo", "--yes"]) == 0
    assert "`joey checkpoints restore 3` takes this back" in capsys.readouterr().err
    assert (kit.workspace / "a.txt").read_text() == "new\n"
    assert main(["checkpoints", "restore", "3", "--yes"]) == 0
    assert list(kit.workspace.iterdir()) == []


async def test_what_cannot_be_restored_is_counted_and_named(kit: Kit, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(kit.workspace / "pipe")
    await kit.run()
    assert main(["checkpoints", "undo", "--yes"]) == PARTIAL
    err = capsys.readouterr().err
    assert "restored 3 of 4 paths" in err and err.count("not as it was: pipe: how it was is not kept") == 1


async def test_the_conversation_goes_back_as_a_task_of_its_own(kit: Kit, capsys: pytest.CaptureFixture[str]) -> None:
    await kit.run()
    assert main(["checkpoints", "restore", "2", "--yes", "--what", "both", "--task", task_id(kit)]) == 0
    out, err = capsys.readouterr()
    forked = out.splitlines()[-1]
    # The new task is the last one now, and has no checkpoints.
    assert f"`joey checkpoints redo --task {task_id(kit)}` or `joey checkpoints restore 3 --task {task_id(kit)}`" in err
    records = list(read_journal(kit.store.journal_path(forked)))
    state = replay(records)
    assert [message.role for message in state.messages] == ["user", "assistant", "user"]
    assert (kit.workspace / "a.txt").read_text() == "new\n"
    assert not any(isinstance(each, CheckpointMade) for each in records)


async def test_nobody_to_ask_and_a_running_task_are_refused(kit: Kit, capsys: pytest.CaptureFixture[str]) -> None:
    await kit.run()
    assert main(["checkpoints", "restore", "1"]) == 2
    assert "--yes" in capsys.readouterr().err
    with Journal(kit.store.journal_path(task_id(kit))):
        assert main(["checkpoints", "restore", "1", "--yes"]) == 1
    assert "open elsewhere" in capsys.readouterr().err
    assert list(kit.workspace.iterdir()) == []
