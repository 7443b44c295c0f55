"""The gateway as a server: who may use it, what it refuses, and what happens when something breaks."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import pytest

from gateway_kit import (
    PATHS,
    TEXT_ONLY,
    call_text,
    client_of,
    events_of,
    request_body,
    requests_of,
    streamed,
    upstream,
    whole,
)
from joey.gateway import Guard, Upstream
from joey.gateway.http import AsgiMessage, HeldBytes, HttpCall, Receive
from joey.gateway.refusal import Refusal
from joey.gateway.routing import Routing, WaitingLine
from joey.protocols import get
from joey.providers.openai_chat import OpenAIProvider
from joey.testing import Failure, Faults, LocalServer, RawAnswer, Scripted, reply

WIRES = tuple(PATHS)


# What is there


async def test_the_list_of_models_has_both_shapes() -> None:
    async with client_of(upstream()) as client:
        for path in ("/v1/models", "/models"):
            listed = (await client.get(path)).json()
            assert listed["object"] == "list" and listed["has_more"] is False and listed["models"] == []
            assert [each["id"] for each in listed["data"]] == ["m", "claude-m"]
            assert all(each["object"] == each["type"] == "model" for each in listed["data"])
        assert (await client.get("/v1/models/m")).json()["id"] == "m"
        assert (await client.get("/v1/models/other")).status_code == 404


async def test_paths_work_without_the_version_and_head_is_always_answered() -> None:
    async with client_of(upstream("Ok.", "Ok.")) as client:
        for wire in ("chat", "messages"):
            path = PATHS[wire].removeprefix("/v1")
            assert (await client.post(f"{path}?beta=true", json=request_body(wire))).status_code == 200
        assert (await client.head("/api/hello")).status_code == 200
        assert (await client.get("/health")).json() == {"status": "ok"}
        assert (await client.get("/v1/unknown")).json()["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize("path", ["//v1/messages", "/v1/v1/messages", "/v1/messages/", "/v1//messages"])
async def test_a_base_address_may_have_a_slash_or_a_version_too_many(path: str) -> None:
    async with client_of(upstream("Ok.")) as client:
        url = httpx2.URL("http://localhost").copy_with(raw_path=path.encode())
        assert (await client.post(url, json=request_body("messages"))).status_code == 200


async def test_tokens_are_counted_for_messages() -> None:
    async with client_of(upstream()) as client:
        short = await client.post("/v1/messages/count_tokens", json=request_body("messages"))
        long = await client.post(
            "/v1/messages/count_tokens?beta=true", json=request_body("messages", words="a b " * 99)
        )
    assert 0 < short.json()["input_tokens"] < long.json()["input_tokens"]


# Who may


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "127.0.0.1:8000"}, 200),
        ({"host": "[::1]:8000"}, 200),
        ({"host": "evil.example"}, 403),
        ({"host": "localhost", "origin": "http://localhost"}, 200),
        ({"host": "localhost", "origin": "http://evil.example"}, 403),
        ({"host": "localhost", "origin": "null"}, 403),
        ({"host": "localhost", "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
        ({"host": "localhost", "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, 200),
    ],
)
async def test_on_loopback_no_page_from_elsewhere_gets_in(headers: dict[str, str], status: int) -> None:
    async with client_of(upstream()) as client:
        got = await client.get("/v1/models", headers=headers)
        assert got.status_code == status
        assert "access-control-allow-origin" not in got.headers


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"x-api-key": "wrong"}, 401),
        ({"x-api-key": "secret"}, 200),
        ({"authorization": "Bearer secret"}, 200),
        ({"authorization": "Basic am9leTpzZWNyZXQ="}, 200),
        ({"authorization": "Basic ???"}, 401),
    ],
)
async def test_with_a_key_only_those_who_have_it_get_in(headers: dict[str, str], status: int) -> None:
    async with client_of(upstream(), guard=Guard("secret", loopback=False)) as client:
        for path in ("/v1/models", "/", "/requests", "/metrics"):
            assert (await client.get(path, headers={"host": "any.example", **headers})).status_code == status


@pytest.mark.parametrize(("wire", "kind"), [("chat", "authentication_error"), ("messages", "authentication_error")])
async def test_a_refusal_has_the_shape_of_the_wire(wire: str, kind: str) -> None:
    async with client_of(upstream(), guard=Guard("secret")) as client:
        got = await client.post(PATHS[wire], json=request_body(wire))
    assert (got.status_code, got.json()["error"]["type"]) == (401, kind)


# What is refused


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{not json", 400),
        (b"[1]", 400),
        (b'"x"', 400),
        (b"{}", 400),
        (b"[" * 100_000, 400),
        (b'{"tools": 1, "messages": 2, "input": 3}', 400),
        (b'{"messages": [{"role": "wizard", "content": "x"}], "input": [{"role": "wizard"}]}', 400),
        (b'{"tools": [{"type": "function"}], "input": "x", "messages": [{"role": "user", "content": "x"}]}', 400),
        (b'{"temperature": "hot", "input": "x", "messages": [{"role": "user", "content": "x"}]}', 400),
        (b'{"x": "' + b"y" * 3_000_000 + b'"}', 413),
    ],
    ids=lambda value: str(value)[:24],
)
async def test_what_is_no_request_gets_an_error_in_the_shape_of_the_wire(wire: str, body: bytes, status: int) -> None:
    async with client_of(upstream(), max_bytes=2**21) as client:
        got = await client.post(PATHS[wire], content=body)
    assert got.status_code == status, got.text
    error = got.json()["error"]
    assert error["message"] and error["type"] in ("invalid_request_error", "request_too_large")
    assert (got.json().get("type") == "error") == (wire == "messages")


# Faults of the model's server


@asynccontextmanager
async def behind(server: LocalServer, silence: float = 30.0) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of a gateway in front of a server of ours that speaks Chat Completions."""
    provider = OpenAIProvider(base_url=server.openai_url, abilities=TEXT_ONLY, timeout=silence)
    async with client_of(Upstream(provider, "m", get("json_mix"), "m", retries=0)) as client:
        yield client
    await provider.close()


