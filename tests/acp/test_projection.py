"""Events of a task as an editor is shown them: laws that hold for every stream, and the shapes of single updates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_kit import check_message
from joey.acp.client import Client
from joey.acp.projection import Projection
from joey.acp.updates import raw_input, shortened, sides
from joey.app.history import TaskHistory, UserWords
from joey.effects import Todo
from joey.events import (
    ApprovalRequested,
    ContextShortened,
    Event,
    ModelChanged,
    RetryScheduled,
    SubtaskOpened,
    TaskAborted,
    TextDelta,
    TextFinished,
    TextStarted,
    TodosChanged,
    ToolCallDelta,
    ToolCallFinished,
    ToolCallMalformed,
    ToolCallStarted,
    ToolRunFinished,
    ToolRunProgressed,
    ToolRunStarted,
    TurnFinished,
)
from joey.journal.records import (
    ChildOpened,
    MessageAdded,
    Record,
    ReplyInterrupted,
    RunBegan,
    RunEnded,
    UserSaid,
    UserTookBack,
)
from joey.messages import Block, CommandExit, Message, Role, ShownDiff, TextBlock, ToolResult, ToolUseBlock
from joey.tools.editing.changes import FileChange
from joey.tools.editing.planning import diff_of
from joey.usage import Usage

CLIENTS = [Client(), Client(draws_output=True, notices=True, compaction=True)]
TOOLS = [
    "execute_command",
    "write_to_file",
    "read_file",
    "attempt_completion",
    "update_todo_list",
    "new_task",
    "mcp--x--y",
]
IDS = st.sampled_from(["call_1", "call_2"])
WORDS = st.text(max_size=12)

SINGLE = st.one_of(
    st.builds(ToolRunProgressed, IDS, WORDS),
    st.builds(RetryScheduled, st.just(1), st.just(2.0), WORDS),
    st.builds(TodosChanged, st.just((Todo("1", "look"),))),
    st.builds(TurnFinished, st.just(1), st.just(Usage(10, 2)), st.sampled_from([None, 0.5])),
    st.builds(ContextShortened, st.just(3), st.sampled_from([None, "so far"])),
    st.builds(SubtaskOpened, st.just("child"), st.just("code")),
)


@st.composite
def texts(draw: st.DrawFn) -> list[Event]:
    return [TextStarted(), *(TextDelta(each) for each in draw(st.lists(WORDS, max_size=3))), TextFinished()]


@st.composite
def calls(draw: st.DrawFn) -> list[Event]:
    """A call, as far as it came."""
    call_id, name = draw(IDS), draw(st.sampled_from(TOOLS))
    grown: list[Event] = [ToolCallStarted(call_id, name)]
    grown += [ToolCallDelta(call_id, (key,), draw(WORDS), "raw") for key in draw(st.permutations(["path", "result"]))]
    if draw(st.booleans()):
        return [*grown, ToolCallMalformed(call_id, name, "raw", "it broke off")]
    arguments = {"path": draw(WORDS), "command": draw(WORDS)}
    grown += [ToolCallFinished(call_id, name, arguments)]
    if draw(st.booleans()):
        grown += [ToolRunStarted(call_id, name, "x")]
    if draw(st.booleans()):
        result = ToolResult((TextBlock(draw(WORDS)),), (ShownDiff("x", draw(WORDS)),), draw(st.booleans()))
        grown += [ToolRunFinished(call_id, name, result)]
    return grown


STREAMS = st.lists(st.one_of(texts(), calls(), SINGLE.map(lambda event: [event])), max_size=10)


@pytest.mark.property
@pytest.mark.parametrize("client", CLIENTS, ids=["plain", "able"])
@given(streams=STREAMS, tasks=st.lists(st.sampled_from(["task", "child"]), min_size=10, max_size=10))
def test_every_call_is_announced_once_and_ends_once(
    client: Client, streams: list[list[Event]], tasks: list[str]
) -> None:
    projection = Projection("/work", client, window=1000)
    sent = [update for task, events in zip(tasks, streams, strict=False) for event in events
            for update in projection.apply(task, event)]  # fmt: skip
    sent += [update for task in ("child", "task") for update in projection.apply(task, TaskAborted())]
    for update in sent:
        params = {"sessionId": "s", "update": json.loads(json.dumps(update))}
        check_message({"jsonrpc": "2.0", "method": "session/update", "params": params}, {})
    announced = [each["toolCallId"] for each in sent if each["sessionUpdate"] == "tool_call"]
    assert len(set(announced)) == len(announced)
    for call_id in announced:
        states = [each["status"] for each in sent if each.get("toolCallId") == call_id and "status" in each]
        assert states[0] == "pending"
        assert [each in ("completed", "failed") for each in states].count(True) == 1
        assert states[-1] in ("completed", "failed")
    known: set[str] = set()
    for each in sent:
        known |= {each["toolCallId"]} if each["sessionUpdate"] == "tool_call" else set()
        assert each.get("toolCallId", next(iter(known), None)) in known | {None}, "an update before its announcement"


TEXTS = st.text(st.sampled_from("ab\n "), max_size=40)


@pytest.mark.property
@given(old=st.none() | TEXTS, new=TEXTS)
def test_a_diff_has_the_lines_of_both_sides(old: str | None, new: str) -> None:
    before = None if old is None else old.encode()
    unified = diff_of(FileChange(Path("/work/x"), "x", before, new.encode()))
    was, now, created = sides(unified)
    assert created == (old is None and bool(unified))
    assert was in (old or "")
    assert now in new


def test_a_large_call_is_sent_as_a_small_multiple_of_itself() -> None:
    text = "line\n" * 200_000
    projection = Projection("/work", Client())
    result = ToolResult((TextBlock("written"),), (ShownDiff("x", "--- /dev/null\n+++ b/x\n@@ -0,0 +1,1 @@\n+" + text),))
    events: list[Event] = [ToolCallStarted("a", "write_to_file"), ToolCallDelta("a", ("path",), "x", "x")]
    events += [ToolCallDelta("a", ("file_text",), text[at : at + 1000], "") for at in range(0, len(text), 1000)]
    events += [ToolCallFinished("a", "write_to_file", {"path": "x", "file_text": text})]
    sent: list[Any] = [update for event in events for update in projection.apply("t", event)]
    request = ApprovalRequested("r", "a", "write_to_file", {"path": "x", "file_text": text}, "why", result.shown)
    sent += [projection.waiting("t", request)[1], *projection.apply("t", ToolRunFinished("a", "write_to_file", result))]
    assert len(json.dumps(sent)) < 3 * len(text)


def test_output_is_sent_in_pieces_where_the_editor_draws_them() -> None:
    projection = Projection("/work", Client(draws_output=True))
    projection.apply("t", ToolCallStarted("a", "execute_command"))
    started = projection.apply("t", ToolRunStarted("a", "execute_command", "ls"))
    assert started[0]["content"] == [{"type": "terminal", "terminalId": "call-1"}]
    pieces = [projection.apply("t", ToolRunProgressed("a", each))[0]["_meta"] for each in ("one\n", "two\n")]
    assert [each["terminal_output"]["data"] for each in pieces] == ["one\n", "two\n"]
    ended = projection.apply("t", ToolRunFinished("a", "execute_command", ToolResult((TextBlock("ok"),))))
    assert ended[0]["_meta"]["terminal_exit"]["exit_code"] == 0


def test_elsewhere_the_last_lines_are_sent_now_and_then() -> None:
    now = 0.0
    projection = Projection("/work", Client(), clock=lambda: now)
    projection.apply("t", ToolCallStarted("a", "execute_command"))
    projection.apply("t", ToolRunStarted("a", "execute_command", "make"))
    sent = []
    for number in range(1000):
        now += 0.01
        sent += projection.apply("t", ToolRunProgressed("a", f"line {number}\n" * 10))
    assert 20 < len(sent) < 40
    assert len(json.dumps(sent)) < 40 * 4_000


def test_long_texts_are_shortened_in_the_middle() -> None:
    assert shortened("x" * 100, 100) == "x" * 100
    assert len(shortened("x" * 100_000)) < 50_000
    assert raw_input({"a": ["y" * 10_000], "b": {"c": 1}})["b"] == {"c": 1}


def test_a_request_shows_all_of_a_command_and_nothing_that_a_terminal_would_obey() -> None:
    projection = Projection("/work", Client())
    command = "echo hi #\x1b[8m\u202e\ntouch x"
    request = ApprovalRequested("r", "a", "execute_command", {"command": command, "cwd": "sub"}, "why")
    _, shown = projection.waiting("t", request)
    assert shown["title"] == "echo hi #␛[8m� ⏎ touch x"
    assert shown["content"][0]["content"]["text"] == "```\necho hi #␛[8m�\ntouch x\n```\nin sub"
    edit = ApprovalRequested("r", "b", "write_to_file", {"path": "../../etc/x\x07", "file_text": ""}, "why")
    _, shown = projection.waiting("t", edit)
    assert (shown["title"], shown["locations"]) == ("Edit ../../etc/x␇", [{"path": "/etc/x\x07"}])


@pytest.mark.parametrize(
    ("ended", "shown"),
    [(CommandExit(0), (0, None)), (CommandExit(3), (3, None)), (CommandExit(137, "SIGKILL"), (None, "SIGKILL"))],
)
def test_a_drawn_terminal_ends_as_its_command_did(ended: CommandExit, shown: tuple[int | None, str | None]) -> None:
    projection = Projection("/work", Client(draws_output=True))
    projection.apply("t", ToolCallStarted("a", "execute_command"))
    projection.apply("t", ToolRunStarted("a", "execute_command", "ls"))
    result = ToolResult((TextBlock("out"),), exit=ended)
    output, last = projection.apply("t", ToolRunFinished("a", "execute_command", result))
    assert output["_meta"]["terminal_output"]["data"] == "out", "nothing came while it ran, so it comes now"
    how = last["_meta"]["terminal_exit"]
    assert (how["exit_code"], how["signal"]) == shown


def test_a_call_from_before_the_task_was_resumed_is_announced_again() -> None:
    projection = Projection("/work", Client())
    request = ApprovalRequested("r", "a", "write_to_file", {"path": "x"}, "why", ())
    announced, request_shown = projection.waiting("t", request)
    assert [each["sessionUpdate"] for each in announced] == ["tool_call"]
    assert announced[0]["toolCallId"] == request_shown["toolCallId"]
    projection.apply("t", TaskAborted())
    again = projection.apply("t", ToolRunStarted("a", "write_to_file", "x"))
    assert again[0]["sessionUpdate"] == "tool_call"
    assert again[0]["toolCallId"] != request_shown["toolCallId"]


def test_history_has_subtasks_interrupted_replies_and_words_that_wait() -> None:
    def words(role: Role, *content: Block) -> MessageAdded:
        return MessageAdded(Message(role, content))

    journals: dict[str, list[Record]] = {
        "parent": [
            words("user", TextBlock("Go")),
            words("assistant", ToolUseBlock("n", "new_task", {"message": "part"})),
            RunBegan("n", "new_task"),
            ChildOpened("child", "n"),
            RunEnded("n", "new_task", ToolResult((TextBlock("done"),))),
            ReplyInterrupted("I was about"),
            UserSaid("one"),
            UserTookBack(),
            UserSaid("Wait"),
        ],
        "child": [
            words("user", TextBlock("part"), TextBlock("<user_message>\nGo on\n</user_message>")),
            words("assistant", TextBlock("I do my part")),
        ],
    }
    found = [*TaskHistory(journals.__getitem__).of("parent")]
    assert [each.text for _, each in found if isinstance(each, UserWords)] == ["Go", "Go on", "Wait"]
    texts_of = [(task, each.text) for task, each in found if isinstance(each, TextDelta)]
    assert texts_of == [("child", "I do my part"), ("parent", "I was about")]
    projection = Projection("/work", Client())
    sent = [
        update for task, each in found if not isinstance(each, UserWords) for update in projection.apply(task, each)
    ]
    last = [each for each in sent if each.get("status") == "completed"]
    assert [each["content"][0]["content"]["text"] for each in last] == ["```\ndone\n```"]


def test_calls_of_subtasks_that_run_beside_each_other_belong_to_the_calls_that_started_them() -> None:
    projection = Projection("/work", Client())
    events: list[tuple[str, Event]] = [
        ("root", ToolCallFinished("n1", "new_task", {"mode": "ask", "message": "left"})),
        ("root", ToolCallFinished("n2", "new_task", {"mode": "ask", "message": "right"})),
        ("root", ToolRunStarted("n1", "new_task", "left")),
        ("root", ToolRunStarted("n2", "new_task", "right")),
        ("root", SubtaskOpened("one", "ask", "n1", beside=True)),
        ("root", SubtaskOpened("two", "ask", "n2", beside=True)),
        ("one", ToolCallFinished("r", "read_file", {"path": "a"})),
        ("two", ToolCallFinished("r", "read_file", {"path": "b"})),
    ]
    sent = [update for each in events for update in projection.apply(*each)]
    announced = [update for update in sent if update["sessionUpdate"] == "tool_call"]
    outer, inner = announced[:2], announced[2:]
    assert [each["_meta"]["parentToolCallId"] for each in inner] == [each["toolCallId"] for each in outer]


def test_the_editor_shows_which_model_a_subtask_works_with_and_that_it_is_another() -> None:
    projection = Projection("/work", Client(), window=1000)
    events: list[tuple[str, Event]] = [
        ("root", ToolCallFinished("n1", "new_task", {"mode": "ask", "message": "left"})),
        ("root", ToolRunStarted("n1", "new_task", "left")),
        ("root", TurnFinished(1, Usage(100, 10), 0.5)),
        ("root", SubtaskOpened("one", "ask", "n1", model="p/small")),
        ("one", ModelChanged("p/main", "no key")),
        ("one", TurnFinished(1, Usage(3, 3), 0.25)),
    ]
    sent = [update for each in events for update in projection.apply(*each)]
    assert [each["title"] for each in sent if "title" in each][-1] == "new_task ask, left (p/small)"
    assert "Continuing with p/main: no key" in str(sent)
    assert [(each["used"], each["cost"]["amount"]) for each in sent if "used" in each] == [(110, 0.5), (110, 0.75)]
