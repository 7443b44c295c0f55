from __future__ import annotations

import base64
import re
from typing import Any

import pytest

from joey.mcp import results
from joey.mcp.results import LIMIT, call_result, resource_result
from joey.messages import ImageBlock
from joey.tools.base import ToolContext
from joey.tools.builtin.read_command_output import ReadCommandOutput, ReadCommandOutputParams

PIXEL = base64.b64encode(b"not really an image").decode()


def text_of(context: ToolContext, **answer: Any) -> str:
    return call_result(answer, "s/t", context).text


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def test_texts_are_joined_by_blank_lines(context: ToolContext) -> None:
    assert text_of(context, content=[text("one"), text("two")]) == "one\n\ntwo"


def test_an_empty_answer_is_reported_as_empty(context: ToolContext) -> None:
    assert text_of(context, content=[]) == "(No response)"
    assert resource_result({"contents": []}, "s r", context).text == "(Empty response)"


def test_an_error_is_an_error(context: ToolContext) -> None:
    result = call_result({"content": [text("no such table")], "isError": True}, "s/t", context)
    assert result.is_error and result.text == "Error:\nno such table"


def test_images_reach_the_model(context: ToolContext) -> None:
    image = {"type": "image", "mimeType": "image/png", "data": PIXEL}
    result = call_result({"content": [image]}, "s/t", context)
    assert result.content[1:] == (ImageBlock("image/png", PIXEL),) and "No response" not in result.text


def test_sound_and_other_bytes_are_kept_as_files(context: ToolContext) -> None:
    audio = {"type": "audio", "mimeType": "audio/wav", "data": PIXEL}
    blob = {"type": "resource", "resource": {"uri": "x://y", "mimeType": "application/zip", "blob": PIXEL}}
    text = text_of(context, content=[audio, blob])
    paths = re.findall(r"kept in (\S+)\]", text)
    assert len(paths) == 2 and "Resource x://y:" in text
    assert sorted(path.read_bytes() for path in (context.storage / "mcp").iterdir()) == [b"not really an image"] * 2


def test_bytes_that_are_none_are_named(context: ToolContext) -> None:
    assert "is not base64" in text_of(context, content=[{"type": "audio", "mimeType": "audio/wav", "data": "%%"}])


def test_resources_and_links_say_where_they_come_from(context: ToolContext) -> None:
    embedded = {"type": "resource", "resource": {"uri": "a://b", "text": "inside"}}
    link = {"type": "resource_link", "uri": "a://c", "name": "see", "description": "more of it"}
    text = text_of(context, content=[embedded, link])
    assert "Resource a://b:\n\ninside" in text and "see (a://c): more of it. access_mcp_resource reads it." in text


@pytest.mark.parametrize(
    ("content", "structured", "expected"),
    [
        ([], {"n": 1}, '{\n  "n": 1\n}'),
        ([text('{"n":1}')], {"n": 1}, '{"n":1}'),
        ([text("3")], {"result": 3}, "3"),
        ([text("plain")], {"content": "plain"}, "plain"),
        ([text("1")], {"n": True}, '1\n\n{\n  "n": true\n}'),
        ([text("one thing")], {"n": 1}, 'one thing\n\n{\n  "n": 1\n}'),
    ],
)
def test_structured_data_is_reported_once(context: ToolContext, content: Any, structured: Any, expected: str) -> None:
    assert text_of(context, content=content, structuredContent=structured) == expected


def test_what_nobody_knows_is_shown_as_it_came(context: ToolContext) -> None:
    assert '"type": "hologram"' in text_of(context, content=[{"type": "hologram", "x": 1}])


async def test_a_long_answer_is_kept_whole_and_can_be_read_on(context: ToolContext) -> None:
    whole = "".join(f"line {number} é\n" for number in range(20_000))
    result = call_result({"content": [text(whole)]}, "db/query", context)
    assert len(result.text.encode()) < LIMIT + 1_000 and "bytes omitted" in result.text
    found = re.search(r"Artifact ID: (\S+)", result.text)
    assert found
    assert (context.storage / "commands" / found[1]).read_text() == whole
    page = await ReadCommandOutput().run(ReadCommandOutputParams(artifact_id=found[1], search="line 19999 "), context)
    assert "Command: db/query" in page.text and "line 19999 é" in page.text


def test_too_many_images_are_counted_not_sent(context: ToolContext) -> None:
    image = {"type": "image", "mimeType": "image/png", "data": PIXEL}
    result = call_result({"content": [image] * 25}, "s/t", context)
    assert len(result.content) == 1 + results._MAX_IMAGES and "5 more images" in result.text
