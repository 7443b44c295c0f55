"""What a terminal keeps between tasks, and the commands about it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from joey.chunks import UsageChunk
from joey.commands import TakeBack
from joey.events import ToolRunFinished, UserMessageQueued
from joey.messages import ToolResult
from joey.task.task import TaskHandle
from joey.terminal.screen.answering import KeyGate
from joey.terminal.screen.app import Interactive
from joey.terminal.screen.prompt import Prompt
from joey.terminal.session import Session
from joey.terminal.slash import COMMANDS, Front, run_command
from joey.testing.script import reply
from joey.usage import Usage
from screen_kit import ScratchServices, say, until
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


class Running:
    """A task with commands in the background."""

    def __init__(self, *commands: str) -> None:
        self.running_commands = commands

    def stop_command(self, at: int) -> None:
        self.running_commands = (*self.running_commands[:at], *self.running_commands[at + 1 :])


def test_commands_in_the_background_are_listed_and_stopped() -> None:
    front = cast("Front", SimpleNamespace(session=SimpleNamespace(task=Running("sleep 300", "npm start"), waits=False)))
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
    queued = [SimpleNamespace(text=text) for text in ("one", "two", "three")]

    class Busy(Running):
        state = SimpleNamespace(queued=queued)
        waits_for_message = False

        def send(self, command: object) -> bool:
            if isinstance(command, TakeBack) and self.state.queued:
                self.state.queued = self.state.queued[:-1]
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
