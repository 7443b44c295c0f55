"""What is too long or no JSON is refused at once, whoever else is being answered."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from gateway_kit import PATHS, TEXT_ONLY, client_of, events_of, request_body, upstream, whole
from joey.gateway import Gateway, GatewayOptions, Upstream
from joey.gateway.http import AsgiMessage
from joey.messages import TextBlock
from joey.protocols import get
from joey.providers import ModelRequest
from joey.testing import Faults, ScriptedProvider, reply

WIRES = tuple(PATHS)


class _Counting(ScriptedProvider):
    """A model whose server counts a token for each word."""

    counted = 0

    async def count_tokens(self, request: ModelRequest) -> int | None:
        self.counted += 1
        blocks = [block for message in request.messages for block in message.content]
        return sum(len(block.text.split()) for block in blocks if isinstance(block, TextBlock))


def counting(*answers: Any, **fields: Any) -> Upstream:
    provider = _Counting([reply(answer) if isinstance(answer, str) else answer for answer in answers])
    return Upstream(provider, "m", get("json_mix"), "m", window=4000, **fields)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("wire", WIRES)
async def test_what_is_too_long_is_refused_before_it_waits(wire: str, stream: bool) -> None:
    model = counting(reply("One.", faults=Faults(latency=0.6)), slots=1)
    async with client_of(model) as client:
        first = asyncio.create_task(client.post(PATHS["chat"], json=request_body("chat")))
        await asyncio.sleep(0.1)
        began = time.monotonic()
        body = request_body(wire, words="a b " * 3000, stream=stream)
        got = await client.post(PATHS[wire], json=body)
        assert time.monotonic() - began < 0.4
        assert whole("chat", (await first).json()).text == "One."
    assert got.status_code == 400 and "prompt is too long: 6000 tokens > 4000 maximum" in got.json()["error"]["message"]


async def test_a_prompt_that_is_many_times_too_long_is_not_counted() -> None:
    model = counting()
    async with client_of(model) as client:
        got = await client.post(PATHS["messages"], json=request_body("messages", words="a b " * 60_000))
    assert got.status_code == 400 and "prompt is too long" in got.json()["error"]["message"]
    assert isinstance(model.provider, _Counting) and model.provider.counted == 0


async def test_a_stream_that_begins_in_line_says_how_long_the_prompt_is() -> None:
    model = upstream(reply("One.", faults=Faults(latency=0.3)), "Two.", slots=1)
    async with client_of(model, keep_alive=0.05) as client:
        first = asyncio.create_task(client.post(PATHS["chat"], json=request_body("chat")))
        await asyncio.sleep(0.05)
        got = await client.post(PATHS["messages"], json=request_body("messages", stream=True))
        await first
    assert b": waiting" in got.content
    assert events_of(got.content)[0][1]["message"]["usage"]["input_tokens"] > 100


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("wire", WIRES)
async def test_an_answer_that_could_not_begin_in_time_is_an_error_with_its_head(wire: str, stream: bool) -> None:
    """The client read nothing: an answer before this one on its connection fills the way to it."""
    sent: list[AsgiMessage] = []
    parts = [{"type": "http.request", "body": json.dumps(request_body(wire, stream=stream)).encode()}]
    is_stuck = True

    async def receive() -> AsgiMessage:
        if not parts:
            await asyncio.Event().wait()
        return parts.pop()

    async def send(message: AsgiMessage) -> None:
        nonlocal is_stuck
        if is_stuck:
            is_stuck = False
            await asyncio.Event().wait()
        sent.append(message)

    application = Gateway([upstream("Ok.")], GatewayOptions(max_seconds=0.2)).application()
    scope = {"type": "http", "method": "POST", "path": PATHS[wire], "headers": [(b"host", b"localhost")]}
    await application(scope, receive, send)
    begin, body = sent
    assert (begin["type"], begin["status"]) == ("http.response.start", 504)
    assert "did not finish within" in json.loads(body["body"])["error"]["message"]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
async def test_words_that_are_no_json_are_refused(wire: str, word: str) -> None:
    async with client_of(Upstream(ScriptedProvider([], abilities=TEXT_ONLY), "m", get("json_mix"), "m")) as client:
        got = await client.post(PATHS[wire], content=f'{{"model": "m", "seed": {word}}}')
    assert got.status_code == 400 and word in got.json()["error"]["message"]


@pytest.mark.parametrize("wire", WIRES)
async def test_a_compressed_body_is_refused_by_that_name(wire: str) -> None:
    async with client_of(upstream("Ok.", "Ok.")) as client:
        for coding, status in (("gzip", 400), ("zstd", 400), ("identity", 200)):
            got = await client.post(PATHS[wire], json=request_body(wire), headers={"content-encoding": coding})
            assert got.status_code == status and (status == 200 or coding in got.json()["error"]["message"])


@pytest.mark.parametrize("depth", [100, 480, 700, 940, 960, 980, 5000])
async def test_what_is_nested_too_deeply_is_the_fault_of_the_request(depth: int) -> None:
    deep = '{"a":' * depth + "1" + "}" * depth
    schema = f'{{"type": "object", "properties": {{"a": {{"enum": [{deep}]}}}}}}'
    call = f'{{"role": "assistant", "content": [{{"type": "tool_use", "id": "1", "name": "t", "input": {deep}}}]}}'
    end = '"max_tokens": 9, "messages": [{"role": "user", "content": "x"}'
    for body in (
        f'{{"tools": [{{"name": "t", "input_schema": {schema}}}], {end}]}}',
        f"{{{end}, {call}]}}",
    ):
        async with client_of(upstream("Ok.")) as client:
            for path in (PATHS["messages"], "/v1/messages/count_tokens"):
                got = await client.post(path, content=body)
                assert got.status_code in (200, 400), got.text
                assert got.status_code == (200 if depth == 100 else 400 if depth == 5000 else got.status_code)
