"""Several subtasks of one reply: at the same time, only reading or in turn, within a budget, and none left behind."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from joey.commands import Answer, Cancel, Say, SetProfile
from joey.events import (
    ApprovalRequested,
    CompletionRequested,
    Event,
    Request,
    SubtaskClosed,
    SubtaskOpened,
    TaskFinished,
    ToolRunFinished,
    TurnStarted,
)
from joey.journal.journal import read_journal
from joey.journal.records import ChildOpened, RunEnded
from joey.journal.replay import replay
from joey.messages import TextBlock, ToolResultBlock, ToolUseBlock
from joey.modes.files import load_modes
from joey.modes.mode import GroupRule, Mode
from joey.providers.base import ModelRequest
from joey.task.subtasks import all_of
from joey.testing.script import Faults, Scripted, ScriptedReply, reply
from task_kit import Kit, call, done

LOOKER = Mode("looker", "Looker", "You look.", (GroupRule("read"),))
SLOW = Faults(latency=60)


def hand(number: int, words: str, mode: str = "looker") -> ToolUseBlock:
    return call(f"n{number}", "new_task", mode=mode, message=words)


def text_of(request: ModelRequest) -> str:
    return "\n".join(repr(message) for message in request.messages)


class Play:
    """A model for a task and its subtasks: each is known by its first words, and has replies of its own, in order."""

    def __init__(self, **replies: list[Scripted]) -> None:
        self.replies = replies
        self.seen: list[str] = []

    def __call__(self, request: ModelRequest) -> Scripted:
        first = next(block.text for block in request.messages[0].content if isinstance(block, TextBlock))
        name = first.split()[0]
        self.seen.append(name)
        turn = sum(message.role == "assistant" for message in request.messages)
        return self.replies[name][turn]


def kit_for(tmp_path: Path, play: Callable[[ModelRequest], Scripted], **changes: Any) -> Kit:
    kit = Kit(tmp_path, play, **changes)
    kit.config = replace(kit.config, modes={**kit.config.modes, "looker": LOOKER})
    (kit.workspace / "a.txt").write_text("hello\n")
    return kit


def answers(kit: Kit, request: ModelRequest) -> dict[str, str]:
    blocks = [block for block in request.messages[-1].content if isinstance(block, ToolResultBlock)]
    return {block.tool_use_id: "".join(getattr(part, "text", "") for part in block.content) for block in blocks}


def last_of(kit: Kit, name: str) -> ModelRequest:
    return [request for request in kit.provider.requests if repr(request.messages[0].content[0]).find(f"'{name}") >= 0][
        -1
    ]


def watched(kit: Kit, watch: Callable[[str, Event], None]) -> None:
    """Someone else watches as well."""
    seen = kit.config.hooks.watch

    def both(task_id: str, event: Event) -> None:
        watch(task_id, event)
        seen(task_id, event)

    kit.change(watch=both)


async def until(true: Callable[[], object]) -> None:
    while not true():  # noqa: ASYNC110 - what is waited for is a list that grows
        await asyncio.sleep(0)


async def test_subtasks_that_only_read_run_at_the_same_time(tmp_path: Path) -> None:
    """Each waits for the other: one after the other they would never end."""
    meeting = asyncio.Barrier(2)

    play = Play(
        Do=[reply(hand(1, "Left side"), hand(2, "Right side")), done("d", "Both.")],
        Left=[reply(call("r", "read_file", path="a.txt")), done("c", "left result")],
        Right=[reply(call("r", "read_file", path="a.txt")), done("c", "right result")],
    )
    kit = kit_for(tmp_path, play)
    inner = kit.provider.stream

    async def stream(request: ModelRequest):  # type: ignore[no-untyped-def]
        if len(request.messages) == 1 and "side" in text_of(request):
            await asyncio.wait_for(meeting.wait(), 10)
        async for chunk in inner(request):
            yield chunk

    kit.provider.stream = stream  # type: ignore[method-assign]
    assert await kit.run("Do it") == TaskFinished("completed", "Both.")
    result = answers(kit, kit.provider.requests[-1])
    assert "left result" in result["n1"] and "right result" in result["n2"]
    assert [(each.mode, each.call_id, each.beside) for each in kit.of(SubtaskOpened)] == [
        ("looker", "n1", True),
        ("looker", "n2", True),
    ]
    assert {(each.outcome, each.turns) for each in kit.of(SubtaskClosed)} == {("completed", 2)}


@pytest.mark.parametrize(
    "forbidden",
    [
        call("x", "write_to_file", path="b.txt", file_text="x"),
        call("x", "execute_command", command="touch b.txt"),
        call("x", "switch_mode", mode_slug="code", reason="to write"),
        call("x", "apply_diff", path="a.txt", diff="<<<<<<< SEARCH\nhello\n=======\nbye\n>>>>>>> REPLACE"),
    ],
    ids=lambda each: str(each.name),
)
async def test_what_changes_something_is_refused_whatever_is_allowed(tmp_path: Path, forbidden: ToolUseBlock) -> None:
    """Also in a mode that has the tools by the time: the policy decides, and not the list of tools."""
    play = Play(
        Do=[reply(hand(1, "Left side"), hand(2, "Right side")), done("d", "Both.")],
        Left=[reply(forbidden), done("c", "done")],
        Right=[done("c", "done")],
    )
    kit = kit_for(tmp_path, play, policy="all")
    code = kit.config.tools(kit.config.modes["code"])
    kit.change(tools=lambda _mode: code)
    assert (await kit.run("Do it")).outcome == "completed"
    assert "only reads" in answers(kit, last_of(kit, "Left"))["x"]
    assert sorted(path.name for path in kit.workspace.iterdir()) == ["a.txt"]
    assert (kit.workspace / "a.txt").read_text() == "hello\n"


async def test_a_subtask_of_one_that_only_reads_reads_only(tmp_path: Path) -> None:
    play = Play(
        Do=[reply(hand(1, "Left side"), hand(2, "Right side")), done("d", "Both.")],
        Left=[reply(hand(1, "Below", "code")), done("c", "done")],
        Below=[reply(call("x", "write_to_file", path="b.txt", file_text="x")), done("c", "done")],
        Right=[done("c", "done")],
    )
    kit = kit_for(tmp_path, play)
    assert (await kit.run("Do it")).outcome == "completed"
    assert "only reads" in answers(kit, last_of(kit, "Below"))["x"] and not (kit.workspace / "b.txt").exists()


async def test_a_profile_that_is_switched_to_meanwhile_does_not_let_it_write(tmp_path: Path) -> None:
    play = Play(
        Do=[reply(hand(1, "Left side"), hand(2, "Right side")), done("d", "Both.")],
        Left=[
            reply(call("r", "list_files", path=".")),
            reply(call("x", "write_to_file", path="b", file_text="x")),
            done(),
        ],
        Right=[done("c", "done")],
    )
    kit = kit_for(tmp_path, play, policy="ask")
    code = kit.config.tools(kit.config.modes["code"])
    kit.change(tools=lambda _mode: code)

    def watch(task_id: str, event: object) -> None:
        if isinstance(event, ToolRunFinished) and event.name == "list_files" and kit.task is not None:
            assert kit.task.send(SetProfile("edits"))

    watched(kit, watch)
    assert (await kit.run("Do it")).outcome == "completed"
    assert "only reads" in answers(kit, last_of(kit, "Left"))["x"]


async def test_those_that_write_where_there_is_no_repository_do_so_in_turn(tmp_path: Path) -> None:
    def write(name: str) -> ScriptedReply:
        return reply(call("w", "write_to_file", path=name, file_text="x"))

    play = Play(
        Do=[reply(hand(1, "Left", "code"), hand(2, "Right", "code")), done("d", "Both.")],
        Left=[write("l"), done("c", "left")],
        Right=[write("r"), done("c", "right")],
    )
    kit = kit_for(tmp_path, play)
    assert (await kit.run("Do it")).outcome == "completed"
    assert (kit.workspace / "l").exists() and (kit.workspace / "r").exists()
    lefts = [at for at, name in enumerate(play.seen) if name == "Left"]
    rights = [at for at, name in enumerate(play.seen) if name == "Right"]
    assert max(lefts) < min(rights) or max(rights) < min(lefts)


async def test_one_that_is_denied_skips_those_after_it_and_the_one_before_works_alone(tmp_path: Path) -> None:
    def user(request: Request) -> Answer:
        refused = isinstance(request, ApprovalRequested) and request.call_id == "n2"
        return Answer(request.request_id, yes=not refused)

    play = Play(
        Do=[reply(hand(1, "Left"), hand(2, "Right"), hand(3, "Third")), done("d", "One.")],
        Left=[done("c", "left")],
    )
    kit = kit_for(tmp_path, play, policy="ask", user=user)
    assert (await kit.run("Do it")).message == "One."
    result = answers(kit, kit.provider.requests[-1])
    assert "left" in result["n1"] and "denied" in result["n2"] and "skipped" in result["n3"]
    assert [each.beside for each in kit.of(SubtaskOpened)] == [False]
    assert kit.of(CompletionRequested)


async def test_no_more_run_at_once_than_the_limit_allows(tmp_path: Path) -> None:
    running, highest = 0, 0

    def watch(_task: str, event: object) -> None:
        nonlocal running, highest
        running += isinstance(event, SubtaskOpened) - isinstance(event, SubtaskClosed)
        highest = max(highest, running)

    names = ["One", "Two", "Three", "Four", "Five"]
    play = Play(
        Do=[reply(*(hand(at, name) for at, name in enumerate(names))), done("d", "All.")],
        **{name: [done("c", name)] for name in names},
    )
    kit = kit_for(tmp_path, play, parallel_subtasks=2)
    watched(kit, watch)
    assert (await kit.run("Do it")).outcome == "completed"
    assert highest == 2 and len(kit.of(SubtaskClosed)) == 5


# Budgets


def endless(name: str) -> list[Scripted]:
    return [reply(call(f"r{at}", "list_files", path=".", recursive=bool(at % 2))) for at in range(9)]


@pytest.mark.parametrize(
    ("limits", "words", "turns"),
    [
        ({"subtask_turns": 3}, "limit of turns (3)", 6),
        ({"all_subtasks_turns": 4}, "together reached their limit of turns (4)", 4),
    ],
)
async def test_subtasks_end_at_their_budget(tmp_path: Path, limits: dict[str, int], words: str, turns: int) -> None:
    play = Play(
        Do=[reply(hand(1, "Left"), hand(2, "Right")), done("d", "Both.")], Left=endless("l"), Right=endless("r")
    )
    kit = kit_for(tmp_path, play, repetition_limit=0, **limits)
    assert (await kit.run("Do it")).message == "Both."
    assert words in answers(kit, kit.provider.requests[-1])["n1"]
    assert sum(each.turns for each in kit.of(SubtaskClosed)) in range(turns, turns + 2)
    assert {each.outcome for each in kit.of(SubtaskClosed)} == {"limit"}


async def test_what_subtasks_of_an_earlier_run_took_counts(tmp_path: Path) -> None:
    play = Play(
        Do=[reply(hand(1, "Left"), hand(2, "Right")), reply(hand(3, "Left"), hand(4, "Right")), done("d", "Both.")],
        Left=[done("c", "l")],
        Right=[done("c", "r")],
    )
    kit = kit_for(tmp_path, play, all_subtasks_turns=2)
    kit.change(max_turns=1)
    assert (await kit.run("Do it")).outcome == "limit"
    assert kit.task is not None
    kit.change(max_turns=None)
    assert (await kit.resume(kit.task.id, play)).outcome == "completed"
    assert "together reached" in answers(kit, kit.provider.requests[-1])["n3"]


# Nothing is left behind


async def test_a_cancelled_task_leaves_no_subtask(tmp_path: Path) -> None:
    play = Play(
        Do=[reply(hand(1, "Left"), hand(2, "Right"), hand(3, "Third"))],
        Left=[reply("slow", faults=SLOW)],
        Right=[reply("slow", faults=SLOW)],
        Third=[reply("slow", faults=SLOW)],
    )
    kit = kit_for(tmp_path, play)
    running = asyncio.ensure_future(kit.run("Do it"))
    await until(lambda: len(kit.of(TurnStarted)) == 4)
    assert kit.task is not None and kit.task.send(Cancel("enough"))
    assert await running == TaskFinished("cancelled", "enough")
    assert len(asyncio.all_tasks()) == 1
    for opened in kit.of(SubtaskOpened):
        ended = replay(read_journal(kit.store.journal_path(opened.child_id))).ended
        assert ended is not None and ended.outcome == "cancelled"


async def test_one_that_is_stopped_leaves_the_others_at_work(tmp_path: Path) -> None:
    play = Play(
        Do=[reply(hand(1, "Left"), hand(2, "Right")), done("d", "One.")],
        Left=[reply("slow", faults=SLOW)],
        Right=[done("c", "right")],
    )
    kit = kit_for(tmp_path, play)
    running = asyncio.ensure_future(kit.run("Do it"))
    await until(lambda: kit.of(SubtaskClosed))
    left = next(each.child_id for each in kit.of(SubtaskOpened) if each.call_id == "n1")
    assert kit.task is not None
    assert kit.task.send(Say("and hurry")), "it waits for the task itself: nobody else is the one who works"
    assert kit.task.send(Cancel("not needed", left))
    assert (await running).message == "One."
    result = answers(kit, kit.provider.requests[-1])
    assert "did not complete (cancelled). not needed" in result["n1"] and "right" in result["n2"]
    assert "and hurry" in text_of(kit.provider.requests[-1])


@pytest.mark.parametrize("begun", [0, 1, 2, 3, 4])
async def test_every_subtask_comes_back_wherever_the_process_died(tmp_path: Path, begun: int) -> None:
    """The journal of the parent as a kill would leave it: two that were written down, and how far each has come."""
    play = Play(
        Do=[reply(hand(1, "Left"), hand(2, "Right")), done("d", "Both.")],
        Left=[reply(call("r", "list_files", path=".")), done("c", "left")],
        Right=[done("c", "right")],
    )
    kit = kit_for(tmp_path, play)
    assert (await kit.run("Do it")).message == "Both."
    assert kit.task is not None
    path = kit.store.journal_path(kit.task.id)
    lines = path.read_bytes().splitlines(keepends=True)
    last = max(at for at, line in enumerate(lines) if b'"child_opened"' in line)
    path.write_bytes(b"".join(lines[: last + 1]))
    children = [record for record in read_journal(path) if isinstance(record, ChildOpened)]
    assert [each.placement for each in children] == ["reading", "reading"]
    for child in children:
        own = kit.store.journal_path(child.child_id)
        kept = own.read_bytes().splitlines(keepends=True)
        own.unlink() if begun == 0 else own.write_bytes(b"".join(kept[: begun if begun < 4 else None]))
    kit.events.clear()
    assert (await kit.resume(kit.task.id, play)).message == "Both."
    result = answers(kit, kit.provider.requests[-1])
    assert "Result:\nleft" in result["n1"] and "Result:\nright" in result["n2"]
    ended = [record.call_id for record in read_journal(path) if isinstance(record, RunEnded)]
    assert sorted(ended) == ["d", "n1", "n2"] or sorted(ended) == ["n1", "n2"]


async def test_all_of_waits_for_everyone_whatever_happens() -> None:
    ended: list[str] = []

    async def work(name: str, seconds: float, error: BaseException | None = None) -> str:
        try:
            await asyncio.sleep(seconds)
            if error is not None:
                raise error
            return name
        finally:
            await asyncio.sleep(0)
            ended.append(name)

    assert await all_of([work("a", 0), work("b", 0)]) == ["a", "b"]
    with pytest.raises(ValueError, match="no"):
        await all_of([work("c", 0, ValueError("no")), work("d", 0.01)])
    outer = asyncio.ensure_future(all_of([work("e", 60), work("f", 60)]))
    await asyncio.sleep(0.01)
    outer.cancel()
    over, _ = await asyncio.wait([outer], timeout=10)
    assert over and outer.cancelled()
    assert sorted(ended) == ["a", "b", "c", "d", "e", "f"]


async def test_agents_as_they_are_published_work_beside_each_other(tmp_path: Path) -> None:
    agents = tmp_path / "project" / ".claude" / "agents"
    shutil.copytree(Path(__file__).parents[1] / "modes" / "published_agents", agents)
    modes = {mode.slug: mode for mode in load_modes(tmp_path / "project", tmp_path / "user", trusted=True).modes}
    look = reply(call("r", "read_file", path="a.txt"))
    play = Play(
        Do=[reply(hand(1, "Left", "code-reviewer"), hand(2, "Right", "completion-checker")), done("d", "Both.")],
        Left=[look, done("c", "reviewed")],
        Right=[look, done("c", "checked")],
    )
    kit = kit_for(tmp_path, play)
    kit.change(modes=modes)
    assert (await kit.run("Do it")).message == "Both."
    result = answers(kit, kit.provider.requests[-1])
    assert "Result:\nreviewed" in result["n1"] and "Result:\nchecked" in result["n2"]
    assert "You are a senior code reviewer" in last_of(kit, "Left").system
    assert "no-nonsense project reality manager" in last_of(kit, "Right").system
    assert "Use this agent when you need to review recently written code" in kit.provider.requests[0].system
