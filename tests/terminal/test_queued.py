"""Messages that no model has read: after a kill, an interruption or an end they are seen, and go nowhere unnoticed."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from joey.app.services import Choices
from joey.effects import SubtaskStarted
from joey.errors import UsageError
from joey.journal.records import ChildOpened, MessageAdded, ProfileSet, RunBegan, TaskOpened, UserSaid
from joey.messages import Message, TextBlock, ToolUseBlock
from joey.terminal.screen.answering import KeyGate
from joey.terminal.screen.app import Interactive
from joey.terminal.screen.prompt import Prompt
from joey.testing.script import Faults, Scripted, reply
from plain_kit import PlainTerminal
from screen_kit import ScratchServices, say, until
from task_kit import call, done

SLOW = reply("Let me see. " * 20, faults=Faults(silent_after=3))
SUBTASK = reply("A part.", call("n", "new_task", mode="code", message="A part of it."))
OFFER = "Type a message, or press Enter to continue: what is queued is sent with it."
NOTHING = "Nothing was sent: type a message to continue."


def screen(services: ScratchServices, resume: str | None = None) -> Interactive:
    return Interactive(services, Choices(resume=resume), gate=KeyGate(quiet=0.05, hold=0.02))


@asynccontextmanager
async def plain(services: ScratchServices, resume: str | None = None) -> AsyncIterator[PlainTerminal]:
    terminal = PlainTerminal(services, resume)
    try:
        async with asyncio.timeout(60):
            yield terminal
    finally:
        await terminal.close()


def killed_while_a_subtask_worked(folder: Path, *script: Scripted) -> ScratchServices:
    """As a kill leaves a task `t`: one message waits for its subtask, and an older one for the task itself."""
    services = ScratchServices(folder, script)
    where = (str(services.kit.workspace), "code", "scripted/model", "native")
    with services.kit.store.open("t") as task:
        task.append(TaskOpened("t", "Do it.", *where))
        task.append(MessageAdded(Message("user", (TextBlock("Do it."),))))
        handed = ToolUseBlock("n", "new_task", {"mode": "code", "message": "A part."})
        task.append(MessageAdded(Message("assistant", (handed,))))
        task.append(UserSaid("For the task."))
        task.append(RunBegan("n", "new_task"))
        task.append(ChildOpened("c", "n", SubtaskStarted("code", "A part.")))
    with services.kit.store.open("c") as subtask:
        subtask.append(TaskOpened("c", "A part.", *where, parent_id="t", parent_call_id="n"))
        subtask.append(MessageAdded(Message("user", (TextBlock("A part."),))))
        subtask.append(UserSaid("For the subtask."))
    return services


# After a kill


async def test_after_a_kill_the_screen_shows_what_waited_for_a_subtask_and_sends_it(tmp_path: Path) -> None:
    services = killed_while_a_subtask_worked(tmp_path, done("s", "Part."), done("d", "Whole."))
    app = screen(services, "t")
    async with app.run_test(size=(110, 40)) as pilot:
        shown = await until(pilot, OFFER)
        assert "› For the subtask.  (queued; Up takes it back)" in shown
        assert "› For the task.  (queued; Up takes it back)" in shown
        await pilot.press("enter")
        shown = await until(pilot, "Enter accepts")
        assert [shown.count(f"› For the {who}.") for who in ("subtask", "task")] == [1, 1]
        assert "queued;" not in shown
    sent = str(services.kit.sent)
    assert sent.index("For the subtask.") < sent.index("For the task.")


async def test_after_a_kill_what_waited_for_a_subtask_can_be_taken_back(tmp_path: Path) -> None:
    services = killed_while_a_subtask_worked(tmp_path, done("s", "Part."))
    app = screen(services, "t")
    async with app.run_test(size=(110, 40)) as pilot:
        await until(pilot, OFFER)
        for text in ("For the task.", "For the subtask."):
            await pilot.press("up")
            await until(pilot, f"› {text}", gone=True)
            assert app.query_one(Prompt).text == text
            app.query_one(Prompt).put("")
        await say(pilot, "something else")
        await until(pilot, "Enter accepts")
    sent = str(services.kit.sent)
    assert "something else" in sent and "For the" not in sent.replace("For the user", "")


async def test_after_a_kill_plain_lines_show_what_waited_for_a_subtask_and_send_it(tmp_path: Path) -> None:
    services = killed_while_a_subtask_worked(tmp_path, done("s", "Part."), done("d", "Whole."))
    async with plain(services, "t") as terminal:
        shown = await terminal.until(OFFER)
        assert "› For the subtask.  (queued; /unqueue takes it back)" in shown
        assert "› For the task.  (queued; /unqueue takes it back)" in shown
        terminal.type("/unqueue\n")
        await terminal.until("Taken back, not sent: For the task.")
        terminal.type("\n")
        await terminal.until("› For the subtask.\r\n")
        await terminal.until("Enter accepts")
    sent = str(services.kit.sent)
    assert "For the subtask." in sent and "For the task." not in sent


# While a subtask works


async def test_what_waits_for_a_subtask_is_taken_back_with_up_and_put_back_with_esc(tmp_path: Path) -> None:
    services = ScratchServices(tmp_path, [SUBTASK, SLOW, reply("Heard.")])
    app = screen(services)
    async with app.run_test(size=(110, 40)) as pilot:
        await say(pilot, "go")
        await until(pilot, "Let me")
        await say(pilot, "one")
        await say(pilot, "two")
        await until(pilot, "› two  (queued; Up takes it back)")
        await pilot.press("up")
        await until(pilot, "› two", gone=True)
        assert app.query_one(Prompt).text == "two"
        await pilot.press("escape")
        assert "› one" not in await until(pilot, "Stopped: interrupted by the user")
        assert app.query_one(Prompt).text == "one\ntwo"
        assert not app.session.queued


async def test_what_a_failed_task_left_waiting_is_shown_once_and_can_be_taken_back(tmp_path: Path) -> None:
    breaks = reply("Let me see. " * 20, faults=Faults(pause=0.2, cut_after=8))
    services = ScratchServices(tmp_path, [breaks] * 6 + [done()])
    app = screen(services)
    async with app.run_test(size=(110, 40)) as pilot:
        for attempt in ("go", "again"):
            await say(pilot, attempt)
            await until(pilot, "Let me")
            await say(pilot, f"hurry {attempt}")
            await until(pilot, "y continues")
            await pilot.pause(0.1)
            await pilot.press("n")
            await until(pilot, f"› hurry {attempt}  (queued; Up takes it back)")
            await until(pilot, "y continues", gone=True)
        await pilot.press("up")
        await until(pilot, "› hurry again", gone=True)
        assert app.query_one(Prompt).text == "hurry again" and app.session.queued == []
        app.query_one(Prompt).put("")
        await say(pilot, "last")
        assert (await until(pilot, "Enter accepts")).count("› hurry") == 1
    assert "hurry go" in str(services.kit.sent) and "hurry again" not in str(services.kit.sent)


# After an interruption, in plain lines


async def interrupted(terminal: PlainTerminal, *messages: str) -> str:
    """What is shown when somebody sends these while the model works, and then presses Ctrl+C."""
    await terminal.until("> ")
    terminal.type("go\n")
    await terminal.until("Let me")
    for message in messages:
        terminal.type(f"{message}\n")
        await terminal.until(f"› {message}  (queued")
    os.kill(os.getpid(), signal.SIGINT)
    await terminal.until("Stopped: interrupted")
    return await terminal.until("> ")


@pytest.mark.parametrize("handed", [[], [SUBTASK]], ids=["task", "subtask"])
async def test_a_message_that_survives_ctrl_c_is_shown_with_what_sends_it(
    tmp_path: Path, handed: list[Scripted]
) -> None:
    services = ScratchServices(tmp_path, [*handed, SLOW, reply("Heard.")])
    async with plain(services) as terminal:
        shown = await interrupted(terminal, "hurry", "and more")
        assert "› hurry  (queued; /unqueue takes it back)" in shown and OFFER in shown
        terminal.type("/unqueue\n")
        await terminal.until("Taken back, not sent: and more")
        terminal.type("\n")
        await terminal.until("› hurry\r\n")
        await terminal.until("Heard.")
    assert "hurry" in str(services.kit.sent[-1]) and "and more" not in str(services.kit.sent)


async def test_after_ctrl_c_an_empty_line_sends_nothing_where_nothing_waits(tmp_path: Path) -> None:
    services = ScratchServices(tmp_path, [SLOW, reply("Heard.")])
    async with plain(services) as terminal:
        assert "queued" not in await interrupted(terminal)
        terminal.type("/unqueue\n")
        await terminal.until("No message is waiting for the model.")
        terminal.type("\n")
        await terminal.until(NOTHING)
    assert len(services.kit.provider.requests) == 1


# Ctrl+D, in plain lines


WRITE = reply("I write it.", call("w", "write_to_file", path="a.txt", file_text="hello\n"))


@pytest.mark.parametrize(
    ("scripted", "shown"),
    [(None, "> "), (reply("Here."), "tokens)\r\n> "), (done(), "to change: "), (WRITE, "why not: "), (SLOW, "Let me")],
    ids=["nothing", "answered", "result", "approval", "working"],
)
async def test_one_ctrl_d_quits_whatever_runs(tmp_path: Path, scripted: Scripted | None, shown: str) -> None:
    services = ScratchServices(tmp_path, [scripted] if scripted else [], "ask")
    async with plain(services) as terminal:
        if scripted:
            await terminal.until("> ")
            terminal.type("go\n")
        await terminal.until(shown)
        terminal.type("\x04")
        assert await terminal.running == 0
    assert not (services.folder / "a.txt").exists()


async def test_what_waits_when_ctrl_d_quits_is_named_and_shown_again(tmp_path: Path) -> None:
    services = ScratchServices(tmp_path, [SLOW])
    async with plain(services) as terminal:
        await terminal.until("> ")
        terminal.type("go\n")
        await terminal.until("Let me")
        terminal.type("hurry\n")
        await terminal.until("› hurry  (queued; /unqueue takes it back)")
        terminal.type("half a li\x04")
        await asyncio.sleep(0.1)
        terminal.type("\x04")
        await terminal.until("(not sent: half a li)")
        await terminal.until("› hurry  (queued; sent when you resume the task and continue)")
        assert await terminal.running == 0
    (task,) = services.tasks()
    async with plain(services, task.task_id) as terminal:
        assert "› hurry  (queued; /unqueue takes it back)" in await terminal.until(OFFER)


# A task that cannot be resumed


class BrokenElsewhere(ScratchServices):
    """In other folders the settings cannot be read."""

    def profile(self, kept: str = "") -> str:
        if self.folder != self.kit.workspace:
            raise UsageError("config.toml is no TOML")
        return super().profile(kept)


async def test_a_task_that_cannot_be_resumed_leaves_the_one_on_the_screen(tmp_path: Path) -> None:
    services = BrokenElsewhere(tmp_path, [reply("Here."), reply("Still here.")])
    other = tmp_path / "other"
    other.mkdir()
    with services.kit.store.open("b") as task:
        task.append(TaskOpened("b", "Elsewhere.", str(other), "code", "scripted/model", "native"))
        task.append(MessageAdded(Message("user", (TextBlock("Elsewhere."),))))
    app = screen(services)
    async with app.run_test(size=(110, 40)) as pilot:
        await say(pilot, "go")
        await until(pilot, "Here.")
        before = app.session.services.folder
        await say(pilot, "/resume b")
        await until(pilot, "config.toml")
        assert app.session.services.folder == before and app.session.choices.resume != "b"
        await say(pilot, "and on")
        await until(pilot, "Still here.")
    assert "and on" in str(services.kit.sent[-1]) and "Elsewhere." not in str(services.kit.sent[-1])


# An empty Enter


def left_at(folder: Path, *calls: ToolUseBlock, begun: bool = False) -> ScratchServices:
    """As a kill leaves a task `t` whose model wanted these calls, or, without one, had answered."""
    services = ScratchServices(folder, [done("d", "Went on.")])
    with services.kit.store.open("t") as task:
        task.append(TaskOpened("t", "Do it.", str(services.kit.workspace), "code", "scripted/model", "native"))
        task.append(MessageAdded(Message("user", (TextBlock("Do it."),))))
        task.append(MessageAdded(Message("assistant", (TextBlock("Well."), *calls))))
        for each in calls if begun else ():
            task.append(RunBegan(each.id, each.name))
    return services


COMMAND = call("c", "execute_command", command="touch x")
UNDECIDED = {
    "approval": (COMMAND,),
    "question": (call("q", "ask_followup_question", question="Which?", follow_up=[{"text": "Red"}]),),
    "result": (call("r", "attempt_completion", result="Done."),),
    "answer": (),
}


@pytest.mark.parametrize("calls", UNDECIDED.values(), ids=UNDECIDED)
async def test_an_empty_enter_decides_nothing_that_was_left_undecided(
    tmp_path: Path, calls: tuple[ToolUseBlock, ...]
) -> None:
    services = left_at(tmp_path, *calls, begun=bool(calls) and calls != (COMMAND,))
    app = screen(services, "t")
    async with app.run_test(size=(110, 40)) as pilot:
        assert "press Enter" not in await until(pilot, "It is waiting for you: type a message to continue.")
        await pilot.press("enter")
        await until(pilot, NOTHING)
        await pilot.press("enter")
        await pilot.pause(0.1)
        assert not app.busy and not services.events
        await say(pilot, "go on")
        assert (await until(pilot, "Enter accepts")).count(NOTHING) == 1
    assert "go on" in str(services.kit.sent[-1])


async def test_in_plain_lines_an_empty_line_decides_nothing_that_was_left_undecided(tmp_path: Path) -> None:
    services = left_at(tmp_path, COMMAND)
    async with plain(services, "t") as terminal:
        await terminal.until("It is waiting for you: type a message to continue.")
        terminal.type("\n")
        await terminal.until(NOTHING)
        assert not services.events
        terminal.type("go on\n")
        await terminal.until("Went on.")


async def test_an_empty_enter_continues_what_was_killed_at_work_because_the_screen_says_so(tmp_path: Path) -> None:
    app = screen(left_at(tmp_path, COMMAND, begun=True), "t")
    async with app.run_test(size=(110, 40)) as pilot:
        await until(pilot, "Type a message, or press Enter to continue.")
        await pilot.press("enter")
        await until(pilot, "Went on.")


async def test_an_empty_enter_after_esc_or_a_declined_plan_sends_nothing(tmp_path: Path) -> None:
    services = ScratchServices(tmp_path, [SLOW, done("p", "My plan."), done()], "plan")
    app = screen(services)
    async with app.run_test(size=(110, 40)) as pilot:
        await say(pilot, "go")
        await until(pilot, "Let me")
        await pilot.press("escape")
        await until(pilot, "Stopped: interrupted by the user")
        await pilot.press("enter")
        await until(pilot, NOTHING)
        await say(pilot, "plan it")
        await until(pilot, "carry it out")
        await pilot.pause(0.1)
        await pilot.press("n")
        await until(pilot, "carry it out", gone=True)
        await pilot.press("enter")
        await pilot.pause(0.2)
        assert (await until(pilot, NOTHING)).count(NOTHING) == 2
        assert len(services.kit.provider.requests) == 2


DECIDE = "The plan waits for your decision: press Enter to decide, or type what to change."


def left_with_a_plan(folder: Path) -> ScratchServices:
    services = left_at(folder, call("p", "attempt_completion", result="Open a port."), begun=True)
    with services.kit.store.open("t") as task:
        task.append(ProfileSet("plan"))
    return services


async def test_a_plan_that_was_left_undecided_is_one_on_resuming_and_enter_puts_it_again(tmp_path: Path) -> None:
    services = left_with_a_plan(tmp_path)
    app = screen(services, "t")
    async with app.run_test(size=(110, 40)) as pilot:
        shown = await until(pilot, DECIDE)
        assert "○ Plan  not decided" in shown and "Result" not in shown and "approve: plan" in shown
        await pilot.press("enter")
        shown = await until(pilot, "y carry it out")
        assert shown.count("Open a port.") == 1 and "✓ Plan" in shown and "not decided" not in shown
        assert not services.kit.provider.requests
        await pilot.press("escape")
        await until(pilot, "○ Plan  not decided")
        await say(pilot, "/resume t")
        await until(pilot, DECIDE)
        await pilot.press("shift+tab")
        await until(pilot, "approve: ask")
        await pilot.press("enter")
        await until(pilot, NOTHING)


async def test_in_plain_lines_a_plan_that_was_left_undecided_is_put_again(tmp_path: Path) -> None:
    services = left_with_a_plan(tmp_path)
    async with plain(services, "t") as terminal:
        await terminal.until(DECIDE)
        terminal.type("\n")
        shown = await terminal.until("Carry out the plan?")
        assert "✓ Plan" in shown and "Open a port." in shown
        terminal.type("n\n")
        await terminal.until("Stopped: the plan was declined.")
    assert not services.kit.provider.requests


async def test_an_empty_enter_while_a_task_opens_queues_nothing(tmp_path: Path) -> None:
    services = ScratchServices(tmp_path, [reply("One.", faults=Faults(pause=0.05)), reply("Two.")])
    app = screen(services)
    async with app.run_test() as pilot:
        for text in ("first", ""):
            app.query_one(Prompt).post_message(Prompt.Sent(text))
        await until(pilot, "Enter accepts")
    assert len(services.kit.provider.requests) == 1
