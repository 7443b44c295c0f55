from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import aclosing
from pathlib import Path

import pytest

from joey.chunks import Chunk, PromptChunk, StopChunk, TextChunk, UsageChunk
from joey.errors import UsageError
from joey.messages import Message, TextBlock
from joey.providers import (
    Abilities,
    AuthError,
    BadRequestError,
    ContextTooLongError,
    EngineOptions,
    ModelRequest,
    Provider,
    open_model,
)
from joey.providers.anthropic import AnthropicProvider
from joey.providers.local import engine
from joey.providers.openai_chat import OpenAIProvider
from joey.testing.script import summary
from local_kit import SMOL, WINDOW, ask, needs_model, smol

STORY = "Write a very long story about a cat that travels around the world."


async def read(provider: Provider, request: ModelRequest) -> list[Chunk]:
    try:
        return [chunk async for chunk in provider.stream(request)]
    finally:
        await provider.close()


def slot_is_working() -> bool:
    """Whether the engine is decoding, asked of the engine itself."""
    running = engine.engine_for(engine.EnginePlan(SMOL, WINDOW, 1))
    return bool(engine.ask_server(running.load(), "/slots", running.key)[0]["is_processing"])


async def slot_becomes(*, working: bool) -> bool:
    """Whether the slot is so within a second, in which it could decode a few dozen tokens."""
    for _ in range(50):
        if await asyncio.to_thread(slot_is_working) == working:
            return True
        await asyncio.sleep(0.02)
    return False


# A stream


@needs_model
async def test_words_come_as_they_are_decoded_then_usage_and_a_reason_to_stop() -> None:
    everything = await read(smol(), ask("Say hello to Bob.", max_tokens=12))
    chunks = [chunk for chunk in everything if not isinstance(chunk, PromptChunk)]
    assert all(isinstance(chunk, TextChunk) for chunk in chunks[:-2]) and len(chunks) > 8
    usage = chunks[-2]
    assert isinstance(usage, UsageChunk) and usage.output_tokens == 12
    assert usage.input_tokens + usage.cache_read_tokens > 20
    assert chunks[-1] == StopChunk("length", "length")


@needs_model
async def test_how_much_of_the_prompt_was_read_is_reported_before_the_first_word() -> None:
    chunks = await read(smol(), ask("a new word " * 200, max_tokens=1))
    reported = [chunk for chunk in chunks if isinstance(chunk, PromptChunk)]
    assert reported and chunks[: len(reported)] == reported
    assert [chunk.read for chunk in reported] == sorted(chunk.read for chunk in reported)
    assert reported[-1].read == reported[-1].total > 200


@needs_model
async def test_what_was_read_of_a_conversation_is_not_read_again() -> None:
    question = ask("Tell me about the sea.", system="You are a sailor. " * 12, max_tokens=1)
    await read(smol(), question)
    usage = summary(await read(smol(), question))["usage"]
    assert usage.cache_read_tokens > 50 > usage.input_tokens


@needs_model
async def test_closing_the_stream_stops_the_reading_of_a_long_prompt() -> None:
    provider = smol()
    reading = asyncio.create_task(read(provider, ask("word " * 600, max_tokens=1)))
    assert await slot_becomes(working=True)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    usage = summary(await read(provider, ask("word " * 300, max_tokens=1)))["usage"]
    assert usage.cache_read_tokens < 300, "the prompt had been read on"


@needs_model
async def test_a_stop_sequence_ends_the_reply() -> None:
    chunks = await read(smol(), ask("Count: one, two, three", max_tokens=40, stop_sequences=(".", ",")))
    assert summary(chunks)["stop"] == "end" and "," not in summary(chunks)["text"]


@needs_model
async def test_under_a_grammar_no_token_is_written_that_cannot_be_seen() -> None:
    """To the engine a control token is its name, which a grammar may admit, but its text is nothing."""
    chunks = await read(smol(), ask("hello", grammar='root ::= "<|im_start|>"', max_tokens=12))
    assert summary(chunks)["text"] == "<|im_start|>"
    begins_message = 1  # <|im_start|>, in this model's vocabulary
    assert [begins_message, False] in smol()._held_to("root")["logit_bias"]


# What goes wrong


@needs_model
async def test_a_conversation_beyond_the_window_is_the_error_that_tasks_make_it_shorter_for() -> None:
    with pytest.raises(ContextTooLongError, match="context"):
        await read(smol(), ask("word " * (WINDOW + 100)))


@needs_model
async def test_a_request_that_the_engine_does_not_take_is_not_tried_again() -> None:
    with pytest.raises(BadRequestError) as caught:
        await read(smol(grammar="root ::= ("), ask("hello"))
    assert not caught.value.retryable


@needs_model
async def test_closing_the_stream_stops_the_decoding_at_once() -> None:
    provider = smol()
    async with aclosing(provider.stream(ask(STORY, max_tokens=1000))) as chunks:
        async for _ in chunks:
            assert await asyncio.to_thread(slot_is_working)
            break
    assert await slot_becomes(working=False)
    assert summary(await read(provider, ask("hi", max_tokens=2)))["usage"].output_tokens == 2


@needs_model
async def test_cancelling_the_reader_stops_the_decoding() -> None:
    provider, began = smol(), asyncio.Event()

    async def reader() -> None:
        async with aclosing(provider.stream(ask(STORY, max_tokens=1000))) as chunks:
            async for _ in chunks:
                began.set()

    task = asyncio.create_task(reader())
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await slot_becomes(working=False)
    await provider.close()


