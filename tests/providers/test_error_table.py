"""What providers answer when they do not serve a request: which error it becomes, with which words."""

from __future__ import annotations

import re
from typing import Any

import pytest

from joey.providers import BadRequestError, ContextTooLongError, Provider, ProviderError, errors
from joey.providers.anthropic import AnthropicProvider
from joey.providers.error_body import MAX_WORDS, kinds_in, message_in, status_in
from joey.providers.openai_chat import OpenAIProvider
from joey.providers.plain_chat import PlainChatProvider
from joey.providers.wordings import Wording, meaning_of, wordings
from joey.testing import LocalServer, RawAnswer, ReceivedRequest
from recorded_answers import ask
from vectors_data import cases

ROWS = cases("providers/errors")
OPENAI = "This model's maximum context length is {} tokens. However, you requested {} tokens"
CLASSES = {
    "beyond": "ContextTooLongError",
    "throttled": "RateLimitError",
    "conversation": "ContextTooLongError",
    "key": "AuthError",
    "refused": "BadRequestError",
}


def _answer(request: ReceivedRequest) -> RawAnswer:
    row = ROWS[int(request.body["model"])]
    content_type = (row.get("headers") or {}).get("content-type", "application/json")
    return RawAnswer((row["body"].encode(),), row["status"], content_type)


@pytest.mark.parametrize("plain", [False, True], ids=["through the SDKs", "plain"])
async def test_an_answer_over_http_becomes_the_error_it_is_with_words_to_act_on(plain: bool) -> None:
    async with LocalServer(_answer) as server:
        wires: dict[str, Provider] = {
            "chat": PlainChatProvider(server.openai_url) if plain else OpenAIProvider(base_url=server.openai_url),
            "anthropic": AnthropicProvider(base_url=server.anthropic_url),
        }
        for number, row in enumerate(ROWS):
            error = (await ask(wires[row["wire"]], str(number))).error
            assert type(error).__name__ in row["expect"].split("|"), row["source"]
            if row["show"] is not None:
                assert any(words in str(error) for words in row["show"].split("|")), row["source"]
            if error is not None:
                assert error.reason in str(error) and re.search(r"[.!?] [A-Z][^.]*\.$", str(error)), row["source"]
        for provider in wires.values():
            await provider.close()
    assert len(ROWS) > 40


@pytest.mark.parametrize("wording", wordings(), ids=lambda wording: f"{wording.kind}: {wording.example[:40]}")
def test_each_wording_matches_its_example_and_no_other_kind_comes_before_it(wording: Wording) -> None:
    assert wording.pattern.search(wording.example)
    meaning = meaning_of(wording.example)
    assert meaning is not None and meaning.kind == wording.kind and wording.source
    found = type(errors.classify(wording.example, status=400)).__name__
    expected = "ContextTooLongError" if meaning.about_window else "BadRequestError"
    assert found == CLASSES.get(wording.kind, expected)


@pytest.mark.parametrize(
    ("words", "allowed"),
    [
        ("input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease", 11760),
        (f"{OPENAI.format(65536, 70000)} (62000 in the messages, 8000 in the completion).", 3536),
        (f"{OPENAI.format(64000, 'about 66000')} (60000 of text input, 1000 of tool input, 5000 in the output).", 3000),
        ("This model supports at most 16384 completion tokens, whereas you provided 200000.", 16384),
        ("max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens", 64000),
        ("the supported range is from 1 (inclusive) to 8193 (exclusive)", None),
        ("a maxOutputTokens value of 9000 but the supported range is from 1 (inclusive) to 8193 (exclusive)", 8192),
        (f"{OPENAI.format(4096, 5000)} (4900 in the messages, 100 in the completion).", None),
        ("prompt is too long: 213462 tokens > 200000 maximum", None),
        (f"{OPENAI.format(32768, '4096 output')} and your prompt contains at least 28673 input tokens, for a", 4095),
    ],
)
def test_where_only_the_answer_is_too_long_its_length_is_read(words: str, allowed: int | None) -> None:
    error = errors.classify(words, status=400)
    assert isinstance(error, BadRequestError) and error.max_tokens == allowed


