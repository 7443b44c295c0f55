"""What a terminal keeps between tasks, and the commands about it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from joey.app.services import Choices
from joey.chunks import UsageChunk
from joey.commands import TakeBack
from joey.events import ToolRunFinished, UserMessageQueued
from joey.journal.records import MessageAdded, TaskOpened, UserSaid
from joey.messages import Message, TextBlock, ToolResult, ToolUseBlock
from joey.task.opening import resume_task
from joey.task.task import TaskHandle
from joey.terminal.drawing import draw
from joey.terminal.screen.answering import KeyGate
from joey.terminal.screen.app import Interactive
from joey.terminal.screen.prompt import Prompt
from joey.terminal.session import Session
from joey.terminal.slash import COMMANDS, Front, run_command
from joey.testing.script import Faults, reply
from joey.usage import Usage
from screen_kit import ScratchServices, say, until, words
from task_kit import Kit, call, done


async def test_a_task_that_is_resumed_still_has_its_todo_list(tmp_path: Path) -> None:
    services = ScratchServices(tmp_path, [reply(call("t", "update_todo_list", todos="[x] look\n[ ] write")), done()])
    await services.kit.run()
    assert services.kit.task is not None
    session = Session(services)
    session.resume(services.kit.task.id)
    assert (session.status.todos_done, session.status.todos) == (1, 2)


async def test_a_task_that_is_resumed_counts_what_its_subtasks_took(tmp_path: Path) -> None:
    calls = (
        call("n", "new_task", mode="code", message="look"),
        call("s", "attempt_completion", result="Seen."),
        call("d", "attempt_completion", result="Done."),
    )
    usages = (UsageChunk(10, 1), UsageChunk(200, 20), UsageChunk(3_000, 300))
    services = ScratchServices(tmp_path, [reply(each, usage=usage) for each, usage in zip(calls, usages, strict=True)])
    await services.kit.run()
    assert services.kit.task is not None
    session = Session(services)
    session.resume(services.kit.task.id)
    assert session.status.usage == Usage(3_210, 321)
    assert session.status.last == Usage(3_000, 300), "the window is the task's own"


async def test_what_another_terminal_did_in_between_is_shown_with_the_next_message(tmp_path: Path) -> None:
    services = ScratchServices(tmp_path, [reply("One."), reply("Three.")])
    app = Interactive(services)
    async with app.run_test(size=(80, 40)) as pilot:
        await say(pilot, "first")
        await until(pilot, "Enter accepts")
        await pilot.press("enter")
        await until(pilot, "Enter accepts", gone=True)
        assert app.session.continued_elsewhere() is None
        assert app.session.choices.resume is not None
        elsewhere = Kit(tmp_path, [reply("Two.")], policy="all")
        await elsewhere.resume(app.session.choices.resume, [reply("Two.")], "second")
        await say(pilot, "third")
        await until(pilot, "Three.")
        screen = await until(pilot, "Another terminal has continued this task")
        assert [screen.count(word) for word in ("› first", "› second", "Two.", "› third")] == [1, 1, 1, 1]
        assert screen.index("Two.") < screen.index("Another terminal") < screen.index("› third")


async def test_what_another_terminal_took_is_counted_when_a_task_is_continued(tmp_path: Path) -> None:
    """Two terminals on one task, one after the other: each counts what the journal says, not what it saw itself."""
    services = ScratchServices(tmp_path, [reply("One.", usage=UsageChunk(100, 10))])
    await services.kit.run()
    assert services.kit.task is not None
    session, task_id = Session(services), services.kit.task.id
    session.resume(task_id)
    await services.kit.resume(task_id, [reply("Two.", usage=UsageChunk(2_000, 200))], "second")
    task = resume_task(services.kit.config, task_id, text="third")
    session.began(task)
    task.close()
    assert session.status.usage == Usage(2_100, 210) and session.status.last == Usage(2_000, 200)
    assert task.state.spending.usage == Usage(2_100, 210), "and so do the limits"

    another = Session(services)
    another.resume(task_id)
    await services.kit.resume(task_id, [reply("Four.", usage=UsageChunk(30_000, 3_000))])
    assert another.counted().usage == Usage(32_100, 3_210), "/cost shows it before anything is sent"
    assert another.continued_elsewhere() is not None
    assert another.status.usage == Usage(32_100, 3_210)


class Running:
    """A task with commands in the background."""

    def __init__(self, *commands: str) -> None:
        self.running_commands = commands

    @property
    def jobs(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(command=command, is_running=True) for command in self.running_commands]

    def stop_command(self, at: int) -> None:
        self.running_commands = (*self.running_commands[:at], *self.running_commands[at + 1 :])


def test_commands_in_the_background_are_listed_and_stopped(tmp_path: Path) -> None:
    session = Session(ScratchServices(tmp_path, []))
    session.task = cast("TaskHandle", Running("sleep 300", "npm start"))
    front = cast("Front", SimpleNamespace(session=session))
    assert "1. sleep 300\n  2. npm start" in run_command(front, "/jobs")
    assert run_command(front, "/jobs stop 1") == "Stopped sleep 300."
    assert "1. npm start" in run_command(front, "/jobs stop 7"), "a number that is not there stops nothing"
    run_command(front, "/jobs stop 1")
    assert run_command(front, "/jobs") == "No command of this task runs in the background."


async def test_commands_in_the_background_are_counted_until_they_end(tmp_path: Path) -> None:
    app = Interactive(ScratchServices(tmp_path, []))
    async with app.run_test() as pilot:
        app.session.task = cast("TaskHandle", running := Running("sleep 300", "npm start"))
        app.watch_task("t", ToolRunFinished("c", "execute_command", ToolResult(())))
        await until(pilot, "2 in background (/jobs)")
        running.stop_command(0)
        await until(pilot, "1 in background (/jobs)")
        running.stop_command(0)
        await until(pilot, "in background", gone=True)
        app.session.task = None


def test_help_is_aligned_and_names_what_else_can_be_typed(tmp_path: Path) -> None:
    front = cast("Front", SimpleNamespace(session=Session(ScratchServices(tmp_path, []))))
    lines = run_command(front, "/help").split("\n")
    begins = {line.index(what) for line, (what, _) in zip(lines, COMMANDS.values(), strict=False)}
    assert len(begins) == 1
    assert "/clear (/new)" in lines[-2] and "!" in lines[-1] and "@" in lines[-1]


@pytest.mark.parametrize("name", ["approvals", "plan", "status", "diff"])
def test_a_command_of_other_programs_is_answered_with_what_does_it_here(name: str, tmp_path: Path) -> None:
    front = cast("Front", SimpleNamespace(session=Session(ScratchServices(tmp_path, []))))
    assert run_command(front, f"/{name}").startswith(f"There is no /{name} here: ")


async def test_esc_puts_back_what_the_task_has_also_where_the_screen_is_behind(tmp_path: Path) -> None:
    class Busy(Running):
        queued = [SimpleNamespace(text=text) for text in ("one", "two", "three")]
        waits_for_message = has_stopped = False

        def send(self, command: object) -> bool:
            if isinstance(command, TakeBack) and self.queued:
                self.queued = self.queued[:-1]
                return True
            return False

    app = Interactive(ScratchServices(tmp_path, []))
    async with app.run_test() as pilot:
        app.session.task = cast("TaskHandle", Busy())
        app.watch_task("t", UserMessageQueued("one"))  # those of the others have not been drawn yet
        await until(pilot, "› one")
        await pilot.press("escape")
        assert app.query_one(Prompt).text == "one\ntwo\nthree"
        app.session.task = None


async def test_the_context_is_known_after_the_task_was_accepted_and_after_it_was_resumed(tmp_path: Path) -> None:
    app = Interactive(ScratchServices(tmp_path, [done()]), gate=KeyGate(quiet=0.05, hold=0.02))
    async with app.run_test(size=(100, 30)) as pilot:
        await say(pilot, "/context")
        await until(pilot, "Nothing was sent yet")
        await say(pilot, "go")
        await until(pilot, "Enter accepts")
        await pilot.press("enter")
        await until(pilot, "Enter accepts", gone=True)
        await say(pilot, "/context")
        await until(pilot, "S system prompt")
        await say(pilot, "/resume last")
        await until(pilot, "type a message to continue")
        await say(pilot, "/context")
        await until(pilot, "S system prompt")


async def test_what_ends_with_the_task_is_named(tmp_path: Path) -> None:
    left = call("c", "execute_command", command="sleep 60", background=True)
    app = Interactive(ScratchServices(tmp_path, [reply(left), done()]), gate=KeyGate(quiet=0.05, hold=0.02))
    async with app.run_test(size=(100, 30)) as pilot:
        await say(pilot, "go")
        await until(pilot, "1 in background")
        await until(pilot, "Enter accepts")
        await pilot.press("enter")
        assert "in background" not in await until(pilot, "Ended with the task: sleep 60.")


async def test_a_message_that_waited_when_joey_was_killed_is_shown_and_can_be_taken_back(tmp_path: Path) -> None:
    services = ScratchServices(tmp_path, [done("d", "First."), done("e", "Second.")])
    await services.kit.run("Look at it.")
    assert services.kit.task is not None
    task_id = services.kit.task.id
    with services.kit.store.open(task_id) as journal:
        journal.append(UserSaid("And then this."))
        journal.append(UserSaid("Delete everything."))
    app = Interactive(services, gate=KeyGate(quiet=0.05, hold=0.02))
    async with app.run_test(size=(100, 40)) as pilot:
        await say(pilot, f"/resume {task_id}")
        assert "› And then this.  (queued" in await until(pilot, "› Delete everything.  (queued; Up takes it back)")
        await pilot.press("up")
        await until(pilot, "Delete everything.  (queued", gone=True)
        assert app.query_one(Prompt).text == "Delete everything."
        app.query_one(Prompt).put("")
        await say(pilot, "hello new")
        screen = await until(pilot, "Second.")
    assert screen.count("And then this.") == 1 and screen.index("And then this.") < screen.index("hello new")
    sent = str(services.kit.sent)
    assert "And then this." in sent and "hello new" in sent and "Delete everything" not in sent


async def test_files_that_were_made_meanwhile_can_be_mentioned(tmp_path: Path) -> None:
    services = ScratchServices(tmp_path, [])
    names = ["a.txt"]
    services.files = lambda: names  # type: ignore[method-assign]
    app = Interactive(services)
    async with app.run_test() as pilot:
        await until(pilot, "code mode")
        await pilot.pause(0.1)
        names = ["a.txt", "fresh.md"]
        now = app.clock()
        app.clock = lambda: now + 60
        await pilot.press("at", "f")
        await until(pilot, "@fresh.md")


async def test_the_screen_of_a_resumed_task_looks_as_the_one_that_was_left(tmp_path: Path) -> None:
    todos = call("t", "update_todo_list", todos="[x] Look\n[ ] Write")
    child = call("n", "new_task", mode="code", message="A part of it.")
    script = [
        reply("First.", todos), reply("Then.", call("c", "execute_command", command="echo out; exit 3")),
        reply("A part.", child), reply("In it.", call("r", "read_file", path="a.txt")), done("d", "The part."),
        reply("Not this.", call("w", "write_to_file", path="b.txt", file_text="b\n")),
        reply("Slowly, very slowly", faults=Faults(pause=5)),
    ]  # fmt: skip
    services = ScratchServices(tmp_path, script, "ask")
    (services.folder / "a.txt").write_text("a\n", encoding="utf-8")
    app = Interactive(services, gate=KeyGate(quiet=0.05, hold=0.02))
    async with app.run_test(size=(100, 90)) as pilot:
        await say(pilot, "!echo mine")
        await until(pilot, "  mine")
        await say(pilot, "go")
        for waiting in ("echo out; exit 3  approval", "new_task  code", "write_to_file  b.txt  approval"):
            await until(pilot, waiting)
            await until(pilot, "y yes, once")
            await pilot.pause(0.1)
            await pilot.press("n" if "write" in waiting else "y")
            if "new_task" in waiting:
                await until(pilot, "Enter accepts the subtask")
                await pilot.press("enter")
        await until(pilot, "Slowly")
        await pilot.press("escape")
        await until(pilot, "Stopped: interrupted by the user")
        left = [words(draw(entry, app.look)) for entry in app.transcript.entries if not entry.dropped]
        await say(pilot, f"/resume {app.session.choices.resume}")
        await until(pilot, "to continue.")
        again = [words(draw(entry, app.look)) for entry in app.transcript.entries]
    passing = ("Joey. Type", "! this folder", "Sandbox", "Subtask", "Task ")
    expected, found = ([each for each in drawn if not each.startswith(passing)] for drawn in (left, again))
    assert found == expected
    assert "✗ execute_command  echo out; exit 3  exit code 3" in "\n".join(found) and "› No" in found


async def test_the_screen_goes_on_while_another_terminal_lets_go_of_a_task(tmp_path: Path) -> None:
    services = ScratchServices(tmp_path, [reply("Went on.")])
    journal = services.kit.store.open("t")
    journal.append(TaskOpened("t", "Count.", str(services.kit.workspace), "code", "scripted/model", "native"))
    journal.append(MessageAdded(Message("user", (TextBlock("Count."),))))
    app = Interactive(services, Choices(resume="t"), gate=KeyGate(quiet=0.05, hold=0.02))
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, "is open elsewhere")
        await say(pilot, "faster")
        await until(pilot, "opening the task")
        await say(pilot, "now")
        assert "The task was not opened" not in await until(pilot, "› now  (queued")
        journal.close()
        assert "› faster" in await until(pilot, "Went on.")


async def test_a_task_that_is_open_in_another_terminal_is_shown_as_running_and_takes_no_message(tmp_path: Path) -> None:
    services = ScratchServices(tmp_path, [reply("Went on.")])
    journal = services.kit.store.open("t")
    journal.append(TaskOpened("t", "Count.", str(services.kit.workspace), "code", "scripted/model", "native"))
    journal.append(MessageAdded(Message("user", (TextBlock("Count."),))))
    counting = ToolUseBlock("c", "execute_command", {"command": "count"})
    journal.append(MessageAdded(Message("assistant", (counting,))))
    app = Interactive(services, Choices(resume="t"), gate=KeyGate(quiet=0.05, hold=0.02))
    async with app.run_test(size=(100, 30)) as pilot:
        screen = await until(pilot, "is open elsewhere")
        assert "● execute_command  count  in progress in another terminal" in screen and "✗" not in screen
        await say(pilot, "faster")
        screen = await until(pilot, "The task was not opened; what you sent is in the input again.")
        assert "› faster" not in screen and app.query_one(Prompt).text == "faster"
        journal.close()
        await pilot.press("enter")
        screen = await until(pilot, "Went on.")
        assert "› faster" in screen and "✗ execute_command  count  interrupted" in screen
