"""What is answered instead of a reply, in terms that every wire can write in its own shape.

A `Refusal` has a `kind`; each wire has its own word and HTTP status for it. `from_provider` turns what went wrong
upstream into one: a client of the gateway should see the same error that it would see from the model's own server, so
that what it knows to do about it (wait, compact, give up) is done.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from joey.errors import JoeyError
from joey.providers import errors

RefusalKind: TypeAlias = Literal[
    "invalid", "thread", "auth", "forbidden", "not_found", "too_large", "context", "rate", "overloaded", "upstream",
    "timeout",
]  # fmt: skip
KINDS: tuple[RefusalKind, ...] = get_args(RefusalKind)
STATUS: dict[RefusalKind, int] = {
    "invalid": 400,
    "thread": 400,
    "auth": 401,
    "forbidden": 403,
    "not_found": 404,
    "too_large": 413,
    "context": 400,
    "rate": 429,
    "overloaded": 503,
    "upstream": 502,
    "timeout": 504,
}


class Refusal(JoeyError):  # noqa: N818 - an answer, not a failure of the gateway
    """A request that gets an error. `param` is the field that is wrong, where one is."""

    def __init__(
        self, kind: RefusalKind, message: str, *, param: str | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.kind: RefusalKind = kind
        self.message = message
        self.param = param
        self.retry_after = retry_after

    @property
    def status(self) -> int:
        return STATUS[self.kind]


def invalid(message: str, param: str | None = None) -> Refusal:
    return Refusal("invalid", message, param=param)


def context_exceeded(tokens: int, window: int) -> Refusal:
    """In the words that clients look for before they compact a conversation."""
    return Refusal(
        "context",
        f"prompt is too long: {tokens} tokens > {window} maximum. "
        f"This model's maximum context length is {window} tokens.",
        param="messages",
    )


def from_provider(error: errors.ProviderError, window: int | None = None) -> Refusal:
    """What a client is told when the model's server fails, in that server's words. Its key and its address are none of
    the client's business."""
    match error:
        case errors.ContextTooLongError():
            limit = f" This model's maximum context length is {window} tokens." if window else ""
            return Refusal("context", f"prompt is too long: {error.words}{limit}", param="messages")
        case errors.AuthError():
            return Refusal("upstream", f"the model's server refused the gateway's key: {error.words}")
        case errors.WrongServerError():
            return Refusal("upstream", f"the gateway's upstream is not a model's server: {error.words}")
        case errors.BadRequestError():
            kind: RefusalKind = "not_found" if error.status == 404 else "invalid"
            return Refusal(kind, f"the model's server refused the request: {error.words}")
        case errors.RateLimitError():
            return Refusal("rate", error.words, retry_after=error.retry_after)
        case errors.OverloadedError() if error.status != 500:  # a server that failed is not busy
            return Refusal("overloaded", f"the model's server reports: {error.words}", retry_after=error.retry_after)
    return Refusal("upstream", f"the model's server failed: {error.words}", retry_after=error.retry_after)
