from __future__ import annotations

from typing import Any

import pytest

from joey.providers import errors
from joey.providers.error_body import message_in
from vectors_data import cases

OTHERWISE = {
    "checkContextWindowExceededError > OpenAI errors > should detect OpenAI LengthFinishReasonError": (
        "a reply that was cut for its length is no conversation that is too long; it is a reason to stop"
    ),
}


def _parts(error: Any) -> tuple[str, int | None, set[str]]:
    """Message, status and kinds in the recorded error, wherever they are."""
    messages: list[str] = []
    kinds: set[str] = set()
    status: int | None = None
    while isinstance(error, dict):
        status = error.get("status", status)
        messages += [error["message"]] if isinstance(error.get("message"), str) else []
        kinds |= {str(error[key]) for key in ("type", "code") if error.get(key)}
        error = error.get("error")
    return " ".join(messages), status, kinds


@pytest.mark.parametrize("case", cases("roo/functions", fn="checkContextWindowExceededError"), ids=lambda c: c["test"])
def test_a_conversation_that_is_too_long_is_recognised(case: Any) -> None:
    message, status, kinds = _parts(case["args"][0])
    found = errors.is_context_overflow(message, status=status, kinds=kinds)
    assert (found == case["out"]) is (case["test"] not in OTHERWISE)


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "the request exceeds the available context size, try increasing it",
        "Input is too long for requested model.",
        "Maximum tokens exceeded",
        "The prompt has 9000 tokens, but the model takes a maximum of 8,192 tokens.",
        "Please reduce the length of the messages or completion.",
        "The input token count (1200000) exceeds the maximum number of tokens allowed: exceeds the input token limit",
    ],
)
def test_the_words_of_many_providers_mean_too_long(message: str) -> None:
    assert isinstance(errors.classify(message, status=400), errors.ContextTooLongError)


@pytest.mark.parametrize(
    "message",
    [
        "max_tokens is too large: 500000. This model supports at most 16384 completion tokens",
        "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens",
        "Invalid token in request body",
        "max_tokens exceeds the limit of this model",
        "The requested output tokens exceed the limit of this model",
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    ],
)
def test_a_word_about_tokens_alone_does_not(message: str) -> None:
    found = errors.classify(message, status=400)
    assert isinstance(found, errors.BadRequestError) and not isinstance(found, errors.ContextTooLongError)


@pytest.mark.parametrize(
    ("status", "kind", "expected", "retryable"),
    [
        (401, None, errors.AuthError, False),
        (403, None, errors.AuthError, False),
        (402, "billing_error", errors.AuthError, False),
        (429, "insufficient_quota", errors.AuthError, False),
        (400, "invalid_request_error", errors.BadRequestError, False),
        (404, "not_found_error", errors.BadRequestError, False),
        (413, None, errors.BadRequestError, False),
        (400, "server_error", errors.BadRequestError, False),
        (404, "api_error", errors.BadRequestError, False),
        (422, "server_error", errors.BadRequestError, False),
        (408, None, errors.NetworkError, True),
        (429, "rate_limit_error", errors.RateLimitError, True),
        (500, "api_error", errors.OverloadedError, True),
        (503, None, errors.OverloadedError, True),
        (529, "overloaded_error", errors.OverloadedError, True),
        (200, "overloaded_error", errors.OverloadedError, True),
        (None, "rate_limit_error", errors.RateLimitError, True),
    ],
)
def test_errors_are_told_apart(
    status: int | None, kind: str | None, expected: type[errors.ProviderError], retryable: bool
) -> None:
    found = errors.classify("no", status=status, kinds=(kind,))
    assert type(found) is expected
    assert found.retryable is retryable


def test_an_unknown_error_inside_a_reply_is_a_cut_stream() -> None:
    assert isinstance(errors.classify("oops", status=200, began=True), errors.CutStreamError)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:01:40 GMT"}, 60.0),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_the_wait_a_provider_asks_for_is_read(headers: dict[str, str], expected: float | None) -> None:
    assert errors.retry_after(headers, now=40.0) == expected


def test_an_error_says_what_to_do() -> None:
    assert (
        str(errors.classify("invalid x-api-key", status=401)) == "invalid x-api-key. Check the API key and the account."
    )


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("model: claude-sonet", "the model claude-sonet was not found."),
        ("The model `gpt-9` does not exist", "The model `gpt-9` does not exist."),
        ("nope", "not found: nope."),
    ],
)
def test_what_is_not_there_is_named(message: str, shown: str) -> None:
    advice = "Check the name of the model and the address of the server."
    assert str(errors.classify(message, status=404)) == f"{shown} {advice}"


def _refused() -> Exception:
    error = OSError("All connection attempts failed")
    error.__cause__ = ConnectionRefusedError(111, "Connect call failed")
    return error


def test_a_refused_connection_names_the_address_and_waits_only_for_other_machines() -> None:
    here = errors.unreachable(_refused(), "http://localhost:11434/v1/")
    assert "no server answers at http://localhost:11434/v1 (connection refused)" in str(here) and not here.retryable
    there = errors.unreachable(_refused(), "https://models.example/v1")
    assert "https://models.example/v1" in str(there) and there.retryable


def test_an_address_is_shown_without_its_secrets() -> None:
    shown = str(errors.unreachable(TimeoutError(), "https://me:hunter2@models.example/v1?key=hunter3"))
    assert "no answer from https://models.example/v1 (" in shown and "hunter" not in shown


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"error": {"message": "no", "type": "x"}}, "no"),
        ({"message": "no"}, "no"),
        ({"error": "no"}, "no"),
        ("<html>Bad Gateway</html>\n", "Bad Gateway"),
        ({"error": None}, ""),
        (None, ""),
    ],
)
def test_the_words_in_an_error_are_found(body: Any, expected: str) -> None:
    assert message_in(body) == expected
