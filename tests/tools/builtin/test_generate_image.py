"""Images from an endpoint, which here is a real HTTP server that sends what the test says."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from image_kit import made
from joey.actions import ReadPath, WritePath
from joey.messages import ImageBlock, ToolResult
from joey.tools.base import ToolContext
from joey.tools.builtin.generate_image import GenerateImage, GenerateImageParams
from joey.tools.images import ImageEndpoint
from pages_kit import Page, Pages

PNG, JPEG = made(64, 32), made(64, 32, "JPEG")
JSON = {"Content-Type": "application/json"}
GENERATE, EDIT = "/v1/images/generations", "/v1/images/edits"


def sends(data: bytes | str, status: int = 200) -> Page:
    text = base64.b64encode(data).decode() if isinstance(data, bytes) else data
    return Page(json.dumps({"created": 1, "data": [{"b64_json": text}]}), status, JSON)


def answers(body: Any, status: int = 200) -> Page:
    return Page(json.dumps(body), status, JSON)


async def generate(
    context: ToolContext, page: Page, *, path: str = "art.png", model: str = "sd", **options: Any
) -> tuple[ToolResult, Pages]:
    async with Pages({GENERATE: page, EDIT: page}) as server:
        tool = GenerateImage(ImageEndpoint(model, f"{server.url}/v1", "k", 10.0), sees_images=True)
        return await tool.run(GenerateImageParams(prompt="a kangaroo", path=path, **options), context), server


async def test_the_image_is_written_shown_and_reported(context: ToolContext) -> None:
    result, server = await generate(context, sends(PNG), path="assets/icons/roo.png")
    assert result.text == "Wrote the image to assets/icons/roo.png (image/png, 64x32, 0 KB)."
    assert (context.workspace / "assets/icons/roo.png").read_bytes() == PNG
    assert isinstance(result.content[-1], ImageBlock)
    body = json.loads(server.bodies[0])
    assert body == {"model": "sd", "prompt": "a kangaroo", "response_format": "b64_json"}


async def test_models_that_choose_a_format_get_it_named(context: ToolContext) -> None:
    _, server = await generate(context, sends(JPEG), path="a.jpg", model="gpt-image-2")
    assert json.loads(server.bodies[0]) == {"model": "gpt-image-2", "prompt": "a kangaroo", "output_format": "jpeg"}


@pytest.mark.parametrize(
    ("path", "data", "written"),
    [
        ("roo", PNG, "roo.png"),
        ("roo.v2", PNG, "roo.v2.png"),
        ("roo.png", JPEG, "roo.jpg"),
        ("roo.jpeg", JPEG, "roo.jpeg"),
        ("roo.JPG", PNG, "roo.png"),
        ("roo.webp", made(8, 8, "GIF"), "roo.gif"),
    ],
)
async def test_the_ending_is_that_of_what_came(context: ToolContext, path: str, data: bytes, written: str) -> None:
    result, _ = await generate(context, sends(data), path=path)
    assert f"Wrote the image to {written} " in result.text
    assert [each.name for each in context.workspace.iterdir()] == [written]
    tool = GenerateImage(ImageEndpoint("m", "http://x"))
    actions = tool.actions(GenerateImageParams(prompt="x", path=path), context)
    assert WritePath(written, "modify") in actions, "what is written is what leave was asked for"


async def test_an_original_goes_with_the_prompt(context: ToolContext) -> None:
    (context.workspace / "old.png").write_bytes(PNG)
    result, server = await generate(context, sends(PNG), image="old.png")
    assert not result.is_error and server.requested[0].endswith(EDIT)
    assert 'filename="old.png"' in server.bodies[0] and "image/png" in server.bodies[0]
    tool = GenerateImage(ImageEndpoint("m", "http://x"))
    assert ReadPath("old.png") in tool.actions(GenerateImageParams(prompt="x", path="a", image="old.png"), context)


REFUSED = {"error": {"message": "Rejected by our safety system.", "code": "moderation_blocked", "type": "x"}}


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        (answers(REFUSED, 400), "refused the prompt: Rejected by our safety system. Describe something else"),
        (answers({"error": {"message": "bad key"}}, 401), "did not accept the key: bad key"),
        (answers({"error": {"message": "no such model"}}, 404), "answered with HTTP 404: no such model"),
        (sends("%%%"), "is no base64"),
        (sends(b"<html>not an image"), "no image of a kind that is known"),
        (answers({"data": [{"url": "http://127.0.0.1:1/a.png"}]}), "an address instead of the image"),
        (answers({"data": []}), "answered without an image"),
        (answers(["what"]), "answered without an image"),
        (Page("<h1>Hello", 200), "did not answer in JSON"),
        (Page("[" * 90_000, 200, JSON), "did not answer in JSON"),
        (Page("[" + "[]," * 200_000 + "[]]", 200, JSON), "something else than an image"),
        (Page("x" * (64 * 1024 * 1024 + 1), 200, JSON), "sent more than 64 MB"),
    ],
)
async def test_a_failure_is_reported_and_nothing_is_written(context: ToolContext, page: Page, problem: str) -> None:
    result, _ = await generate(context, page)
    assert result.is_error and problem in result.text
    assert list(context.workspace.iterdir()) == []


async def test_an_image_inside_a_data_address_is_one(context: ToolContext) -> None:
    url = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    result, _ = await generate(context, answers({"data": [{"url": url}]}))
    assert not result.is_error


async def test_an_endpoint_that_is_not_there_is_reported(context: ToolContext) -> None:
    tool = GenerateImage(ImageEndpoint("m", "http://127.0.0.1:9/v1", None, 5.0))
    result = await tool.run(GenerateImageParams(prompt="x", path="a.png"), context)
    assert result.is_error and "cannot be reached" in result.text


@pytest.mark.parametrize(
    ("endpoint", "arguments", "problem"),
    [
        (ImageEndpoint("gpt-image-2"), {"path": "a.png"}, "no key is set for the image endpoint"),
        (None, {"path": "a.png"}, "no key is set for the image endpoint"),
        (ImageEndpoint("m", "http://x"), {"path": "../a.png"}, "outside the workspace"),
        (ImageEndpoint("m", "http://x"), {"path": "/tmp/a.png"}, "outside the workspace"),
        (ImageEndpoint("m", "http://x"), {"path": "secret/a.png"}, "hidden by an ignore file"),
        (ImageEndpoint("m", "http://x"), {"path": "a\0.png"}, "NUL"),
        (ImageEndpoint("m", "http://x"), {"path": "a.png", "image": "none.png"}, "there is no none.png"),
        (ImageEndpoint("m", "http://x"), {"path": "a.png", "image": "words.png"}, "words.png is no image"),
    ],
)
async def test_a_call_that_cannot_work_is_refused_before_anybody_is_prompted(
    tmp_path: Path, endpoint: ImageEndpoint | None, arguments: dict[str, str], problem: str
) -> None:
    (tmp_path / "words.png").write_text("hello")
    context = ToolContext(tmp_path, tmp_path / "storage", ignored=lambda path: "secret" in Path(path).parts)
    plan = await GenerateImage(endpoint).plan(GenerateImageParams(prompt="x", **arguments), context)
    assert plan.refusal is not None and problem in plan.refusal.text


async def test_a_folder_in_the_way_is_reported_after_the_image_came(context: ToolContext) -> None:
    (context.workspace / "art.png").mkdir()
    result, _ = await generate(context, sends(PNG))
    assert result.is_error and "art.png is a folder" in result.text