BEFORE: dict[str, tuple[Scripted, dict[str, int]]] = {
    "overloaded": (Failure(503, "busy", "overloaded_error"), {"chat": 503, "responses": 503, "messages": 529}),
    "failed": (Failure(500, "boom"), dict.fromkeys(WIRES, 502)),
    "limit": (Failure(429, "slow down", retry_after=7), dict.fromkeys(WIRES, 429)),
    "key": (Failure(401, "bad key"), dict.fromkeys(WIRES, 502)),
    "refused": (Failure(400, "no such field"), dict.fromkeys(WIRES, 400)),
    "window": (
        Failure(400, "This model's maximum context length is 10 tokens", "context_length_exceeded"),
        dict.fromkeys(WIRES, 400),
    ),
    "page": (RawAnswer((b"<html>",), content_type="text/html"), dict.fromkeys(WIRES, 502)),
    "nonsense": (RawAnswer((b"data: what?\n\n",)), dict.fromkeys(WIRES, 502)),
    "cut at once": (reply("Hello", faults=Faults(cut_after=0)), dict.fromkeys(WIRES, 502)),
}


TOO_LONG_AN_ANSWER = (
    "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 4096 tokens "
    "and your request has 100 input tokens (8192 > 4096 - 100)."
)


@pytest.mark.parametrize("wire", WIRES)
async def test_a_server_with_a_small_window_is_asked_for_a_shorter_answer(wire: str) -> None:
    async with LocalServer([Failure(400, TOO_LONG_AN_ANSWER), reply("Hello.")]) as server, behind(server) as client:
        body = request_body(wire)
        body.pop("max_tokens", None)
        got = await client.post(PATHS[wire], json=body)
    assert whole(wire, got.json()).text == "Hello."
    assert [request.body["max_tokens"] for request in server.requests] == [8192, 3996]


