from __future__ import annotations

from typing import Any

import pytest

from joey.providers.discovery import find_local_servers, find_models
from models_kit import serving


@pytest.mark.parametrize(
    ("provider", "answers", "models"),
    [
        ("openai", {"/v1/models": {"data": [{"id": "gpt-x"}]}}, {"gpt-x": {}}),
        ("vllm", {"/v1/models": {"data": [{"id": "q", "max_model_len": 32768}]}}, {"q": {"window": 32768}}),
        (
            "openrouter",
            {"/v1/models": {"data": [{
                "id": "a/b", "context_length": 200000, "supported_parameters": ["tools"],
                "architecture": {"input_modalities": ["text", "image"]},
                "top_provider": {"max_completion_tokens": 64000},
                "pricing": {"prompt": "0.000003", "completion": "0.000015", "input_cache_read": "0.0000003"},
            }, {"id": "openrouter/auto", "pricing": {"prompt": "-1", "completion": "-1"}}]}},
            {"a/b": {"window": 200000, "max_output": 64000, "images": True, "tools": True,
                     "price": {"input": 3.0, "output": 15.0, "cache_read": 0.3}}, "openrouter/auto": {}},
        ),
        (
            "ollama",
            {"/api/tags": {"models": [{"name": "qwen3:8b"}, {"name": "broken"}, {"nameless": 1}]},
             "/api/show qwen3:8b": {"model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40960},
                                    "capabilities": ["completion", "tools"]}},
            {"qwen3:8b": {"window": 40960, "tools": True, "images": False}, "broken": {}},
        ),
        (
            "llamacpp",
            {"/v1/models": {"data": [{"id": "m.gguf", "meta": {"n_ctx_train": 32768}}]},
             "/props": {"default_generation_settings": {"n_ctx": 8192}, "modalities": {"vision": False}}},
            {"m.gguf": {"window": 8192, "images": False}},
        ),
        (
            "lmstudio",
            {"/api/v0/models": {"data": [
                {"id": "q", "type": "vlm", "max_context_length": 9, "loaded_context_length": 8},
                {"id": "e", "type": "embeddings"},
            ]}},
            {"q": {"window": 8, "images": True}},
        ),
        ("lmstudio", {"/v1/models": {"data": [{"id": "older"}]}}, {"older": {}}),
    ],
)  # fmt: skip
def test_a_server_says_what_its_models_are(provider: str, answers: Any, models: Any) -> None:
    with serving(answers) as url:
        found = find_models(provider, url)
    assert (found.models, found.problem, found.address) == (models, "", url)


def test_anthropic_gets_its_key_in_its_own_header() -> None:
    seen: list[tuple[str, dict[str, str]]] = []
    listed = {"data": [{"id": "claude-x", "max_input_tokens": 1_000_000, "max_tokens": 128_000}]}
    with serving({"/v1/models": listed}, seen) as url:
        found = find_models("anthropic", url.removesuffix("/v1"), "secret")
    assert found.models == {"claude-x": {"window": 1_000_000, "max_output": 128_000}}
    assert seen[0][1]["x-api-key"] == "secret" and "authorization" not in seen[0][1]


@pytest.mark.parametrize(
    "answer", [None, 302, 500, b"<html>", b"[" * 100_000, {"models": 1}, "text", {"data": 3}, {"error": "no"}]
)
def test_another_kind_of_server_is_a_problem_and_no_crash(answer: Any) -> None:
    seen: list[tuple[str, dict[str, str]]] = []
    with serving({"/v1/models": answer}, seen) as url:
        found = find_models("openai", url, "secret", timeout=5)
    assert "did not answer with a list of models" in found.problem and not found.models
    assert len(seen) == 1  # no redirect took the key elsewhere


def test_only_servers_of_this_machine_are_looked_for_and_only_those_that_answer_are_found() -> None:
    seen: list[tuple[str, dict[str, str]]] = []
    with serving({"/v1/models": {"data": [{"id": "q"}]}}, seen) as url:
        addresses = {"vllm": url, "llamacpp": "http://127.0.0.1:1/v1", "openai": "https://api.openai.com/v1"}
        found = find_local_servers(addresses, timeout=5)
    assert {name: answer.models for name, answer in found.items()} == {"vllm": {"q": {}}}
    assert [path for path, _ in seen] == ["/v1/models"]
