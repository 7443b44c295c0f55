from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from joey.errors import UsageError
from joey.messages import Message, TextBlock
from joey.providers import BadRequestError, MissingKeyError, ModelRequest, abilities_of, open_model


def _python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("opened", "loaded"),
    [
        ("None", []),
        ("open_model('ollama/qwen3')", []),
        ("open_model('openai/gpt-4.1', base_url='http://127.0.0.1:1/v1')", []),
        ("open_model('anthropic/m', base_url='http://localhost:1')", []),
        ("open_model('openrouter/m', api_key='k')", ["httpx2", "openai"]),
        ("open_model('anthropic/m', api_key='k')", ["anthropic", "httpx2"]),
        ("open_model('anthropic/m', base_url='http://me:pw@localhost:1')", ["anthropic", "httpx2"]),
        ("open_model('openai/m', base_url='https://localhost:1/v1')", ["httpx2", "openai"]),
    ],
)
def test_the_sdks_load_only_where_they_are_needed(opened: str, loaded: list[str]) -> None:
    code = (
        f"import sys, joey.testing; from joey.providers import open_model; {opened};"
        "print(sorted({'anthropic', 'openai', 'httpx2'} & set(sys.modules)))"
    )
    assert _python(code).strip() == str(loaded)


def test_a_model_is_named_with_its_provider() -> None:
    provider, model = open_model("openrouter/anthropic/claude-sonnet-4-5", api_key="key")
    assert provider.name == "openai" and model == "anthropic/claude-sonnet-4-5"


@pytest.mark.parametrize(
    ("name", "complaint"),
    [("gpt-5", "not of the form"), ("antropic/claude", "did you mean 'anthropic'?"), ("openai/", "not of the form")],
)
def test_a_wrong_name_is_refused_with_what_is_known(name: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint.replace("?", r"\?")) as caught:
        open_model(name)
    assert "roviders: anthropic, openai" in str(caught.value)


@pytest.mark.parametrize("provider", ["anthropic", "openai", "openrouter"])
def test_a_provider_out_there_needs_its_key(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/nonexistent")
    for name in (f"{provider.upper()}_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(MissingKeyError) as caught:
        open_model(f"{provider}/some/model")
    assert str(caught.value) == f"no API key for {provider}; set {provider.upper()}_API_KEY"


@pytest.mark.parametrize(
    ("model", "system", "tools"),
    [
        ("claude-sonnet-4-5", "system", True),
        ("qwen3", "system", True),
        ("o1-mini", "none", False),
        ("openai/o3", "developer", True),
        ("gpt-5.2", "developer", True),
        ("gpt-4o", "system", True),
        ("olmo-3", "system", True),
    ],
)
def test_what_a_model_takes_is_known_by_its_name(model: str, system: str, tools: bool) -> None:
    abilities = abilities_of(model)
    assert (abilities.system, abilities.tools) == (system, tools)


def test_the_size_of_a_conversation_is_known_or_reported_as_unknown() -> None:
    assert abilities_of("anthropic/claude-sonnet-4-5").context_window == 200_000
    assert abilities_of("o1-mini").context_window == 128_000
    assert abilities_of("ollama/qwen3").context_window is None


@pytest.mark.parametrize("address", ["127.0.0.1:9204/v1", "localhost:8080", "ftp://x"])
def test_an_address_without_its_scheme_is_refused_before_anything_is_sent(address: str) -> None:
    with pytest.raises(UsageError, match=f"'{address}' is no address of a server; write it whole"):
        open_model("openai/any", base_url=address, api_key="key")


@pytest.mark.parametrize("name", ["openai/any", "anthropic/any"])
async def test_a_web_page_is_no_reply(name: str) -> None:
    async def page(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>")
        writer.close()

    async with await asyncio.start_server(page, "127.0.0.1", 0) as server:
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        provider, model = open_model(name, base_url=address, api_key="key")
        with pytest.raises(BadRequestError, match=f"{address} answered with a web page, not with a reply"):
            async for _ in provider.stream(ModelRequest(model, (Message("user", (TextBlock("hi"),)),))):
                pass
        await provider.close()


def test_a_grammar_is_only_for_servers_that_speak_openai_s_format() -> None:
    provider, _ = open_model("llamacpp/qwen", grammar="llama.cpp")
    assert provider.takes_grammar
    assert not open_model("llamacpp/qwen")[0].takes_grammar
    with pytest.raises(UsageError, match="anthropic takes no grammar"):
        open_model("anthropic/claude", api_key="key", grammar="llama.cpp")
