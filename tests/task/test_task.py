from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from joey.commands import Answer, Cancel, Say
from joey.events import (
    ApprovalRequested,
    CompletionRequested,
    ContextShortened,
    ContinueRequested,
    ModeChanged,
    Request,
    RetryScheduled,
    SubtaskClosed,
    SubtaskOpened,
    TaskAborted,
    TaskCompleted,
    TaskFinished,
    TaskStarted,
    TextDelta,
    TodosChanged,
    ToolCallMalformed,
    ToolRunFinished,
    ToolRunProgressed,
    ToolRunStarted,
    UserMessageQueued,
)
from joey.journal.journal import read_journal
from joey.journal.records import ModelSet, RunBegan
from joey.journal.replay import replay
from joey.messages import TextBlock, ToolResultBlock, ToolUseBlock
from joey.modes.files import load_modes
from joey.task import wording
from joey.task.wording import SKIPPED
from joey.testing.script import Failure, Faults, reply
from task_kit import SMALL, Kit, call, done, yes


def write(path: str, text: str = "x", call_id: str = "w") -> ToolUseBlock:
    return call(call_id, "write_to_file", path=path, file_text=text)


def results(kit: Kit) -> list[ToolResultBlock]:
    return [block for block in kit.sent[-1].content if isinstance(block, ToolResultBlock)]


def text_of(block: ToolResultBlock) -> str:
    return "".join(part.text for part in block.content if isinstance(part, TextBlock))


async def test_a_task_runs_from_prompt_to_accepted_completion(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [reply("Writing.", write("a.txt", "hello")), done(result="Wrote a.txt.")])
    assert await kit.run("Write a.txt") == TaskFinished("completed", "Wrote a.txt.")
    assert (kit.workspace / "a.txt").read_text() == "hello"
    (completed,) = kit.of(TaskCompleted)
    assert completed.usage.output_tokens == 40
    assert {count.name: count.calls for count in completed.tools} == {"write_to_file": 1, "attempt_completion": 1}


async def test_every_call_is_answered_in_order_in_the_next_message(tmp_path: Path) -> None:
    calls = [write(f"{n}.txt", call_id=f"c{n}") for n in range(3)]
    kit = Kit(tmp_path, [reply("a", calls[0], "b", *calls[1:]), done()])
    await kit.run()
    assert [result.tool_use_id for result in results(kit)] == ["c0", "c1", "c2"]
    spoken = kit.sent[-2].content
    assert [type(block).__name__ for block in spoken] == [
        "TextBlock",
        "ToolUseBlock",
        "TextBlock",
        "ToolUseBlock",
        "ToolUseBlock",
    ]


async def test_feedback_becomes_the_result_of_the_completion_and_the_loop_goes_on(tmp_path: Path) -> None:
    answers = iter([("", False, "also /goodbye"), ("", True, "")])

    def user(request: Request) -> Answer:
        _, accepts, text = next(answers)
        return Answer(request.request_id, yes=accepts, text=text)

    kit = Kit(tmp_path, [done("c1"), done("c2")], user=user)
    assert (await kit.run()).outcome == "completed"
    assert text_of(results(kit)[0]) == (
        "The user has provided feedback on the results. Consider their input to continue the task:\n"
        "<feedback>\nalso /goodbye\n</feedback>"
    )


async def test_completion_is_refused_when_a_tool_failed_in_the_same_turn(tmp_path: Path) -> None:
    kit = Kit(
        tmp_path, [reply(call("r", "read_file", path="nope.txt"), call("d", "attempt_completion", result="x")), done()]
    )
    await kit.run()
    assert results(kit)[1].is_error
    assert "a tool failed" in text_of(results(kit)[1])
    assert len(kit.of(CompletionRequested)) == 1


async def test_a_denial_skips_the_rest_of_the_turn_with_a_result_for_each(tmp_path: Path) -> None:
    def user(request: Request) -> Answer:
        if isinstance(request, ApprovalRequested):
            return Answer(request.request_id, yes=False, text="not there")
        return yes(request)

    kit = Kit(tmp_path, [reply(write("a", call_id="1"), write("b", call_id="2")), done()], user=user, policy="ask")
    await kit.run()
    first, second = results(kit)
    assert "<feedback>\nnot there\n</feedback>" in text_of(first)
    assert text_of(second) == SKIPPED
    assert not list(kit.workspace.iterdir())


