"""Subtasks that run at the same time, as a person sees them: a tree, and a conversation that stays readable."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

from joey.acp.client import Client
from joey.acp.projection import Projection
from joey.events import (
    ApprovalAnswered,
    ApprovalRequested,
    CompletionRequested,
    Event,
    ModelChanged,
    QuestionRequested,
    SubtaskClosed,
    SubtaskOpened,
    TaskFinished,
    TaskStarted,
    TextDelta,
    TextStarted,
    ToolCallFinished,
    ToolRunFinished,
    ToolRunProgressed,
    ToolRunStarted,
    TurnFinished,
)
from joey.messages import TextBlock, ToolResult
from joey.terminal.drawing import draw
from joey.terminal.notes import note_on
from joey.terminal.plain.headless import printing
from joey.terminal.plain.writer import Writer
from joey.terminal.screen.app import Interactive
from joey.terminal.screen.look import ScreenLook
from joey.terminal.status import Status, after, after_beside
from joey.terminal.subtasks import SubtaskTree, draw_source, step_lines
from joey.terminal.transcript import Card, Transcript
from joey.usage import Usage
from screen_kit import ScratchServices, until, words

ROOT = TaskStarted("Do it", "orchestrator", "m", "native")
TWO: list[tuple[str, Event]] = [
    ("root", ROOT),
    ("root", ToolCallFinished("n1", "new_task", {"mode": "ask", "message": "Left"})),
    ("root", ToolCallFinished("n2", "new_task", {"mode": "ask", "message": "Right"})),
    ("root", ToolRunStarted("n1", "new_task", "ask")),
    ("root", SubtaskOpened("child-aaaa", "ask", "n1", beside=True)),
    ("root", SubtaskOpened("child-bbbb", "ask", "n2", beside=True)),
    ("child-aaaa", TaskStarted("Left side", "ask", "m", "native", "root")),
    ("child-bbbb", TaskStarted("Right side", "ask", "m", "native", "root")),
    ("child-aaaa", TextStarted()),
    ("child-bbbb", TextDelta("mixed ")),
    ("child-aaaa", TextDelta("words")),
    ("child-aaaa", ToolCallFinished("r", "read_file", {"path": "a.py"})),
    ("child-aaaa", ToolRunStarted("r", "read_file", "a.py")),
    ("child-bbbb", ToolRunStarted("r", "search_files", "x in .")),
    ("child-aaaa", TurnFinished(1, Usage(10, 5), 0.25)),
]


def fold(events: list[tuple[str, Event]]) -> tuple[SubtaskTree, list[tuple[str, Event]]]:
    tree = SubtaskTree()
    return tree, [shown for each in events for shown in tree.shown(*each)]


def test_each_step_is_a_line_below_the_call_that_started_the_subtask() -> None:
    _, shown = fold(TWO)
    steps = [(task, event) for task, event in shown if isinstance(event, ToolRunProgressed)]
    assert steps == [
        ("root", ToolRunProgressed("n1", "ask aaaa: read_file a.py\n")),
        ("root", ToolRunProgressed("n2", "ask bbbb: search_files x in .\n")),
    ]
    assert not [event for _, event in shown if isinstance(event, (TextStarted, TextDelta))]


def test_a_request_is_shown_whole_with_its_call() -> None:
    wanted = ApprovalRequested("a1", "w", "fetch", {}, "why")
    events: list[tuple[str, Event]] = [
        ("child-aaaa", ToolCallFinished("w", "web_fetch", {"url": "http://x"})),
        ("child-aaaa", wanted),
        ("child-aaaa", ApprovalAnswered("a1", approved=True)),
        ("child-aaaa", ToolRunStarted("w", "web_fetch", "http://x")),
    ]
    _, shown = fold([*TWO, *events])
    assert shown[-4:] == events
    transcript = Transcript()
    for each in shown[:-2]:
        transcript.apply(*each)
    assert transcript.pending == [("child-aaaa", wanted)]
    assert [entry.name for entry in transcript.entries if isinstance(entry, Card)][-1] == "web_fetch"


async def test_one_that_ends_while_another_waits_for_the_user_does_not_look_like_work(tmp_path: Path) -> None:
    app = Interactive(ScratchServices(tmp_path, []))
    ended = ToolRunFinished("n2", "new_task", ToolResult((TextBlock("done"),)))
    async with app.run_test(size=(80, 40)) as pilot:
        for each in (*TWO, ("child-aaaa", ApprovalRequested("a1", "w", "fetch", {}, "why")), ("root", ended)):
            app.watch_task(*each)
        assert "waiting for the model" not in await until(pilot, "n no")


def test_the_tree_says_what_each_does_and_what_it_took() -> None:
    tree, _ = fold([*TWO, ("root", SubtaskClosed("child-bbbb", "…", "completed", 2, 0.1, beside=True))])
    first, second = tree.lines()
    assert first.split() == ["1.", "ask", "aaaa", "read_file", "a.py", "(m,", "1", "turn,", "$0.2500)", "Left", "side"]
    assert second.split() == ["2.", "ask", "bbbb", "completed", "(m,", "0", "turns)", "Right", "side"]
    subtask = tree.numbered(1)
    assert subtask is not None and step_lines(subtask)[1:] == [
        "  Its task: Left side",
        "  Its last calls:",
        "    read_file a.py",
    ]
    assert tree.numbered(0) is None and tree.numbered(3) is None


def test_a_subtask_of_one_is_below_it_and_as_quiet() -> None:
    below: list[tuple[str, Event]] = [
        ("child-aaaa", SubtaskOpened("deep-cccc", "ask", "n9")),
        ("deep-cccc", TaskStarted("Deeper", "ask", "m", "native", "child-aaaa")),
        ("deep-cccc", ToolRunStarted("r", "list_files", ".")),
    ]
    tree, shown = fold([*TWO, *below])
    assert shown[-1] == ("root", ToolRunProgressed("n1", "ask aaaa: list_files .\n"))
    assert tree.lines()[2].startswith("   3.    ask cccc")


def test_the_next_task_has_a_tree_of_its_own() -> None:
    tree, _ = fold([*TWO, ("other", ROOT)])
    assert tree.lines() == []


def test_the_status_counts_the_cost_and_keeps_the_mode() -> None:
    status = Status()
    _, shown = fold([*TWO, ("root", SubtaskClosed("child-bbbb", "…", "completed", 2, 0.1, beside=True))])
    for _, event in shown:
        status = after(status, event)
    assert status.mode == "orchestrator" and status.cost == 0.25


def test_the_log_of_a_headless_run_has_a_line_for_each_step() -> None:
    out = io.StringIO()
    watch = printing(out)
    closed = SubtaskClosed("child-bbbb", "…", "limit", 2, 0.1, beside=True)
    for each in [*TWO, ("root", closed), ("child-aaaa", TaskFinished("completed", "x"))]:
        watch(*each)
    lines = [line.strip() for line in out.getvalue().splitlines()]
    assert "ask aaaa: read_file a.py" in lines and "ask bbbb: search_files x in ." in lines
    assert any("bbbb ended: limit (2 turns, $0.1000)." in line for line in lines)
    assert "words" not in out.getvalue() and "turn 1" not in out.getvalue()


def test_a_request_to_merge_says_whose_changes() -> None:
    tree, _ = fold(TWO)
    own = ApprovalRequested("a1", "other", "execute_command", {}, "why")
    merge = ApprovalRequested("a2", "n2-merge", "merge_worktree", {}, "why")
    assert tree.source("root", own) is None
    source = tree.source("root", merge)
    assert source is not None and draw_source(source).plain == "Merge the changes of subtask ask bbbb: Right side"


def test_in_plain_lines_a_request_says_which_subtask_it_comes_from() -> None:
    out = io.StringIO()
    writer = Writer(out)
    for each in (*TWO, ("child-aaaa", ApprovalRequested("a1", "w", "fetch", {}, "why"))):
        writer.watch(*each)
    lines = out.getvalue().split("\n")
    at = lines.index("? Approval required: fetch")
    assert lines[at - 2 : at] == ["Subtask ask aaaa, which is to:", "  | Left side"]


def test_the_tree_and_the_conversation_say_which_model_a_subtask_works_with() -> None:
    changed = ModelChanged("p/other", "The agent wants 'x', which is not used: no key")
    tree, shown = fold([*TWO, ("child-aaaa", changed)])
    assert "(p/other, 1 turn" in tree.lines()[0]
    assert shown[-1] == ("child-aaaa", changed)
    opened = SubtaskOpened("child-cccc", "ask", "n3", model="p/m")
    assert note_on(opened) == ("Subtask ask cccc started, with p/m.", "note")


def test_the_status_shows_the_model_and_the_window_of_whoever_works() -> None:
    child = TaskStarted("Part.", "ask", "p/small", "native", parent_id="root", window=8_000)
    status = after(Status("code", "p/main", window=100_000), child)
    assert (status.model, status.window) == ("p/small", 8_000)
    status = after(status, SubtaskClosed("c", "Done."))
    assert (status.mode, status.model, status.window) == ("code", "p/main", 100_000)


def test_one_beside_others_changes_neither_the_model_nor_the_meter_of_the_status() -> None:
    status = Status("code", "p/main", last=Usage(7, 7))
    status = after_beside(after_beside(status, ModelChanged("p/x", "why")), TurnFinished(1, Usage(10, 5), 0.25))
    assert (status.model, status.last, status.cost) == ("p/main", Usage(7, 7), 0.25)


async def test_what_runs_beside_a_request_and_ends_leaves_nobody_but_the_user_to_wait_for(tmp_path: Path) -> None:
    app = Interactive(ScratchServices(tmp_path, []))
    question: tuple[str, Event] = ("child-aaaa", QuestionRequested("q1", "Which colour?", ()))
    merged = ToolRunFinished("n2", "new_task", ToolResult((TextBlock("done"),)))
    async with app.run_test(size=(80, 40)) as pilot:
        for each in (*TWO, question, ("root", ToolRunStarted("n2", "new_task", "ask")), ("root", merged)):
            app.watch_task(*each)
        await until(pilot, "Which colour?")
        await pilot.pause(0.2)
        assert "waiting for the model" not in await until(pilot, "your turn")


def test_a_subtask_that_goes_on_with_its_task_is_the_source_of_its_requests() -> None:
    resumed = TaskStarted("Left side", "ask", "m", "native", "root", resumed=True)
    request = CompletionRequested("d", "Done.")
    tree, _ = fold([("root", replace(ROOT, resumed=True)), ("child-aaaa", resumed), ("child-aaaa", request)])
    source = tree.source("child-aaaa", request)
    assert source is not None and source.heading == "Subtask ask aaaa" and tree.source("root", request) is None
    assert draw_source(source).plain.endswith(": Left side")


def test_one_turn_is_not_several() -> None:
    assert note_on(SubtaskClosed("child-bbbb", "…", "completed", 1, None, beside=True)) == (
        "Subtask bbbb ended (1 turn).",
        "note",
    )


KEPT = (
    "Its changes were not merged. The user denied this call.\nThey are in the worktree /w/code-1, on the branch "
    "joey/code-1; the user can merge them with `joey worktrees merge code-1`."
)


def test_a_subtask_whose_changes_were_not_merged_is_no_success_and_says_where_they_are() -> None:
    report = "\n".join(f"line {number}" for number in range(30))
    content = (TextBlock(f"Subtask 1 completed.\n\nResult:\n{report}"), TextBlock(KEPT))
    events: list[Event] = [
        ToolCallFinished("n1", "new_task", {"mode": "code", "message": "Left"}),
        ToolRunStarted("n1", "new_task", "code, Left"),
        ToolRunFinished("n1", "new_task", ToolResult(content)),
    ]
    transcript, out = Transcript(), io.StringIO()
    writer = Writer(out)
    for event in events:
        transcript.apply("root", event)
        writer.watch("root", event)
    (card,) = transcript.entries
    shown = words(draw(card, ScreenLook()))
    for seen in (shown, out.getvalue()):
        assert "✗" in seen and "✓" not in seen
        seen = " ".join(seen.split())
        assert "changes were not merged" in seen and "`joey worktrees merge code-1`" in seen and "line 1" in seen
    assert "more lines (Ctrl+O" in " ".join(shown.split()) and "line 29" in out.getvalue()


def test_an_editor_is_told_that_the_changes_of_a_subtask_were_not_merged() -> None:
    projection = Projection("/p", Client())
    updates = [
        *projection.apply("root", ToolCallFinished("n1", "new_task", {"mode": "code", "message": "Left"})),
        *projection.apply("root", ToolRunStarted("n1", "new_task", "code, Left")),
        *projection.apply(
            "root",
            ToolRunFinished("n1", "new_task", ToolResult((TextBlock("Subtask 1 completed."), TextBlock(KEPT)))),
        ),
    ]
    assert updates[-1]["status"] == "failed"


def test_a_worktree_that_was_merged_and_removed_is_not_named(tmp_path: Path) -> None:
    tree = SubtaskTree()
    tree.note("root", SubtaskOpened("child-aaaa", "code", "n1", beside=True, worktree=str(tmp_path)))
    assert f"in {tmp_path}" in tree.lines()[0]
    tree.subtasks["child-aaaa"].worktree = str(tmp_path / "removed")
    assert "removed" not in tree.lines()[0]
