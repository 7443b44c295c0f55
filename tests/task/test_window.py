"""When the window fills: what is hidden, what stays, and that it is done once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from joey.chunks import UsageChunk
from joey.commands import Answer, Cancel, Condense
from joey.events import ContextKept, ContextShortened, Request, RetryScheduled, TurnFinished
from joey.journal.records import MessageAdded, TurnEnded
from joey.messages import ImageBlock, Message, TextBlock, ToolResultBlock, ToolUseBlock
from joey.modes.builtin import CODE
from joey.providers import EngineOptions, ReasoningOptions
from joey.providers.local.provider import LocalProvider
from joey.task.config import FastModel
from joey.task.opening import resume_task
from joey.task.request import ContextView
from joey.task.results import limit_for, result_sizes, shortened
from joey.task.task import TaskHandle
from joey.task.window import KEPT_MESSAGES, kept_of
from joey.terminal.context_bar import context_lines
from joey.testing.script import Failure, Faults, Scripted, ScriptedProvider, reply
from joey.tools.builtin import builtin_tools
from joey.tools.toolset import ToolChoices, build_toolset
from joey.usage import Usage
from local_kit import SMOL, needs_model
from task_kit import SMALL, Kit, call, changed, done


def looks(number: int, tokens: int) -> Scripted:
    return reply(call(f"l{number}", "list_files", path=str(number)), usage=UsageChunk(tokens, 1))


async def filled(folder: Path, *summary: Scripted) -> Kit:
    """Eight small turns, a big one, then whatever answers the request for a summary, and the end."""
    script = [*(looks(number, 100) for number in range(8)), looks(8, 90_000), *summary, done()]
    kit = Kit(folder, script, context_window=100_000, repetition_limit=0, mistake_limit=0)
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


@pytest.mark.parametrize(
    ("answer", "by_fast"),
    [(reply("In short.", usage=UsageChunk(7, 2)), True), (Failure(529, "busy"), False), (reply(""), False)],
)
async def test_a_fast_model_writes_the_summary_and_the_model_itself_where_it_cannot(
    tmp_path: Path, answer: Scripted, by_fast: bool
) -> None:
    fast = ScriptedProvider([answer])
    own = [] if by_fast else [reply("By the model itself.")]
    script = [*(looks(number, 100) for number in range(8)), looks(8, 90_000), *own, done()]
    kit = Kit(tmp_path, script, context_window=100_000, repetition_limit=0, mistake_limit=0)
    kit.change(fast=FastModel(fast, "small", "p/small", ReasoningOptions("low")))
    assert (await kit.run("The task itself.")).outcome == "completed"
    (shortened,) = kit.of(ContextShortened)
    assert shortened.summary == ("In short." if by_fast else "By the model itself.")
    [request] = fast.requests
    assert (request.model, request.reasoning) == ("small", ReasoningOptions("low")) and not request.tools
    reasons = [each.reason for each in kit.of(RetryScheduled) if "p/small wrote no summary" in each.reason]
    assert len(reasons) == (0 if by_fast else 1), "a change is visible"


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
    kit = Kit(tmp_path, [], context_window=window, max_tokens=8192)
    task = kit.assemble("x")
    task.log.state.spending.last_usage = Usage(input_tokens=used)
    assert task.window.nearly_full() is full
    task.log.close()


def test_where_nothing_was_counted_the_characters_are(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [], context_window=10_000, max_tokens=1000)
    task = kit.assemble("x" * 40_000)
    assert not task.window.nearly_full()
    task.log.record(MessageAdded(Message("user", (TextBlock("x" * 40_000),))))
    task.log.record(TurnEnded(Usage(), None))
    assert task.window.nearly_full()
    task.log.close()


# On demand


def worked(*rest: Scripted) -> list[Scripted]:
    return [*(looks(number, 1_000 * (number + 1)) for number in range(5)), done(), *rest]


async def resumed(folder: Path, *script: Scripted) -> tuple[Kit, TaskHandle]:
    """A finished task of five turns, opened again."""
    kit = Kit(folder, worked(*script), repetition_limit=0, mistake_limit=0)
    await kit.run("The task itself.")
    assert kit.task is not None
    kit.events.clear()
    return kit, resume_task(kit.config, kit.task.id)


async def test_a_task_that_rests_is_compacted_and_goes_on_from_the_summary(tmp_path: Path) -> None:
    kit, task = await resumed(tmp_path, reply("They looked around.", usage=UsageChunk(700, 30)), done("d2"))
    before = task.state.spending.usage
    await task.compact()
    (event,) = kit.of(ContextShortened)
    assert event.hidden_messages == 8 and event.summary == "They looked around."
    assert 0 < event.tokens_after < event.tokens_before
    assert task.state.spending.usage.input_tokens == before.input_tokens + 700, "the summary is paid for, and counted"
    again = resume_task(kit.config, task.id, text="On with it.")
    kit.task = again
    assert again.state.spending.last_usage.total == event.tokens_after
    assert (await again.run()).outcome == "completed"
    assert "They looked around." in str(kit.sent[0]) and len(kit.sent) == 5


@pytest.mark.parametrize("answer", [reply(""), Failure(400, "no", "invalid_request_error")])
async def test_without_a_summary_everything_stays(tmp_path: Path, answer: Scripted) -> None:
    kit, task = await resumed(tmp_path, answer)
    await task.compact()
    assert len(kit.of(ContextKept)) == 1 and not kit.of(ContextShortened)
    assert task.state.shortening.hidden == 0
    resume_task(kit.config, task.id).close()  # and the task is free again


async def test_what_is_compacted_already_is_left_alone(tmp_path: Path) -> None:
    kit, task = await resumed(tmp_path, reply("Short."))
    await task.compact()
    await resume_task(kit.config, task.id).compact()
    assert [event.reason for event in kit.of(ContextKept)] == ["there is nothing to summarize yet"]


async def test_a_busy_task_compacts_before_its_next_request(tmp_path: Path) -> None:
    kit = Kit(tmp_path, worked(reply("In short."), done("d2")), mistake_limit=0)
    requested: list[str] = []

    def user(request: Request) -> Answer:
        assert kit.task is not None
        requested.append(request.request_id)
        if len(requested) == 1:
            kit.task.send(Condense())
            return Answer(request.request_id, text="More, please.")
        return Answer(request.request_id, yes=True)

    kit.user = user
    assert (await kit.run("The task itself.")).outcome == "completed"
    assert [event.summary for event in kit.of(ContextShortened)] == ["In short."]
    assert "More, please." in str(kit.sent[-1])


async def test_a_summary_that_is_interrupted_changes_nothing(tmp_path: Path) -> None:
    kit, task = await resumed(tmp_path, reply("Slowly.", faults=Faults(latency=60)))
    compacting = asyncio.create_task(task.compact())
    for _ in range(100):
        await asyncio.sleep(0)
    assert kit.provider.requests[-1].system.startswith("You summarize")
    task.send(Cancel("interrupted"))
    await compacting
    assert kit.of(ContextKept) == [ContextKept("interrupted")]
    assert task.state.shortening.hidden == 0


# A small model


async def test_a_small_model_is_not_asked_for_a_summary_but_told_what_it_called(tmp_path: Path) -> None:
    script = [*(looks(number, 100) for number in range(8)), looks(8, 7_000), done()]
    kit = Kit(tmp_path, script, **SMALL, mistake_limit=0)
    (kit.workspace / "1").mkdir()
    assert (await kit.run("The task itself.")).outcome == "completed"
    (shortened,) = kit.of(ContextShortened)
    assert shortened.summary is not None
    assert shortened.summary.splitlines()[:3] == [
        "- list_files 0 (failed)",
        "- list_files 1",
        "- list_files 2 (failed)",
    ]
    assert len(kit.provider.requests) == 10, "nobody was asked for a summary"


@needs_model
async def test_a_task_that_outgrows_the_window_of_a_real_model_goes_on(tmp_path: Path) -> None:
    """Only the server knows how many tokens there are: it refuses, old turns are hidden, and the model answers."""
    reads = [reply(f"<read_file>\n<path>{number}.txt</path>\n</read_file>") for number in range(8)]
    kit = Kit(
        tmp_path, reads, protocol="xml", prompt="small", max_turns=8, mistake_limit=0, max_tokens=24, headless=True
    )
    for number in range(8):
        (kit.workspace / f"{number}.txt").write_text(f"line {number}\n" * 50)
    tools = build_toolset(CODE, builtin_tools(), choices=kit.config.profile.choices(ToolChoices(), ""))
    kit.change(tools=lambda _mode: tools)
    assert (await kit.run("Which of these files is the longest?")).outcome == "limit"
    assert kit.task is not None and not kit.of(ContextShortened)

    small = LocalProvider(str(SMOL), options=EngineOptions(threads=1, context=1280))
    config = changed(kit.config, provider=small, max_turns=9)
    kit.events.clear()
    try:
        finished = await resume_task(config, kit.task.id).run()
    finally:
        await small.close()
    assert kit.of(ContextShortened) and "- read_file 0.txt" in kit.of(ContextShortened)[0].summary
    (turn,) = kit.of(TurnFinished)
    assert 0 < turn.usage.input_tokens + turn.usage.cache_read_tokens < 1280 and turn.usage.output_tokens
    assert finished.outcome in ("limit", "completed")


# Large results, and long answers


def reads(number: int) -> Scripted:
    return reply(call(f"r{number}", "read_file", path=f"{number}.txt"), usage=UsageChunk(1000, 1))


def text(lines: int, letter: str = "x") -> str:
    return "\n".join(["the beginning", *[letter * 99] * lines, "the end"])


def too_long(tokens: int = 250_000) -> Failure:
    return Failure(400, f"prompt is too long: {tokens} tokens > 200000 maximum", "invalid_request_error")


def results(kit: Kit) -> list[str]:
    blocks = (block for message in kit.sent for block in message.content if isinstance(block, ToolResultBlock))
    return ["".join(part.text for part in block.content if isinstance(part, TextBlock)) for block in blocks]


async def test_a_large_result_is_sent_in_part_before_anything_is_hidden(tmp_path: Path) -> None:
    """In the first turns there is nothing to hide, and the task would end."""
    kit = Kit(tmp_path, [reads(0), reads(1), too_long(), done()])
    (kit.workspace / "0.txt").write_text(text(900))
    (kit.workspace / "1.txt").write_text("small")
    assert (await kit.run()).outcome == "completed"
    (event,) = kit.of(ContextShortened)
    assert (event.hidden_messages, event.shortened_results, event.summary) == (0, 1, None)
    large, small = results(kit)[:2]
    assert "the beginning" in large and "the end" in large and "characters of this result are left out" in large
    assert len(large) < 85_000 and "small" in small
    assert kit.task is not None and str(kit.task.state.messages).count("x" * 99) == 900, "nothing is deleted"
    again = resume_task(kit.config, kit.task.id)
    assert again.state.shortening.result_limit == kit.task.state.shortening.result_limit
    again.close()


async def test_results_are_shortened_until_it_is_enough_and_then_turns_are_hidden(tmp_path: Path) -> None:
    again = Failure(400, "context length exceeded", "invalid_request_error")
    kit = Kit(tmp_path, [*(reads(number) for number in range(5)), *[again] * 40], headless=True)
    for number in range(5):
        (kit.workspace / f"{number}.txt").write_text(text(900, str(number)))
    assert (await kit.run()).outcome == "error"
    cuts = [event for event in kit.of(ContextShortened) if event.shortened_results]
    assert 2 <= len(cuts) <= 10 and len(kit.of(ContextShortened)) > len(cuts)
    assert kit.of(ContextShortened)[0].shortened_results == 5


@pytest.mark.parametrize(
    ("refusal", "sent"),
    [
        ("input length and `max_tokens` exceed context limit: 195000 + 8192 > 200000", 5000),
        ("max_tokens is too large: 8192. This model supports at most 4096 completion tokens", 4096),
    ],
)
async def test_where_only_the_answer_is_too_long_it_may_have_less(tmp_path: Path, refusal: str, sent: int) -> None:
    failure = Failure(400, refusal, "invalid_request_error")
    kit = Kit(tmp_path, [reads(0), failure, reads(1), done()], max_tokens=8192)
    (kit.workspace / "0.txt").write_text(text(900))
    assert (await kit.run()).outcome == "completed"
    assert [request.max_tokens for request in kit.provider.requests] == [8192, 8192, sent, sent]
    assert not kit.of(ContextShortened)
    (retried,) = kit.of(RetryScheduled)
    assert f"the answer may have {sent:,} tokens" in retried.reason


async def test_an_answer_without_room_shortens_the_conversation(tmp_path: Path) -> None:
    full = Failure(400, "input length and `max_tokens` exceed context limit: 199900 + 8192 > 200000", "x")
    kit = Kit(tmp_path, [reads(0), full, done()], max_tokens=8192)
    (kit.workspace / "0.txt").write_text(text(900))
    assert (await kit.run()).outcome == "completed"
    assert kit.of(ContextShortened) and kit.provider.requests[-1].max_tokens == 8192


@pytest.mark.parametrize(
    ("sizes", "total", "share", "limit"),
    [
        ([], 10_000, 0.5, None),
        ([3_000] * 20, 80_000, 0.5, None),
        ([90_000, 100], 100_000, 0.5, 35_000),
        ([50_000, 40_000], 100_000, 0.5, 17_500),
        ([50_000, 10_000], 100_000, None, 10_000),
        ([2_500], 3_000, 0.1, 2_000),
    ],
)
def test_a_limit_takes_what_it_must_from_the_large_results(
    sizes: list[int], total: int, share: float | None, limit: int | None
) -> None:
    assert limit_for(sizes, total, share) == limit


@pytest.mark.parametrize("limit", [2_000, 12_345])
def test_a_shortened_result_is_no_longer_than_its_limit_and_keeps_what_is_no_text(limit: int) -> None:
    image = ImageBlock("image/png", "AA==")
    long = ToolResultBlock("a", (TextBlock("x" * 40_000), image, TextBlock("y" * 40_000)), is_error=True)
    short = ToolResultBlock("b", (TextBlock("x"),))
    message = Message("user", (long, short, TextBlock("z" * 40_000)))
    made = shortened(message, limit)
    assert result_sizes([made])[0] <= limit and made.content[1:] == message.content[1:]
    cut = made.content[0]
    assert isinstance(cut, ToolResultBlock) and cut.is_error and image in cut.content
    assert shortened(made, limit) is made


# Old results first, and what a summary must not lose


def reads_big(number: int, tokens: int) -> Scripted:
    return reply(call(f"r{number}", "read_file", path="big.txt", limit=2000 + number), usage=UsageChunk(tokens, 1))


async def test_large_results_that_are_old_are_shortened_before_anything_is_summarized(tmp_path: Path) -> None:
    script = [*(reads_big(number, 100) for number in range(6)), reads_big(6, 90_000), done()]
    kit = Kit(tmp_path, script, context_window=100_000, repetition_limit=0)
    (kit.workspace / "big.txt").write_text("".join(f"line {n} of a large file\n" for n in range(1500)))
    assert (await kit.run()).outcome == "completed"
    (event,) = kit.of(ContextShortened)
    assert event.shortened_results == 4 and event.hidden_messages == 0 and event.tokens_after < 50_000
    sizes = result_sizes(kit.sent)
    assert [size < 2100 for size in sizes] == [True] * 4 + [False] * 3, "the last ones are whole"
    assert "[…" in str(kit.sent[2]) and len(kit.provider.requests) == 8, "nobody was asked for a summary"
    assert kit.task is not None
    resumed = resume_task(kit.config, kit.task.id)
    assert resumed.state.shortening.old_results == (2000, 9)
    resumed.close()


async def test_a_summary_keeps_the_plan_and_open_questions_and_says_what_it_drops(tmp_path: Path) -> None:
    def user(request: Request) -> Answer:
        plan = "edits" if getattr(request, "plan", False) else ""
        return Answer(request.request_id, yes=True, profile=plan)

    question = call("q", "ask_followup_question", question="Which port?", follow_up=[{"text": "80"}, {"text": "81"}])
    todos = call("t", "update_todo_list", todos="[x] look\n[ ] build")
    script = [done("p", "1. Look. 2. Build."), reply(question, todos), *(looks(number, 100) for number in range(8)),
              looks(8, 90_000), reply("In short."), done()]  # fmt: skip
    kit = Kit(tmp_path, script, context_window=100_000, repetition_limit=0, mistake_limit=0, user=user, policy="plan")
    kit.user = lambda request: Answer(request.request_id) if "question" in request.request_id else user(request)
    assert (await kit.run()).outcome == "completed"
    (event,) = kit.of(ContextShortened)
    assert event.kept == ("the plan", "1 todo", "1 open question")
    assert event.dropped.startswith("6 list_files, 1 attempt_completion, 1 ask_followup_question, 1 update_todo_list;")
    first = kit.sent[0].content[-1].text
    assert "In short." in first and "<plan>\n1. Look. 2. Build.\n</plan>" in first and "- Which port?" in first


async def test_what_was_kept_stays_with_the_next_summary_until_there_is_a_newer_plan() -> None:
    accepted = "The user accepted the plan, after changing it; this is the plan now. …\n<plan>\nB\n</plan>"
    newer = [Message("user", (TextBlock(accepted),))]
    assert kept_of([], "kept before") == "kept before"
    assert kept_of(newer, "kept before") == "The plan that the user accepted:\n<plan>\nB\n</plan>"


# What fills the window


async def test_the_parts_of_a_request_add_up_to_what_was_counted(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [reads_big(0, 9_999), done()], context_window=100_000)
    (kit.workspace / "big.txt").write_text("x" * 5000)
    await kit.run("Read it.")
    assert kit.task is not None
    view = kit.task.context
    parts = dict(view.parts)
    assert view.window == 100_000 and view.counted and parts["tools"] > parts["messages"] > 0
    assert abs(view.used - kit.task.state.spending.last_usage.total) < len(parts)
    lines = context_lines(view).split("\n")
    assert lines[0] == f"Context: {view.used:,} of 100,000 tokens ({100 * view.used / 100_000:.0f} %)"
    assert len(lines[1]) == 64 and lines[1].count("·") > 50 and "F files and searches" in context_lines(view)


def test_a_bar_of_a_window_that_nobody_knows_is_full() -> None:
    view = ContextView((("system prompt", 25), ("messages", 75)))
    assert context_lines(view).split("\n")[1] == f"  [{'S' * 15}{'M' * 45}]"
