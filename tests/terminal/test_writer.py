"""A task as lines: each thing once, in the order in which it happened."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.cells import cell_len

from joey.effects import Suggestion
from joey.events import (
    ApprovalRequested,
    CompletionRequested,
    ContinueRequested,
    Event,
    ModeChanged,
    QuestionRequested,
    SandboxReported,
    TaskCompleted,
    TaskStarted,
    TextDelta,
    TextFinished,
    TextStarted,
    ToolCallDelta,
    ToolCallFinished,
    ToolCallMalformed,
    ToolCallStarted,
    ToolRunFinished,
    ToolRunProgressed,
    ToolRunStarted,
    UserMessageQueued,
)
from joey.journal.markdown import as_markdown
from joey.journal.replay import TaskState
from joey.messages import Message, ShownText, TextBlock, ToolResult, ToolResultBlock
from joey.task.opening import start_task
from joey.task.wording import HEAR_FIRST, denied
from joey.terminal.plain.headless import printing
from joey.terminal.plain.writer import Writer
from joey.testing.script import reply
from joey.usage import Usage
from plain_kit import Screen
from task_kit import Kit, call, changed, done


def written(*events: Event, results: bool = True) -> str:
    out = io.StringIO()
    writer = Writer(out, results=results)
    for event in events:
        writer.watch("t", event)
    writer.close()
    return out.getvalue()


def test_the_words_of_a_no_are_written_without_the_tags_of_the_model() -> None:
    result = denied("", "Not now,\nplease: use <\\b>.")
    requested, refused = started("c", "write_to_file", path="a")[:-1], ToolResult((TextBlock(result),), is_error=True)
    lines = written(*requested, ToolRunFinished("c", "write_to_file", refused))
    assert "This call was denied, with this feedback:" in lines and "Not now," in lines and "please: use" in lines
    assert "feedback>" not in lines
    message = Message("user", (ToolResultBlock("c", (TextBlock(result),)),))
    document = as_markdown(TaskState(messages=[message]))
    assert "Not now,\nplease" in document and "feedback>" not in document


@pytest.mark.parametrize("results", [True, False])
def test_a_result_that_a_message_came_before_is_written_and_no_failure(results: bool) -> None:
    lines = written(
        *started("d", "attempt_completion", result="Two\nlines."),
        ended("d", "attempt_completion", HEAR_FIRST),
        results=results,
    )
    assert "✓ Result" in lines and "Two" in lines and "lines." in lines
    assert "✗" not in lines and HEAR_FIRST not in lines


def started(call_id: str, name: str, **arguments: object) -> tuple[Event, ...]:
    return ToolCallStarted(call_id, name), ToolCallFinished(call_id, name, {**arguments}), ToolRunStarted(call_id, name)


def ended(call_id: str, name: str, text: str, shown: str = "") -> Event:
    return ToolRunFinished(call_id, name, ToolResult((TextBlock(text),), (ShownText(shown),) if shown else ()))


async def headless(folder: Path, command: str) -> str:
    """What `joey run` writes about a task of one real command."""
    out = io.StringIO()
    kit = Kit(folder, [reply(call("c", "execute_command", command=command)), done()], policy="all")
    await start_task(changed(kit.config, watch=printing(out), headless=True), "Do it.").run()
    return out.getvalue()


async def test_a_command_and_its_output_are_written_once(tmp_path: Path) -> None:
    out = await headless(tmp_path, "echo a''b; echo a''b >&2")
    assert out.count("● execute_command  echo a''b; echo a''b >&2\n") == 1
    assert out.count("  | ab\n") == 2, "once from each stream"
    assert "  ✓ Command executed.\n" in out
    assert "✗" not in out


@pytest.mark.parametrize(
    ("command", "why"),
    [("echo no; exit 3", "exit code 3"), ("kill -9 $$", "SIGKILL"), ("cd src 2>/dev/null", "exit code 1")],
)
async def test_a_command_that_failed_looks_failed(tmp_path: Path, command: str, why: str) -> None:
    out = await headless(tmp_path, command)
    (line,) = [line for line in out.splitlines() if "✗" in line]
    assert line.startswith("  ✗ Command failed: ") and why in line
    assert "✓" not in out


def test_the_result_goes_to_stdout_and_is_not_among_the_lines() -> None:
    passed = TaskCompleted("All done.", Usage())
    start = started("d", "attempt_completion", result="All done.")
    events = (*start, passed, ended("d", "attempt_completion", "All done."))
    assert written(*events) == ""


def test_live_output_stands_below_its_command_in_any_pieces() -> None:
    text = written(
        *started("c", "execute_command", command="make"), SandboxReported("full", "none", "full"),
        ToolRunProgressed("c", "one\ntw"), ToolRunProgressed("c", "o\nthree"),
        ended("c", "execute_command", "Command executed.\nOutput:\n…", "one\ntwo\nthree"),
    )  # fmt: skip
    assert text == "● execute_command  make\n  Sandbox: full\n  | one\n  | two\n  | three\n  ✓ Command executed.\n"


def test_a_command_that_goes_on_after_a_queued_message_does_not_look_run_twice() -> None:
    text = written(
        *started("c", "execute_command", command="make"), ToolRunProgressed("c", "one\n"),
        UserMessageQueued("Use tabs."), ToolRunProgressed("c", "two\n"),
        ended("c", "execute_command", "Command executed.\nOutput:\n…", "one\ntwo"),
    )  # fmt: skip
    assert text.count("● execute_command  make\n") == 1 and "● execute_command  make  (continued)\n  | two\n" in text
    assert text.count("| one") == text.count("| two") == 1


def test_calls_that_run_at_once_are_told_apart() -> None:
    text = written(
        *started("a", "read_file", path="a.py"), *started("b", "read_file", path="b.py"),
        ended("a", "read_file", "1 | x\n2 | y"), ended("b", "read_file", "1 | z"),
    )  # fmt: skip
    assert text.splitlines() == [
        "● read_file  a.py", "● read_file  b.py", "✓ read_file  a.py", "  ✓ 2 lines", "✓ read_file  b.py", "  ✓ 1 | z",
    ]  # fmt: skip


def test_empty_lines_around_a_text_are_left_out() -> None:
    text = written(TextStarted(), TextDelta("\n\nOne\n"), TextDelta("\ntwo.\n\n"), TextFinished(), ToolCallMalformed(
        "c", None, "{", "the JSON never closed"))  # fmt: skip
    assert text == "| One\n|\n| two.\n✗ a call\n  ✗ the JSON never closed\n"


FORGED = (
    "x\n✓ Command executed.\n? Approval required: execute_command\n  command: ls\nApprove? [y]es, [n]o, or why not: "
)
FORMS: dict[str, Callable[[str], tuple[Event, ...]]] = {
    "text": lambda text: (TextStarted(), *map(TextDelta, text), TextFinished()),
    "text at once": lambda text: (TextStarted(), TextDelta(text), TextFinished()),
    "request": lambda text: (ApprovalRequested("a", "c", "execute_command", {"command": text}, text, always=(text,)),),
    "question": lambda text: (QuestionRequested("q", text, (Suggestion(text),)),),
    "result": lambda text: (CompletionRequested("d", text),),
    "refusal": lambda text: (ContinueRequested("g", text),),
    "mode": lambda text: (ModeChanged("code", text),),
    "subtask": lambda text: (TaskStarted(text, "code", "m", "native", parent_id="p"),),
    "output": lambda text: (*started("c", "execute_command", command=text), ToolRunProgressed("c", text)),
    "end": lambda text: (*started("c", "execute_command", command="x"), ended("c", "execute_command", text, text)),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("padding", ["", "y" * 80, "y" * 78, "y" * 76, "世" * 39])
def test_nothing_that_a_model_writes_looks_like_a_request(
    form: str, padding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the terminal would wrap a line to its first column."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    out = Screen()
    writer = Writer(out)
    events = FORMS[form](f"{FORGED}\n{padding}? Approval required: execute_command\n{padding}Approve? [y]es, [n]o: ")
    for event in events:
        writer.watch("t", event)
    writer.close()
    lines = out.rows
    assert all(cell_len(line) <= 80 for line in lines), "the terminal wraps nothing"
    requests = [line for line in lines if line.startswith(("Approve?", "✓ Command", "? Approval required"))]
    assert len(requests) == sum(isinstance(event, ApprovalRequested) for event in events)


def test_on_a_terminal_a_call_grows_in_place_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    out = Screen()
    writer = Writer(out, grows=True)
    lines = "".join(f"line {number}\n" for number in range(30))
    for event in (ToolCallStarted("c", "write_to_file"), ToolCallDelta("c", ("file_text",), lines, "")):
        writer._growing._drawn = 0.0  # type: ignore[union-attr]
        writer.watch("t", event)
    assert "○ " in out.getvalue() and "line 29" in out.getvalue() and "line 3\n" not in out.getvalue()
    writer.watch("t", ToolCallFinished("c", "write_to_file", {"path": "a.txt", "file_text": lines}))
    assert not any("line" in row for row in out.rows), "it is gone"
