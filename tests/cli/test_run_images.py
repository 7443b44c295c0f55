"""`joey run` with images: attached and sized for the model, and made by an endpoint."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from image_kit import block, made, size
from joey.app.tasks import attached
from joey.errors import UsageError
from joey.messages import ToolUseBlock
from joey.testing.script import reply
from joey.testing.server import LocalServer
from pages_kit import Page, Pages
from task_kit import Kit

DONE = reply(ToolUseBlock("d", "attempt_completion", {"result": "Done."}))
PNG = made(64, 32)


async def run(folder: Path, server: LocalServer, *args: str, **environment: str) -> tuple[int, str, str]:
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "ANTHROPIC_API_KEY": "k", **environment}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "joey", "run", *args, "--base-url", server.anthropic_url,
        cwd=folder / "project", env=env, stdin=asyncio.subprocess.DEVNULL, stdout=-1, stderr=-1,
    )  # fmt: skip
    out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


def images_in(body: Any) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for message in body["messages"]:
        for part in message["content"] if isinstance(message["content"], list) else ():
            inner = part["content"] if part["type"] == "tool_result" and isinstance(part["content"], list) else [part]
            found += [size(block(base64.b64decode(one["source"]["data"]))) for one in inner if one["type"] == "image"]
    return found


async def test_an_attached_and_a_mentioned_image_are_sent_as_large_as_the_model_looks_at(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "screen.png").write_bytes(made(3840, 2160))
    (tmp_path / "project" / "photo.dat").write_bytes(made(4000, 1000, "JPEG"))
    async with LocalServer([DONE]) as server:
        model = ["--model", "anthropic/claude-scripted"]
        code, _, err = await run(tmp_path, server, "what is on @screen.png?", "--attach", "photo.dat", *model)
        assert code == 0, err
        assert sorted(images_in(server.requests[0].body)) == [(1568, 392), (1568, 882)]


async def test_an_attachment_that_cannot_be_sent_is_an_error_before_anything_is_sent(tmp_path: Path) -> None:
    (tmp_path / "broken.png").write_bytes(made(3000, 2000)[:500])
    (tmp_path / "words.png").write_text("hello")
    model = Kit(tmp_path, []).config.model
    with pytest.raises(UsageError, match=r"broken.png: Left out here: an image \(image/png, 3000x2000"):
        await attached(tmp_path / "broken.png", model)
    with pytest.raises(UsageError, match=r"words.png is not an image that models accept"):
        await attached(tmp_path / "words.png", model)
    with pytest.raises(UsageError, match=r"o1-mini does not accept images"):
        await attached(tmp_path / "words.png", replace(model, name="o1-mini"))


async def test_an_image_is_made_only_with_the_approval_of_a_write_and_can_be_undone(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "roo.png").write_bytes(b"the old one")
    image = json.dumps({"data": [{"b64_json": base64.b64encode(PNG).decode()}]})
    config = tmp_path / ".config" / "joey" / "config.toml"
    config.parent.mkdir(parents=True)
    call = reply(ToolUseBlock("g", "generate_image", {"prompt": "a kangaroo", "path": "roo.png"}))
    async with (
        Pages({"/v1/images/generations": Page(image, headers={"Content-Type": "application/json"})}) as endpoint,
        LocalServer([call, DONE, call, DONE]) as server,
    ):
        config.write_text(f'[images]\nmodel = "sd"\nbase_url = "{endpoint.url}/v1"\n')
        model = ["draw", "--model", "anthropic/claude-scripted"]
        _, _, err = await run(tmp_path, server, *model)
        assert endpoint.requested == [] and (tmp_path / "project" / "roo.png").read_bytes() == b"the old one", err
        code, _, err = await run(tmp_path, server, *model, "--approve", "edits", JOEY_IMAGES_API_KEY="k")
        assert code == 0 and (tmp_path / "project" / "roo.png").read_bytes() == PNG, err
    first, *_, last = [request.body for request in server.requests]
    assert "generate_image" in [tool["name"] for tool in first["tools"]]
    assert "Wrote the image to roo.png" in json.dumps(last) and images_in(last) == [(64, 32)]
    undo = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "joey", "checkpoints", "undo", "--yes", stdout=-1, cwd=tmp_path / "project",
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
    )  # fmt: skip
    await undo.communicate()
    assert (tmp_path / "project" / "roo.png").read_bytes() == b"the old one"
