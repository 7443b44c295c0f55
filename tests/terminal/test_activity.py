"""What the line above the input says while Joey works, and that nothing ticks while it does not."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from joey.events import (
    ApprovalAnswered,
    ApprovalRequested,
    CheckpointStarted,
    CompletionRequested,
    Event,
    PromptProgressed,
    ReasoningDelta,
    ReasoningStarted,
    RequestDelayed,
    RetryScheduled,
    TaskFinished,
    TaskStarted,
    TextDelta,
    TextStarted,
    ToolCallDelta,
    ToolCallFinished,
    ToolCallStarted,
    ToolRunFinished,
    ToolRunStarted,
    TurnStarted,
)
from joey.messages import TextBlock, ToolResult
from joey.task.task import TaskHandle
from joey.terminal.activity import IDLE, Activity, after, draw_activity, duration
from joey.terminal.screen.app import Interactive
from joey.terminal.status import Status
from joey.terminal.status import after as status_after
from screen_kit import ScratchServices, say, until

STARTED = TaskStarted("go", "code", "m", "native")
WRITING = (
    ToolCallStarted("w", "write_to_file"),
    ToolCallDelta("w", ("path",), "src/ser", ""),
    ToolCallDelta("w", ("path",), "ver.py", ""),
    ToolCallDelta("w", ("file_text",), "a\nb\n" * 60, ""),
)


def folded(*events: Event, now: float = 0.0) -> Activity:
    activity = IDLE
    for event in events:
        activity = after(activity, event, now)
    return activity


def test_a_subtask_that_ends_does_not_set_the_clock_to_the_start_of_the_machine() -> None:
    activity = folded(STARTED, TaskFinished("completed"), now=4_000.0)
    assert activity == IDLE
    activity = after(activity, ToolRunFinished("c", "new_task", ToolResult((TextBlock("done"),))), 4_000.0)
    assert "waiting for the model · 2 s" in draw_activity(activity, 4_002.0, 80).plain


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ((STARTED,), "waiting for the model"),
        ((STARTED, PromptProgressed(1_231, 3_000)), "reading the prompt, 41 %"),
        ((STARTED, PromptProgressed(1_231, 3_000), PromptProgressed(3_000, 3_000)), "waiting for the model"),
        ((STARTED, PromptProgressed(1_231, 3_000), TextDelta("I")), "writing a reply"),
        ((STARTED, TextDelta("I")), "writing a reply"),
        ((STARTED, ReasoningDelta("Hm")), "thinking"),
        ((STARTED, *WRITING), "writing src/server.py, 120 lines"),
        ((STARTED, *WRITING, ToolCallDelta("w", ("file_text",), "half", "")), "writing src/server.py, 121 lines"),
        ((STARTED, ToolCallStarted("d", "attempt_completion"), ToolCallDelta("d", ("result",), "D", "")), "the result"),
        ((STARTED, ToolRunStarted("r", "execute_command", "pytest -q")), "running pytest -q"),
        ((STARTED, ToolRunStarted("r", "read_file", "a.py")), "read_file a.py"),
        ((STARTED, *WRITING, ToolCallFinished("w", "write_to_file", {})), "waiting for the model"),
        ((STARTED, RetryScheduled(1, 8.4, "Overloaded.")), "Overloaded; trying again in 8 s"),
    ],
)
def test_the_line_says_what_is_being_done(events: tuple[Event, ...], words: str) -> None:
    assert words in draw_activity(folded(*events), 0.0, 80).plain


def test_the_clock_runs_from_the_beginning_of_what_is_done() -> None:
    turn = folded(STARTED, TurnStarted(1), now=10.0)
    assert "1 min 25 s · Esc to interrupt" in draw_activity(turn, 95.0, 80).plain
    runs = after(turn, ToolRunStarted("c", "execute_command", "make"), 95.0)
    assert "running make · 2 s" in draw_activity(runs, 97.0, 80).plain
    waits = after(runs, ToolRunFinished("c", "execute_command", ToolResult(())), 100.0)
    assert "waiting for the model · 1 s" in draw_activity(waits, 101.0, 80).plain
    answered = after(after(turn, ApprovalRequested("a", "c", "x", {}, "why"), 96.0), ApprovalAnswered("a", True), 100.0)
    assert "5 s" in draw_activity(answered, 105.0, 80).plain
    assert [duration(seconds) for seconds in (0.9, 61, 3_700)] == ["0 s", "1 min 1 s", "1 h 1 min"]


def test_the_wait_for_the_next_attempt_is_counted_down() -> None:
    activity = after(folded(STARTED), RetryScheduled(1, 8.0, "Overloaded"), 100.0)
    assert [draw_activity(activity, now, 80).plain.partition(" · ")[0][2:] for now in (100.0, 105.0, 120.0)] == [
        f"Overloaded; trying again{left}" for left in (" in 8 s", " in 3 s", "")
    ]
    delayed = after(folded(STARTED), RequestDelayed(8.0), 100.0)
    assert "limits; trying again in 3 s" in draw_activity(delayed, 105.0, 80).plain
    wordy = draw_activity(Activity("waiting", "Rate limit reached for requests. " * 3, 90.0, 108.0), 105.0, 78).plain
    assert "…; trying again in 3 s · 15 s · Esc to interrupt" in wordy and len(wordy) <= 78


def test_the_status_line_waits_without_a_number_and_no_longer_than_until_the_next_attempt_answers() -> None:
    waits = status_after(status_after(Status(), TurnStarted(1)), RetryScheduled(1, 8.0, "Overloaded"))
    assert waits.activity == status_after(Status(), RequestDelayed(8.0)).activity == "waiting"
    for begun in (TextStarted(), ReasoningStarted(), ToolCallStarted("w", "write_to_file"), PromptProgressed(1, 2)):
        assert status_after(waits, begun).activity == "thinking"
        assert status_after(Status(activity="read_file"), begun).activity == "read_file"


def test_it_takes_no_more_than_its_line() -> None:
    long = folded(STARTED, ToolRunStarted("r", "execute_command", "x" * 300))
    assert draw_activity(long, 3.0, 60).cell_len <= 60
    assert draw_activity(long, 3.0, 60).plain.endswith("… · 3 s · Esc to interrupt")


@pytest.mark.parametrize("event", [TaskFinished("completed"), ApprovalRequested("a", "c", "x", {}, "why")])
def test_it_is_idle_when_it_is_the_users_turn(event: Event) -> None:
    assert folded(STARTED, TurnStarted(1), event).is_idle


async def test_a_command_of_the_users_is_still_running_when_a_task_ends_beside_it(tmp_path: Path) -> None:
    app = Interactive(ScratchServices(tmp_path, []))
    async with app.run_test() as pilot:
        app.watch_task("t", STARTED)
        await until(pilot, "waiting for the model")
        await say(pilot, "!sleep 30")
        app.watch_task("t", TaskFinished("cancelled", "stopped"))
        await until(pilot, "running sleep 30")
        await pilot.press("escape")
        await until(pilot, "Esc to interrupt", gone=True)


def test_a_reply_that_stalls_says_for_how_long_nothing_came() -> None:
    replying = folded(STARTED, TextDelta("I"))
    assert "received" not in draw_activity(replying, 9.0, 100, silent=9.0).plain
    stalled = draw_activity(replying, 13.0, 100, silent=12.0).plain
    assert "writing a reply · nothing received for 12 s · 13 s · Esc to interrupt" in stalled
    waiting = folded(STARTED, TurnStarted(1))
    assert "received" not in draw_activity(waiting, 13.0, 100, silent=12.0).plain


def test_a_checkpoint_that_takes_a_while_is_named() -> None:
    events_ = (STARTED, ApprovalRequested("a", "c", "x", {}, "why"), ApprovalAnswered("a", approved=True))
    status = Status()
    for event in events_:
        status = status_after(status, event)
    assert status.activity == "working"
    assert status_after(status, CheckpointStarted("c")).activity == "working"
    assert "saving a checkpoint · 3 s" in draw_activity(folded(*events_, CheckpointStarted("c")), 3.0, 80).plain


async def test_before_escape_and_enter_it_says_which_commands_end(tmp_path: Path) -> None:
    app = Interactive(ScratchServices(tmp_path, []))
    async with app.run_test(size=(100, 30)) as pilot:
        job = SimpleNamespace(command="sleep 556", is_running=True)
        running = SimpleNamespace(jobs=[job], running_commands=(job.command,), profile="ask", queued=())
        app.session.task = cast("TaskHandle", running)
        for event in (STARTED, TurnStarted(1), ToolRunFinished("c", "execute_command", ToolResult(()))):
            app.watch_task("t", event)
        await until(pilot, "Esc interrupts and ends 1 background command")
        app.watch_task("t", CompletionRequested("d", "Done."))
        await until(pilot, "Enter accepts and ends 1 background command · or type what to change")
        app.session.task = None


async def test_each_of_several_commands_is_shown_and_escape_ends_what_the_line_names(tmp_path: Path) -> None:
    app = Interactive(ScratchServices(tmp_path, []))
    async with app.run_test(size=(100, 30)) as pilot:
        await say(pilot, "!sleep 31")
        await until(pilot, "running sleep 31")
        await say(pilot, "!sleep 32")
        assert "and 1 !command (/jobs)" in await until(pilot, "running sleep 32")
        await say(pilot, "/jobs")
        await until(pilot, "1. !sleep 31")
        await until(pilot, "2. !sleep 32")
        app.watch_task("t", STARTED)
        app.watch_task("t", TurnStarted(1))
        app.watch_task("t", TextStarted())
        app.watch_task("t", TextDelta("Hello"))
        assert "and 2 !commands (/jobs)" in await until(pilot, "writing a reply")
        await pilot.press("escape")  # it is the reply's, which no task here stands behind
        await pilot.pause(0.2)
        assert [each.command for each in app.session.own_commands] == ["sleep 31", "sleep 32"]
        app.watch_task("t", TaskFinished("cancelled", "stopped"))
        await until(pilot, "running sleep 32")
        await pilot.press("escape")
        await until(pilot, "running sleep 31")
        assert [each.command for each in app.session.own_commands] == ["sleep 31"]
        await pilot.press("escape")
        await until(pilot, "Esc to interrupt", gone=True)
        assert not app.session.own_commands


async def test_a_command_that_still_runs_is_ended_by_its_number(tmp_path: Path) -> None:
    app = Interactive(ScratchServices(tmp_path, []))
    async with app.run_test(size=(100, 30)) as pilot:
        await say(pilot, "!sleep 31")
        await say(pilot, "!sleep 32")
        await until(pilot, "running sleep 32")
        await say(pilot, "/jobs stop 1")
        await until(pilot, "Stopped sleep 31.")
        await until(pilot, "and 1 !command", gone=True)
        assert [each.command for each in app.session.own_commands] == ["sleep 32"]


async def test_the_spinner_turns_while_joey_works_and_nothing_ticks_afterwards(tmp_path: Path) -> None:
    app = Interactive(ScratchServices(tmp_path, []))
    ticks = 0

    def clock() -> float:
        nonlocal ticks
        ticks += 1
        return ticks / 10

    app.clock = clock
    async with app.run_test() as pilot:
        for event in (STARTED, TurnStarted(1), *WRITING):
            app.watch_task("t", event)
        await until(pilot, "writing src/server.py, 120 lines")
        busy = ticks
        await pilot.pause(0.4)
        assert ticks > busy
        app.watch_task("t", ToolRunFinished("w", "write_to_file", ToolResult((TextBlock("ok"),))))
        app.watch_task("t", TaskFinished("completed"))
        await until(pilot, "Esc to interrupt", gone=True)
        idle = ticks
        await pilot.pause(0.4)
        assert ticks == idle