@needs_model
async def test_tasks_share_one_engine_and_wait_in_line() -> None:
    before = set(engine._engines)
    first, second, third = (read(smol(), ask(f"Say {word}.", max_tokens=4)) for word in ("one", "two", "three"))
    replies = await asyncio.gather(first, second, third)
    assert all(summary(reply)["usage"].output_tokens == 4 for reply in replies)
    assert set(engine._engines) - before <= {engine.EnginePlan(SMOL, WINDOW, 1)}


# Both wires, straight at the server


@needs_model
@pytest.mark.parametrize("wire", ["anthropic", "openai"])
async def test_the_engine_speaks_both_wire_formats(wire: str) -> None:
    running = engine.engine_for(engine.EnginePlan(SMOL, WINDOW, 1))
    address = await asyncio.to_thread(running.load)
    provider: Provider = (
        AnthropicProvider(api_key=running.key, base_url=address)
        if wire == "anthropic"
        else OpenAIProvider(api_key=running.key, base_url=f"{address}/v1")
    )
    chunks = await read(provider, ask("Say hello to Bob.", max_tokens=6, temperature=0.0))
    assert summary(chunks)["stop"] == "length" and summary(chunks)["usage"].output_tokens == 6
    expected = summary(await read(smol(), ask("Say hello to Bob.", max_tokens=6)))
    assert summary(chunks)["text"] == expected["text"]


@needs_model
async def test_nobody_without_the_key_is_answered() -> None:
    address = await asyncio.to_thread(engine.engine_for(engine.EnginePlan(SMOL, WINDOW, 1)).load)
    with pytest.raises(AuthError):
        await read(OpenAIProvider(api_key="guess", base_url=f"{address}/v1"), ask("hello"))


# Opening one


@needs_model
def test_a_local_model_is_opened_like_any_other() -> None:
    provider, model = open_model(f"local/{SMOL}")
    assert provider.name == "local" and model == str(SMOL)
    abilities = provider.abilities(model)
    assert abilities == Abilities(tools=False, images=False, context_window=8192)


@needs_model
@pytest.mark.parametrize(("wanted", "window"), [(1024, 1024), (100_000, 8192)])
def test_the_window_is_what_was_wanted_as_far_as_the_model_goes(wanted: int, window: int) -> None:
    assert engine.plan(SMOL, EngineOptions(context=wanted)).context == window


@needs_model
def test_little_memory_makes_a_small_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("joey.system.machine.free_memory", lambda: 200_000_000)
    assert engine.plan(SMOL, EngineOptions()).context == 4096


def test_a_busy_machine_gets_one_thread_unless_set_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("joey.system.machine.cores", lambda: 4)
    monkeypatch.setattr("os.getloadavg", lambda: (4.5, 0.0, 0.0))
    assert engine.threads_for(None) == 1 and engine.threads_for(3) == 3
    monkeypatch.setattr("os.getloadavg", lambda: (3.9, 9.0, 9.0))
    assert engine.threads_for(None) == 4


def test_a_model_that_is_not_installed_is_refused_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOEY_MODELS", str(tmp_path))
    with pytest.raises(UsageError, match=r"run `joey local install coder-1\.5b`"):
        open_model("local/coder-1.5b")
    with pytest.raises(UsageError, match="neither a model that Joey knows"):
        open_model("local/nowhere.gguf")


def test_without_the_extra_the_message_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(UsageError, match=r"the extra `local`: .*\[local\]"):
        open_model("local/coder-1.5b")


def test_a_server_address_for_a_model_in_this_process_is_refused() -> None:
    with pytest.raises(UsageError, match="llamacpp/"):
        open_model("local/coder-1.5b", base_url="http://localhost:1/v1")


@needs_model
async def test_a_file_that_was_cut_short_says_so(tmp_path: Path) -> None:
    cut = tmp_path / "cut.gguf"
    with SMOL.open("rb") as whole:
        cut.write_bytes(whole.read(20_000_000))
    provider, model = open_model(f"local/{cut}", engine=EngineOptions(threads=1))
    with pytest.raises(BadRequestError, match=r"cut short: it has 20,000,000 bytes of 98,362,432"):
        await read(provider, ModelRequest(model, (Message("user", (TextBlock("hi"),)),)))


def test_a_file_that_is_no_model_says_so(tmp_path: Path) -> None:
    from joey.providers.local.weights import GgufError

    file = tmp_path / "words.gguf"
    file.write_text("hello")
    with pytest.raises(GgufError, match="is not a GGUF file"):
        open_model(f"local/{file}")


# The process


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)


@needs_model
@pytest.mark.parametrize(("end", "code_of_end"), [("", 0), ("raise ValueError('oops')", 1)])
def test_the_engine_ends_with_the_process_and_says_nothing(end: str, code_of_end: int) -> None:
    code = (
        "import joey.providers.local.engine as e\nfrom pathlib import Path\n"
        f"e.engine_for(e.EnginePlan(Path({str(SMOL)!r}), 512, 1)).load()\n{end}\n"
    )
    done = run_python(code)
    assert (done.returncode, done.stdout) == (code_of_end, "")
    assert done.stderr == "" or done.stderr.endswith("ValueError: oops\n")


def test_the_runtime_loads_only_when_a_local_model_is_opened() -> None:
    done = run_python("import sys, joey.providers, joey.app; print('xllamacpp' in sys.modules)")
    assert done.stdout.strip() == "False"
