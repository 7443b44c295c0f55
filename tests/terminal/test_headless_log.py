"""What a headless run writes beside its result: each call with what it is about, and nothing twice."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from joey.events import (
    ModeChanged,
    QuestionAnswered,
    SubtaskClosed,
    TaskAborted,
    TaskFinished,
    TaskStarted,
    ToolRunFinished,
)
from joey.messages import CommandExit
from joey.task import wording
from joey.terminal.plain.headless import printing
from joey.terminal.status import Status, after
from joey.testing.script import Scripted, reply
from task_kit import Kit, call, done


async def log_of(folder: Path, *script: Scripted, policy: str = "all") -> tuple[Kit, str]:
    kit, out = Kit(folder, script, headless=True, policy=policy), io.StringIO()
    write = printing(out)

    def watch(task_id: str, event: object) -> None:
        kit.watch(task_id, event)  # type: ignore[arg-type]
        write(task_id, event)  # type: ignore[arg-type]

    kit.change(watch=watch)
    await kit.run()
    return kit, out.getvalue()


async def test_it_names_the_command_and_the_file_and_writes_output_once(tmp_path: Path) -> None:
    script = [
        reply("I begin.", call("1", "write_to_file", path="a.py", file_text="x = 1\n")),
        reply(call("2", "execute_command", command="echo once; exit 3")),
        reply(call("3", "read_file", path="a.py")),
        reply("The answer is 42."),
    ]
    kit, log = await log_of(tmp_path, *script)
    assert "● write_to_file  a.py" in log and "● execute_command  echo once; exit 3" in log
    assert log.count("  | once\n") == 1 and "✗ Command failed: exit code 3." in log
    assert "✓ 1 line\n" in log, "the name of the file is no line of it"
    assert log.index("I begin.") < log.index("(turn 1:")
    assert "42" not in log, "the caller prints the result"
    exits = [event.result.exit for event in kit.of(ToolRunFinished)]
    assert exits == [None, CommandExit(3), None]


async def test_the_reason_for_the_end_is_written_once(tmp_path: Path) -> None:
    denied = [reply(call(str(n), "write_to_file", path=f"{n}", file_text="x")) for n in range(3)]
    _, log = await log_of(tmp_path, *denied, policy="ask")
    assert log.count("made no progress") == 1 and log.endswith("The task ended: refused.\n")


async def test_a_question_that_nobody_answers_has_no_answer(tmp_path: Path) -> None:
    suggestions = [{"text": "red"}, {"text": "blue"}]
    question = reply(call("q", "ask_followup_question", question="Which?", follow_up=suggestions))
    kit, log = await log_of(tmp_path, question, done())
    assert wording.UNANSWERED in str(kit.sent) and "<answer>" not in str(kit.sent)
    assert [event.text for event in kit.of(QuestionAnswered)] == [""]
    assert "| Which?" in log and "Nobody answered." in log and "› red" not in log


@pytest.mark.parametrize("code", [0, 7])
async def test_how_a_command_ended_is_in_its_result(tmp_path: Path, code: int) -> None:
    kit, _ = await log_of(tmp_path, reply(call("1", "execute_command", command=f"exit {code}")), done())
    assert kit.of(ToolRunFinished)[0].result.exit == CommandExit(code)
    assert str(CommandExit(137, "SIGKILL")) == "signal SIGKILL (exit code 137)"


def test_after_a_subtask_the_mode_is_that_of_its_task_again() -> None:
    started = TaskStarted("Do it.", "orchestrator", "m", "native")
    child = TaskStarted("Part.", "code", "m", "native", parent_id="t")
    status = after(after(after(Status(), started), child), ModeChanged("debug"))
    assert status.mode == "debug"
    assert after(status, SubtaskClosed("c", "Done.")).mode == "orchestrator"


def test_a_task_that_was_stopped_is_not_ended_in_another_way() -> None:
    out = io.StringIO()
    watch = printing(out)
    late = "the time limit of 3 s was reached"
    for event in (TaskStarted("go", "code", "m", "native"), TaskAborted(late), TaskFinished("cancelled", late)):
        watch("t", event)
    assert f"Stopped: {late}" in out.getvalue() and "The task ended" not in out.getvalue()
