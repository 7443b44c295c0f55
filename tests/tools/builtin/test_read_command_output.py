from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joey.messages import ToolResult
from joey.tools.base import ToolContext
from joey.tools.builtin.read_command_output import ReadCommandOutput, ReadCommandOutputParams
from joey.tools.shell.artifacts import read_page


def keep(context: ToolContext, name: str, text: str) -> None:
    folder = context.storage / "commands"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


async def read(context: ToolContext, **arguments: Any) -> ToolResult:
    params = ReadCommandOutputParams(**{"artifact_id": "cmd-1.txt", **arguments})
    return await ReadCommandOutput().run(params, context)


async def test_a_short_output_is_shown_whole(context: ToolContext) -> None:
    keep(context, "cmd-1.txt", "one\ntwo\n")
    assert (await read(context)).text == (
        "[Command Output: cmd-1.txt]\nTotal size: 8 bytes | Showing bytes 0-8 | COMPLETE\n\n    1 | one\n    2 | two"
    )


async def test_a_page_says_where_the_next_one_begins(context: ToolContext) -> None:
    keep(context, "cmd-1.txt", "".join(f"line {number}\n" for number in range(10_000)))
    assert "Showing bytes 0-40960 | TRUNCATED\nTo read on, use offset=40960." in (await read(context)).text
    first = (await read(context, limit=1000)).text.splitlines()[-1].partition(" | ")
    second = (await read(context, offset=1000, limit=50)).text.splitlines()[4].partition(" | ")
    assert first[0] == second[0]  # the page ended inside a line: the same number goes on
    assert first[2] + second[2] == "line 123"


async def test_characters_are_not_split(context: ToolContext) -> None:
    keep(context, "cmd-1.txt", "é" * 100)
    text = (await read(context, offset=3, limit=4)).text
    assert "Showing bytes 2-6" in text and text.endswith("1 | éé")


async def test_an_empty_output_is_no_error(context: ToolContext) -> None:
    keep(context, "cmd-1.txt", "")
    result = await read(context)
    assert not result.is_error and result.text.endswith("(no output)")


async def test_an_offset_beyond_the_end_is_an_error_but_not_in_a_search(context: ToolContext) -> None:
    keep(context, "cmd-1.txt", "abc\n")
    result = await read(context, offset=4)
    assert result.is_error and "offset 4 is beyond the end of cmd-1.txt, which has 4 bytes" in result.text
    assert "    1 | abc" in (await read(context, offset=99, search="b")).text


async def test_a_search_shows_matching_lines_in_any_case(context: ToolContext) -> None:
    keep(context, "cmd-1.txt", "ok\nERROR: one\nok\nerror: two\n")
    assert (await read(context, search="error: \\w")).text == (
        '[Command Output: cmd-1.txt]\nSearch: "error: \\w"\nTotal matches: 2\n\n    2 | ERROR: one\n    4 | error: two'
    )


async def test_what_is_no_expression_is_searched_for_literally(context: ToolContext) -> None:
    keep(context, "cmd-1.txt", "f(x\ng\n")
    assert "    1 | f(x" in (await read(context, search="f(")).text


async def test_a_search_without_matches_says_so(context: ToolContext) -> None:
    keep(context, "cmd-1.txt", "x\n")
    result = await read(context, search="y")
    assert not result.is_error and "No matches found." in result.text


async def test_a_search_stops_at_its_limit(context: ToolContext) -> None:
    keep(context, "cmd-1.txt", "match\n" * 1000)
    assert "Showing the first 10 matches; there are more." in (await read(context, search="match", limit=60)).text


async def test_a_pattern_that_would_take_forever_elsewhere_is_no_trouble(context: ToolContext) -> None:
    keep(context, "cmd-1.txt", "a" * 50_000 + "\n")
    assert "No matches" in (await read(context, search="(a+)+$b")).text


@pytest.mark.parametrize(
    "artifact_id", ["cmd-9.txt", "../cmd-1.txt", "cmd-x.txt", "", "cmd-1.json", "a\0b", "cmd-1.txt/"]
)
async def test_an_unknown_id_lists_the_known_ones(context: ToolContext, artifact_id: str) -> None:
    keep(context, "cmd-1.txt", "x")
    result = await read(context, artifact_id=artifact_id)
    assert result.is_error and "Kept outputs: cmd-1.txt." in result.text


async def test_the_suffix_may_be_left_out(context: ToolContext) -> None:
    keep(context, "cmd-1.txt", "x")
    assert not (await read(context, artifact_id="cmd-1")).is_error


async def test_nothing_kept_is_reported(context: ToolContext) -> None:
    assert "No output has been kept" in (await read(context)).text


async def test_a_command_whose_end_nobody_saw_is_reported_as_unknown(context: ToolContext) -> None:
    keep(context, "cmd-1.txt", "x")
    keep(context, "cmd-1.json", '{"command": "make", "cwd": "/", "exit_code": null}')
    assert "Command: make\nStatus: unknown; Joey was stopped before the command ended" in (await read(context)).text


@pytest.mark.property
@given(st.text(min_size=1), st.integers(1, 20))
def test_pages_put_together_are_the_whole(tmp_path_factory: Any, text: str, limit: int) -> None:
    path: Path = tmp_path_factory.mktemp("pages") / "cmd-1.txt"
    data = text.encode("utf-8", "replace")
    path.write_bytes(data)
    pieces, offset = [], 0
    while offset < len(data):
        page = read_page(path, offset, limit)
        assert page.start == offset
        assert page.end > offset
        pieces.append(page.text)
        offset = page.end
    assert "".join(pieces) == data.decode()
