"""In plain lines, a terminal shows that Joey works, and nothing of it stays in what was written."""

from __future__ import annotations

import asyncio
import io
import itertools
from pathlib import Path

import pytest

from joey.events import (
    ApprovalAnswered,
    ApprovalRequested,
    Event,
    PromptProgressed,
    TaskFinished,
    TaskStarted,
    TextDelta,
    ToolCallDelta,
    ToolCallStarted,
    ToolRunStarted,
    TurnStarted,
)
from joey.terminal.console import SafeConsole
from joey.terminal.plain.conversation import Conversation
from joey.terminal.plain.working import Working
from joey.terminal.plain.writer import Writer
from plain_kit import Screen
from task_kit import Kit, done

STARTED = TaskStarted("go", "code", "m", "native")
WAITING = ApprovalRequested("a", "c", "execute_command", {"command": "ls"}, "no rule names it")


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def working(*events: Event) -> tuple[Screen, Clock, Working]:
    out, clock = Screen(), Clock()
    line = Working(SafeConsole(out, highlight=False, markup=False, emoji=False), lambda: True, clock)
    for event in events:
        line.watch(event)
    return out, clock, line


def test_each_drawing_differs_from_the_one_before_while_the_model_works() -> None:
    out, clock, line = working(STARTED, TurnStarted(1))
    drawn = [out.rows]
    for _ in range(8):
        clock.now += 0.25
        line.draw()
        drawn.append(out.rows)
    assert all(one != other for one, other in itertools.pairwise(drawn))
    assert all(len(rows) == 1 for rows in drawn) and "waiting for the model · 2 s · Ctrl+C to stop" in drawn[-1][0]


def test_it_says_how_much_of_the_prompt_was_read_and_what_is_written() -> None:
    out, _, line = working(STARTED, PromptProgressed(45, 100))
    line.draw()
    assert "reading the prompt, 45 %" in out.rows[0]
    for event in (ToolCallStarted("w", "write_to_file"), ToolCallDelta("w", ("path",), "a.py", "")):
        line.watch(event)
    line.draw()
    assert "writing a.py" in out.rows[0] and "prompt" not in out.rows[0]


def test_what_is_typed_meanwhile_stays_behind_the_line() -> None:
    out, clock, line = working(STARTED)
    out.write("hel")
    clock.now = 1.0
    line.draw()
    out.write("lo")
    assert out.rows[0].endswith("hello")


@pytest.mark.parametrize("end", [TaskFinished("completed", "Done."), WAITING])
def test_it_is_gone_when_nothing_goes_on(end: Event) -> None:
    out, _, line = working(STARTED, end)
    line.draw()
    assert out.rows == [""]


def test_nothing_of_it_stays_between_the_lines() -> None:
    out = Screen()
    writer = Writer(out)
    for event in (STARTED, TurnStarted(1), ToolRunStarted("r", "execute_command", "ls"), TextDelta("I am done.")):
        writer.watch("t", event)
    writer.close()
    assert "waiting for the model" in out.getvalue(), "it was there"
    assert out.rows == ["› go", "(code mode, m, native calls)", "| I am done.", ""]


def test_a_prompt_is_not_drawn_over() -> None:
    out = Screen()
    talk = Conversation(out)
    for event in (STARTED, WAITING, ApprovalRequested("b", "d", "execute_command", {"command": "pwd"}, "no rule")):
        talk.watch("t", event)
    before = out.getvalue()
    talk.watch("t", ApprovalAnswered("d", approved=True))
    assert out.getvalue() == before, "another request is still open"


@pytest.mark.parametrize("terminal", ["dumb", ""])
def test_where_nothing_can_be_drawn_nothing_is(terminal: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", terminal or "xterm")
    out = Screen() if terminal else io.StringIO()
    writer = Writer(out)
    writer.watch("t", STARTED)
    writer.close()
    assert "waiting" not in out.getvalue()


async def test_it_is_drawn_by_itself_and_ends_with_the_task(tmp_path: Path) -> None:
    out = Screen()
    writer, kit = Writer(out), Kit(tmp_path, [done()], headless=True)
    kit.change(watch=writer.watch)
    writer.watch("t", STARTED)
    drawn = out.getvalue()
    while out.getvalue() == drawn:  # noqa: ASYNC110 - what is waited for is a text that grows
        await asyncio.sleep(0.01)
    await kit.run()
    assert writer._working is not None and writer._working._timer is None
