"""What can go wrong with a request, as exceptions that say whether trying again can help.

`from_body` turns a provider's answer (a status, a body) into one of them, `classify` its parts (a status, a type or
code, a message). They know no SDK. A provider's own words stay in the message; what a person can do follows them.

What decides, in this order: a status or type that speaks of the key; the words, by the table of `wordings`; a status or
type that speaks of a limit over time; then the status.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar, Self
from urllib.parse import urljoin, urlsplit

from joey.errors import JoeyError
from joey.providers.error_body import full_message_in, kinds_in, message_in, status_in
from joey.providers.wordings import Meaning, meaning_of
from joey.system.hosts import host_of, is_this_machine
from joey.wire import sendable

_LEAST_KEY = 8
"""Shorter ones, such as the `none` for local servers, are words that may stand in a message by themselves."""


class ProviderError(JoeyError):
    """A request failed. `words` are the provider's, `reason` says what happened and where, the whole message also what
    to do. `retry_after` is how many seconds the provider wants to be left alone, if it says so."""

    retryable: ClassVar[bool] = False
    advice: ClassVar[str] = ""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        advice: str | None = None,
    ) -> None:
        what_to_do, message = self.advice if advice is None else advice, sendable(message)
        super().__init__(f"{_sentence(message)} {what_to_do}" if what_to_do else message)
        self.words = self.reason = message
        self.status = status
        self.retry_after = retry_after

    def hiding(self, key: str | None) -> Self:
        """The same, without the key where the provider's words repeat it: errors are shown, logged and kept."""
        if key and len(key) >= _LEAST_KEY:
            self.args = tuple(str(argument).replace(key, "[the key]") for argument in self.args)
            self.reason, self.words = (text.replace(key, "[the key]") for text in (self.reason, self.words))
        return self

    def from_host(self, host: str) -> Self:
        """The same, and for a server that is overloaded or failed inside which one it was: its own words seldom say
        so."""
        if host and self.reason == self.words and (isinstance(self, OverloadedError) or (self.status or 0) >= 500):
            failed = f"{host} failed{f' with HTTP {self.status}' if self.status else ''}"
            self.args, self.reason = (f"{failed}: {self}",), f"{failed}: {self.words}"
        return self


class AuthError(ProviderError):
    """The key is missing, wrong, not allowed to do this, or out of credit. A person must act."""

    advice = "Check the API key and the account."

    def of_provider(self, provider: str, address: str, variable: str) -> Self:
        """The same, with the provider and the server whose key it is, and where that is set."""
        if self.status is not None and self.reason == self.words:
            where = f"{provider} at {address}" if address else provider
            key = f" The key of {provider} is set in {variable}." if variable else ""
            head = f"{where} answered HTTP {self.status}"
            self.args, self.reason = (f"{head}: {self}{key}",), f"{head}: {self.words}"
        return self


class MissingKeyError(AuthError):
    """No key is set, so nothing was sent."""

    advice = ""


class BadRequestError(ProviderError):
    """The provider does not take the request as it is; the same request will fail again."""

    max_tokens: int | None = None
    """With an answer of at most so many tokens it would be taken, if the provider says so."""


class WrongServerError(BadRequestError):
    """What answers at the address is not the API that was asked for."""


class ContextTooLongError(BadRequestError):
    """The conversation does not fit into the model's context window."""

    advice = "Start a new task, or use a model with a larger window."
    share: float | None = None
    """How much of the conversation the model takes, if the provider says so."""


class RateLimitError(ProviderError):
    """Too many requests or tokens in a time."""

    retryable = True
    advice = "Wait a little, or use another model."


class OverloadedError(ProviderError):
    """The provider is overloaded or failed inside."""

    retryable = True
    advice = "Try again later, or use another model."


class NetworkError(ProviderError):
    """The provider could not be reached, or did not answer in time."""

    retryable = True
    advice = "Check the network and the address."


class NoServerError(NetworkError):
    """Nothing listens at an address of this machine; it stays so until a person starts the server."""

    retryable = False
    advice = "Start the server, or check the address; `joey doctor` shows which servers answer."


class CutStreamError(ProviderError):
    """The reply broke off, or a piece of it could not be read. What came so far is not a whole reply."""

    retryable = True
    advice = "Try again."


