"""What can go wrong with a request, as exceptions that say whether trying again can help.

`classify` turns a provider's answer (a status, a type or code, a message) into one of them. It knows no SDK: the
providers hand it what they caught. A provider's own words stay in the message.
"""

from __future__ import annotations

import email.utils
import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self
from urllib.parse import urlsplit

from joey.errors import JoeyError
from joey.system.hosts import host_of, is_this_machine

_LEAST_KEY = 8
"""Shorter ones, such as the `none` for local servers, are words that may stand in a message by themselves."""


class ProviderError(JoeyError):
    """A request failed. `retry_after` is how many seconds the provider asked to wait, if it did."""

    retryable: ClassVar[bool] = False
    advice: ClassVar[str] = ""

    def __init__(self, message: str, *, status: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(f"{_sentence(message)} {self.advice}".strip() if self.advice else message)
        self.status = status
        self.retry_after = retry_after

    def hiding(self, key: str | None) -> Self:
        """The same, without the key where the provider's words repeat it: errors are shown, logged and kept."""
        if key and len(key) >= _LEAST_KEY:
            self.args = tuple(str(argument).replace(key, "[the key]") for argument in self.args)
        return self


class AuthError(ProviderError):
    """The key is missing, wrong, not allowed to do this, or out of credit. A person must act."""

    advice = "Check the API key and the account."


class MissingKeyError(AuthError):
    """No key is set, so nothing was sent."""

    advice = ""


class BadRequestError(ProviderError):
    """The provider does not take the request as it is; the same request will fail again."""


class ContextTooLongError(BadRequestError):
    """The conversation does not fit into the model's context window."""


class RateLimitError(ProviderError):
    """Too many requests or tokens in a time."""

    retryable = True


class OverloadedError(ProviderError):
    """The provider is overloaded or failed inside."""

    retryable = True


class NetworkError(ProviderError):
    """The provider could not be reached, or did not answer in time."""

    retryable = True


class NoServerError(NetworkError):
    """Nothing listens at an address of this machine; it stays so until a person starts the server."""

    retryable = False
    advice = "Start the server, or check the address; `joey doctor` shows which servers answer."


class CutStreamError(ProviderError):
    """The reply broke off, or a piece of it could not be read. What came so far is not a whole reply."""

    retryable = True


class ReplyTooLargeError(ProviderError):
    """The reply is larger than any real one, and grows. Reading it again would not end either."""

    advice = "Check the server that answers; no model writes that much."


_CONTEXT_CODES = frozenset({"context_length_exceeded", "exceed_context_size_error", "model_context_window_exceeded"})
_AUTH_KINDS = frozenset({"authentication_error", "permission_error", "billing_error", "insufficient_quota"})
_RATE_KINDS = frozenset({"rate_limit_error", "rate_limit_exceeded"})
_OVERLOADED_KINDS = frozenset(
    {"overloaded_error", "api_error", "server_error", "timeout_error", "internal_server_error"}
)
_CONTEXT_STATUSES = (None, 400, 413, 422)

# The words of many providers for one thing. "token" alone is not among them: an unknown or too large max_tokens is a
# bad request, and making the conversation shorter would not help.
_CONTEXT_WORDS = re.compile(
    r"context[ _](length|window|size)"
    r"|maximum context"
    r"|(prompt|input|context|conversation|messages?)\b[^.]{0,40}\btoo (long|large)"
    r"|too many (input |prompt )?tokens"
    r"|(?<!output )(?<!completion )\btokens? exceed"
    r"|maximum (of )?[\d,]+ (input |prompt )?tokens"
    r"|tokens? limit (was )?(exceeded|reached)"
    r"|exceeds? the (available |maximum |model'?s? )*(context|(input )?token (limit|count))"
    r"|reduce the length of",
    re.IGNORECASE,
)


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
    named = {kind for kind in kinds if kind}
    wait = retry_after(headers or {}, now=now)
    cls = _class_of(message, status, named)
    if cls is BadRequestError and status is None and began:
        cls = CutStreamError
    return cls(message, status=status, retry_after=wait)


def from_body(
    body: Any,
    *,
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
    began: bool = False,
    now: float | None = None,
) -> ProviderError:
    """The exception for the body of an error. An error inside a stream has no status; some servers put one into it."""
    if status is None:
        status = next((int(kind) for kind in kinds_in(body) if kind and kind.isdigit() and len(kind) == 3), None)
    message = message_in(body) or f"the server answered with status {status}"
    return classify(message, status=status, kinds=kinds_in(body), headers=headers, began=began, now=now)


def _class_of(message: str, status: int | None, kinds: set[str]) -> type[ProviderError]:
    if kinds & _AUTH_KINDS or status in (401, 402, 403):
        return AuthError
    if is_context_overflow(message, status=status, kinds=kinds):
        return ContextTooLongError
    if status == 429 or kinds & _RATE_KINDS:
        return RateLimitError
    if status == 408:
        return NetworkError
    # Servers write `server_error` into the body of any error; what the status says comes first.
    if (kinds & _OVERLOADED_KINDS) if status is None else (status >= 500 or status == 409):
        return OverloadedError
    return BadRequestError


def unreachable(error: BaseException, address: str, *, began: bool) -> ProviderError:
    """The exception for a connection that failed or broke."""
    address, causes = _without_secrets(address), list(_causes(error))
    text = next((f"{type(each).__name__}: {each}".rstrip(": ") for each in causes[1:] or causes), "")
    if began:
        return CutStreamError(f"the reply broke off ({text})")
    if any(isinstance(each, ConnectionRefusedError) for each in causes):
        refused = NoServerError if is_this_machine(host_of(address)) else NetworkError
        return refused(f"no server answers at {address} (connection refused)")
    return NetworkError(f"{address} could not be reached ({text})")


def refuse_page(content_type: str | None, address: str) -> None:
    """A web page is no reply: the address is one for people, or a proxy answers in place of the server."""
    if (content_type or "").startswith("text/html"):
        shown = _without_secrets(address)
        raise BadRequestError(f"{shown} answered with a web page, not with a reply; check the address and its path")


def _without_secrets(address: str) -> str:
    """An address as it can be shown: without a password or a query."""
    parts = urlsplit(address)
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
    if status not in _CONTEXT_STATUSES or kinds & (_AUTH_KINDS | _RATE_KINDS | _OVERLOADED_KINDS):
        return False
    return bool(kinds & _CONTEXT_CODES or _CONTEXT_WORDS.search(message))


def retry_after(headers: Mapping[str, str], *, now: float | None = None) -> float | None:
    """The seconds to wait that the response's headers ask for. A date needs `now`, in seconds since the epoch."""
    lower = {key.lower(): value for key, value in headers.items()}
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            return max(0.0, float(lower[name]) / unit)
        except (KeyError, ValueError):
            continue
    if now is None or "retry-after" not in lower:
        return None
    date = email.utils.parsedate_tz(lower["retry-after"])
    return None if date is None else max(0.0, email.utils.mktime_tz(date) - now)


def kinds_in(body: Any) -> tuple[str | None, ...]:
    """The types and codes in the body of an error, whether or not it is wrapped in `error`."""
    if not isinstance(body, Mapping):
        return ()
    inner = body.get("error")
    own = tuple(str(body[key]) for key in ("type", "code") if isinstance(body.get(key), (str, int)))
    return own + kinds_in(inner)


def message_in(body: Any) -> str:
    """What a person can read in the body of an error; empty if there is nothing."""
    if not isinstance(body, Mapping):
        return body.strip() if isinstance(body, str) else ""
    message = body.get("message")
    return message if isinstance(message, str) else message_in(body.get("error"))
