"""Servers that others wrote to stand for a model: aimock in all three wire formats with its faults on, and llmock.

`make test` fetches them from npm; without them the tests skip.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from joey import protocols
from joey.chunks import Chunk
from joey.messages import Message, TextBlock
from joey.protocols import collect
from joey.providers import (
    Abilities,
    ContextTooLongError,
    CutStreamError,
    ModelRequest,
    NetworkError,
    OverloadedError,
    Provider,
    ProviderError,
    RateLimitError,
)
from joey.providers.anthropic import AnthropicProvider
from joey.providers.openai_chat import OpenAIProvider
from joey.providers.openai_responses import ResponsesProvider
from joey.testing import read
from joey.testing.script import summary
from joey.toolspec import ToolSpec

PACKAGES = Path(__file__).parents[1] / ".cache" / "models-npm" / "node_modules"
AIMOCK = PACKAGES / "@copilotkit" / "aimock" / "dist" / "cli.js"
LLMOCK = PACKAGES / "llmock" / "src" / "server.ts"
SPECS = tuple(ToolSpec(name, "", {"type": "object"}) for name in ("read_file", "list_files"))
WIRES = ("openai", "anthropic", "responses")
TEXT = "Hello, world: é😀 and more words, to be cut into pieces."
ARGUMENTS = {"path": "é.txt", "deep": [1, {"a": None}]}
FIXTURES: list[Any] = [
    {"match": {"userMessage": "say hello"}, "response": {"content": TEXT, "reasoning": "Let me think."}},
    {
        "match": {"userMessage": "call tools"},
        "response": {
            "content": "Look.",
            "toolCalls": [
                {"name": "read_file", "arguments": json.dumps(ARGUMENTS)},
                {"name": "list_files", "arguments": "{}"},
            ],
        },
    },
    {
        "match": {"userMessage": "break off"},
        "response": {"content": TEXT},
        "truncateAfterChunks": 3,
        "chunkSize": 5,
        "latency": 20,  # milliseconds, so that the pieces are sent before it breaks
    },
    {
        "match": {"userMessage": "too long"},
        "response": {
            "error": {"message": "prompt is too long: 213462 tokens > 200000 maximum", "type": "invalid_request_error"},
            "status": 400,
        },
    },
]


@contextmanager
def started(program: Path, *args: str, sign: str, folder: Path, env: Mapping[str, str] | None = None) -> Iterator[str]:
    """A server of node's, until the block ends: what it wrote up to the sign that it listens."""
    node = shutil.which("node")
    if node is None or not program.exists():
        pytest.skip(f"{program.name} of {program.parents[1].name} or node is not installed; `make test` fetches it")
    log = folder / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [node, *args], stdout=output, stderr=subprocess.STDOUT, cwd=folder, env={**os.environ, **(env or {})}
        )
    try:
        for _ in range(400):
            if re.search(sign, log.read_text(encoding="utf-8")):
                break
            assert process.poll() is None, log.read_text(encoding="utf-8")
            time.sleep(0.05)
        yield log.read_text(encoding="utf-8")
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def aimock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("aimock")
    (folder / "fixtures.json").write_text(json.dumps({"fixtures": FIXTURES}), encoding="utf-8")
    args = [str(AIMOCK), "-p", "0", "-f", "fixtures.json"]
    with started(AIMOCK, *args, sign=r"listening on \S+:\d+\n", folder=folder) as log:
        yield re.findall(r"listening on (\S+)", log)[0]


def opened(wire: str, url: str, *, streaming: bool = True) -> Provider:
    abilities = Abilities(streaming=streaming)
    if wire == "openai":
        return OpenAIProvider(base_url=f"{url}/v1", api_key="none", abilities=abilities, timeout=10)
    if wire == "responses":
        return ResponsesProvider(base_url=f"{url}/v1", api_key="none", abilities=abilities, timeout=10)
    return AnthropicProvider(base_url=url, api_key="none", abilities=abilities, timeout=10)


async def ask(provider: Provider, text: str) -> list[Chunk]:
    request = ModelRequest("m", (Message("user", (TextBlock(text),)),), tools=SPECS)
    try:
        return [chunk async for chunk in provider.stream(request)]
    finally:
        await provider.close()


@pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("wire", WIRES)
async def test_aimock_is_read_as_it_was_set_up(aimock: str, wire: str, streaming: bool) -> None:
    hello = summary(await ask(opened(wire, aimock, streaming=streaming), "say hello"))
    assert (hello["text"], hello["reasoning"], hello["stop"]) == (TEXT, "Let me think.", "end")
    chunks = await ask(opened(wire, aimock, streaming=streaming), "call tools")
    content = collect(read(protocols.get("native").parser(SPECS), chunks))
    assert [(call.name, call.arguments) for call in content.calls] == [("read_file", ARGUMENTS), ("list_files", {})]
    assert summary(chunks)["text"] == "Look." and summary(chunks)["stop"] == "tool_calls"


@pytest.mark.parametrize("wire", WIRES)
async def test_aimock_s_errors_are_understood(aimock: str, wire: str) -> None:
    with pytest.raises(ContextTooLongError, match="prompt is too long"):
        await ask(opened(wire, aimock), "too long")
    with pytest.raises(CutStreamError, match="broke off"):
        await ask(opened(wire, aimock), "break off")
    with pytest.raises(ProviderError) as unknown:
        await ask(opened(wire, aimock), "what nobody set up")
    assert unknown.value.status == 404


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("dropRate", OverloadedError),
        ("malformedRate", CutStreamError),
        ("disconnectRate", NetworkError),
        ("rateLimitRate", RateLimitError),
    ],
)
@pytest.mark.parametrize("wire", WIRES)
async def test_aimock_s_faults_become_errors_that_are_tried_again(
    aimock: str, wire: str, fault: str, error: type[ProviderError]
) -> None:
    _set_faults(aimock, {fault: 1})
    try:
        with pytest.raises(ProviderError) as caught:
            await ask(opened(wire, aimock), "say hello")
    finally:
        _set_faults(aimock, None)
    assert type(caught.value) is error and caught.value.retryable
    assert summary(await ask(opened(wire, aimock), "say hello"))["text"] == TEXT


def _set_faults(url: str, rates: Mapping[str, float] | None) -> None:
    method, body = ("DELETE", None) if rates is None else ("POST", json.dumps(rates).encode())
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/__aimock/chaos", body, headers, method=method)
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10) as answer:
        assert answer.status < 300


@pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "whole"])
async def test_llmock_is_read(tmp_path: Path, streaming: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    env = {
        "SERVER_PORT": str(port),
        "SERVER_HOST": "127.0.0.1",
        "LLM_URL_ENDPOINT": "v1/chat/completions",
        "MOCK_LLM_RESPONSE_TYPE": "lorem",
        "RESPONSE_DELAY_MAX": "1",
        "VALIDATE_REQUESTS": "OFF",
        "STREAM": str(streaming).lower(),
        "HOME": str(tmp_path),
    }
    tsx = PACKAGES / "tsx" / "dist" / "esm" / "index.mjs"
    args = ["--import", str(tsx), str(LLMOCK)]
    with started(LLMOCK, *args, sign="UP AND RUNNING", folder=tmp_path, env=env):
        found = summary(await ask(opened("openai", f"http://127.0.0.1:{port}", streaming=streaming), "hello"))
    assert found["text"].endswith(".") and found["stop"] == "end"
