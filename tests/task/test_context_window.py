"""When the window fills: what is hidden, what stays, and that it is done once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from joey.chunks import UsageChunk
from joey.events import ContextShortened, RetryScheduled
from joey.messages import TextBlock, ToolResultBlock, ToolUseBlock
from joey.task.context_window import KEPT_MESSAGES, nearly_full
from joey.task.task import Task
from joey.testing.script import Answer, Failure, reply
from task_kit import SETTINGS, Kit, call, done


def looks(number: int, tokens: int) -> Answer:
    return reply(call(f"l{number}", "list_files", path=str(number)), usage=UsageChunk(tokens, 1))


async def filled(folder: Path, *summary: Answer) -> Kit:
    """Eight small turns, a big one, then whatever answers the request for a summary, and the end."""
    script = [*(looks(number, 100) for number in range(8)), looks(8, 90_000), *summary, done()]
    settings = replace(SETTINGS, context_window=100_000, repetition_limit=0, mistake_limit=0)
    kit = Kit(folder, script, settings=settings)
    assert (await kit.run("The task itself.")).outcome == "completed"
    return kit


async def test_old_turns_are_summed_up_and_the_task_and_the_last_turns_stay(tmp_path: Path) -> None:
    kit = await filled(tmp_path, reply("What happened so far."))
    (shortened,) = kit.of(ContextShortened)
    assert shortened.summary == "What happened so far."
    first, *rest = kit.sent
    assert first.content[0] == TextBlock("The task itself.")
    assert "What happened so far." in first.content[-1].text
    assert len(rest) == KEPT_MESSAGES and rest[0].role == "assistant"
    called = [block.id for message in rest for block in message.content if isinstance(block, ToolUseBlock)]
    answered = [
        block.tool_use_id for message in rest for block in message.content if isinstance(block, ToolResultBlock)
    ]
    assert called == answered == ["l6", "l7", "l8"]
    assert kit.task is not None and len(kit.task.state.messages) == 20, "nothing is deleted"


async def test_a_summary_is_tried_again_before_it_is_done_without(tmp_path: Path) -> None:
    kit = await filled(tmp_path / "a", Failure(529, "busy", "overloaded_error"), reply("In short."))
    assert kit.of(ContextShortened)[0].summary == "In short."
    assert len(kit.of(RetryScheduled)) == 1
    kit = await filled(tmp_path / "b", Failure(400, "no", "invalid_request_error"))
    (shortened,) = kit.of(ContextShortened)
    assert shortened.summary is None and len(kit.sent) == 1 + KEPT_MESSAGES


@pytest.mark.parametrize(
    ("window", "used", "full"),
    [
        (None, 10**9, False),
        (200_000, 150_000, False),
        (200_000, 170_000, True),
        (10_000, 100, False),
        (10_000, 5_100, True),
    ],
)
def test_full_is_what_leaves_no_room_for_a_reply(tmp_path: Path, window: int | None, used: int, full: bool) -> None:
    kit = Kit(tmp_path, [], settings=replace(SETTINGS, context_window=window, max_tokens=8192))
    task = Task.start(kit.parts, "x")
    task.state.last_usage = replace(task.state.last_usage, input_tokens=used)
    assert nearly_full(task._core) is full
    task._core.journal.close()