class ReplyTooLargeError(ProviderError):
    """The reply is larger than any real one, and grows. Reading it again would not end either."""

    advice = "Check the server that answers; no model writes that much."


_CONTEXT_CODES = frozenset(
    {
        "context_length_exceeded",
        "context_window_exceeded",
        "exceed_context_size_error",
        "input_too_long",
        "model_context_window_exceeded",
        "request_too_large",
        "string_above_max_length",
        "tokens_limit_reached",
        "too_many_prompt_tokens",
    }
)
_AUTH_KINDS = frozenset({"authentication_error", "permission_error", "billing_error", "insufficient_quota"})
_RATE_KINDS = frozenset(
    {"rate_limit_error", "rate_limit_exceeded", "resource_exhausted", "throttlingexception", "too_many_requests"}
)
_OVERLOADED_KINDS = frozenset(
    {
        "api_error",
        "engine_overloaded_error",
        "internal_server_error",
        "overloaded_error",
        "provider_unavailable",
        "server_error",
        "service_unavailable",
        "timeout_error",
        "unavailable",
    }
)
_CONTEXT_STATUSES = (None, 400, 413, 422)
_ADVICE = {
    400: "The same request would fail again: use another model, or other settings.",
    404: "Check the name of the model and the address of the server.",
}
_NOT_FOUND = ("not found", "not exist", "no such", "unknown", "no model", "deprecated", "not available", "cannot ")
_REFUSED = "Reword what you asked for, or use another model."


def from_body(
    body: Any,
    *,
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
    began: bool = False,
    now: float | None = None,
) -> ProviderError:
    """The exception for the body of an error, in whichever shape it is."""
    found = status if status is not None and status >= 400 else status_in(body)
    message = full_message_in(body) or _without_words(found or status)
    return classify(message, status=found, kinds=kinds_in(body), headers=headers, began=began, now=now)


def _without_words(status: int | None) -> str:
    if status == 413:
        return "the request is too large for the server (status 413)"
    return f"the server answered with status {status} and no words"


def classify(
    message: str,
    *,
    status: int | None = None,
    kinds: tuple[str | None, ...] = (),
    headers: Mapping[str, str] | None = None,
    began: bool = False,
    now: float | None = None,
) -> ProviderError:
    """The exception for what a provider answered.

    `kinds` are the types and codes in its answer; `began` says that a part of the reply had already come.
    """
    if status is not None and status < 400:
        status = None  # the reply began well; the error came inside it
    meaning = meaning_of(message)
    cls = _class_of(status, {kind.lower() for kind in kinds if kind}, meaning)
    if cls is BadRequestError and status is None and began:
        cls = CutStreamError
    words, advice = _worded(message_in(message), cls, status, meaning)
    wait = retry_after(headers or {}, now=now)
    if wait is None and cls is RateLimitError:
        wait = _wait_in(message)
    error = cls(words, status=status, retry_after=wait, advice=advice)
    if isinstance(error, BadRequestError) and meaning is not None:
        error.max_tokens = meaning.allowed
    if isinstance(error, ContextTooLongError) and meaning is not None:
        error.share = meaning.share
    return error


def _class_of(status: int | None, kinds: set[str], meaning: Meaning | None) -> type[ProviderError]:
    kind = meaning.kind if meaning else ""
    if kind == "refused" and status in (400, 403):
        return BadRequestError
    if kinds & _AUTH_KINDS or status in (401, 402, 403):
        return AuthError
    if kind == "beyond" or _is_overflow(status, kinds, meaning):
        return ContextTooLongError
    if status == 429 or kinds & _RATE_KINDS or (kind == "throttled" and status in _CONTEXT_STATUSES):
        return RateLimitError
    if kind == "key" and status in (None, 400):
        return AuthError
    if status == 408:
        return NetworkError
    # Servers write `server_error` into the body of any error; what the status says comes first.
    if (kinds & _OVERLOADED_KINDS) if status is None else (status >= 500 or status == 409):
        return OverloadedError
    return BadRequestError


