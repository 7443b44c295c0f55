"""Undo and redo over the checkpoints of a task, each read again from the disk as after a restart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import time

import pytest

from joey.checkpoints import CheckpointStore, plan_redo, plan_restore, plan_undo
from joey.checkpoints.restore import OwnTimes


class Project:
    """A workspace with one file, and turns that write it or do nothing."""

    def __init__(self, folder: Path) -> None:
        self.workspace, self._state = folder / "w", folder / "checkpoints"
        self.workspace.mkdir()
        self._turn = 0

    @property
    def store(self) -> CheckpointStore:
        return CheckpointStore(self._state, self.workspace)

    def turn(self, *texts: str | None) -> None:
        """A turn of several calls; None is a command that changes nothing."""
        self._turn += 1
        for at, text in enumerate(texts):
            self.store.take("call", turn=self._turn, call_id=f"{self._turn}-{at}", touched=["a"], whole=text is None)
            if text is not None:
                self.write(text)

    def write(self, text: str) -> None:
        (self.workspace / "a").write_text(text)

    @property
    def text(self) -> str:
        path = self.workspace / "a"
        return path.read_text() if path.exists() else ""

    def undo(self) -> str | None:
        return self._apply(lambda store: plan_undo(store, OwnTimes(((0.0, time()),))))

    def redo(self) -> str | None:
        return self._apply(plan_redo)

    def _apply(self, plan: Callable[[CheckpointStore], object]) -> str | None:
        found = plan(self.store)
        if found is None:
            return None
        found.apply()  # type: ignore[attr-defined]
        return self.text


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_turns_that_changed_nothing_are_passed_over(project: Project) -> None:
    project.turn("one")
    project.turn("two")
    project.turn(None)
    project.turn(None, None)
    assert project.undo() == "one"


def test_undoing_again_goes_further_back_and_redoing_comes_all_the_way_forward(project: Project) -> None:
    project.turn("one")
    project.turn("two", "three")
    project.turn(None)
    project.turn("four")
    assert [project.undo() for _ in range(4)] == ["three", "one", "", None]
    assert [project.redo() for _ in range(4)] == ["one", "three", "four", None]
    assert project.undo() == "three"


def test_a_change_after_undoing_ends_redo_and_undo_passes_over_what_was_undone(project: Project) -> None:
    project.turn("one")
    project.turn("two")
    project.turn("three")
    assert [project.undo(), project.undo()] == ["two", "one"]
    project.turn("other")
    assert project.redo() is None
    assert [project.undo(), project.undo(), project.undo()] == ["one", "", None]


def test_a_restored_checkpoint_can_be_left_again_by_redo_and_by_undo(project: Project) -> None:
    project.turn("one")
    project.turn("two")
    project.turn("three")
    plan_restore(project.store, 2).apply()
    assert project.text == "one"
    assert project.redo() == "three"
    plan_restore(project.store, 2).apply()
    assert project.undo() == ""


def test_nothing_is_lost_that_the_user_wrote_meanwhile(project: Project) -> None:
    project.turn("one")
    project.turn("two")
    project.write("mine")
    assert project.undo() == "one"
    assert project.redo() == "mine"


def test_a_task_that_changed_nothing_has_nothing_to_undo(project: Project) -> None:
    assert project.undo() is None and project.redo() is None
    project.turn(None)
    assert project.undo() is None and project.redo() is None