async def test_a_conversation_that_leaves_no_room_for_an_answer_is_too_long() -> None:
    full = TOO_LONG_AN_ANSWER.replace("100", "4000")
    async with LocalServer([Failure(400, full)]) as server, behind(server) as client:
        got = await client.post(PATHS["chat"], json=request_body("chat"))
    assert got.json()["error"]["code"] == "context_length_exceeded", got.text
    assert len(server.requests) == 1


@pytest.mark.parametrize("wire", WIRES)
async def test_who_names_no_model_is_told_which_one_answered(wire: str) -> None:
    body = request_body(wire)
    del body["model"]
    async with client_of(upstream("Hello.")) as client:
        assert (await client.post(PATHS[wire], json=body)).json()["model"] == "m"


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("fault", BEFORE)
@pytest.mark.parametrize("wire", WIRES)
async def test_a_fault_before_the_answer_is_a_status_and_the_error_of_the_wire(
    wire: str, fault: str, stream: bool
) -> None:
    answer, statuses = BEFORE[fault]
    async with LocalServer([answer]) as server, behind(server) as client:
        got = await client.post(PATHS[wire], json=request_body(wire, stream=stream))
    assert got.status_code == statuses[wire], got.text
    assert got.json()["error"]["message"]
    assert got.headers.get("retry-after") == ("7" if fault == "limit" else None)


@pytest.mark.parametrize("wire", WIRES)
async def test_a_client_is_told_how_long_the_server_refuses_requests(wire: str) -> None:
    script: list[Scripted] = [Failure(429, "slow down", retry_after=50), reply("Too early.")]
    async with LocalServer(script) as server, behind(server) as client:
        await client.post(PATHS[wire], json=request_body(wire))
        async with asyncio.timeout(20):
            got = await client.post(PATHS[wire], json=request_body(wire, stream=True))
        assert len(server.requests) == 1
    assert got.status_code == 429 and "try again in" in got.json()["error"]["message"]
    assert 10 < int(got.headers["retry-after"]) <= 50


@pytest.mark.parametrize("wire", WIRES)
async def test_a_server_that_failed_is_reported_once_and_without_its_address(wire: str) -> None:
    async with LocalServer([Failure(500, "boom")]) as server, behind(server) as client:
        got = await client.post(PATHS[wire], json=request_body(wire))
    assert got.json()["error"]["message"] == "the model's server failed: boom"


WITHIN = {
    "cut": Faults(cut_after=3),
    "error": Faults(cut_after=3, breaks_with=Failure(500, "boom", "server_error")),
    "nonsense": Faults(malformed_at=3),
    "hanging": Faults(silent_after=3),
}


@pytest.mark.parametrize("fault", WITHIN)
@pytest.mark.parametrize("wire", WIRES)
async def test_a_fault_within_a_stream_ends_it_with_the_error_of_the_wire(wire: str, fault: str) -> None:
    script = reply("This is a longer text in several pieces. " * 3, faults=WITHIN[fault])
    async with LocalServer([script]) as server, behind(server, silence=0.3) as client:
        got = await client.post(PATHS[wire], json=request_body(wire, stream=True))
    assert got.status_code == 200
    events = events_of(got.content)
    if wire == "chat":
        assert events[-1] == ("", "[DONE]") and events[-2][1]["error"]["message"]
    elif wire == "messages":
        assert events[-1][0] == "error" and events[-1][1]["error"]["type"] == (
            "overloaded_error" if fault == "error" else "api_error"
        )
    else:
        assert events[-1][0] == "response.failed" and events[-1][1]["response"]["error"]["message"]


@pytest.mark.parametrize("wire", WIRES)
async def test_a_server_that_is_not_there_is_an_error_of_the_wire(wire: str) -> None:
    async with LocalServer([]) as server:
        pass
    async with behind(server) as client:
        got = await client.post(PATHS[wire], json=request_body(wire))
    assert got.status_code == 502 and "no server answers" in got.json()["error"]["message"]


