"""OpenAI's Chat Completions.

A stream: the role, pieces, a chunk with the reason to stop, one with the usage if it was wanted, `[DONE]`. The first
piece of a call has its index, id, type and name; clients break without any of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from joey.gateway.offered import INPUT, OfferedTool, OfferedTools, custom_tool, function_tool
from joey.gateway.pieces import CallBegin, CallPiece, Piece, ReasoningPiece, ReplyEnd, TextPiece
from joey.gateway.refusal import Refusal, RefusalKind, invalid
from joey.gateway.replies import KeptReplies
from joey.gateway.request import ClientRequest, ConversationReader, ReplyFormat
from joey.gateway.schemas import checked
from joey.gateway.wires.base import DONE, ReadingContext, WholeReply, Wire, WireWriter, new_id, sse
from joey.gateway.wires.choices import choice_of
from joey.gateway.wires.content import (
    arguments_of,
    effort_of,
    items,
    mapping,
    model_of,
    number,
    parts_of,
    strings,
    temperature_of,
    text_of,
    unknown_role,
)
from joey.gateway.wires.fields import sent_on
from joey.messages import Block, ReasoningBlock, StopReason, ToolResultBlock, ToolUseBlock
from joey.usage import Usage
from joey.wire import JsonObject

_LIMITS = ("max_completion_tokens", "max_tokens")
_STOPS: dict[StopReason, str] = {
    "end": "stop",
    "tool_calls": "tool_calls",
    "length": "length",
    "stop_sequence": "stop",
    "refusal": "content_filter",
    "unknown": "stop",
}
_ERRORS: dict[RefusalKind, tuple[str, str | None]] = {
    "invalid": ("invalid_request_error", None),
    "thread": ("invalid_request_error", None),
    "auth": ("authentication_error", "invalid_api_key"),
    "forbidden": ("permission_error", None),
    "not_found": ("invalid_request_error", "model_not_found"),
    "too_large": ("invalid_request_error", "request_too_large"),
    "context": ("invalid_request_error", "context_length_exceeded"),
    "rate": ("rate_limit_error", "rate_limit_exceeded"),
    "overloaded": ("server_error", "overloaded"),
    "upstream": ("server_error", None),
    "timeout": ("server_error", "timeout"),
}


def openai_error(refusal: Refusal) -> JsonObject:
    kind, code = _ERRORS[refusal.kind]
    if refusal.kind == "not_found" and refusal.param != "model":  # clients would say that the model is wrong
        code = None
    return {"error": {"message": refusal.message, "type": kind, "param": refusal.param, "code": code}}


class ChatWire(Wire):
    """POST /v1/chat/completions."""

    name: ClassVar[str] = "chat"
    path: ClassVar[str] = "/chat/completions"

    def read(self, body: JsonObject, context: ReadingContext) -> ClientRequest:
        tools = _tools(body)
        wanted = body.get("tool_choice", body.get("function_call"))
        if isinstance(wanted, Mapping) and "type" not in wanted:
            wanted = {"type": "function", **wanted}  # the older `function_call`
        choice, callable_tools = choice_of(tools, wanted, parallel=body.get("parallel_tool_calls") is not False)
        conversation = ConversationReader()
        for message in items(body.get("messages"), "messages"):
            _add(conversation, mapping(message), tools)
        if not conversation.messages and not conversation.system_prompt:
            raise invalid(f"messages {'have no content' if body.get('messages') else 'must not be empty'}", "messages")
        return ClientRequest(
            model=model_of(body),
            messages=conversation.messages,
            system=conversation.system_prompt,
            tools=tools,
            choice=choice,
            callable_tools=callable_tools,
            max_tokens=_limit(body),
            temperature=temperature_of(body),
            stop_sequences=strings(body, "stop"),
            sent_on=sent_on(self.name, body),
            effort=effort_of(body.get("reasoning_effort")),
            format=format_of(body.get("response_format"), "response_format"),
            stream=body.get("stream") is True,
            include_usage=mapping(body.get("stream_options")).get("include_usage") is True,
            conversation=str(body.get("prompt_cache_key") or body.get("user") or ""),
        )

    def writer(self, request: ClientRequest, replies: KeptReplies) -> WireWriter:
        return ChatWriter(request)

    def error(self, refusal: Refusal) -> JsonObject:
        return openai_error(refusal)


def _limit(body: JsonObject) -> int | None:
    """How long the reply may be. -1 is no limit, as llama.cpp and LM Studio have it."""
    given = {name: body.get(name) for name in _LIMITS if body.get(name) != -1}
    return number(given, *_LIMITS)


def format_of(data: Any, name: str) -> ReplyFormat | None:
    """What the reply must be. Raises Refusal for a form that nobody here can hold a model to: an answer in another one
    would be taken for it."""
    if data is None:
        return None
    kind = mapping(data).get("type")
    if kind == "text":
        return None
    if kind not in ("json_object", "json_schema"):
        raise invalid(f"{name}: the type {kind!r} is unknown; use text, json_object or json_schema", name)
    schema = (mapping(data.get("json_schema")) or data).get("schema")  # llama.cpp takes one for json_object as well
    if schema is None:
        return ReplyFormat()
    if not isinstance(schema, Mapping):
        raise invalid(f"{name}: the schema must be an object", name)
    return ReplyFormat(checked(schema, "the format of the reply"))


def _tools(body: JsonObject) -> OfferedTools:
    found: list[OfferedTool] = []
    dropped: list[str] = []
    for tool in map(mapping, items(body.get("tools"), "tools")):
        kind = tool.get("type", "function")
        if kind == "custom":
            found.append(custom_tool(dict(mapping(tool.get("custom")) or tool)))
        elif kind == "function":
            found.append(function_tool(tool))
        else:
            dropped.append(str(kind))
    found += [function_tool(each) for each in items(body.get("functions"), "functions")]
    return OfferedTools.of(found, dropped)


def _add(conversation: ConversationReader, message: Mapping[str, Any], tools: OfferedTools) -> None:
    role, content = message.get("role"), message.get("content")
    match role:
        case "system" | "developer":
            conversation.system(text_of(content))
        case "user":
            conversation.add("user", parts_of(content))
        case "assistant":
            conversation.add("assistant", list(_assistant(message, tools)))
        case "tool":
            result = ToolResultBlock(str(message.get("tool_call_id") or ""), tuple(parts_of(content)))
            conversation.add("user", [result])
        case "function":
            conversation.add("user", [ToolResultBlock(str(message.get("name") or ""), tuple(parts_of(content)))])
        case _:
            raise unknown_role(role, "messages")


def _assistant(message: Mapping[str, Any], tools: OfferedTools) -> Iterator[Block]:
    thought = message.get("reasoning_content") or message.get("reasoning")
    if isinstance(thought, str) and thought:
        yield ReasoningBlock(thought)
    yield from parts_of(message.get("content") or message.get("refusal"))
    for call in map(mapping, items(message.get("tool_calls"), "tool_calls")):
        function, custom = mapping(call.get("function")), mapping(call.get("custom"))
        name = tools.flat_name(str((function or custom).get("name") or ""))
        given = {INPUT: str(custom.get("input") or "")} if custom else arguments_of(function.get("arguments"))
        yield ToolUseBlock(str(call.get("id") or name), name, given)
    if older := mapping(message.get("function_call")):
        name = str(older.get("name") or "")
        yield ToolUseBlock(name, tools.flat_name(name), arguments_of(older.get("arguments")))


class ChatWriter(WireWriter):
    """Writes chunks, or one completion."""

    def __init__(self, request: ClientRequest) -> None:
        self._request = request
        self._head = {"id": new_id("chatcmpl-"), "created": int(time.time()), "model": request.model}
        self._calls: dict[str, int] = {}
        self._custom: set[str] = set()

    def begin(self) -> bytes:
        return self._chunk({"role": "assistant", "content": ""})

    def write(self, piece: Piece) -> bytes:
        match piece:
            case TextPiece(text):
                return self._chunk({"content": text})
            case ReasoningPiece(text):
                return self._chunk({"reasoning_content": text})
            case CallBegin(call_id, tool):
                index = self._calls[call_id] = len(self._calls)
                if tool.is_custom:
                    self._custom.add(call_id)
                began = _called(call_id, tool, "")
                return self._chunk({"tool_calls": [{"index": index, **began}]})
            case CallPiece(call_id, text):
                grown = {"custom": {"input": text}} if call_id in self._custom else {"function": {"arguments": text}}
                return self._chunk({"tool_calls": [{"index": self._calls[call_id], **grown}]})
            case ReplyEnd(stop, usage):
                counted = self._usage(usage) if self._request.include_usage else b""
                return self._chunk({}, finish=_STOPS[stop]) + counted + DONE
        return b""

    def fail(self, refusal: Refusal) -> bytes:
        return sse(openai_error(refusal)) + DONE

    def body(self, pieces: Sequence[Piece]) -> JsonObject:
        reply = WholeReply.of(pieces)
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or None, "refusal": None}
        if reply.reasoning:
            message["reasoning_content"] = "\n\n".join(each.text for each in reply.reasoning)
        if reply.calls:
            message["tool_calls"] = [_called(each.call_id, each.tool, each.written) for each in reply.calls]
        choice = {"index": 0, "message": message, "finish_reason": _STOPS[reply.end.stop], "logprobs": None}
        usage = chat_usage(reply.end.usage)
        return {**self._head, "object": "chat.completion", "choices": [choice], "usage": usage}

    def _chunk(self, delta: JsonObject, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return sse({**self._head, "object": "chat.completion.chunk", "choices": [choice]})

    def _usage(self, usage: Usage) -> bytes:
        return sse({**self._head, "object": "chat.completion.chunk", "choices": [], "usage": chat_usage(usage)})


def _called(call_id: str, tool: OfferedTool, written: str) -> JsonObject:
    if tool.is_custom:
        return {"id": call_id, "type": "custom", "custom": {"name": tool.name, "input": written}}
    return {"id": call_id, "type": "function", "function": {"name": tool.name, "arguments": written}}


def chat_usage(usage: Usage) -> JsonObject:
    """OpenAI counts what was read from the cache as part of the prompt."""
    prompt = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    return {
        "prompt_tokens": prompt,
        "completion_tokens": usage.output_tokens,
        "total_tokens": prompt + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }
