"""The plain conversation: what a typed line means, and that it means it only after the question was shown."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from joey.commands import Answer
from joey.effects import Suggestion
from joey.events import (
    ApprovalRequested,
    CompletionRequested,
    ContinueRequested,
    QuestionRequested,
    Request,
    TaskFinished,
)
from joey.messages import ToolResultBlock, ToolUseBlock
from joey.task.opening import start_task
from joey.terminal.plain.conversation import Conversation, answer_to, converse
from joey.testing.script import Scripted, reply
from task_kit import Kit, call, changed, done

APPROVAL = ApprovalRequested("1", "c", "write_to_file", {}, "it writes a.txt", always=("writing",))
IN_A_WORKTREE = ApprovalRequested("1", "c", "write_to_file", {}, "", always=("writing",), scopes=("task",))
JUST_ONCE = ApprovalRequested("1", "c", "write_to_file", {}, "")
QUESTION = QuestionRequested("1", "Which?", (Suggestion("red"), Suggestion("blue")))
RESULT = CompletionRequested("1", "Done.")
PLAN = CompletionRequested("1", "First this, then that.", plan=True)
GO_ON = ContinueRequested("1", "Nothing went right.")


@pytest.mark.parametrize(
    ("request_", "line", "answer"),
    [
        (APPROVAL, "y", Answer("1", yes=True)),
        (APPROVAL, "Yes", Answer("1", yes=True)),
        (APPROVAL, "yes, but not twice", Answer("1", text="yes, but not twice")),
        (APPROVAL, "n", Answer("1")),
        (APPROVAL, "no, use b.txt", Answer("1", text="use b.txt")),
        (APPROVAL, "you should use b.txt", Answer("1", text="you should use b.txt")),
        (APPROVAL, "a", Answer("1", yes=True, always=True)),
        (APPROVAL, "p", Answer("1", yes=True, always=True, scope="project")),
        (IN_A_WORKTREE, "2", Answer("1", yes=True, always=True)),
        (IN_A_WORKTREE, "3", Answer("1", text="3")),
        (JUST_ONCE, "2", Answer("1", text="2")),
        (APPROVAL, "always look before you write", Answer("1", text="always look before you write")),
        (QUESTION, "2", Answer("1", yes=True, text="blue")),
        (QUESTION, "3", Answer("1", yes=True, text="3")),
        (QUESTION, "0", Answer("1", yes=True, text="0")),
        (QUESTION, "green", Answer("1", yes=True, text="green")),
        (RESULT, "y", Answer("1", yes=True)),
        (PLAN, "y", Answer("1", yes=True, profile="ask")),
        (PLAN, "2", Answer("1", yes=True, profile="edits")),
        (PLAN, "edits", Answer("1", text="edits")),
        (PLAN, "n", Answer("1")),
        (PLAN, "but first the tests", Answer("1", text="but first the tests")),
        (RESULT, "", Answer("1", yes=True)),
        (RESULT, "yes", Answer("1", yes=True)),
        (RESULT, "also /goodbye", Answer("1", text="also /goodbye")),
        (GO_ON, "y", Answer("1", yes=True)),
        (GO_ON, "n", Answer("1")),
        (GO_ON, "read the README", Answer("1", text="read the README")),
    ],
)
def test_a_line_is_an_answer(request_: Request, line: str, answer: Answer) -> None:
    assert answer_to(request_, line) == answer


class Typist(io.StringIO):
    """A screen in front of somebody who types the next line when a prompt is shown."""

    def __init__(self, lines: Iterable[str | None]) -> None:
        super().__init__()
        self._lines = iter(lines)
        self.conversation = Conversation(self)

    def write(self, text: str) -> int:
        if text.endswith(": ") or text == "> ":  # a prompt
            line = next(self._lines)
            asyncio.get_running_loop().call_soon(self.conversation.heard, line)
        return super().write(text)


async def talk(folder: Path, script: list[Scripted], lines: list[str | None]) -> tuple[TaskFinished, Typist, Kit]:
    typist = Typist(lines)
    kit = Kit(folder, script, policy="ask")
    task = start_task(changed(kit.config, watch=typist.conversation.watch), "Do it.")
    typist.conversation.attend(task)
    return await task.run(), typist, kit


def files(kit: Kit) -> list[str]:
    return sorted(path.name for path in kit.workspace.iterdir())


def write(path: str) -> ToolUseBlock:
    return call(f"w_{path}", "write_to_file", path=path, file_text="x")


@pytest.mark.parametrize("line", ["e", "3"])
async def test_a_plan_is_not_carried_out_by_the_key_that_would_open_an_editor(tmp_path: Path, line: str) -> None:
    typist = Typist([line, "n"])
    kit = Kit(tmp_path, [done("d1", "Open a port."), reply(write("a.txt"))], policy="plan")
    task = start_task(changed(kit.config, watch=typist.conversation.watch), "Do it.")
    typist.conversation.attend(task)
    await task.run()
    assert "Plain lines open no editor" in typist.getvalue() and not files(kit) and len(kit.sent) == 1


async def test_a_whole_task_line_by_line(tmp_path: Path) -> None:
    script = [
        reply(write("a.txt")),
        reply(write("b.txt")),
        reply(call("q", "ask_followup_question", question="Which?", follow_up=[{"text": "red"}, {"text": "blue"}])),
        done("d1", "Did it."),
        done("d2", "Did it better."),
    ]
    finished, typist, kit = await talk(tmp_path, script, ["y", "", "no, leave b.txt", "2", "nicer", ""])
    assert finished == TaskFinished("completed", "Did it better.")
    assert files(kit) == ["a.txt"]
    sent = [repr(request.messages[-1]) for request in kit.provider.requests]
    assert "leave b.txt" in sent[2]
    assert "blue" in sent[3]
    assert "nicer" in sent[4]
    shown = typist.getvalue()
    assert "? Approval required: write_to_file" in shown
    question = shown[shown.index("Which?") :]
    assert question.index("1 red") < question.index("2 blue") < question.index("Your answer, or a number: ")


async def test_a_yes_with_conditions_approves_nothing_and_is_asked_about_again(tmp_path: Path) -> None:
    finished, typist, kit = await talk(tmp_path, [reply(write("a.txt")), done()], ["yes but use tabs", "n", ""])
    assert finished.outcome == "completed" and files(kit) == []
    assert "Type y alone to approve it as it is" in typist.getvalue()


async def test_a_task_that_is_stopped_at_its_result_was_answered_by_nobody(tmp_path: Path) -> None:
    finished, typist, _ = await talk(tmp_path, [done()], [None])
    assert finished.outcome == "completed"
    assert "answered elsewhere" not in typist.getvalue()


async def test_always_is_requested_once(tmp_path: Path) -> None:
    script = [reply(write("a.txt")), reply(write("b.txt")), done()]
    finished, _, kit = await talk(tmp_path, script, ["a", ""])
    assert finished.outcome == "completed"
    assert files(kit) == ["a.txt", "b.txt"]


async def test_the_end_of_the_input_cancels(tmp_path: Path) -> None:
    finished, _, kit = await talk(tmp_path, [reply(write("a.txt")), done()], [None])
    assert finished == TaskFinished("cancelled", "the input ended")
    assert files(kit) == []


async def test_what_was_typed_before_the_question_is_a_message_and_no_answer(tmp_path: Path) -> None:
    typist = Typist(["n", ""])
    kit = Kit(tmp_path, [reply(write("a.txt")), done()], policy="ask")
    task = start_task(changed(kit.config, watch=typist.conversation.watch), "Do it.")
    typist.conversation.attend(task)
    typist.conversation.heard("y")
    assert (await task.run()).outcome == "completed"
    assert files(kit) == []
    sent = kit.provider.requests[0].messages[0].content
    assert any("<user_message>\ny\n</user_message>" in repr(block).replace("\\n", "\n") for block in sent)
    assert not any(isinstance(block, ToolResultBlock) for block in sent)


async def test_lines_come_from_a_file_descriptor_in_any_pieces(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    out = io.StringIO()
    conversation = Conversation(out)
    suggestions = [{"text": "Ann"}, {"text": "Bob"}]
    question = call("q", "ask_followup_question", question="Wer?", follow_up=suggestions)
    kit = Kit(tmp_path, [reply(question), done()])
    requested = asyncio.Event()

    def watch(task_id: str, event: object) -> None:
        conversation.watch(task_id, event)  # type: ignore[arg-type]
        if isinstance(event, (QuestionRequested, CompletionRequested)):
            requested.set()

    task = start_task(changed(kit.config, watch=watch), "Do it.")
    running = asyncio.ensure_future(converse(task, conversation, reading))
    for line in ("Jörg\n", "\n"):
        await requested.wait()
        requested.clear()
        for byte in line.encode():
            os.write(writing, bytes([byte]))
            await asyncio.sleep(0)
    assert (await running).outcome == "completed"
    assert "Jörg" in repr(kit.provider.requests[-1].messages[-1])
    os.close(reading)
    os.close(writing)


async def test_what_was_answered_elsewhere_takes_no_line(tmp_path: Path) -> None:
    out = io.StringIO()
    conversation = Conversation(out)
    kit = Kit(tmp_path, [reply(write("a.txt")), done()], policy="ask")
    task = start_task(changed(kit.config, watch=conversation.watch), "Do it.")
    conversation.attend(task)
    running = asyncio.ensure_future(task.run())
    await asyncio.wait_for(conversation.waiting.wait(), 20)
    assert conversation.request is not None
    task.send(Answer(conversation.request.request_id, yes=True))  # as another front end does
    for _ in range(2000):
        if isinstance(conversation.request, CompletionRequested):
            break
        await asyncio.sleep(0.01)
    conversation.heard("")  # Enter accepts the result: it is no answer to the approval
    assert await running == TaskFinished("completed", "All done.")
    assert files(kit) == ["a.txt"]
    assert "(answered elsewhere)" in out.getvalue()


async def test_a_line_that_comes_when_the_task_has_ended_is_kept_for_what_comes_after_it(tmp_path: Path) -> None:
    _, typist, _ = await talk(tmp_path, [done()], [""])
    typist.conversation.heard("one more thing")
    assert typist.conversation.unsent == ["one more thing"]