@pytest.mark.parametrize(
    ("words", "share"),
    [
        ("prompt is too long: 200000 tokens > 100000 maximum", 0.5),
        ("Prompt has 4,000 tokens, but the configured context size is 1,000 tokens", 0.25),
        ("context length exceeded", None),
        ("maximum context length is 300 tokens. However, your messages resulted in 200 tokens", 1.5),
        (f"prompt is too long: {'9' * 5000} tokens > 100000 maximum", None),
    ],
)
def test_how_much_of_the_conversation_is_taken_is_read(words: str, share: float | None) -> None:
    error = errors.classify(words, status=400)
    assert isinstance(error, ContextTooLongError) and (error.share, error.max_tokens) == (share, None)


BODIES: dict[str, tuple[Any, str]] = {
    "a list": ([{"error": {"code": 429, "message": "no quota"}}], "no quota"),
    "detail": ({"detail": "Invalid API Key"}, "Invalid API Key"),
    "details of fields": (
        {"detail": [{"loc": ["body", "n"], "msg": "too small"}, {"loc": ["body", "m"], "msg": "too large"}]},
        "too small (body.n); too large (body.m)",
    ),
    "errors": ({"success": False, "errors": [{"code": 1, "message": "no route"}]}, "no route"),
    "of the provider behind": (
        {"error": {"message": "Provider error", "metadata": {"raw": '{"message": "no"}', "provider_name": "P"}}},
        "Provider error (P): no",
    ),
    "in a page": ("<!DOCTYPE html><html><head><title>503 Busy</title></head></html>", "503 Busy"),
    "in brackets": ("<400> InternalError: no", "<400> InternalError: no"),
    "deep": ({"error": {"error": {"error": {"message": "far down"}}}}, "far down"),
    "numbers": (5, ""),
}


@pytest.mark.parametrize("name", BODIES)
def test_the_words_are_found_in_any_body(name: str) -> None:
    body, expected = BODIES[name]
    assert message_in(body) == expected


def test_a_long_message_is_cut_but_read_whole() -> None:
    error = errors.from_body({"error": {"message": f"{'x' * 5000} context length exceeded"}}, status=400)
    assert isinstance(error, ContextTooLongError) and len(error.reason) == MAX_WORDS + 1


def test_a_window_that_is_full_is_recognised_behind_the_status_of_a_failure() -> None:
    body = {"error": {"code": 500, "message": "Context size has been exceeded.", "type": "server_error"}}
    assert type(errors.from_body(body, status=500)) is errors.ContextTooLongError


@pytest.mark.parametrize("body", [{}, "", None])
def test_a_request_that_is_refused_for_its_size_without_a_word_is_too_long(body: Any) -> None:
    error = errors.from_body(body, status=413)
    assert type(error) is errors.ContextTooLongError and "too large for the server (status 413)." in str(error)


def test_a_status_inside_the_body_counts_where_there_is_no_other() -> None:
    body = {"error": {"code": 502, "message": "gone", "metadata": {"error_type": "provider_unavailable"}}}
    assert status_in(body) == 502 and "provider_unavailable" in kinds_in(body)
    assert errors.from_body(body).status == 502
    assert errors.from_body(body, status=429).status == 429


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("Please try again in 6s.", 6.0),
        ("try again in 250ms", 0.25),
        ("Please try again in 1m2.5s", 62.5),
        ("no", None),
    ],
)
def test_the_wait_in_the_words_of_a_rate_limit_is_read(words: str, seconds: float | None) -> None:
    assert errors.classify(words, status=429).retry_after == seconds
    assert errors.classify(words, status=429, headers={"retry-after": "9"}).retry_after == 9


def test_the_key_is_hidden_in_the_reason_too() -> None:
    error: ProviderError = errors.classify("the key sk-secret-1 is wrong", status=401).hiding("sk-secret-1")
    assert "sk-secret" not in f"{error} {error.reason}"
