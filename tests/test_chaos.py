"""The chaos harness, for a short while: what it looks for is not there, and it would notice if it were."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from chaos import beside, damage, day, editor, gateway, kills, signals
from chaos.acp_client import View, lost
from chaos.day import Held
from chaos.gateway import Exchanged, false_answer
from chaos.kept import false_checkpoints
from chaos.kills import Setting, Tally
from chaos.oracle import faults
from chaos.scenario import LOG, Conversation, Model, file_name, file_text, output
from chaos.upstream import Plan, requests_in
from chaos.wires import PATHS, Heard, read

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


async def test_an_agent_in_an_editor_is_killed_and_the_session_goes_on() -> None:
    tally = Tally()
    await editor.at_random(2, 5, tally, [Setting("native", sandbox="off")], ["requested", "subtask"])
    assert not tally.faults
    assert tally.kills == 2


async def test_a_gateway_in_front_of_a_failing_server_gives_no_false_answer() -> None:
    tally = Tally()
    await gateway.under_fire(1, 3, tally, [gateway.Front("chat", "json_mix")], gateway.Rounds(living=1, ending=1))
    assert not tally.faults
    assert tally.kills and tally.at["requests: answers"] and tally.at["requests: errors"]


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


# The oracle of the gateway


PLAN = Plan("q1x2x3z", "native", "call")
MADE = [(call.name, dict(call.arguments)) for call in PLAN.calls]
WHOLE = Heard(b"q1x2x3z", 200, True, f"{PLAN.text}\n", MADE, "stop")
FAILED = Heard(b"q1x2x3z", 502, True, error="the model's server failed")
CUT = Heard(b"q1x2x3z", 200)


def judged(heard: Heard, fault: str = "none", *struck: str, was_served: bool = True) -> list[str]:
    exchanged = Exchanged(replace(PLAN, fault=fault), "chat", True, 0.0, 1.0, heard)
    return [*false_answer(exchanged, frozenset(struck), was_served=was_served)]


def test_the_oracle_of_the_gateway_accepts_what_is_true() -> None:
    assert judged(WHOLE) == judged(WHOLE, "cut") == judged(FAILED, "cut") == judged(FAILED, "none", "upstream") == []
    assert judged(replace(WHOLE, stop="length", text="Heard", calls=[]), "short") == []
    assert judged(CUT, "none", "kill") == judged(Heard(), "none", "term", was_served=False) == []


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (judged(replace(WHOLE, raw=b"q1x2x3z q1x2x4z")), "has words of q1x2x4z"),
        (judged(replace(CUT, calls=[("save", {"path": "q1x2x3z/0.txt"})]), "none", "kill"), "was not made whole"),
        (judged(replace(WHOLE, text="Heard"), "none", "kill"), "is not the reply of the model"),
        (judged(replace(WHOLE, calls=[]), "cut"), "is not the reply of the model"),
        (judged(WHOLE, "status-500"), "was refused"),
        (judged(WHOLE, "short"), "was cut off by the model"),
        (judged(FAILED), "nothing was wrong"),
        (judged(CUT, "cut"), "ended without its reason"),
        (judged(CUT, "none", "term"), "ended without its reason"),
        (judged(Heard(), "none", "term"), "ended without its reason"),
        (judged(Heard(), "none", "upstream", was_served=False), "ended without its reason"),
    ],
)
def test_the_oracle_of_the_gateway_notices_what_is_not(found: list[str], words: str) -> None:
    assert words in "; ".join(found)


@pytest.mark.parametrize("wire", PATHS)
def test_a_stream_that_has_no_end_has_no_reason_either(wire: str) -> None:
    heard = read(wire, Heard(b": keep-alive\n\n", 200, complete=True))
    assert not heard.stop and not heard.error


def test_the_log_of_the_server_tells_which_requests_are_open() -> None:
    log = "1.0 began q1x1x1z 77-0\n1.5 began q1x1x2z 77-1\n2.0 left q1x1x1z 77-0\n"
    assert [(each.label, each.server, each.ended) for each in requests_in(log)] == [
        ("q1x1x1z", 77, 2.0),
        ("q1x1x2z", 77, None),
    ]


# The oracle of the editor


def view(*updates: dict[str, Any]) -> View:
    made = View()
    for each in updates:
        made.apply(each)
    return made


def shown(number: int, status: str, content: str = "", at: str = "") -> list[dict[str, Any]]:
    """A call of the step p1, p2 …: announced, and in a state."""
    call_id = f"{at}call-{number}"
    announced = {
        "sessionUpdate": "tool_call",
        "toolCallId": call_id,
        "title": f"Edit p{number}.txt",
        "status": "pending",
    }
    return [
        announced,
        {"sessionUpdate": "tool_call_update", "toolCallId": call_id, "status": status, "content": content},
    ]


def words(text: str, whose: str = "agent") -> dict[str, Any]:
    return {"sessionUpdate": f"{whose}_message_chunk", "messageId": text, "content": {"text": text}}


BEFORE = view(
    words("Go", "user"), words("Next."), *shown(1, "completed", "a"), words("Next.."), *shown(2, "in_progress")
)


def test_a_session_that_holds_what_was_shown_is_accepted() -> None:
    again = [words("Go", "user"), words("Next."), *shown(1, "completed", "a", "x"), words("Next..")]
    assert lost(BEFORE, view(*again, *shown(2, "failed", "interrupted", "x"))) == []
    assert lost(view(*again[:-1], words("half a rep")), view(*again[:-1])) == [], "it may be nowhere else"
    requested = view(*again, shown(2, "", at="x")[0])
    requested.ask({"toolCallId": "xcall-2", "status": "pending"})
    assert lost(requested, view(*again)) == ["p2 is gone", "another order: ['p1', 'p2'], and now ['p1']"]


@pytest.mark.parametrize(
    ("again", "found"),
    [
        ([words("Go", "user"), words("Next."), *shown(1, "completed", "a"), words("Next..")], "p2 is gone"),
        ([words("Next."), *shown(1, "completed", "a"), words("Next.."), *shown(2, "failed")], "messages are gone"),
        ([words("Go", "user"), *shown(1, "completed", "a"), *shown(2, "failed")], "messages are gone"),
        ([*shown(1, "completed", "b"), *shown(2, "failed")], "p1 ended with"),
        ([*shown(1, "failed", "a"), *shown(2, "failed")], "p1 ended with"),
        ([*shown(2, "failed"), *shown(1, "completed", "a")], "another order"),
        ([*shown(1, "completed", "a"), *shown(1, "completed", "a", "x"), *shown(2, "failed")], "p1 is shown 2 times"),
        ([*shown(1, "completed", "a"), *shown(1, "completed", "a")], "was announced twice"),
        (shown(1, "completed", "a")[1:], "was never announced"),
    ],
)
def test_a_session_that_does_not_is_noticed(again: list[dict[str, Any]], found: str) -> None:
    assert found in "; ".join(lost(BEFORE, view(*again)))


def test_a_call_that_changes_after_its_end_is_noticed() -> None:
    first, last = shown(1, "completed", "a")
    assert view(first, last, {**last, "status": "failed"}).problems == ["p1 changed after its end"]