async def test_always_is_not_asked_about_again(tmp_path: Path) -> None:
    kit = Kit(
        tmp_path,
        [reply(write("a", call_id="1")), reply(write("b", call_id="2")), done()],
        user=lambda request: Answer(request.request_id, yes=True, always=True),
        policy="ask",
    )
    await kit.run()
    assert len(kit.of(ApprovalRequested)) == 1


async def test_a_model_that_repeats_one_call_for_ever_comes_to_its_limit_of_mistakes(tmp_path: Path) -> None:
    again = [reply(call(str(number), "execute_command", command="echo same")) for number in range(20)]
    kit = Kit(tmp_path, again, headless=True, policy="all")
    assert (await kit.run()).outcome == "limit"
    assert len(kit.of(ToolRunFinished)) == 6


async def test_what_the_user_types_meanwhile_waits_and_is_never_leave(tmp_path: Path) -> None:
    def user(request: Request) -> Answer | None:
        assert kit.task is not None
        if isinstance(request, ApprovalRequested):
            kit.task.send(Say("yes, go ahead"))
            return Answer(request.request_id, yes=False)
        return yes(request)

    kit = Kit(tmp_path, [reply(write("a")), done()], user=user, policy="ask")
    await kit.run()
    assert not (kit.workspace / "a").exists()
    assert kit.of(UserMessageQueued)
    assert TextBlock(wording.user_message("yes, go ahead")) in kit.sent[-1].content


async def test_a_reply_without_a_call_is_reminded_in_the_words_of_the_protocol(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [reply("I think I am done."), done()], plain_answers="remind")
    await kit.run()
    (note,) = kit.sent[-1].content
    assert "called no tool" in note.text
    assert "function-calling interface" in note.text


@pytest.mark.parametrize("headless", [True, False])
async def test_a_reply_without_a_call_is_the_result(tmp_path: Path, headless: bool) -> None:
    kit = Kit(tmp_path, [reply("It is 42.")], headless=headless)
    assert await kit.run("What is it?") == TaskFinished("completed", "It is 42.")
    assert [(each.result, each.plain) for each in kit.of(CompletionRequested)] == [("It is 42.", True)]


async def test_a_reply_without_a_call_ends_the_turn_and_the_next_message_continues_the_task(tmp_path: Path) -> None:
    messages = iter(["And why?", "Go on.", "More.", "Still more.", ""])

    def user(request: Request) -> Answer:
        assert isinstance(request, CompletionRequested)
        text = next(messages)
        return Answer(request.request_id, yes=not text, text=text)

    kit = Kit(tmp_path, [reply(f"Answer {number}.") for number in range(5)], user=user)
    assert await kit.run("What is it?") == TaskFinished("completed", "Answer 4.")
    assert not kit.of(ContinueRequested), "a conversation is no row of mistakes"
    assert [message.content[0] for message in kit.sent if message.role == "user"][1:] == [
        TextBlock(text) for text in ("And why?", "Go on.", "More.", "Still more.")
    ]
    assert "called no tool" not in str(kit.sent)


async def test_a_message_is_what_a_task_waits_for_when_the_model_is_done(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [done("1"), reply("Hello."), done("2", "Better.")], user=lambda _request: None)
    running = asyncio.ensure_future(kit.run())
    for text in ("Make it better.", "Well?"):
        await kit.saw(CompletionRequested)
        await asyncio.sleep(0)
        assert kit.task is not None and kit.task.waits_for_message
        kit.events.clear()
        assert kit.task.send(Say(text))
    await kit.saw(CompletionRequested)
    await asyncio.sleep(0)
    assert "<feedback>\\nMake it better.\\n</feedback>" in str(kit.sent) and not kit.of(UserMessageQueued)
    assert kit.task is not None and kit.task.send(Cancel("the terminal was closed"))
    assert await running == TaskFinished("completed", "Better.")
    assert not kit.task.waits_for_message


