"""/undo, and lines that are the user's own commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from time import time

from joey.checkpoints import CheckpointLimits
from joey.messages import Block, TextBlock, ToolResultBlock
from joey.task import wording
from joey.terminal.screen.app import Interactive
from joey.testing.script import reply
from screen_kit import ScratchServices, say, until
from task_kit import call, done

SIZE = (120, 40)


async def test_undo_says_what_it_would_do_and_does_it_when_confirmed(tmp_path: Path) -> None:
    write = reply(call("w", "write_to_file", path="a.txt", file_text="new\nsame\n"))
    services = ScratchServices(tmp_path, [write, done()])
    services.kit.change(checkpoints=CheckpointLimits())
    file = services.folder / "a.txt"
    file.write_text("old\nsame\n")
    (services.folder / ".git").mkdir()
    app = Interactive(services)
    async with app.run_test(size=SIZE) as pilot:
        await say(pilot, "/undo")
        await until(pilot, "There is no task")
        await say(pilot, "write")
        await until(pilot, "Enter accepts")
        await pilot.press("enter")
        await until(pilot, "Enter accepts", gone=True)
        await say(pilot, "/undo")
        screen = await until(pilot, "Type /undo now to do this")
        assert "Undo would restore a.txt:" in screen and ".git" not in screen
        preview = screen.partition("Undo would restore")[2].split("\n")
        places = [row.index(word) for word in ("new", "old", "same") for row in preview if row.rstrip().endswith(word)]
        assert len(places) == 3 and len(set(places)) == 1, "context stands below the lines around it"
        assert file.read_text() == "new\nsame\n"
        await say(pilot, "/undo now")
        await until(pilot, "Undo: restored a.txt; /redo takes this back")
        assert file.read_text() == "old\nsame\n"
        await say(pilot, "/undo")
        await until(pilot, "Nothing to undo")
        await say(pilot, "/redo")
        await until(pilot, "Type /redo now to do this")
        await say(pilot, "/redo now")
        await until(pilot, "/undo takes this back")
        assert file.read_text() == "new\nsame\n"


async def test_the_model_reads_what_was_undone_and_not_that_its_result_was_accepted(tmp_path: Path) -> None:
    write = reply(call("w", "write_to_file", path="a.txt", file_text="new\n"))
    services = ScratchServices(tmp_path, [write, done("c1"), done("c2")])
    services.kit.change(checkpoints=CheckpointLimits())
    app = Interactive(services)
    async with app.run_test(size=SIZE) as pilot:
        await say(pilot, "write")
        await until(pilot, "Enter accepts")
        await say(pilot, "/undo now")
        await until(pilot, "Undo: deleted a.txt")
        await say(pilot, "what now")
        await until(pilot, "Enter accepts")
    texts = [block.text for message in services.kit.sent for block in _texts(message.content)]
    notes = [text for text in texts if "put files back" in text]
    assert len(notes) == 1 and "a.txt" in notes[0]
    assert wording.SHOWN in texts and wording.ACCEPTED not in texts


def _texts(blocks: Sequence[Block]) -> Iterator[TextBlock]:
    for block in blocks:
        if isinstance(block, TextBlock):
            yield block
        elif isinstance(block, ToolResultBlock):
            yield from _texts(block.content)


async def test_the_output_of_commands_does_not_go_along_into_a_new_task(tmp_path: Path) -> None:
    services = ScratchServices(tmp_path, [done("c1"), done("c2")])
    app = Interactive(services)
    async with app.run_test(size=SIZE) as pilot:
        await say(pilot, "!echo of the $((20 + 1))st task")
        await until(pilot, "of the 21st task")
        await say(pilot, "/new")
        await say(pilot, "hello")
        await until(pilot, "Enter accepts")
    assert not any("21st task" in block.text for message in services.kit.sent for block in _texts(message.content))


async def test_what_somebody_else_changed_since_is_undone_only_when_that_is_confirmed(tmp_path: Path) -> None:
    write = reply(*(call(name, "write_to_file", path=name, file_text="new\n") for name in ("mine.py", "b.py")))
    services = ScratchServices(tmp_path, [write, done()])
    services.kit.change(checkpoints=CheckpointLimits())
    mine, other = (services.folder / name for name in ("mine.py", "b.py"))
    app = Interactive(services)
    async with app.run_test(size=SIZE) as pilot:
        await say(pilot, "write")
        await until(pilot, "Enter accepts")
        edit_later(mine, "new\nprecious\n")
        await say(pilot, "/undo now")
        await until(pilot, "Not by Joey, but after its last step, this was changed as well: mine.py.")
        await until(pilot, "Type /undo anyway to do this all the same.")
        assert "precious" in mine.read_text() and other.exists()
        await say(pilot, "/undo anyway")
        await until(pilot, "Undo: deleted b.py, mine.py; /redo takes this back")
        assert not mine.exists()
        await say(pilot, "/redo now")
        await until(pilot, "Redo: brought back b.py, mine.py; /undo takes this back.")
        assert "precious" in mine.read_text()
        await say(pilot, "/undo now")
        for _ in range(400):
            await pilot.pause(0.02)
            if not mine.exists():
                break
        assert not mine.exists(), "what redo wrote is Joey's own step"


async def test_a_file_that_only_the_user_made_is_none_of_undos_business(tmp_path: Path) -> None:
    write = reply(call("w", "write_to_file", path="a.py", file_text="print()\n"))
    command = reply(call("c", "execute_command", command="true"))
    services = ScratchServices(tmp_path, [write, command, done()])
    services.kit.change(checkpoints=CheckpointLimits())
    mine = services.folder / "mine.txt"
    app = Interactive(services)
    async with app.run_test(size=SIZE) as pilot:
        await say(pilot, "write and run")
        await until(pilot, "Enter accepts")
        mine.touch()
        edit_later(mine, "my own work\n")
        await say(pilot, "/undo")
        screen = await until(pilot, "Type /undo now to do this")
        assert "Undo would delete a.py:" in screen
        assert "not as it was: mine.txt: somebody else changed it, so it stays" in screen
        await say(pilot, "/undo now")
        await until(pilot, "Undo: deleted a.py; /redo takes this back")
        assert mine.read_text() == "my own work\n"


def edit_later(file: Path, text: str) -> None:
    """Write a file at a time that the clock of the file system tells from all times before."""
    file.touch()
    before = time()
    while file.stat().st_ctime <= before + 0.002:
        file.write_text(text)


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


async def test_a_file_of_the_users_stays_however_often_something_is_undone(tmp_path: Path) -> None:
    """Before a command the whole workspace is kept; what changed in between is the user's."""
    commands = [reply(call(f"c{n}", "execute_command", command=f"echo {n} > c{n}.txt")) for n in (1, 2)]
    services = ScratchServices(tmp_path, [commands[0], done("d1"), commands[1], done("d2")])
    services.kit.change(checkpoints=CheckpointLimits())
    between, after = (services.folder / name for name in ("between.txt", "after.txt"))
    app = Interactive(services)
    async with app.run_test(size=SIZE) as pilot:
        await say(pilot, "one")
        await until(pilot, "Enter accepts")
        edit_later(between, "mine\n")
        await say(pilot, "two")
        await until(pilot, "echo 2 > c2.txt")
        await until(pilot, "Enter accepts")
        edit_later(after, "mine\n")
        await say(pilot, "/undo now")
        await until(pilot, "Undo: deleted c2.txt")
        await say(pilot, "/undo now")
        await until(pilot, "Undo: deleted c1.txt")
    assert between.read_text() == after.read_text() == "mine\n"
    assert not [*services.folder.glob("c*.txt")]
