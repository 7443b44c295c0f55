"""Whatever is compacted, dropped or summarized: the newest words of the user stay, after everything that is older."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joey import protocols
from joey.chunks import UsageChunk
from joey.commands import Answer, Condense, Say
from joey.events import CompletionRequested, ContextShortened, Event, Request, TurnStarted
from joey.journal.records import MessageAdded, MessagesHidden, Record, ResultsShortened, TaskOpened
from joey.journal.replay import TaskState, replay
from joey.messages import Block, ImageBlock, Message, TextBlock, ToolResultBlock, ToolUseBlock
from joey.policy.paths import Workspace
from joey.providers.base import ModelRequest
from joey.task import wording
from joey.task.history import HistoryEncoder
from joey.task.profiles.base import Supervisor
from joey.task.profiles.small import Small
from joey.task.profiles.small.supervisor import SmallSupervisor
from joey.task.results import result_limit, shortened
from joey.task.settings import TaskLimits
from joey.task.user_words import current_request, user_entries
from joey.task.visible import hideable, places, visible
from joey.testing.script import Failure, Scripted, reply
from task_kit import SMALL, Kit, call, done

LONG = "x" * 9_000
ENVIRONMENT = TextBlock("<environment_details>\nnothing\n</environment_details>")


# Conversations of several messages


class Talk:
    """A conversation as tasks write it, and what the user wrote in it, oldest first."""

    def __init__(self, protocol: str) -> None:
        self.protocol = protocol
        self.messages = [Message("user", (TextBlock("request 0"), ENVIRONMENT))]
        self.words = ["request 0"]

    def step(self, kind: str) -> None:
        number = len(self.messages)
        words, place = f"[words {len(self.words)}]", f"c{number}"
        match kind:
            case "work":
                self._turn(ToolUseBlock(place, "read_file", {"path": "a"}), _result(place, "text"))
            case "failed":
                self._turn(ToolUseBlock(place, "read_file", {"path": "b"}), _result(place, "no", is_error=True))
            case "reminded":
                self._turn(TextBlock("hm"), TextBlock(wording.no_tool_used("Call a tool.")))
            case "queued":
                framed = TextBlock(wording.user_message(words))
                self._turn(ToolUseBlock(place, "read_file", {"path": "c"}), _result(place, "text"), framed)
            case "resumed":
                framed = TextBlock(wording.user_message(words))
                self._turn(_completion(place), _result(place, wording.SHOWN), framed, ENVIRONMENT)
            case "feedback":
                self._turn(_completion(place), _result(place, wording.feedback(words)))
            case "answered":
                self._turn(TextBlock("It is so."), TextBlock(words))
            case "stopped":  # the reply was interrupted, so there is none
                self.messages.append(Message("user", (TextBlock(wording.user_message(words)), ENVIRONMENT)))
            case "question":
                self._turn(
                    ToolUseBlock(place, "ask_followup_question", {"question": "Which?"}),
                    _result(place, wording.answer(words)),
                )
            case "comment":
                comment = ToolResultBlock(place, (TextBlock(wording.user_message(words)), TextBlock(LONG)))
                self._turn(ToolUseBlock(place, "execute_command", {"command": "ls"}), comment)
            case "denied":
                denied = _result(place, wording.denied("", words), is_error=True)
                self._turn(ToolUseBlock(place, "execute_command", {"command": "rm"}), denied)
        if kind not in ("work", "failed", "reminded"):
            self.words.append(words)

    def _turn(self, replied: Block, *answer: Block) -> None:
        self.messages += [Message("assistant", (replied,)), Message("user", answer)]


def _completion(place: str) -> ToolUseBlock:
    return ToolUseBlock(place, "attempt_completion", {"result": "Done."})


def _result(place: str, text: str, *, is_error: bool = False) -> ToolResultBlock:
    return ToolResultBlock(place, (TextBlock(text),), is_error)


STEPS = ("work", "failed", "reminded", "queued", "resumed", "feedback", "answered", "stopped", "question", "comment",
         "denied")  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from(STEPS), max_size=14),
    st.lists(st.tuples(st.integers(0, 14), st.integers(1, 6), st.sampled_from(["", "In short."])), max_size=3),
    st.sampled_from(["native", "xml", "json_mix", "morph_xml"]),
    st.booleans(),
)
def test_the_newest_words_are_in_every_request_after_all_that_is_older(
    steps: list[str], cuts: list[tuple[int, int, str]], protocol: str, cut_results: bool
) -> None:
    talk = Talk(protocol)
    records: list[Record] = [TaskOpened("t", "request 0", "/", "code", "m", protocol), MessageAdded(talk.messages[0])]
    for number, kind in enumerate(steps):
        before = len(talk.messages)
        talk.step(kind)
        records += map(MessageAdded, talk.messages[before:])
        for at, keep, summary in cuts:
            if at == number and (count := hideable(talk.messages, keep)):
                records.append(MessagesHidden(count, summary or None))
    if cut_results:
        records.append(ResultsShortened(2000))
    check(replay(records), talk)


def check(state: TaskState, talk: Talk) -> None:
    sent = visible(state)
    limits = (result_limit(state, place) for place in places(state))
    sent = tuple(
        message if limit is None else shortened(message, limit) for message, limit in zip(sent, limits, strict=True)
    )
    assert sent[0].role == "user" and len(sent) == len(places(state))
    called: set[str] = set()
    for before, message in pairwise(sent):
        assert message.role == "user" or before.role == "user", "two replies do not follow each other"
        called = {block.id for block in before.content if isinstance(block, ToolUseBlock)}
        answered = {block.tool_use_id for block in message.content if isinstance(block, ToolResultBlock)}
        assert answered == called, "calls and results stand together"
    encoded = HistoryEncoder(protocols.get(talk.protocol)).encode(sent)
    texts = [text for message in encoded for text in texts_of(message)]
    newest = [number for number, text in enumerate(texts) if talk.words[-1] in text]
    assert newest, "the newest words are there"
    later = texts[newest[-1] + 1 :]
    assert not any(words in text for words in talk.words[:-1] for text in later), "and nothing older comes after them"
    assert current_request(talk.messages) in "\n".join(texts), "and so is the request that they add to"


def texts_of(message: Message) -> list[str]:
    found: list[str] = []
    for block in message.content:
        parts = block.content if isinstance(block, ToolResultBlock) else (block,)
        found += [part.text for part in parts if isinstance(part, TextBlock)]
    return found


def test_requests_that_were_answered_are_named_in_order_and_the_first_is_no_longer_the_task() -> None:
    talk = Talk("native")
    for kind in ("work", "resumed", "work", "feedback", "work", "queued", "work", "work"):
        talk.step(kind)
    state = TaskState(messages=talk.messages)
    state.apply(MessagesHidden(hideable(talk.messages, 2), "In short."))
    earlier, summary, now, request, added, addition = texts_of(visible(state)[0])
    assert earlier.splitlines()[1:] == ["- request 0", "- [words 1]"]
    assert summary.endswith("In short:]\n\nIn short.")
    assert now.startswith("[What the user wants now") and "[words 2]" in request
    assert added.startswith("[What the user wrote after that") and "[words 3]" in addition


@pytest.mark.parametrize(
    "declined",
    [wording.plan_declined("plan"), "The user declined the plan: nothing of it is carried out, and plan mode"],
)
def test_what_the_user_writes_after_declining_a_plan_is_the_next_request(declined: str) -> None:
    talk = Talk("native")
    talk._turn(_completion("d"), _result("d", declined))
    talk.messages.append(Message("user", (TextBlock(wording.user_message("Only add a test.")),)))
    talk.messages.append(Message("user", (TextBlock(wording.user_message("A short one.")),)))
    assert [entry.begins for entry in user_entries(talk.messages)] == [True, True, False]
    assert "Only add a test." in current_request(talk.messages)
    talk.step("work")
    talk.step("work")
    state = TaskState(messages=talk.messages)
    state.apply(MessagesHidden(hideable(talk.messages, 2), "In short."))
    earlier, _, now, request, *_ = texts_of(visible(state)[0])
    assert earlier.splitlines()[1:] == ["- request 0"]
    assert now.startswith("[What the user wants now") and "Only add a test." in request


def test_a_large_file_that_was_mentioned_is_named_and_words_and_images_stay_whole() -> None:
    image = ImageBlock("image/png", "AA==")
    file = TextBlock(f'<mentioned name="big.txt">\n{LONG}\n</mentioned>')
    words = TextBlock(wording.user_message(LONG))
    talk = Talk("native")
    talk._turn(_completion("d"), _result("d", wording.SHOWN), words, file, image)
    talk.step("work")
    talk.step("work")
    state = TaskState(messages=talk.messages)
    state.apply(MessagesHidden(hideable(talk.messages, 2)))
    head = visible(state)[0].content
    assert words in head and image in head and file not in head
    assert any('<mentioned name="big.txt">' in block.text for block in head if isinstance(block, TextBlock))


def test_a_long_list_of_requests_stays_short() -> None:
    talk = Talk("native")
    for _ in range(200):
        talk.step("resumed")
    state = TaskState(messages=talk.messages)
    state.apply(MessagesHidden(hideable(talk.messages, 2)))
    earlier = texts_of(visible(state)[0])[0]
    assert len(earlier) < 3_000 and earlier.splitlines()[1:3] == ["- request 0", "- … 180 more"]
    assert "[words 199]" in earlier and "[words 200]" not in earlier


def test_results_of_an_imported_task_are_no_words_of_the_user() -> None:
    result = Message("user", (TextBlock("[read_file for 'a.py'] Result:"), TextBlock("import os"), ENVIRONMENT))
    answered = Message(
        "user", (TextBlock("[ask_followup_question for 'Which?'] Result:"), TextBlock("<answer>\nB\n</answer>"))
    )
    called = Message("assistant", (TextBlock("<read_file><path>a.py</path></read_file>"),))
    messages = [
        Message("user", (TextBlock("<task>\nDo it.\n</task>"),)),
        called,
        result,
        called,
        answered,
        called,
        result,
    ]
    assert [entry.place for entry in user_entries(messages)] == [0, 4]


# In tasks


def looks(number: int, tokens: int = 100) -> Scripted:
    return reply(call(f"l{number}", "list_files", path=str(number)), usage=UsageChunk(tokens, 1))


def texts(kit: Kit) -> str:
    return "\n".join(text for message in kit.sent for text in texts_of(message))


def assert_newest(kit: Kit, words: str) -> None:
    """Every request since the message came has it, and nothing older after it."""
    whole = texts(kit)
    assert words in whole
    assert "THE-FIRST" not in whole[whole.rindex(words) :]


PROFILES: list[dict[str, Any]] = [{"prompt": "full"}, SMALL]


@pytest.mark.parametrize("profile", PROFILES, ids=["full", "small"])
@pytest.mark.parametrize("protocol", ["native", "xml", "json_mix", "morph_xml"])
async def test_a_continued_task_keeps_its_newest_message_when_room_is_made(
    tmp_path: Path, protocol: str, profile: dict[str, Any]
) -> None:
    """Three messages, and a window that fills while the third is worked on, again and again."""
    seen: list[str] = []

    def model(request: ModelRequest) -> Scripted:
        if request.system.startswith("You summarize"):
            return reply("In short.")
        seen.append("\n".join(text for message in request.messages for text in texts_of(message)))
        number = len(seen)
        if number in (2, 4, 14):
            return written(kit, call(f"d{number}", "attempt_completion", result=f"Result {number}."))
        return written(kit, call(f"l{number}", "list_files", path=str(number)), 90_000 if number > 6 else 100)

    options: dict[str, Any] = {"context_window": 8192, "repetition_limit": 0, "mistake_limit": 0, **profile}
    kit = Kit(tmp_path, model, protocol=protocol, **options)
    for number in range(20):
        (kit.workspace / str(number)).mkdir()
        for file in range(19):  # where nothing is counted, what was read has to fill the window
            (kit.workspace / str(number) / f"{file:0>90}").touch()
    await kit.run("THE-FIRST thing.")
    assert kit.task is not None
    for words in ("THE-SECOND thing.", "THE-NEWEST thing, please."):
        await kit.resume(kit.task.id, model, words)
    assert kit.of(ContextShortened) and len(seen) == 14
    for whole in seen[4:]:
        assert "THE-NEWEST thing, please." in whole
        assert "THE-FIRST" not in whole[whole.rindex("THE-NEWEST") :]
    assert "- THE-FIRST thing.\n- THE-SECOND thing." in seen[-1]
    assert kit.task.state.shortening.kept == "" and "your newest message" in str(kit.of(ContextShortened)[-1].kept)


def written(kit: Kit, made: ToolUseBlock, tokens: int = 100) -> Scripted:
    """A reply with this call, in the words of the protocol."""
    protocol = kit.config.model.protocol
    usage = UsageChunk(tokens, 1)
    if not protocol.in_text:
        return reply(made, usage=usage)
    return reply(
        "".join(block.text for block in protocol.encode_turn([made], ()) if isinstance(block, TextBlock)), usage=usage
    )


async def test_compacting_while_a_later_message_is_worked_on_keeps_it(tmp_path: Path) -> None:
    script = [done(), looks(1), reply("In short."), looks(2), done("d2")]
    kit = Kit(tmp_path, script, mistake_limit=0)

    def user(request: Request) -> Answer:
        if isinstance(request, CompletionRequested) and request.request_id == "completion_1":
            return Answer(request.request_id, text="NOW-DO-THIS")
        return Answer(request.request_id, yes=True)

    def watch(task_id: str, event: Event) -> None:
        kit.watch(task_id, event)
        if isinstance(event, TurnStarted) and event.number == 2 and kit.task is not None:
            kit.task.send(Condense())

    kit.user = user
    kit.change(watch=watch)
    assert (await kit.run("THE-FIRST thing.")).outcome == "completed"
    assert [event.summary for event in kit.of(ContextShortened)] == ["In short."]
    for request in kit.provider.requests[3:]:
        whole = "\n".join(text for message in request.messages for text in texts_of(message))
        assert "NOW-DO-THIS" in whole and "- THE-FIRST thing." in whole[: whole.index("NOW-DO-THIS")]


async def test_a_request_that_is_too_long_is_repeated_with_the_newest_message(tmp_path: Path) -> None:
    too_long = Failure(400, "context length exceeded", "invalid_request_error")
    kit = Kit(tmp_path, [looks(0), done()], repetition_limit=0, mistake_limit=0)
    await kit.run("THE-FIRST thing.")
    assert kit.task is not None
    turns = [
        looks(1),
        looks(2),
        looks(3),
        looks(4),
        too_long,
        reply("A."),
        too_long,
        reply("B."),
        too_long,
        reply("C."),
        done("d2"),
    ]
    await kit.resume(kit.task.id, turns, "NOW-DO-THIS")
    assert len(kit.of(ContextShortened)) == 3
    assert_newest(kit, "NOW-DO-THIS")


async def test_a_message_that_was_queued_stays_with_the_request_that_it_adds_to(tmp_path: Path) -> None:
    turns: list[int] = []

    def model(request: ModelRequest) -> Scripted:
        if request.system.startswith("You summarize"):
            return reply("In short.")
        turns.append(1)
        if len(turns) == 2 and kit.task is not None:
            kit.task.send(Say("ADDED words"))
        return done() if len(turns) > 15 else looks(len(turns), 90_000 if len(turns) > 8 else 100)

    kit = Kit(tmp_path, model, repetition_limit=0, mistake_limit=0, context_window=100_000)
    assert (await kit.run("THE-FIRST thing.")).outcome == "completed"
    whole = texts(kit)
    assert kit.sent[0].content[0] == TextBlock("THE-FIRST thing."), "it is still worked on"
    assert whole.index("THE-FIRST") < whole.index("In short.") < whole.index("ADDED words")
    assert "- THE-FIRST" not in whole


async def test_a_killed_task_goes_on_with_its_newest_request(tmp_path: Path) -> None:
    """What a task is to do is read from its journal: for a small model, its supervisor holds replies to it."""
    kit = Kit(tmp_path, [done()], **SMALL)
    await kit.run("Say hello.")
    assert kit.task is not None
    kit.change(max_turns=2)
    await kit.resume(kit.task.id, [looks(1)], "Create b.txt with the word two.")
    requests: list[str] = []

    class Watching(SmallSupervisor):
        def new_request(self, text: str, *, underway: bool = False) -> None:
            requests.append(text)
            super().new_request(text, underway=underway)

    class Watched(Small):
        def supervisor(self, folder: Path, paths: Workspace, limits: TaskLimits) -> Supervisor:
            return Watching(folder, paths, limits.repetition_limit, self.result_limit, room=8192)

    kit.change(profile=Watched(8192), max_turns=3)
    await kit.resume(kit.task.id, [done("d3")])
    assert requests == ["Create b.txt with the word two."]


def test_a_small_model_that_starts_over_keeps_what_the_user_wrote_meanwhile(tmp_path: Path) -> None:
    parts = Kit(tmp_path, [], **SMALL).assemble()
    parts.log.close()
    talk = Talk("native")
    parts.supervisor.sent(tuple(talk.messages))
    talk.step("queued")
    talk.step("failed")
    assert parts.supervisor.ends_reply("the same line\n" * 400)
    sent = parts.supervisor.sent(tuple(talk.messages))
    assert len(sent) == 1 and talk.words[-1] in "\n".join(texts_of(sent[0])), "attempts are left out, words are not"


def test_a_small_model_starts_over_where_its_request_was_hidden(tmp_path: Path) -> None:
    parts = Kit(tmp_path, [], **SMALL).assemble()
    parts.log.close()
    talk = Talk("native")
    for _ in range(4):
        talk.step("resumed")
    parts.supervisor.sent(tuple(talk.messages))
    assert parts.supervisor.ends_reply("the same line\n" * 400)
    shorter = tuple(talk.messages[:3])
    assert parts.supervisor.sent(shorter) == shorter