@pytest.mark.parametrize(
    ("text", "protocol"),
    [
        ("<read_file><path>a.txt</path></read_file>", "native"),
        ('I read it.\n<tool_call>{"name": "read_file", "arguments": {"path": ', "native"),
        ('<tool_call>{"name": "read_file", "arguments": {"path": "a"}}</tool_call>', "xml"),
    ],
)
async def test_a_reply_that_tried_to_call_a_tool_is_reminded_and_no_answer(
    tmp_path: Path, text: str, protocol: str
) -> None:
    finish = reply("<attempt_completion><result>All done.</result></attempt_completion>")
    kit = Kit(tmp_path, [reply(text), done() if protocol == "native" else finish], headless=True, protocol=protocol)
    assert (await kit.run()).message == "All done."
    assert "called no tool" in str(kit.sent[-1].content)


@pytest.mark.parametrize(
    "text", ["Use `<read_file>`.", "```xml\n<read_file><path>a</path></read_file>\n```", "a < b", "<b>Hi</b>"]
)
async def test_a_reply_that_quotes_a_call_or_looks_like_one_is_an_answer(tmp_path: Path, text: str) -> None:
    kit = Kit(tmp_path, [reply(text)], headless=True)
    assert await kit.run() == TaskFinished("completed", text)


async def test_after_three_bad_turns_the_user_is_asked_and_may_guide(tmp_path: Path) -> None:
    def user(request: Request) -> Answer:
        if isinstance(request, ContinueRequested):
            return Answer(request.request_id, text="use write_to_file")
        return yes(request)

    kit = Kit(tmp_path, [reply("hm"), reply("hm hm"), reply("hm hm hm"), done()], user=user, plain_answers="remind")
    assert (await kit.run()).outcome == "completed"
    assert len(kit.of(ContinueRequested)) == 1
    assert any("use write_to_file" in block.text for block in kit.sent[-1].content)


async def test_nobody_there_means_a_limit_not_a_hang(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [reply("hm")] * 3, headless=True, plain_answers="remind")
    assert (await kit.run()).outcome == "limit"


async def test_when_the_model_refuses_the_user_is_asked_at_once_and_may_guide(tmp_path: Path) -> None:
    def user(request: Request) -> Answer:
        if isinstance(request, ContinueRequested):
            return Answer(request.request_id, text="It is for a test.")
        return yes(request)

    kit = Kit(tmp_path, [reply("No.", stop="refusal"), done()], user=user)
    assert (await kit.run()).outcome == "completed"
    assert [requested.reason for requested in kit.of(ContinueRequested)] == ["The model refused to go on: No."]
    assert any("It is for a test." in block.text for block in kit.sent[-1].content)


async def test_a_no_to_a_task_without_progress_stops_it(tmp_path: Path) -> None:
    """It is the user's own decision: nothing was refused."""
    missing = [reply(call(str(n), "read_file", path=f"{n}.txt")) for n in range(3)]
    kit = Kit(tmp_path, missing, user=lambda request: Answer(request.request_id))
    assert await kit.run() == TaskFinished("cancelled", "The last 3 turns made no progress.")
    kit = Kit(tmp_path, missing, user=lambda request: Answer(request.request_id), mistake_limit=1)
    assert await kit.run() == TaskFinished("cancelled", "The last turn made no progress.")


async def test_nobody_there_and_never_leave_means_refused(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [reply(write("a")), reply(write("b")), reply(write("c"))], policy="ask", headless=True)
    assert await kit.run() == TaskFinished(
        "refused", "The last 3 turns made no progress, and the last call was not approved."
    )


async def test_headless_denies_what_it_would_ask(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [reply(write("a")), done()], policy="ask", headless=True)
    await kit.run()
    assert "no user is there to approve" in text_of(results(kit)[0])
    assert not (kit.workspace / "a").exists()


async def test_a_reply_cut_by_length_is_reported_and_never_run(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [reply(write("a.txt", "half a fi"), stop="length"), done()])
    await kit.run()
    assert kit.of(ToolCallMalformed)
    assert not (kit.workspace / "a.txt").exists()
    assert "reached the length limit" in kit.sent[-1].content[0].text


async def test_text_cut_by_length_goes_on(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [reply("Once upon", stop="length"), done()])
    await kit.run()
    assert kit.sent[-1].content == (TextBlock(wording.CUT_OFF),)


