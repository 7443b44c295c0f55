"""Whatever becomes of a task, its journal does not stay open and locked."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path

import pytest

from joey.errors import JoeyError
from joey.task.opening import resume_task, start_task
from joey.task.task import TaskHandle
from task_kit import Kit, done

FILES = Path("/proc/self/fd")


def _open_files(folder: Path) -> list[str]:
    """The files below a folder that this process has open."""
    found = []
    for descriptor in FILES.iterdir():
        try:
            found.append(str(descriptor.readlink()))
        except FileNotFoundError:  # the one that listed the folder
            continue
    return [path for path in found if path.startswith(str(folder))]


def _drop(task: TaskHandle) -> None:
    del task
    gc.collect()


@pytest.mark.skipif(not FILES.is_dir(), reason="needs /proc")
@pytest.mark.parametrize("let_go", [TaskHandle.close, _drop])
def test_a_task_that_is_never_run_lets_go_of_its_journal(tmp_path: Path, let_go: Callable[[TaskHandle], None]) -> None:
    kit = Kit(tmp_path, [])
    for _ in range(3):
        let_go(start_task(kit.config, "Do it."))
    gc.collect()
    assert _open_files(tmp_path) == []


async def test_a_task_that_was_closed_can_be_resumed(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [])
    task = start_task(kit.config, "Do it.")
    task.close()
    assert (await kit.resume(task.id, [done()])).outcome == "completed"


@pytest.mark.skipif(not FILES.is_dir(), reason="needs /proc")
def test_a_task_that_cannot_be_resumed_lets_go_of_its_journal(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [])
    task = start_task(kit.config, "Do it.")
    task.close()
    journal = kit.store.journal_path(task.id)
    journal.write_text(journal.read_text().replace('"native"', '"unknown"'))
    for task_id in (task.id, "another"):
        with pytest.raises(JoeyError) as error:
            resume_task(kit.config, task_id)
        del error
    assert _open_files(tmp_path) == []


async def test_closing_a_task_that_has_run_changes_nothing(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [done()])
    assert (await kit.run()).outcome == "completed"
    assert kit.task is not None
    kit.task.close()
