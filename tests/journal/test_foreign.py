from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from joey.errors import UsageError
from joey.journal.copies import branch
from joey.journal.foreign import read_foreign_task
from joey.journal.markdown import as_markdown
from joey.journal.records import MessageAdded, Record, TaskEnded, TaskOpened, TurnEnded
from joey.journal.replay import TaskState, replay
from joey.messages import ImageBlock, Message, ReasoningBlock, TextBlock, ToolResultBlock, ToolUseBlock
from joey.usage import Usage


def folder(tmp_path: Path, messages: Any, item: Any = None) -> Path:
    (tmp_path / "api_conversation_history.json").write_text(json.dumps(messages))
    if item is not None:
        (tmp_path / "history_item.json").write_text(json.dumps(item))
    return tmp_path


def imported(path: Path) -> TaskState:
    return replay(read_foreign_task(path, "new", path, "m"))


NATIVE = [
    {"role": "user", "content": [{"type": "text", "text": "<task>\nadd a test\n</task>"}], "ts": 1},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "Reading."},
            {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "a"}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "the file"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}},
        ],
    },
]


def test_a_native_task_goes_on_natively(tmp_path: Path) -> None:
    state = imported(folder(tmp_path, NATIVE, {"task": "add a test", "mode": "debug", "workspace": str(tmp_path)}))
    assert state.opened == TaskOpened("new", "add a test", str(tmp_path), "debug", "m", "native")
    assert state.messages[1].content == (
        ReasoningBlock("hm", "s"),
        TextBlock("Reading."),
        ToolUseBlock("toolu_1", "read_file", {"path": "a"}),
    )
    assert state.messages[2].content == (
        ToolResultBlock("toolu_1", (TextBlock("the file"),)),
        ImageBlock("image/png", "AA=="),
    )


def test_a_task_of_xml_tags_goes_on_in_xml(tmp_path: Path) -> None:
    state = imported(
        folder(
            tmp_path,
            [
                {"role": "user", "content": "<task>do it</task>"},
                {"role": "assistant", "content": "Sure.\n<read_file>\n<path>a</path>\n</read_file>"},
                {"role": "user", "content": [{"type": "text", "text": "[read_file for 'a'] Result:"}]},
            ],
        )
    )
    assert state.opened is not None
    assert (state.opened.protocol, state.opened.text) == ("xml", "do it")


def test_what_was_compacted_stays_hidden_and_the_summary_stands_for_it(tmp_path: Path) -> None:
    state = imported(
        folder(
            tmp_path,
            [
                {"role": "user", "content": "old", "condenseParent": "c"},
                {"role": "assistant", "content": "old too", "condenseParent": "c"},
                {"role": "user", "content": "in short", "isSummary": True, "condenseId": "c"},
                {"role": "assistant", "content": "orphan", "condenseParent": "gone"},
            ],
        )
    )
    assistant = [block.text for message in state.messages for block in message.content if isinstance(block, TextBlock)]
    assert assistant == ["in short", "orphan"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "is not JSON"),
        ("{}", "must hold a JSON array"),
        ("[]", "has no messages"),
        ('[1, {"role": "x"}]', "no messages"),
    ],
)
def test_a_folder_that_is_no_task_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "api_conversation_history.json").write_text(text)
    with pytest.raises(UsageError, match=complaint):
        read_foreign_task(tmp_path, "new", tmp_path, "m")
    with pytest.raises(UsageError, match="cannot read"):
        read_foreign_task(tmp_path / "nowhere", "new", tmp_path, "m")


def assistant(text: str) -> MessageAdded:
    return MessageAdded(Message("assistant", (TextBlock(text),)))


def user(text: str) -> MessageAdded:
    return MessageAdded(Message("user", (TextBlock(text),)))


RECORDS: list[Record] = [
    TaskOpened("old", "count", "/w", "code", "m", "native", "parent", "call"),
    user("count"),
    assistant("one"),
    TurnEnded(Usage(1)),
    user("go on"),
    assistant("two"),
    TurnEnded(Usage(1)),
    TaskEnded("completed", "two"),
]


def test_a_branch_shares_the_beginning_and_is_nobodys_child() -> None:
    state = replay(branch(RECORDS, 1, "new"))
    assert state.opened == TaskOpened("new", "count", "/w", "code", "m", "native")
    assert [message.role for message in state.messages] == ["user", "assistant", "user"]
    assert state.ended is None
    assert state.spending.turns == 1


def test_a_branch_of_nothing_has_only_the_task() -> None:
    assert len(replay(branch(RECORDS, 0, "new")).messages) == 1


def test_a_branch_beyond_the_end_is_refused() -> None:
    with pytest.raises(UsageError, match="only 2 turns"):
        branch(RECORDS, 3, "new")


def test_markdown_fences_what_holds_fences() -> None:
    result = ToolResultBlock("c", (TextBlock("```\nx\n```"),), is_error=True)
    page = as_markdown(replay([RECORDS[0], MessageAdded(Message("user", (result, ImageBlock("image/png", ""))))]))
    assert "**Error**\n````\n```\nx\n```\n````" in page.replace("\n\n", "\n")
    assert "[an image, image/png]" in page
    assert page.startswith("# count")


def test_the_title_of_a_markdown_page_is_one_line_of_at_most_80_characters() -> None:
    opened = TaskOpened("t1", "count\nall " + "x" * 100, "/folder", "code", "native", "anthropic/m")
    assert as_markdown(replay([opened])).splitlines()[0] == "# count all " + "x" * 70


def test_markdown_has_arguments_as_they_were_written() -> None:
    call = ToolUseBlock("c", "write_to_file", {"path": "Köln.txt", "content": "日本"})
    page = as_markdown(replay([RECORDS[0], MessageAdded(Message("assistant", (call,)))]))
    assert '**write_to_file**\n```json\n{\n  "path": "Köln.txt",\n  "content": "日本"\n}\n```' in page.replace(
        "\n\n", "\n"
    )