@pytest.mark.parametrize(
    "failure",
    [Failure(429, "slow down", retry_after=0.0), Failure(529, "overloaded", "overloaded_error"), Failure(500, "oops")],
)
async def test_what_may_pass_is_tried_again_visibly(tmp_path: Path, failure: Failure) -> None:
    kit = Kit(tmp_path, [failure, done()])
    assert (await kit.run()).outcome == "completed"
    assert len(kit.of(RetryScheduled)) == 1


async def test_a_cut_stream_is_tried_again_and_no_tool_runs_twice(tmp_path: Path) -> None:
    one = write("a.txt", "text")
    kit = Kit(tmp_path, [reply("Now.", one, faults=Faults(cut_after=4)), reply("Now.", one), done()])
    await kit.run()
    assert len(kit.of(ToolRunStarted)) == 2
    assert [r.role for r in kit.sent] == ["user", "assistant", "user"]


async def test_what_cannot_pass_ends_the_task_with_the_reason(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [Failure(401, "bad key", "authentication_error")], headless=True)
    finished = await kit.run()
    assert finished.outcome == "error"
    assert "bad key" in finished.message
    assert not kit.of(RetryScheduled)


async def test_a_conversation_that_is_too_long_is_summed_up_and_goes_on(tmp_path: Path) -> None:
    turns = [reply(write(f"{n}", call_id=f"c{n}")) for n in range(6)]
    too_long = Failure(400, "prompt is too long: 250000 tokens > 200000 maximum", "invalid_request_error")
    kit = Kit(tmp_path, [*turns, too_long, reply("They wrote six files."), done()])
    assert (await kit.run("Write files")).outcome == "completed"
    (shortened,) = kit.of(ContextShortened)
    assert shortened.summary == "They wrote six files."
    first = kit.sent[0].content
    assert first[0] == TextBlock("Write files")
    assert "They wrote six files." in first[-1].text
    uses = {b.id for m in kit.sent for b in m.content if isinstance(b, ToolUseBlock)}
    answers = {b.tool_use_id for m in kit.sent for b in m.content if isinstance(b, ToolResultBlock)}
    assert uses == answers
    state = replay(read_journal(kit.store.journal_path(kit.task.id if kit.task else "")))
    assert len(state.messages) == 14


async def test_a_failed_summary_hides_old_turns_and_cannot_loop(tmp_path: Path) -> None:
    turns = [reply(write(f"{n}", call_id=f"c{n}")) for n in range(6)]
    too_long = Failure(400, "prompt is too long", "invalid_request_error")
    kit = Kit(tmp_path, [*turns, *[too_long] * 12], headless=True)
    finished = await kit.run()
    assert finished.outcome == "error"
    assert 1 <= len(kit.of(ContextShortened)) <= 4


async def test_modes_and_todos_follow_the_tools(tmp_path: Path) -> None:
    kit = Kit(
        tmp_path,
        [
            reply(call("1", "update_todo_list", todos="[ ] think\n[x] read")),
            reply(call("2", "switch_mode", mode_slug="ask", reason="only a question")),
            reply(write("a.txt")),
            done(),
        ],
    )
    await kit.run()
    assert [todo.status for todo in kit.of(TodosChanged)[0].todos] == ["pending", "completed"]
    assert kit.of(ModeChanged) == [ModeChanged("ask", "only a question")]
    assert "not allowed in ask mode" in text_of(results(kit)[0])
    assert "[ ] think" in kit.sent[-1].content[-1].text


async def test_a_question_waits_for_its_answer_and_may_switch_the_mode(tmp_path: Path) -> None:
    ask = call("q", "ask_followup_question", question="Which?", follow_up=[{"text": "Plan it", "mode": "architect"}])
    kit = Kit(tmp_path, [reply(ask), done()])
    await kit.run()
    assert text_of(results(kit)[0]) == "<answer>\nPlan it\n</answer>"
    assert kit.of(ModeChanged)[0].mode == "architect"


async def test_a_subtask_hands_its_result_to_its_parent(tmp_path: Path) -> None:
    kit = Kit(
        tmp_path,
        [
            reply(call("n", "new_task", mode="code", message="Write b.txt"), write("never")),
            reply(write("b.txt")),
            done("c", "b.txt is there"),
            done("p", "all there"),
        ],
    )
    assert (await kit.run()).message == "all there"
    sub, skipped = results(kit)
    assert "b.txt is there" in text_of(sub)
    assert "must be the last call" in text_of(skipped)
    assert kit.of(SubtaskClosed)
    assert len({task_id for task_id, _ in kit.by_task}) == 2


