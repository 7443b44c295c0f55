"""What the version before has saved: a task that was interrupted resumes, and a settings file is read.

The files in `saved_before/` were written by commit 8d2b5e5. The task had read and written files, run a command and a
subtask, summarized its beginning and switched the mode; it was killed in a command, with a message of the user waiting.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from joey.app.settings import approvals_in_force, notices
from joey.config import read_config
from joey.config.keys import OLD_NAMES, OLD_VALUES
from joey.journal.journal import read_journal
from joey.journal.records import TaskEnded
from joey.messages import ToolResultBlock
from joey.task import wording
from joey.task.profiles import choose_profile
from task_kit import Kit, done

SAVED = Path(__file__).parent / "saved_before"


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    kit = Kit(tmp_path, [], headless=True)
    for file in SAVED.glob("*.jsonl"):
        journal = kit.store.journal_path(file.stem)
        journal.parent.mkdir(parents=True)
        journal.write_text(file.read_text().replace("/WORKSPACE", str(kit.workspace)))
    return kit


async def test_a_task_resumes_where_it_was_interrupted(kit: Kit) -> None:
    assert (await kit.resume("saved", [done()], "Go on.")).outcome == "completed"
    state = kit.task.state if kit.task else None
    assert state is not None and (state.mode, state.spending.turns, state.shortening.hidden) == ("debug", 7, 6)
    assert [todo.content for todo in state.todos] == ["look", "write"]
    first, last = kit.sent[0], kit.sent[-1]
    assert "In short: a file was written." in first.content[-1].text
    owed = next(block for block in last.content if isinstance(block, ToolResultBlock))
    assert owed.tool_use_id == "8" and owed.content[0].text == wording.INTERRUPTED  # type: ignore[union-attr]
    words = [block.text for block in last.content if not isinstance(block, ToolResultBlock)]
    assert words[:2] == [wording.user_message("And say who wrote it."), wording.user_message("Go on.")]


async def test_a_subtask_that_was_left_behind_gives_its_result(kit: Kit) -> None:
    journal = kit.store.journal_path("saved")
    lines = journal.read_text().splitlines(keepends=True)
    opened = next(place for place, line in enumerate(lines) if '"child_opened"' in line)
    journal.write_text("".join(lines[: opened + 1]))
    assert (await kit.resume("saved", [done()])).outcome == "completed"
    owed = next(block for block in kit.sent[-1].content if isinstance(block, ToolResultBlock))
    assert owed.content[0].text == "Subtask saved-child completed.\n\nResult:\nAda wrote it."  # type: ignore[union-attr]


async def test_what_was_resumed_is_written_down_as_before(kit: Kit) -> None:
    await kit.resume("saved", [done()])
    records = list(read_journal(kit.store.journal_path("saved")))
    assert isinstance(records[-1], TaskEnded) and records[-1].outcome == "completed"


def flat(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", tuple(value) if isinstance(value, list) else value


def test_a_settings_file_is_read_value_by_value(tmp_path: Path) -> None:
    text = (SAVED / "config.toml").read_text()
    (tmp_path / "config.toml").write_text(text)
    config = read_config(tmp_path / "project", tmp_path, trusted=True, flags={}, environment={})
    saved = dict(flat(tomllib.loads(text)))
    assert len(saved) > 60
    approvals = approvals_in_force(config).settings
    for name, value in saved.items():
        table, _, field = name.rpartition(".")
        now = config.value(OLD_NAMES.get(name, name)) if table != "approvals" else approvals.value(field)
        assert now == OLD_VALUES.get(name, {}).get(value, value), name
    assert choose_profile(config.value("task.prompt"), None).name == "small"
    notes = " ".join(notices(config))
    assert "task.compact_at" in notes and "small" in notes
