"""/undo, and lines that are the user's own commands."""

from __future__ import annotations

from pathlib import Path

from joey.checkpoints import CheckpointLimits
from joey.terminal.screen.app import Interactive
from joey.testing.script import reply
from screen_kit import ScratchServices, say, until
from task_kit import call, done

SIZE = (120, 40)


async def test_undo_says_what_it_would_do_and_does_it_when_confirmed(tmp_path: Path) -> None:
    write = reply(call("w", "write_to_file", path="a.txt", file_text="new\n"))
    services = ScratchServices(tmp_path, [write, done()])
    services.kit.change(checkpoints=CheckpointLimits())
    file = services.folder / "a.txt"
    file.write_text("old\n")
    app = Interactive(services)
    async with app.run_test(size=SIZE) as pilot:
        await say(pilot, "/undo")
        await until(pilot, "There is no task")
        await say(pilot, "write")
        await until(pilot, "Enter accepts")
        await pilot.press("enter")
        await until(pilot, "Enter accepts", gone=True)
        await say(pilot, "/undo")
        await until(pilot, "Type /undo now to do this")
        assert file.read_text() == "new\n"
        await say(pilot, "/undo now")
        await until(pilot, "/redo takes this back")
        assert file.read_text() == "old\n"
        await say(pilot, "/undo")
        await until(pilot, "Nothing to undo")
        await say(pilot, "/redo")
        await until(pilot, "Type /redo now to do this")
        await say(pilot, "/redo now")
        await until(pilot, "/undo takes this back")
        assert file.read_text() == "new\n"


async def test_a_line_with_a_command_of_the_users_goes_to_the_model(tmp_path: Path) -> None:
    services = ScratchServices(tmp_path, [done()])
    app = Interactive(services)
    async with app.run_test(size=SIZE) as pilot:
        await say(pilot, "/nothing")
        await until(pilot, "There is no /nothing")
        await say(pilot, "/review it")
        await until(pilot, "Enter accepts")
        await pilot.press("enter")
        await until(pilot, "Enter accepts", gone=True)
    assert "/review it" in str(services.kit.provider.requests[0].messages)