async def test_what_a_subtask_is_given_to_do_is_reported_after_it_was_opened(tmp_path: Path) -> None:
    opens = call("n", "new_task", mode="code", message="Write b.txt", todos="[ ] write it")
    kit = Kit(tmp_path, [reply(opens), done("c", "b.txt is there"), done("p", "all there")])
    assert (await kit.run()).message == "all there"
    child = kit.of(SubtaskOpened)[0].child_id
    kinds = [type(event) for task_id, event in kit.by_task if task_id == child or isinstance(event, SubtaskOpened)]
    assert kinds[:3] == [SubtaskOpened, TaskStarted, TodosChanged]
    assert [todo.content for todo in kit.of(TodosChanged)[0].todos] == ["write it"]


async def test_the_same_call_with_the_same_result_is_refused_in_the_end(tmp_path: Path) -> None:
    same = [reply(call(f"r{n}", "read_file", path="a.txt")) for n in range(4)]
    kit = Kit(tmp_path, [*same, done()])
    (kit.workspace / "a.txt").write_text("x")
    await kit.run()
    assert "was made 3 times with the same result" in text_of(results(kit)[0])


async def test_a_call_written_as_text_is_made_by_setting(tmp_path: Path) -> None:
    text = "Sure.\n<write_to_file>\n<path>a.txt</path>\n<file_text>hi</file_text>\n</write_to_file>"
    kit = Kit(tmp_path, [reply(text), done()], text_calls="run")
    await kit.run()
    assert (kit.workspace / "a.txt").read_text() == "hi"
    assert [type(b).__name__ for b in kit.sent[-2].content] == ["TextBlock", "ToolUseBlock"]
    ignored = Kit(tmp_path / "2", [reply(text), done()], text_calls="ignore")
    await ignored.run()
    assert not (ignored.workspace / "a.txt").exists()


@pytest.mark.parametrize(
    ("text_calls", "agrees", "offered", "made"),
    [("offer", True, True, True), ("offer", False, True, False), ("run", False, False, True)],
)
async def test_only_a_call_written_as_text_that_is_offered_needs_the_users_yes(
    tmp_path: Path, text_calls: str, agrees: bool, offered: bool, made: bool
) -> None:
    def user(request: Request) -> Answer:
        return Answer(request.request_id, yes=agrees or not isinstance(request, ContinueRequested))

    text = "<write_to_file>\n<path>a.txt</path>\n<file_text>hi</file_text>\n</write_to_file>"
    kit = Kit(tmp_path, [reply(text), done()], user=user, text_calls=text_calls)
    await kit.run()
    assert bool(kit.of(ContinueRequested)) == offered and (kit.workspace / "a.txt").exists() == made


async def test_a_call_in_another_dialect_than_that_of_the_task_is_made_by_setting(tmp_path: Path) -> None:
    text = (
        'Sure.\n<tool_call>\n{"name": "write_to_file", "arguments": {"path": "a.txt", "file_text": "hi"}}\n</tool_call>'
    )
    finish = reply("<attempt_completion>\n<result>Done.</result>\n</attempt_completion>")
    kit = Kit(tmp_path, [reply(text), finish], protocol="xml", text_calls="run")
    await kit.run()
    assert (kit.workspace / "a.txt").read_text() == "hi"
    assert "<write_to_file>" in text_of(kit.sent[-2]), "from now on it reads as the model should have written it"
    ignored = Kit(tmp_path / "2", [reply(text), finish], protocol="xml", text_calls="ignore")
    await ignored.run()
    assert not (ignored.workspace / "a.txt").exists()


async def test_a_call_explained_in_a_code_fence_is_not_made(tmp_path: Path) -> None:
    text = "For example:\n```xml\n<write_to_file>\n<path>a.txt</path>\n<file_text>hi</file_text>\n</write_to_file>\n```"
    kit = Kit(tmp_path, [reply(text), done()], text_calls="run")
    await kit.run()
    assert not (kit.workspace / "a.txt").exists()


