"""Each thing that can go wrong, at each point of a reply, in both wire formats, through the real SDK clients.

Whatever happens: the task ends, its last event says how, that has an exit code, and no call is made twice.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from joey.app.running import EXIT_CODES
from joey.events import Event, RetryScheduled, TaskFinished, ToolRunStarted
from joey.providers.anthropic import AnthropicProvider
from joey.providers.base import Provider
from joey.providers.openai_chat import OpenAIProvider
from joey.task.opening import start_task
from joey.testing import wire_formats
from joey.testing.script import Failure, Faults, RawAnswer, Scripted, reply
from joey.testing.server import LocalServer
from task_kit import Kit, call, changed, done

WRITE = reply("Let me write that file.", call("w", "write_to_file", path="a.txt", file_text="some words\n" * 5))
TIMEOUT = 0.5
"""Seconds of silence after which the clients give up."""
TOO_MANY_EVENTS = 400
"""A task that goes round in circles stops here. A whole one has about fifty events."""

Fault = Callable[[int], Scripted]


def fails(status: int, kind: str, message: str = "no") -> Fault:
    """An error: as the answer itself before anything came, inside the stream after that."""
    failure = Failure(status, message, kind)
    return lambda at: failure if at == 0 else replace(WRITE, faults=Faults(cut_after=at, breaks_with=failure))


def goes_wrong(fault: Callable[[int], Faults]) -> Fault:
    return lambda at: replace(WRITE, faults=fault(at))


FIXES: dict[str, Fault] = {
    "rate limit": fails(429, "rate_limit_error"),
    "overloaded": fails(529, "overloaded_error"),
    "failed inside": fails(500, "api_error"),
    "cut stream": goes_wrong(lambda at: Faults(cut_after=at)),
    "malformed chunk": goes_wrong(lambda at: Faults(malformed_at=at)),
    "silence": goes_wrong(lambda at: Faults(silent_after=at)),
}
"""What may pass by itself, and is tried again."""
STAYS: dict[str, Fault] = {
    "auth": fails(401, "authentication_error"),
    "context too long": fails(400, "invalid_request_error", "prompt is too long: 300000 tokens > 200000 maximum"),
}
"""What does not."""


@dataclass(frozen=True)
class Wire:
    """A wire format: its client, and where in its stream things are."""

    name: str

    def provider(self, url: str, timeout: float = TIMEOUT) -> Provider:
        make = AnthropicProvider if self.name == "anthropic" else OpenAIProvider
        path = "" if self.name == "anthropic" else "/v1"
        return make(api_key="k", base_url=url + path, timeout=timeout)

    def points(self) -> dict[str, int]:
        """The number of the first event that does not come, for each point of the reply."""
        is_anthropic = self.name == "anthropic"
        make = wire_formats.anthropic_events if is_anthropic else wire_formats.openai_events
        events = [data for _, data in make(WRITE.chunks, "m")]
        end_mark = '"message_delta"' if is_anthropic else '"finish_reason": "tool_calls"'
        called = next(number for number, data in enumerate(events) if "write_to_file" in data)
        ended = next(number for number, data in enumerate(events) if end_mark in data)
        return {"before anything": 0, "after text": called, "inside the call": called + 3, "after the call": ended}


WIRES = [pytest.param(Wire("anthropic"), id="anthropic"), pytest.param(Wire("openai"), id="openai")]


async def run(folder: Path, wire: Wire, script: Iterable[Scripted]) -> tuple[Kit, TaskFinished, int]:
    """Run a task headless against a server with this script; returns how many requests it made, too."""
    async with LocalServer(script) as server:
        kit = Kit(folder, [], headless=True)
        provider = wire.provider(server.anthropic_url)

        def watch(task_id: str, event: Event) -> None:
            assert len(kit.events) < TOO_MANY_EVENTS, "the task goes round in circles"
            kit.watch(task_id, event)

        task = start_task(changed(kit.config, provider=provider, name="scripted", watch=watch), "Do it.")
        async with asyncio.timeout(120):  # a hang must fail the test, not the whole run
            finished = await task.run()
        await provider.close()
        return kit, finished, len(server.requests)


def check_the_end(kit: Kit, finished: TaskFinished) -> None:
    assert kit.events[-1] == finished
    assert finished.outcome in EXIT_CODES
    assert [type(event) for event in kit.events].count(TaskFinished) == 1


def runs(kit: Kit, name: str = "write_to_file") -> int:
    return sum(event.name == name for event in kit.of(ToolRunStarted))


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("kind", FIXES)
async def test_what_may_pass_is_tried_again_and_no_call_is_made_twice(tmp_path: Path, wire: Wire, kind: str) -> None:
    for point, at in wire.points().items():
        kit, finished, requests = await run(tmp_path / point, wire, [FIXES[kind](at), WRITE, done()])
        assert finished == TaskFinished("completed", "All done."), point
        assert (requests, len(kit.of(RetryScheduled)), runs(kit)) == (3, 1, 1), point
        assert (kit.workspace / "a.txt").read_text() == "some words\n" * 5
        check_the_end(kit, finished)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("kind", FIXES)
async def test_what_does_not_pass_in_the_end_ends_the_task(tmp_path: Path, wire: Wire, kind: str) -> None:
    fault = FIXES[kind](wire.points()["inside the call"])
    kit, finished, requests = await run(tmp_path, wire, [fault] * 9)
    assert finished.outcome == "error" and finished.message
    assert (requests, len(kit.of(RetryScheduled)), runs(kit)) == (3, 2, 0)
    check_the_end(kit, finished)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("kind", STAYS)
async def test_what_cannot_pass_is_not_tried_again(tmp_path: Path, wire: Wire, kind: str) -> None:
    for point, at in wire.points().items():
        kit, finished, requests = await run(tmp_path / point, wire, [STAYS[kind](at), WRITE, done()])
        assert finished.outcome == "error", point
        assert (requests, kit.of(RetryScheduled), runs(kit)) == (1, [], 0), point
        check_the_end(kit, finished)


@pytest.mark.parametrize("wire", WIRES)
async def test_a_bad_request_ends_the_task_and_an_unknown_error_inside_a_reply_is_a_cut(
    tmp_path: Path, wire: Wire
) -> None:
    bad = fails(400, "invalid_request_error")
    for point, at in wire.points().items():
        kit, finished, requests = await run(tmp_path / point, wire, [bad(at), WRITE, done()])
        refused = point == "before anything"
        assert finished.outcome == ("error" if refused else "completed"), point
        assert (requests, runs(kit)) == ((1, 0) if refused else (3, 1)), point
        check_the_end(kit, finished)


@pytest.mark.parametrize("wire", WIRES)
async def test_a_server_that_is_not_there_ends_the_task_at_once(tmp_path: Path, wire: Wire) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    provider = wire.provider(f"http://127.0.0.1:{port}", timeout=10.0)
    kit = Kit(tmp_path, [], headless=True)
    finished = await start_task(changed(kit.config, provider=provider, name="scripted"), "Do it.").run()
    await provider.close()
    assert finished.outcome == "error" and "no server answers at" in finished.message
    assert kit.of(RetryScheduled) == []
    check_the_end(kit, finished)


def test_the_points_are_where_they_should_be() -> None:
    for wire in (Wire("anthropic"), Wire("openai")):
        points = list(wire.points().values())
        assert points == sorted(set(points))


@pytest.mark.parametrize(
    ("written", "reported"),
    [
        ('{"name": "write_to_file", "arguments": {"wrong": 1}}', "path"),
        ("<function=write_to_file>a.txt</function>", "name"),
        ("", "Your reply was empty"),
    ],
    ids=["a call that does not match its tool", "no call at all", "nothing"],
)
@pytest.mark.parametrize("status", [400, 200], ids=["as the answer", "inside the stream"])
async def test_a_call_that_the_provider_refuses_goes_back_to_the_model(
    tmp_path: Path, written: str, reported: str, status: int
) -> None:
    error = {
        "error": {"message": "Failed to call a function.", "code": "tool_use_failed", "failed_generation": written}
    }
    body = json.dumps(error) if status == 400 else f"event: error\ndata: {json.dumps(error)}\n\n"
    refused = RawAnswer((body.encode(),), status, "application/json" if status == 400 else "text/event-stream")
    async with LocalServer([refused, done()]) as server:
        kit = Kit(tmp_path, [], headless=True)
        provider = OpenAIProvider(api_key="k", base_url=server.openai_url)
        task = start_task(changed(kit.config, provider=provider, name="m"), "Do it.")
        assert (await task.run()).outcome == "completed"
        await provider.close()
        last = server.requests[1].body["messages"][-1]["content"]
    assert not kit.of(RetryScheduled) and reported in str(last)
