"""The chaos harness, for a short while: what it looks for is not there, and it would notice if it were."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from chaos import beside, damage, day, kills, signals
from chaos.day import Held
from chaos.kept import false_checkpoints
from chaos.kills import Setting, Tally
from chaos.oracle import faults
from chaos.scenario import LOG, Conversation, Model, file_name, file_text, output

from joey import protocols
from joey.checkpoints import CheckpointStore
from joey.journal.journal import Journal
from joey.journal.records import CheckpointMade
from joey.messages import TextBlock, ToolResultBlock, ToolUseBlock
from joey.task.wording import INTERRUPTED, NOT_RUN
from joey.wire import encode

needs_strace = pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
long = pytest.mark.skipif(not os.environ.get("JOEY_CHAOS"), reason="`make chaos` does it, or JOEY_CHAOS=1")


async def test_killed_at_random_instants_nothing_is_lost_or_done_twice() -> None:
    tally = Tally()
    await kills.at_random(2, 7, tally, [Setting("xml")])
    assert not tally.faults
    assert tally.kills == 2


async def test_four_subtasks_in_worktrees_are_killed_at_random_and_nothing_is_lost() -> None:
    tally = Tally()
    await beside.killed(int(os.environ.get("JOEY_CHAOS_BESIDE") or 1), 5, tally)
    assert not tally.faults
    assert tally.kills


@needs_strace
async def test_killed_before_a_system_call_nothing_is_lost_or_done_twice() -> None:
    tally = Tally()
    total = await kills.at_every_call(Setting("json_mix", sandbox="off"), tally, every=120, offset=30)
    assert not tally.faults
    assert tally.tasks == len(range(31, total + 1, 120)) and 0 < tally.kills <= tally.tasks


@long
@needs_strace
async def test_a_full_disk_ends_in_words_and_the_task_resumes() -> None:
    tally = Tally()
    await kills.full_at_every_call(Setting("native", sandbox="off"), tally, every=60, offset=45)
    assert not tally.faults
    assert tally.tasks > 0


async def test_a_journal_cut_anywhere_is_read_to_its_last_whole_record() -> None:
    tally = Tally()
    await damage.cuts(Setting("native", sandbox="off"), tally, resumed=0, every=7)
    await damage.flips(Setting("native", sandbox="off"), tally, times=40, resumed=0, seed=3)
    assert not tally.faults


@long
async def test_a_closed_terminal_ends_the_command_that_runs() -> None:
    tally = Tally()
    await signals.closed_terminal(Setting("native", sandbox="off"), tally)
    assert not tally.faults


async def test_a_day_of_tasks_leaves_nothing_behind() -> None:
    series = await day.day(4, turns=4, megabytes=1)
    assert [(each.descriptors, each.children, each.temporary) for each in series[1:]] == [
        (series[1].descriptors, 0, series[1].temporary)
    ] * 3


# The oracle itself


def findings(workspace: Path, kind: str, answer: str, *, log: str = "", written: bool = False) -> list[str]:
    """What the oracle finds of a model that asked for one step and was told this."""
    (workspace / LOG).write_text(log)
    if written:
        (workspace / file_name("p1")).write_text(file_text("p1"))
    model = Model(
        protocols.get("native"), reported={"p": Conversation("p", ("p1",), {"p1": answer})}, kinds={"p1": kind}
    )
    return faults(model, workspace)


BOTH = "start p1\nend p1\n"


@pytest.mark.parametrize(
    ("kind", "answer", "log", "written"),
    [
        ("command", output("p1"), BOTH, False),
        ("command", INTERRUPTED, "start p1\n", False),
        ("command", INTERRUPTED, "", False),
        ("command", NOT_RUN, "", False),
        ("write", "The file was written.", "", True),
        ("write", NOT_RUN, "", False),
        ("background", "It runs as a job.", "start p1\n", False),
    ],
)
def test_the_oracle_accepts_what_is_true(tmp_path: Path, kind: str, answer: str, log: str, written: bool) -> None:
    assert findings(tmp_path, kind, answer, log=log, written=written) == []


@pytest.mark.parametrize(
    ("kind", "answer", "log", "written"),
    [
        ("command", output("p1"), "start p1\n", False),
        ("command", "Subtask 7 completed.", BOTH, False),
        ("command", NOT_RUN, "start p1\n", False),
        ("command", "", BOTH, False),
        ("command", output("p1"), BOTH * 2, False),
        ("write", "The file was written.", "", False),
        ("write", NOT_RUN, "", True),
        ("subtask", "Every step was tried.", "", False),
        ("background", "It runs as a job.", "", False),
    ],
)
def test_the_oracle_notices_what_is_not(tmp_path: Path, kind: str, answer: str, log: str, written: bool) -> None:
    assert findings(tmp_path, kind, answer, log=log, written=written)


def test_a_file_that_is_half_written_is_noticed(tmp_path: Path) -> None:
    (tmp_path / ".p1.txt.part").write_text("written")
    assert findings(tmp_path, "command", INTERRUPTED)


def test_growth_is_noticed() -> None:
    flat = [Held(100_000, 11, 0, 2)] * 8
    assert day.grown(flat) == []
    assert day.grown([*flat[:6], Held(100_000, 13, 0, 2), Held(100_000, 13, 0, 2)])
    assert day.grown([*flat[:6], Held(120_000, 11, 0, 2), Held(120_000, 11, 0, 2)])


TWO_CALLS = {"role": "assistant", "content": "step-p1 step-p2"}
RESULTS = (ToolResultBlock("a", (TextBlock("one"),)), ToolResultBlock("b", (TextBlock("two"),), is_error=True))
CALLS = tuple(ToolUseBlock(result.tool_use_id, "execute_command", {"command": "make"}) for result in RESULTS)
NATIVE = [{"type": "tool_result", "tool_use_id": "c", "content": text} for text in ("one", "two")]


@pytest.mark.parametrize("protocol", kills.PROTOCOLS)
def test_of_two_calls_in_a_reply_each_has_its_own_answer(protocol: str) -> None:
    written = [encode(each) for each in protocols.get(protocol).encode_results(RESULTS, CALLS)]
    sent = {"role": "user", "content": NATIVE if protocol == "native" else written}
    answers = Conversation.read({"messages": [TWO_CALLS, sent]}).answers
    assert ["one" in answers["p1"], "two" in answers["p1"]] == [True, False]
    assert ["one" in answers["p2"], "two" in answers["p2"]] == [False, True]


def test_of_two_calls_on_the_other_wire_each_has_its_own_answer() -> None:
    results = [{"role": "tool", "tool_call_id": each, "content": each} for each in ("one", "two")]
    assert Conversation.read({"messages": [TWO_CALLS, *results]}).answers == {"p1": "tool\none", "p2": "tool\ntwo"}


@pytest.mark.parametrize(
    ("before", "recorded", "found"),
    [
        ([], 2, ""),
        (["p3.txt"], 2, "p3.txt was not there, and the checkpoint has file"),
        (["p2.txt"], 2, "p2.txt was not there, and the checkpoint has file"),
        ([], 3, "checkpoints that were recorded are not there: [3]"),
    ],
)
def test_a_checkpoint_that_is_not_true_is_noticed(tmp_path: Path, before: list[str], recorded: int, found: str) -> None:
    workspace, task = tmp_path / "project", tmp_path / "tasks" / "t"
    workspace.mkdir()
    for name in before:
        (workspace / name).write_text("there too early")
    store = CheckpointStore(task / "checkpoints", workspace)
    with Journal(task / "journal.jsonl") as journal:
        store.take("execute_command: echo start p1", whole=True)
        (workspace / LOG).write_text("start p1\n")
        store.take("write_to_file: p2.txt", touched=["p2.txt"])
        journal.append(CheckpointMade(recorded, "c"))
    (workspace / "p2.txt").write_text("written")
    assert found in "".join(false_checkpoints(tmp_path / "tasks", workspace)[:1])
    assert bool(found) == bool(false_checkpoints(tmp_path / "tasks", workspace))


def test_the_checkpoints_of_a_subtask_need_not_know_what_its_parent_wrote_later(tmp_path: Path) -> None:
    workspace, task = tmp_path / "project", tmp_path / "tasks" / "t"
    workspace.mkdir()
    with Journal(task / "journal.jsonl"):
        CheckpointStore(task / "checkpoints", workspace).take("write_to_file: p3c2.txt", touched=["p3c2.txt"])
    (workspace / "p8.txt").write_text("later")
    assert false_checkpoints(tmp_path / "tasks", workspace) == []
    (workspace / "p3c3.txt").write_text("later")
    assert len(false_checkpoints(tmp_path / "tasks", workspace)) == 1


def test_a_checkpoint_whose_content_is_lost_is_noticed(tmp_path: Path) -> None:
    workspace, task = tmp_path / "project", tmp_path / "tasks" / "t"
    workspace.mkdir()
    (workspace / "p1.txt").write_text("x")
    with Journal(task / "journal.jsonl"):
        CheckpointStore(task / "checkpoints", workspace).take("execute_command: echo start p2", whole=True)
    assert false_checkpoints(tmp_path / "tasks", workspace) == []
    (task / "checkpoints" / "contents.pack").write_bytes(b"")
    assert false_checkpoints(tmp_path / "tasks", workspace)