@pytest.mark.parametrize("protocol", ["xml", "json_mix", "morph_xml"])
async def test_the_same_task_runs_in_every_text_protocol(tmp_path: Path, protocol: str) -> None:
    from joey import protocols

    codec = protocols.get(protocol)

    def spoken(use: ToolUseBlock) -> str:
        block = codec.encode_call(use)
        assert isinstance(block, TextBlock)
        return block.text

    script = [
        reply("Writing.\n" + spoken(write("a.txt", "hello\n"))),
        reply(spoken(call("", "attempt_completion", result="ok"))),
    ]
    kit = Kit(tmp_path, script, protocol=protocol)
    assert await kit.run() == TaskFinished("completed", "ok")
    assert (kit.workspace / "a.txt").read_text() == "hello\n"
    request = kit.provider.requests[-1]
    assert not request.tools
    assert "write_to_file" in request.system
    assert all(isinstance(block, TextBlock) for message in request.messages for block in message.content)


async def test_cancel_stops_the_stream_and_leaves_a_task_that_can_be_resumed(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [reply("Thinking", write("a"), faults=Faults(pause=5.0))])
    running = asyncio.create_task(kit.run())
    await asyncio.sleep(0.05)
    assert kit.task is not None
    kit.task.send(Cancel("enough"))
    assert await running == TaskFinished("cancelled", "enough")
    assert kit.of(TaskAborted) == [TaskAborted("enough")]
    assert (await kit.resume(kit.task.id, [done()])).outcome == "completed"
    assert [message.role for message in kit.sent] == ["user"]


async def test_cancel_kills_a_running_command_and_the_call_is_answered_on_resume(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [reply(call("x", "execute_command", command="sleep 60; touch late"))])
    running = asyncio.create_task(kit.run())
    await kit.saw(ToolRunStarted)
    assert kit.task is not None
    kit.task.send(Cancel())
    assert (await running).outcome == "cancelled"
    await kit.resume(kit.task.id, [done()])
    assert text_of(results(kit)[0]) == wording.INTERRUPTED


async def test_what_a_command_printed_before_it_was_stopped_is_not_lost(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [reply(call("x", "execute_command", command="echo tick-$((40 + 2)); sleep 60; touch late"))])
    running = asyncio.create_task(kit.run())
    await kit.saw(ToolRunProgressed)
    assert kit.task is not None
    kit.task.send(Cancel())
    assert (await running).outcome == "cancelled"
    await kit.resume(kit.task.id, [done()])
    assert "stopped while it ran" in text_of(results(kit)[0]) and "tick-42" in text_of(results(kit)[0])


async def test_what_a_stopped_command_printed_is_cut_for_a_small_model(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [reply(call("x", "execute_command", command="seq 9999; echo last; sleep 60"))], **SMALL)
    running = asyncio.create_task(kit.run())
    while "last" not in str(kit.of(ToolRunProgressed)):  # noqa: ASYNC110 - what is waited for is a text that grows
        await asyncio.sleep(0.01)
    assert kit.task is not None
    kit.task.send(Cancel())
    assert (await running).outcome == "cancelled"
    await kit.resume(kit.task.id, [done()])
    text = text_of(results(kit)[0])
    assert "stopped while it ran" in text and "last" in text and len(text) < 8192 // 2 + 200


@pytest.mark.parametrize("printing", ["echo tick; ", ""])
async def test_what_the_user_added_to_the_approval_of_a_stopped_command_is_not_lost(
    tmp_path: Path, printing: str
) -> None:
    def user(request: Request) -> Answer:
        text = "only this once" if isinstance(request, ApprovalRequested) else ""
        return Answer(request.request_id, yes=True, text=text)

    script = [reply(call("x", "execute_command", command=f"{printing}sleep 60"))]
    kit = Kit(tmp_path, script, user=user, policy="ask")
    running = asyncio.create_task(kit.run())
    await kit.saw(ToolRunProgressed if printing else ToolRunStarted)
    assert kit.task is not None
    kit.task.send(Cancel())
    assert (await running).outcome == "cancelled"
    await kit.resume(kit.task.id, [done()])
    words, text = results(kit)[0].content
    assert words == TextBlock(wording.user_message("only this once")) and isinstance(text, TextBlock)
    assert "tick" in text.text if printing else text.text == wording.INTERRUPTED