async def test_an_answer_that_takes_too_long_ends_with_a_reason() -> None:
    slow = reply("Never.", faults=Faults(latency=60))
    async with client_of(upstream(slow, slow), max_seconds=0.1, keep_alive=0.03) as client:
        plain = await client.post(PATHS["messages"], json=request_body("messages"))
        stream = await client.post(PATHS["messages"], json=request_body("messages", stream=True))
    assert (plain.status_code, plain.json()["error"]["type"]) == (504, "timeout_error")
    assert events_of(stream.content)[-1][1]["error"]["type"] == "timeout_error"


# Waiting


@pytest.mark.parametrize("wire", WIRES)
async def test_a_slow_model_does_not_look_like_a_dead_one(wire: str) -> None:
    slow = reply("At last.", faults=Faults(latency=0.2))
    async with client_of(upstream(slow), keep_alive=0.05) as client:
        got = await client.post(PATHS[wire], json=request_body(wire, stream=True))
    assert got.text.count("event: ping" if wire == "messages" else ": keep-alive") >= 2
    assert streamed(wire, got.content).text == "At last."


async def test_clients_take_turns_and_see_their_place() -> None:
    order: list[str] = []
    slow = [reply("0", faults=Faults(latency=0.4)), *(reply(f"{number}") for number in range(4))]
    async with client_of(upstream(*slow, slots=1), keep_alive=0.02) as client:

        async def ask(agent: str) -> str:
            body = request_body("chat", stream=True)
            got = await client.post(PATHS["chat"], json=body, headers={"user-agent": agent})
            order.append(agent)
            return got.text

        first = [asyncio.create_task(ask("greedy")) for _ in range(4)]
        await asyncio.sleep(0.05)
        other = await ask("modest")
        await asyncio.gather(*first)
    assert order.index("modest") == 1, "one request of another client is behind the one that runs, and no other"
    assert ": waiting, 1 in front" in other


async def test_a_client_that_goes_away_ends_the_request_upstream() -> None:
    endless = RawAnswer((b'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n',), endless=True, pause=0.01)
    async with LocalServer([endless, reply("Next.")]) as server:
        provider = OpenAIProvider(base_url=server.openai_url, abilities=TEXT_ONLY)
        async with client_of(Upstream(provider, "m", get("json_mix"), "m", slots=1)) as client:
            async with client.stream("POST", PATHS["chat"], json=request_body("chat", stream=True)) as got:
                async for _ in got.aiter_bytes():
                    break
            after = await client.post(PATHS["chat"], json=request_body("chat"))
            listed = (await client.get("/requests")).json()
        await provider.close()
    assert whole("chat", after.json()).text == "Next."
    assert [each["state"] for each in listed] == ["done", "gone"]


async def test_clients_that_wait_with_several_requests_are_served_in_turn() -> None:
    line, served = WaitingLine(1), list[str]()

    async def ask(client: str) -> None:
        async with line.turn(client, lambda _place: None):
            served.append(client)
            await asyncio.sleep(0)

    await asyncio.gather(*(ask(client) for client in "aaabbb"))
    assert "".join(served) == "ababab"


