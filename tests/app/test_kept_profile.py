"""Which approval profile a task has when it is resumed."""

from __future__ import annotations

from pathlib import Path

import pytest

from joey.app.tasks import Given, TaskOptions, open_task, prepare_task
from joey.testing.script import ScriptedProvider


async def opened_with(folder: Path, resume: str | None = None, approve: str = "") -> tuple[str, str]:
    """The id and the profile of a task that is opened so."""
    flags = {"approvals.profile": approve} if approve else {}
    given = Given(model=(ScriptedProvider([]), "scripted"), config=False, store=folder / "tasks")
    setup = prepare_task(TaskOptions(folder, flags, resume), given)
    async with open_task(setup, "Do it.", lambda _task_id, _event: None) as task:
        return task.id, task.profile


@pytest.mark.parametrize(
    ("began", "named", "resumed"),
    [
        ("edits", "", "edits"),
        ("plan", "", "plan"),
        ("edits", "strict", "strict"),
        ("", "", "ask"),
        ("all", "", "ask"),
    ],
)
async def test_a_task_keeps_its_profile_except_the_one_that_allows_everything(
    tmp_path: Path, began: str, named: str, resumed: str
) -> None:
    task_id, profile = await opened_with(tmp_path, approve=began)
    assert profile == (began or "ask")
    assert await opened_with(tmp_path, task_id, named) == (task_id, resumed)