def _worded(
    message: str, cls: type[ProviderError], status: int | None, meaning: Meaning | None
) -> tuple[str, str | None]:
    """What happened in the provider's words, and what to do where the class alone does not say it."""
    if cls is not BadRequestError:
        return message, None
    if status == 404 and not any(words in message.lower() for words in _NOT_FOUND):
        named = re.fullmatch(r"model: (\S+)", message)  # Anthropic's whole message
        message = f"the model {named[1]} was not found" if named else f"not found: {message}"
    if meaning is not None and meaning.kind == "refused":
        return message, _REFUSED
    return message, _ADVICE.get(status or 0, _ADVICE[400])


def broken_off(error: BaseException) -> CutStreamError:
    """The exception for a connection that broke within the reply."""
    return CutStreamError(f"the reply broke off ({_named(list(_causes(error)))})")


def unreachable(error: BaseException, address: str) -> ProviderError:
    """The exception for a connection that failed before a reply came, or brought something else."""
    address, causes = _without_secrets(address), list(_causes(error))
    if any(isinstance(each, ConnectionRefusedError) for each in causes):
        refused = NoServerError if is_this_machine(host_of(address)) else NetworkError
        return refused(f"no server answers at {address} (connection refused)")
    return NetworkError(f"no answer from {address} ({_named(causes)})")


def _named(causes: Sequence[BaseException]) -> str:
    """What the HTTP client says of it, below the SDK. h11 shows what came as Python writes it."""
    text = next((str(each).rstrip(". ") or type(each).__name__ for each in causes[1:] or causes), "")
    return re.sub(r"bytearray\(b(.*)\)", r"\1", text)


def redirected(address: str, to: str) -> WrongServerError:
    """The exception for a server that names another one. The conversation and the key go only where the user says."""
    with suppress(ValueError):  # it is shown as it came
        to = urljoin(address, to)
    there = message_in(_without_secrets(to))
    advice = "Use that address, if it is the right one."
    return WrongServerError(f"{_without_secrets(address)} redirects to {there}", advice=advice)


def refuse_page(content_type: str | None, address: str) -> None:
    """A web page is no reply: the address is one for people, or a proxy answers in place of the server."""
    if (content_type or "").startswith("text/html"):
        shown = _without_secrets(address)
        raise WrongServerError(f"{shown} answered with a web page, not with a reply; check the address and its path")


def _without_secrets(address: str) -> str:
    """An address as it can be shown: without a password or a query."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return address
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl().rstrip("/")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _sentence(text: str) -> str:
    return text if text.rstrip().endswith((".", "!", "?")) else f"{text.rstrip()}."


def is_context_overflow(
    message: str, *, status: int | None = None, kinds: set[str] | frozenset[str] = frozenset()
) -> bool:
    """Whether this error says that the conversation is too long for the model."""
    return _is_overflow(status, {kind.lower() for kind in kinds}, meaning_of(message))


def _is_overflow(status: int | None, kinds: set[str], meaning: Meaning | None) -> bool:
    if status not in _CONTEXT_STATUSES or kinds & (_AUTH_KINDS | _RATE_KINDS | _OVERLOADED_KINDS):
        return False
    if meaning is None:
        return bool(kinds & _CONTEXT_CODES)
    return meaning.kind == "conversation" or (meaning.kind == "answer" and meaning.about_window)


def _wait_in(message: str) -> float | None:
    """The seconds to wait that the words of a rate limit name, as OpenAI's and Groq's do."""
    found = re.search(r"(?:try|retry) again in (?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)(ms|s))?", message)
    if found is None or not any(found.groups()):
        return None
    minutes, amount, unit = found.groups()
    return int(minutes or 0) * 60 + float(amount or 0) / (1000 if unit == "ms" else 1)


def retry_after(headers: Mapping[str, str], *, now: float | None = None) -> float | None:
    """The seconds to wait that the response's headers ask for. A date needs `now`, in seconds since the epoch."""
    lower = {key.lower(): value for key, value in headers.items()}
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        with suppress(KeyError, ValueError):
            seconds = float(lower[name]) / unit
            return max(0.0, seconds) if math.isfinite(seconds) else None
    if now is None or "retry-after" not in lower:
        return None
    from email.utils import parsedate_to_datetime

    with suppress(ValueError, OverflowError):
        return max(0.0, parsedate_to_datetime(lower["retry-after"]).timestamp() - now)
    return None