async def test_too_many_in_line_are_sent_away() -> None:
    line = WaitingLine(1, max_waiting=1)
    release = asyncio.Event()

    async def hold() -> None:
        async with line.turn("a", lambda _place: None):
            await release.wait()

    held = [asyncio.create_task(hold()) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(Refusal, match="too many"):
        async with line.turn("b", lambda _place: None):
            pass
    held[1].cancel()
    await asyncio.gather(held[1], return_exceptions=True)
    assert line.waiting == 0
    release.set()
    await held[0]
    async with line.turn("b", lambda _place: None):
        pass


# Records


async def test_the_page_shows_what_was_asked_written_and_made_of_it() -> None:
    async with client_of(upstream("Well.\n" + call_text("list_files"))) as client:
        await client.post(PATHS["chat"], json=request_body("chat", words="<b>List</b>"))
        page = await client.get("/")
        script = await client.get("/page.js")
        (listed,) = (await client.get("/requests")).json()
        details = (await client.get(f"/requests/{listed['number']}")).json()
        replay = (await client.get(f"/requests/{listed['number']}/replay")).json()
        lost = await client.get("/requests/99")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "unsafe" not in page.headers["content-security-policy"] and "innerHTML" not in script.text
    assert (listed["state"], listed["calls"], listed["wire"]) == ("done", 1, "chat")
    assert details["wanted"] == "<b>List</b>"
    assert details["wrote"].startswith("Well.\n<tool_call>")
    assert "[call list_files] {}" in details["made"]
    assert replay["chunks"] == [details["wrote"]] and replay["protocol"] == "json_mix"
    assert lost.status_code == 404


async def test_without_the_page_nothing_of_requests_is_shown() -> None:
    async with client_of(upstream("Ok."), show_page=False) as client:
        await client.post(PATHS["chat"], json=request_body("chat"))
        assert (await client.get("/")).status_code == 404
        assert (await client.get("/requests")).status_code == 404


async def test_metrics_count_requests_calls_and_tokens() -> None:
    async with client_of(upstream(call_text("ls"), call_text("write_file", path="a", lines="3"), retries=1)) as client:
        await client.post(PATHS["chat"], json=request_body("chat"))
        await client.post(PATHS["messages"], content=b"{")
        text = (await client.get("/metrics")).text
    for line in (
        'joey_gateway_requests_total{wire="chat",outcome="done"} 1',
        'joey_gateway_requests_total{wire="messages",outcome="failed"} 1',
        'joey_gateway_calls_total{kind="well_formed"} 1',
        'joey_gateway_calls_total{kind="repaired"} 1',
        'joey_gateway_calls_total{kind="malformed"} 1',
        'joey_gateway_tokens_total{kind="input"} 200',
        "joey_gateway_retries_total 1",
        "joey_gateway_waiting 0",
    ):
        assert line in text.splitlines()


async def test_nothing_of_a_prompt_is_logged(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level("DEBUG")
    model = upstream("Ok.", reply("Secret answer.", faults=Faults(cut_after=1)))
    async with client_of(model) as client:
        for stream in (False, True):
            await client.post(PATHS["chat"], json=request_body("chat", words="Secret words.", stream=stream))
    assert len(requests_of(model)) == 2
    assert "Secret" not in caplog.text + "".join(capfd.readouterr())


async def test_names_lead_to_their_upstream_and_others_to_the_first() -> None:
    big = upstream(aliases=("claude-opus-*", "gpt-*"))
    small = Upstream(big.provider, "s", big.protocol, "small", aliases=("*haiku*",))
    routing = Routing([big, small])
    found = {name: routing.find(name).upstream.name for name in ("small", "claude-small", "claude-haiku-4", "x", "m")}
    assert found == {"small": "small", "claude-small": "small", "claude-haiku-4": "small", "x": "m", "m": "m"}


# Large requests


async def test_a_request_of_100_megabytes_is_refused_and_not_kept() -> None:
    call = HttpCall({"method": "POST", "path": "/", "headers": []}, _receiver(100), _send, HeldBytes(2**30))
    tracemalloc.start()
    try:
        with pytest.raises(Refusal, match="larger than 32 MB"):
            await call.body(32 * 2**20)
        assert tracemalloc.get_traced_memory()[1] < 40 * 2**20
    finally:
        tracemalloc.stop()


async def test_large_requests_at_once_have_a_bound_together() -> None:
    held = HeldBytes(3 * 2**20)
    calls = [HttpCall({"method": "POST", "path": "/", "headers": []}, _receiver(1), _send, held) for _ in range(4)]
    for call in calls[:3]:
        assert len(await call.body(2**21)) == 2**20
    with pytest.raises(Refusal, match="too many large requests"):
        await calls[3].body(2**21)
    calls[0].close()
    calls[3].close()
    again = HttpCall({"method": "POST", "path": "/", "headers": []}, _receiver(1), _send, held)
    assert len(await again.body(2**21)) == 2**20


def _receiver(megabytes: int) -> Receive:
    left = megabytes

    async def receive() -> AsgiMessage:
        nonlocal left
        left -= 1
        return {"type": "http.request", "body": bytes(2**20), "more_body": left > 0}

    return receive


async def _send(_message: AsgiMessage) -> None: ...
