"""The small model's own llama.cpp server, asked through all three APIs that it speaks."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from joey.messages import Message, ReasoningBlock, TextBlock, ToolResultBlock, ToolUseBlock
from joey.providers import AuthError, EngineOptions, ModelRequest, open_model
from joey.providers.discovery import find_models
from joey.providers.local.engine import Engine, engine_for, plan
from joey.testing.script import summary
from joey.toolspec import ToolSpec
from local_kit import SMOL, WINDOW, needs_model

pytestmark = needs_model
READ = ToolSpec("read_file", "Read it.", {"type": "object", "properties": {"path": {"type": "string"}}})
TASK = Message("user", (TextBlock("Say hello."),))
TURNS = (
    TASK,
    Message("assistant", (ReasoningBlock("hm"), TextBlock("Hi"), ToolUseBlock("call_1", "read_file", {"path": "a"}))),
    Message("user", (ToolResultBlock("call_1", (TextBlock("text of a"),)), TextBlock("And now?"))),
)
TOKENS = 16


async def running() -> tuple[Engine, str]:
    engine = engine_for(plan(SMOL, EngineOptions(threads=1, context=WINDOW)))
    return engine, f"{await asyncio.to_thread(engine.load)}/v1"


async def ask(api: Any, *turns: Message, **options: Any) -> Any:
    engine, address = await running()
    provider, model = open_model("llamacpp/smol", base_url=address, api_key=engine.key, api=api)
    request = ModelRequest(model, turns, "Be brief.", max_tokens=TOKENS, temperature=0, **options)
    try:
        return summary([chunk async for chunk in provider.stream(request)])
    finally:
        await provider.close()


@pytest.mark.parametrize("api", ["chat", "responses", "messages"])
async def test_the_server_answers_through_every_api(api: str) -> None:
    reply = await ask(api, TASK)
    assert reply["text"] and reply["stop"] == "length"  # which llama.cpp does not say through Responses
    assert reply["usage"].output_tokens == TOKENS
    assert reply["usage"].input_tokens + reply["usage"].cache_read_tokens == 20
    assert (await ask(api, *TURNS, tools=(READ,)))["text"]  # calls, results and reasoning go back


async def test_a_key_that_is_wrong_is_refused_through_every_api() -> None:
    _, address = await running()
    for api in ("chat", "responses", "messages"):
        provider, model = open_model("llamacpp/smol", base_url=address, api_key="wrong-key", api=api)
        with pytest.raises(AuthError):
            _ = [chunk async for chunk in provider.stream(ModelRequest(model, (TASK,)))]
        await provider.close()


async def test_the_server_reports_its_model_and_the_window_that_was_loaded() -> None:
    engine, address = await running()
    found = await asyncio.to_thread(find_models, "llamacpp", address, engine.key)
    assert [entry["window"] for entry in found.models.values()] == [WINDOW], found.problem
