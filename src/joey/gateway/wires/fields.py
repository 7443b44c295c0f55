"""The fields of a request on each wire, and what becomes of each: the one list of what is understood.

    read      the gateway does what it says
    sent on   it goes to the model's server, where that takes it; elsewhere the server's own setting counts
    refused   a value that would change what the answer is, and cannot be kept, is an error
    ignored   nothing in the answer depends on it, or only something that clients can do without

A field that is not listed is ignored: clients send fields of their own, and new ones before anybody knows them. That a
field is null is the same as that it is not there. docs/guides/gateway.md has this table; a test compares them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from joey.gateway.refusal import invalid

Use: TypeAlias = Literal["read", "sent on", "refused", "ignored"]
Check: TypeAlias = Callable[[Any], str | None]
"""What is wrong with a value; None if nothing is."""

CHAT, RESPONSES, MESSAGES = "chat", "responses", "messages"
OPENAI = (CHAT, RESPONSES)
ALL = (CHAT, RESPONSES, MESSAGES)
LOGIT_BIAS = "logit_bias"
_MAX_SEED = 2**63
_LOGPROBS = "message.output_text.logprobs"


def _number(low: float, high: float, *, whole: bool = False) -> Check:
    kind = "a whole number" if whole else "a number"
    problem = f"must be {kind} between {low:g} and {high:g}"

    def check(value: Any) -> str | None:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high
        return None if is_number and (not whole or isinstance(value, int)) else problem

    return check


def _object(value: Any) -> str | None:
    return None if isinstance(value, Mapping) else "must be an object"


def _weights(value: Any) -> str | None:
    weight = _number(-100, 100)
    is_legal = isinstance(value, Mapping) and all(weight(each) is None for each in value.values())
    return None if is_legal else "must be an object of numbers between -100 and 100, by token"


def _flag(value: Any) -> str | None:
    return None if isinstance(value, bool) else "must be true or false"


def _never(problem: str) -> Check:
    """For what cannot be kept at all. That somebody does not want it is fine."""
    return lambda value: None if value in (False, 0, "", {}, []) else problem


def _one(value: Any) -> str | None:
    return None if value == 1 and not isinstance(value, bool) else "only n=1 is supported"


def _text_only(value: Any) -> str | None:
    return None if value in ([], ["text"]) else "only text output is supported"


def _included(value: Any) -> str | None:
    if not isinstance(value, list):
        return "must be a list"
    return f"{_LOGPROBS} is not supported" if _LOGPROBS in value else None


_NO_LOGPROBS = _never("log probabilities are not supported")


@dataclass(frozen=True, slots=True)
class RequestField:
    """Fields of one use, on the wires that have them. `note` is for the documentation."""

    names: tuple[str, ...]
    wires: tuple[str, ...]
    use: Use
    note: str
    check: Check | None = None


FIELDS: tuple[RequestField, ...] = (
    RequestField(("model",), ALL, "read", "the upstream of that name or alias, else the first"),
    RequestField(("messages",), (CHAT, MESSAGES), "read", "the conversation"),
    RequestField(("input", "instructions"), (RESPONSES,), "read", "the conversation"),
    RequestField(("system",), (MESSAGES,), "read", "the system prompt"),
    RequestField(("tools",), ALL, "read", "see above; what only the provider's own servers can run is left out"),
    RequestField(("functions", "function_call"), (CHAT,), "read", "the older names of `tools` and `tool_choice`"),
    RequestField(("tool_choice",), ALL, "read", "enforced"),
    RequestField(("parallel_tool_calls",), OPENAI, "read", "enforced if false", _flag),
    RequestField(
        ("max_tokens",), (CHAT, MESSAGES), "read", "at most what the model and its window allow; -1 is no limit in Chat"
    ),
    RequestField(("max_completion_tokens",), (CHAT,), "read", "the same; counts more than `max_tokens`"),
    RequestField(("max_output_tokens",), (RESPONSES,), "read", "the same"),
    RequestField(("temperature",), ALL, "read", "0 to 2; not sent to models that take none", _number(0, 2)),
    RequestField(("stop",), (CHAT,), "read", "the gateway ends the text there itself; calls are not cut"),
    RequestField(("stop_sequences",), (MESSAGES,), "read", "the same; the answer names the one that was found"),
    RequestField(("response_format",), (CHAT,), "read", "`text`, `json_object`, `json_schema`; others are refused"),
    RequestField(("text",), (RESPONSES,), "read", "its `format`, the same; its `verbosity` is ignored", _object),
    RequestField(("output_config", "output_format"), (MESSAGES,), "read", "effort, and a format, the same"),
    RequestField(("reasoning_effort",), (CHAT,), "read", "the nearest effort that the model is known to take"),
    RequestField(("reasoning",), (RESPONSES,), "read", "its `effort`, the same", _object),
    RequestField(("thinking",), (MESSAGES,), "read", "its budget, for models that are known to take one", _object),
    RequestField(("stream",), ALL, "read", "", _flag),
    RequestField(("stream_options",), (CHAT,), "read", "`include_usage`", _object),
    RequestField(("previous_response_id",), (RESPONSES,), "read", "one of the last 256 responses, else refused"),
    RequestField(("store",), (RESPONSES,), "read", "with false the response is not kept for a next one", _flag),
    RequestField(
        ("include",), (RESPONSES,), "read", f"`reasoning.encrypted_content`; `{_LOGPROBS}` is refused", _included
    ),
    RequestField(("prompt_cache_key",), OPENAI, "read", "the name of the conversation, for servers that keep caches"),
    RequestField(("user",), (CHAT,), "read", "the same, without a `prompt_cache_key`"),
    RequestField(("metadata",), (MESSAGES,), "read", "the same, by its `user_id`"),
    RequestField(("top_p",), ALL, "sent on", "", _number(0, 1)),
    RequestField(("top_k",), (CHAT, MESSAGES), "sent on", "", _number(-1, 2**31, whole=True)),
    RequestField(("min_p",), (CHAT,), "sent on", "", _number(0, 1)),
    RequestField(("seed",), (CHAT,), "sent on", "", _number(-_MAX_SEED, 2 * _MAX_SEED, whole=True)),
    RequestField(("frequency_penalty", "presence_penalty"), (CHAT,), "sent on", "", _number(-2, 2)),
    RequestField(("repetition_penalty", "repeat_penalty"), (CHAT,), "sent on", "", _number(0, 100)),
    RequestField(("chat_template_kwargs",), (CHAT,), "sent on", "", _object),
    RequestField((LOGIT_BIAS,), (CHAT,), "sent on", "refused where it cannot be", _weights),
    RequestField(("n",), (CHAT,), "refused", "more than one choice", _one),
    RequestField(("logprobs",), (CHAT,), "refused", "if true", _NO_LOGPROBS),
    RequestField(("top_logprobs",), OPENAI, "refused", "if more than 0", _NO_LOGPROBS),
    RequestField(("modalities",), (CHAT,), "refused", "other than text", _text_only),
    RequestField(("audio",), (CHAT,), "refused", "", _never("audio output is not supported")),
    RequestField(
        ("background",),
        (RESPONSES,),
        "refused",
        "if true: no answer can be fetched later",
        _never("background responses are not supported; omit the field"),
    ),
    RequestField(
        ("conversation", "prompt"),
        (RESPONSES,),
        "refused",
        "they name what only OpenAI's servers keep",
        _never("items stored on OpenAI's servers cannot be read; send the whole conversation in `input`"),
    ),
    RequestField(("thread",), (MESSAGES,), "refused", "in the words that make the SDK go on without it"),
    RequestField(
        ("compaction",),
        (MESSAGES,),
        "refused",
        "but not where tokens are counted",
        _never("compaction is not supported; ask for a summary in a message"),
    ),
    RequestField(("metadata", "moderation"), OPENAI, "ignored", "for OpenAI's own records"),
    RequestField(("user",), (RESPONSES,), "ignored", "the same"),
    RequestField(("store",), (CHAT,), "ignored", "nothing is kept"),
    RequestField(
        ("service_tier", "speed", "inference_geo", "prediction", "access_programs"),
        ALL,
        "ignored",
        "where and how fast the provider's servers would work",
    ),
    RequestField(
        ("safety_identifier", "user_profile_id", "workspace_id", "client_metadata", "diagnostics", "betas"),
        ALL,
        "ignored",
        "who asks, and why",
    ),
    RequestField(
        ("cache_control", "prompt_cache_retention", "prompt_cache_options"),
        ALL,
        "ignored",
        "prompts are the same bytes in each turn: the server's own cache holds",
    ),
    RequestField(("verbosity",), (CHAT,), "ignored", "no model here knows it"),
    RequestField(
        ("truncation", "context_management"),
        (RESPONSES, MESSAGES),
        "ignored",
        "nothing is left out of a conversation: what is too long is refused",
    ),
    RequestField(
        ("web_search_options", "max_tool_calls", "mcp_servers", "container", "image"),
        ALL,
        "ignored",
        "tools of the provider's own servers are left out",
    ),
    RequestField(("stream_options",), (RESPONSES,), "ignored", "usage always comes"),
    RequestField(("fallbacks", "fallback_credit_token"), (MESSAGES,), "ignored", "the model is the upstream's"),
)


def _by_name(wire: str) -> dict[str, RequestField]:
    return {name: each for each in FIELDS if wire in each.wires for name in each.names}


KNOWN: Mapping[str, Mapping[str, RequestField]] = {wire: _by_name(wire) for wire in ALL}
"""The fields of each wire, by name."""


def check_fields(wire: str, body: Mapping[str, Any]) -> None:
    """Raises Refusal for a value that is none of its field, or that cannot be kept."""
    known = KNOWN[wire]
    for name, value in body.items():
        found = known.get(name)
        if found is None or found.check is None or value is None:
            continue
        problem = found.check(value)
        if problem is not None:
            raise invalid(f"{name}: {problem}", name)


def sent_on(wire: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a request that are for the model's server."""
    known = KNOWN[wire]
    named = {name: value for name, value in body.items() if name in known and known[name].use == "sent on"}
    return {name: value for name, value in named.items() if value is not None and value != {}}