async def test_a_reply_that_was_stopped_is_not_forgotten_when_the_user_goes_on(tmp_path: Path) -> None:
    slow = reply("First the parser, second the tests.", *["."] * 400, faults=Faults(pause=0.05))
    kit = Kit(tmp_path, [slow])
    running = asyncio.create_task(kit.run())
    await kit.saw(TextDelta)
    assert kit.task is not None
    kit.task.send(Cancel())
    assert (await running).outcome == "cancelled"
    await kit.resume(kit.task.id, [done()], text="do the second thing")
    note = next(block.text for block in kit.sent[-1].content if isinstance(block, TextBlock))
    assert note.startswith("Your last reply was stopped before it was complete") and "<reply>\nFirst" in note
    before = "The user stopped your last reply, which is not in this conversation. It had come to this:\nFirst"
    assert wording.typed_words(note) == wording.typed_words(before) == "", "they are none of the user's words"


async def test_an_accepted_task_can_be_taken_up_again(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [done("c1")])
    await kit.run()
    assert kit.task is not None
    await kit.resume(kit.task.id, [done("c2")], text="one more thing")
    assert text_of(results(kit)[0]) == wording.SHOWN, "nobody need have said yes to it"
    assert TextBlock(wording.user_message("one more thing")) in kit.sent[-1].content


async def test_the_journal_says_that_a_call_began_before_it_touches_anything(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [reply(write("a.txt")), done()])
    await kit.run()
    assert kit.task is not None
    records = list(read_journal(kit.store.journal_path(kit.task.id)))
    assert [r.call_id for r in records if isinstance(r, RunBegan)] == ["w", "done"]
    finished = [event for event in kit.events if isinstance(event, ToolRunFinished)]
    assert finished[0].result.text


async def test_a_subtask_has_the_role_and_the_tools_of_an_agent_file(tmp_path: Path) -> None:
    agents = tmp_path / "project" / ".claude" / "agents"
    agents.mkdir(parents=True)
    front = "---\nname: reviewer\ndescription: Reviews.\ntools: Read, Grep\n---\n"
    (agents / "reviewer.md").write_text(f"{front}You review and change nothing.")
    loaded = load_modes(tmp_path / "project", tmp_path / "user", trusted=True)
    write = call("w", "write_to_file", path="x", file_text="y")
    script = [
        reply(call("s", "new_task", mode="reviewer", message="Look.")),
        reply(write),
        done("d1", "Fine."),
        done("d2"),
    ]
    kit = Kit(tmp_path, script, modes={mode.slug: mode for mode in loaded.modes})
    assert (await kit.run()).outcome == "completed"
    assert "reviewer: Reviews." in kit.provider.requests[0].system
    assert "You review and change nothing." in kit.provider.requests[1].system
    assert "not allowed in reviewer mode" in str(kit.provider.requests[2].messages[-1])
    assert "Result:\\nFine." in str(kit.sent) and not (kit.workspace / "x").exists()


async def test_a_resumed_task_keeps_the_model_that_it_had_last(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [done()], label="openai/one")
    await kit.run()
    assert kit.task is not None
    task_id = kit.task.id
    kit.change(label="openai/two")
    await kit.resume(task_id, [done()], "More.")
    assert _opened_with(kit, task_id) == ("openai/two", None)
    await kit.resume(task_id, [done()], "And more.")
    records = [*read_journal(kit.store.journal_path(task_id))]
    assert len([record for record in records if isinstance(record, ModelSet)]) == 1


async def test_a_server_that_was_named_for_a_provider_is_not_forgotten_for_another_one(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [done()], label="openai/one", base_url="http://127.0.0.1:1/v1")
    await kit.run()
    assert kit.task is not None
    task_id = kit.task.id
    kit.change(label="openai/two")
    await kit.resume(task_id, [done()], "More.")
    assert _opened_with(kit, task_id) == ("openai/two", "http://127.0.0.1:1/v1")
    kit.change(label="anthropic/three", base_url=None)
    await kit.resume(task_id, [done()], "And more.")
    assert _opened_with(kit, task_id) == ("openai/two", "http://127.0.0.1:1/v1")


def _opened_with(kit: Kit, task_id: str) -> tuple[str, str | None]:
    opened = replay(read_journal(kit.store.journal_path(task_id))).opened
    assert opened is not None
    return opened.model, opened.base_url
