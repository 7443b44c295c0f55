"""What Joey keeps is the user's alone, whatever the umask: looked at file by file after a real task."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from joey.system.folders import close_to_others, make_private
from joey.testing.script import reply
from joey.tools.base import ToolContext
from joey.tools.builtin.execute_command import ExecuteCommand, ExecuteCommandParams
from joey_process import JoeyProcess, call, done


@pytest.fixture
def generous() -> Iterator[None]:
    """A umask under which everybody may read and write new files."""
    before = os.umask(0)
    yield
    os.umask(before)


def open_to_others(folder: Path) -> list[str]:
    """Files and folders in which others may do anything."""
    found = [folder, *folder.rglob("*")]
    return [str(path) for path in found if stat.S_IMODE(path.lstat().st_mode) & 0o077 and not path.is_symlink()]


@pytest.mark.usefixtures("generous")
async def test_everything_that_a_task_leaves_behind_is_private(tmp_path: Path) -> None:
    process = JoeyProcess(tmp_path)
    script = [
        reply(call("a", "write_to_file", path="new.txt", file_text="made\n")),
        reply(call("b", "execute_command", command="seq 1 20000")),
        reply(call("c", "execute_command", command="exit 3", background=True)),
        done(),
    ]
    ran = await process.run(script, "Go", "--approve", "all")
    assert ran.code == 0, ran.err
    state = process.home / ".local/state/joey"
    kept = {path.name for path in state.rglob("*")}
    assert {"journal.jsonl", "cmd-1.txt", "cmd-1.json", "cmd-2.txt", "checkpoints"} <= kept
    assert open_to_others(state) == []


@pytest.mark.usefixtures("generous")
async def test_a_folder_of_artifacts_that_was_open_is_closed(tmp_path: Path) -> None:
    context = ToolContext(tmp_path, tmp_path / "storage")
    (context.storage / "commands").mkdir(parents=True)
    await ExecuteCommand().run(ExecuteCommandParams(command="seq 1 20000"), context)
    await context.memory.close()
    assert open_to_others(context.storage / "commands") == []


@pytest.mark.usefixtures("generous")
def test_folders_above_are_private_too_and_those_that_were_there_stay_as_they_are(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    make_private(there / "a/b/c")
    make_private(there / "a/b/c")
    assert stat.S_IMODE(there.stat().st_mode) == 0o777
    assert open_to_others(there / "a") == []
    (there / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        make_private(there / "file")


def test_closing_a_folder_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir(0o755)
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    close_to_others(tmp_path / "link")
    close_to_others(tmp_path / "nothing")
    assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) == 0o755
