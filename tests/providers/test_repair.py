from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anthropic_shapes import message
from joey.messages import Block, Message, ReasoningBlock, TextBlock, ToolResultBlock, ToolUseBlock
from joey.providers.encoding.repair import INTERRUPTED, OPENING, Repairer, merge_neighbours, repair
from vectors_data import cases

OTHERWISE = {
    "validateAndFixToolResultIds-1": "a result that answers nothing is refused by providers; it becomes text",
    "validateAndFixToolResultIds-10": "a result that answers nothing is refused by providers; it becomes text",
    "validateAndFixToolResultIds-12": "the result with the right id is the right one, not the first that came",
}

IDS = st.sampled_from(["", "a", "b", "c"])
BLOCKS: st.SearchStrategy[Block] = st.one_of(
    st.builds(TextBlock, st.sampled_from(["", " ", "words"])),
    st.builds(ReasoningBlock, st.just("thought")),
    st.builds(ToolUseBlock, IDS, st.just("tool"), st.just({})),
    st.builds(ToolResultBlock, IDS, st.just((TextBlock("result"),))),
)
CONVERSATIONS = st.lists(
    st.builds(Message, st.sampled_from(["user", "assistant"]), st.lists(BLOCKS, max_size=4).map(tuple)), max_size=8
)


@pytest.mark.parametrize("case", cases("roo/native_loop", set="validateAndFixToolResultIds"), ids=lambda c: c["id"])
def test_results_are_put_right_as_recorded(case: Any) -> None:
    answer, history = case["args"]
    repaired = repair([*map(message, history), message(answer)]).messages[-1]
    expected = message(case["expected"])
    assert (_plain(repaired) == _plain(expected)) is (case["id"] not in OTHERWISE)


def _plain(answer: Message) -> Any:
    """Content without the order of results: ours stand in the order of the calls. Interrupted ones are errors here."""
    results = {block.tool_use_id: block.content for block in answer.content if isinstance(block, ToolResultBlock)}
    return results, [block for block in answer.content if not isinstance(block, ToolResultBlock)]


def test_the_right_id_wins_over_the_place() -> None:
    call = Message("assistant", (ToolUseBlock("right", "f", {}),))
    results = (ToolResultBlock("wrong", (TextBlock("1"),)), ToolResultBlock("right", (TextBlock("2"),)))
    repaired = repair([Message("user", (TextBlock("go"),)), call, Message("user", results)])
    assert repaired.messages[-1].content == (ToolResultBlock("right", (TextBlock("2"),)),)
    assert repaired.notes == ("a surplus result of 'wrong' was left out",)


def test_results_stand_in_the_order_of_the_calls_before_everything_else() -> None:
    calls = Message("assistant", (ToolUseBlock("a", "f", {}), ToolUseBlock("b", "f", {})))
    answer = Message("user", (TextBlock("by the way"), ToolResultBlock("b", ()), ToolResultBlock("a", ())))
    (*_, repaired) = repair([Message("user", (TextBlock("go"),)), calls, answer]).messages
    assert repaired.content == (ToolResultBlock("a", ()), ToolResultBlock("b", ()), TextBlock("by the way"))


def test_a_call_at_the_end_is_answered_as_interrupted() -> None:
    talk = [Message("user", (TextBlock("go"),)), Message("assistant", (ToolUseBlock("a", "f", {}),))]
    assert repair(talk).messages[-1] == Message(
        "user", (ToolResultBlock("a", (TextBlock(INTERRUPTED),), is_error=True),)
    )


def test_an_id_that_is_used_twice_is_told_apart_with_its_result() -> None:
    talk = [
        Message("user", (TextBlock("go"),)),
        Message("assistant", (ToolUseBlock("a", "f", {"n": 1}),)),
        Message("user", (ToolResultBlock("a", (TextBlock("one"),)),)),
        Message("assistant", (ToolUseBlock("a", "f", {"n": 2}),)),
        Message("user", (ToolResultBlock("a", (TextBlock("two"),)),)),
    ]
    repaired = repair(talk).messages
    assert repaired[3].content == (ToolUseBlock("a_2", "f", {"n": 2}),)
    assert repaired[4].content == (ToolResultBlock("a_2", (TextBlock("two"),)),)


def test_what_an_orphaned_result_says_is_kept_as_text() -> None:
    repaired = repair([Message("user", (ToolResultBlock("x", (TextBlock("42"),)),))])
    assert repaired.messages == (Message("user", (TextBlock("Tool result:\n42"),)),)


def test_a_conversation_begins_with_the_user() -> None:
    assert repair([Message("assistant", (TextBlock("hi"),))]).messages[0] == Message("user", (TextBlock(OPENING),))


def test_a_sound_conversation_comes_back_as_it_is() -> None:
    talk = (
        Message("user", (TextBlock("go"), TextBlock("<environment_details/>"))),
        Message("assistant", (TextBlock("ok"), ToolUseBlock("a", "f", {}), ToolUseBlock("b", "g", {}))),
        Message("user", (ToolResultBlock("a", ()), ToolResultBlock("b", ()), TextBlock("and?"))),
        Message("assistant", (TextBlock("done"),)),
    )
    repaired = repair(talk)
    assert repaired.messages == talk and repaired.notes == ()
    assert all(new is old for new, old in zip(repaired.messages, talk, strict=True))


@pytest.mark.parametrize("case", cases("roo/functions", fn="mergeConsecutiveApiMessages"), ids=lambda c: c["test"])
def test_neighbours_of_one_side_become_one_message(case: Any) -> None:
    assert merge_neighbours(map(message, case["args"][0])) == [message(data) for data in case["out"]]


@pytest.mark.property
@given(CONVERSATIONS)
def test_any_conversation_becomes_one_that_providers_take(talk: list[Message]) -> None:
    messages = repair(talk).messages
    seen: set[str] = set()
    waiting: list[str] = []
    for number, each in enumerate(messages):
        assert each.content and each.role == ("user", "assistant")[number % 2]
        assert all(block.text.strip() for block in each.content if isinstance(block, TextBlock))
        results = [block.tool_use_id for block in each.content if isinstance(block, ToolResultBlock)]
        assert results == waiting
        assert all(isinstance(block, ToolResultBlock) for block in each.content[: len(results)])
        waiting = [block.id for block in each.content if isinstance(block, ToolUseBlock)]
        if each.role == "user":
            assert not any(isinstance(block, ToolUseBlock) for block in each.content)
        assert "" not in waiting and len(set(waiting)) == len(waiting) and not seen & set(waiting)
        seen |= set(waiting)
    assert not waiting
    assert repair(messages).messages == messages
    assert repair(messages).notes == ()


@pytest.mark.property
@given(CONVERSATIONS)
def test_a_conversation_that_grew_is_repaired_like_one_that_came_at_once(talk: list[Message]) -> None:
    growing = Repairer()
    for length in (*range(len(talk) + 1), 1, len(talk)):
        assert growing(talk[:length]) == repair(talk[:length])
