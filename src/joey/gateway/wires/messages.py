"""Anthropic's Messages.

A stream: message_start, then for each block its start, deltas and stop, then message_delta with the reason to stop and
the usage, then message_stop. Claude Code takes no call from a block without its stop.

Message threads (`thread`), in which a client sends only what is new, are refused in the words that make the SDK's tool
runner go on without them. Ignored, they would have the model answer from one tool result alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from joey.gateway.arguments import compact
from joey.gateway.offered import OfferedTool, OfferedTools, function_tool
from joey.gateway.pieces import (
    CallBegin,
    CallBroken,
    CallEnd,
    CallPiece,
    Piece,
    ReasoningEnd,
    ReasoningPiece,
    ReplyEnd,
    TextEnd,
    TextPiece,
)
from joey.gateway.refusal import Refusal, RefusalKind, invalid
from joey.gateway.replies import KeptReplies
from joey.gateway.request import ClientRequest, ConversationReader, ReplyFormat
from joey.gateway.wires.base import ReadingContext, WholeReply, Wire, WireWriter, new_id, sse
from joey.gateway.wires.chat import format_of
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
from joey.messages import Block, ReasoningBlock, ResultBlock, StopReason, TextBlock, ToolResultBlock, ToolUseBlock
from joey.usage import Usage
from joey.wire import JsonObject

_STOPS: dict[StopReason, str] = {
    "end": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "stop_sequence": "stop_sequence",
    "refusal": "refusal",
    "unknown": "end_turn",
}
_ERRORS: dict[RefusalKind, str] = {
    "invalid": "invalid_request_error",
    "thread": "invalid_request_error",
    "auth": "authentication_error",
    "forbidden": "permission_error",
    "not_found": "not_found_error",
    "too_large": "request_too_large",
    "context": "invalid_request_error",
    "rate": "rate_limit_error",
    "overloaded": "overloaded_error",
    "upstream": "api_error",
    "timeout": "timeout_error",
}
_OVERLOADED = 529
_TEXT = {"type": "string"}
_FILE_COMMANDS = ["view", "create", "str_replace", "insert"]
_FILE_EDITS: JsonObject = {
    "file_text": _TEXT,
    "old_str": _TEXT,
    "new_str": _TEXT,
    "insert_line": {"type": "integer"},
    "insert_text": _TEXT,
    "view_range": {"type": "array", "items": {"type": "integer"}},
}
_TYPED: dict[str, JsonObject] = {
    "bash": {
        "description": "Run a command in a bash session that stays open.",
        "properties": {"command": _TEXT, "restart": {"type": "boolean"}},
    },
    "text_editor": {
        "description": "View, create and edit text files.",
        "properties": {
            "command": {"type": "string", "enum": _FILE_COMMANDS},
            "path": _TEXT,
            **_FILE_EDITS,
        },
        "required": ["command", "path"],
    },
    "memory": {
        "description": "Notes in files below /memories, which stay from one conversation to the next.",
        "properties": {
            "command": {"type": "string", "enum": [*_FILE_COMMANDS, "delete", "rename"]},
            "path": _TEXT,
            **_FILE_EDITS,
            "old_path": _TEXT,
            "new_path": _TEXT,
        },
        "required": ["command"],
    },
}
"""Tools of Anthropic's that the client runs, by the beginning of their type: the schemas that its models know."""


class MessagesWire(Wire):
    """POST /v1/messages."""

    name: ClassVar[str] = "messages"
    path: ClassVar[str] = "/messages"
    call_prefix: ClassVar[str] = "toolu_"

    def read(self, body: JsonObject, context: ReadingContext) -> ClientRequest:
        if body.get("thread") is not None:
            raise Refusal("thread", "message threads are not supported; send the whole conversation")
        listed = _Listed(items(body.get("tools"), "tools"), items(body.get("messages"), "messages"))
        tools = listed.offered
        choice, callable_tools = choice_of(tools, body.get("tool_choice"))
        conversation = ConversationReader()
        for part in parts_of(body.get("system")):
            conversation.system(part.text if isinstance(part, TextBlock) else "")
        for message in map(mapping, listed.messages):
            _add(conversation, message, listed, context)
        if not conversation.messages:
            raise invalid("messages: at least one message is required", "messages")
        thinking, output = mapping(body.get("thinking")), mapping(body.get("output_config"))
        return ClientRequest(
            model=model_of(body),
            messages=conversation.messages,
            system=conversation.system_prompt,
            tools=tools,
            choice=choice,
            callable_tools=callable_tools,
            max_tokens=number(body, "max_tokens"),
            temperature=temperature_of(body),
            stop_sequences=strings(body, "stop_sequences"),
            sent_on=sent_on(self.name, body),
            effort=effort_of(output.get("effort")) if thinking.get("type") != "disabled" else None,
            budget=number(thinking, "budget_tokens") if thinking.get("type") == "enabled" else None,
            format=_format(body, output),
            stream=body.get("stream") is True,
            include_usage=True,
            include_sealed=True,
            conversation=str(mapping(body.get("metadata")).get("user_id") or ""),
        )

    def writer(self, request: ClientRequest, replies: KeptReplies) -> WireWriter:
        return MessagesWriter(request)

    def error(self, refusal: Refusal) -> JsonObject:
        error: dict[str, Any] = {"type": _ERRORS[refusal.kind], "message": refusal.message}
        if refusal.kind == "thread":
            error["details"] = {"error_code": "thread_unsupported_request", "unsupported": ["thread"]}
        return {"type": "error", "error": error, "request_id": new_id("req_")}

    def status(self, refusal: Refusal) -> int:
        return _OVERLOADED if refusal.kind == "overloaded" else refusal.status


def _format(body: JsonObject, output: Mapping[str, Any]) -> ReplyFormat | None:
    """The format of the reply, and its older place."""
    if output.get("format") is not None:
        return format_of(output["format"], "output_config.format")
    return format_of(body.get("output_format"), "output_format")


class _Listed:
    """The tools of a request, and what is known of each by its name.

    A deferred tool is shown to the model only after a search has found it (`tool_reference` in a result)."""

    def __init__(self, tools: Sequence[Any], messages: Sequence[Any]) -> None:
        self.messages = messages
        self.by_name = {str(mapping(tool).get("name")): mapping(tool) for tool in tools}
        found = set(_references(messages))
        offered: list[OfferedTool] = []
        dropped: list[str] = []
        for tool in map(mapping, tools):
            is_deferred = tool.get("defer_loading") is True
            if is_deferred and str(tool.get("name")) not in found:
                continue
            made = _tool(tool)
            if made is None:
                dropped.append(str(tool.get("type")))
            else:
                offered.append(replace(made, is_found=is_deferred))
        self.offered = OfferedTools.of(offered, dropped)

    def described(self, name: str) -> str:
        tool = self.by_name.get(name)
        if tool is None:
            return f"The tool {name} was found."
        schema = compact(tool.get("input_schema") or {})
        return f"The tool {name} is available now.\n{tool.get('description') or ''}\nArguments (JSON Schema): {schema}"


def _references(messages: Sequence[Any]) -> Iterator[str]:
    for message in map(mapping, messages):
        content = message.get("content")
        for block in map(mapping, content if isinstance(content, list) else ()):
            inner = block.get("content")
            for part in map(mapping, inner if isinstance(inner, list) else ()):
                if part.get("type") == "tool_reference":
                    yield str(part.get("tool_name"))


def _tool(tool: Mapping[str, Any]) -> OfferedTool | None:
    """The tool; None for one that only Anthropic's own servers run."""
    kind = tool.get("type") or "custom"
    if kind == "custom" or "input_schema" in tool:
        return function_tool({key: value for key, value in tool.items() if key != "type"})
    known = next((schema for name, schema in _TYPED.items() if str(kind).startswith(name)), None)
    if known is None:
        return None
    schema = {"type": "object", **{key: value for key, value in known.items() if key != "description"}}
    return function_tool({"name": tool.get("name"), "description": known["description"], "input_schema": schema})


def _add(
    conversation: ConversationReader, message: Mapping[str, Any], listed: _Listed, context: ReadingContext
) -> None:
    role, content = message.get("role"), message.get("content")
    if role == "system":
        conversation.system(text_of(content))
    elif role in ("user", "assistant"):
        blocks = content if isinstance(content, list) else parts_of(content)
        conversation.add(role, [each for block in blocks for each in _blocks(block, listed, context)])
    else:
        raise unknown_role(role, "messages")


def _blocks(block: Any, listed: _Listed, context: ReadingContext) -> Iterator[Block]:
    if isinstance(block, TextBlock):
        yield block
        return
    block = mapping(block)
    match block.get("type"):
        case "tool_use":
            name = listed.offered.flat_name(str(block.get("name") or ""))
            yield ToolUseBlock(str(block.get("id") or name), name, arguments_of(block.get("input")))
        case "tool_result":
            content = tuple(_result(block.get("content"), listed))
            yield ToolResultBlock(str(block.get("tool_use_id") or ""), content, block.get("is_error") is True)
        case "thinking":
            sealed = context.seal.open(block.get("signature"))
            text = str(block.get("thinking") or "")
            if sealed is not None or text:
                yield sealed or ReasoningBlock(text)
        case "redacted_thinking":
            sealed = context.seal.open(block.get("data"))
            yield from [sealed] if sealed else []
        case _:
            yield from parts_of([block])


def _result(content: Any, listed: _Listed) -> Iterator[ResultBlock]:
    for part in content if isinstance(content, list) else [content]:
        if mapping(part).get("type") == "tool_reference":
            yield TextBlock(listed.described(str(part.get("tool_name"))))
        else:
            yield from parts_of(part)


class MessagesWriter(WireWriter):
    """Writes events, or one message."""

    keep_alive: ClassVar[bytes] = sse({"type": "ping"}, "ping")

    def __init__(self, request: ClientRequest) -> None:
        self._head: dict[str, Any] = {
            "id": new_id("msg_"),
            "type": "message",
            "role": "assistant",
            "model": request.model,
        }
        self._count = 0
        self._open = False

    def begin(self) -> bytes:
        usage = _usage(Usage(self.expected_input))
        message = {**self._head, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        return _event("message_start", message=message)

    def write(self, piece: Piece) -> bytes:
        match piece:
            case TextPiece(text):
                return self._start({"type": "text", "text": ""}) + self._delta("text_delta", text=text)
            case ReasoningPiece(text):
                begun = self._start({"type": "thinking", "thinking": "", "signature": ""})
                return begun + self._delta("thinking_delta", thinking=text)
            case ReasoningEnd(_, sealed):
                begun = self._start({"type": "thinking", "thinking": "", "signature": ""})
                return begun + self._delta("signature_delta", signature=sealed) + self._stop()
            case CallBegin(call_id, tool):
                return self._start({"type": "tool_use", "id": call_id, "name": tool.name, "input": {}})
            case CallPiece(_, text):
                return self._delta("input_json_delta", partial_json=text)
            case CallEnd() | CallBroken() | TextEnd():
                return self._stop()
            case ReplyEnd(stop, usage, found):
                delta = {"stop_reason": _STOPS[stop], "stop_sequence": found}
                return _event("message_delta", delta=delta, usage=_usage(usage)) + _event("message_stop")

    def fail(self, refusal: Refusal) -> bytes:
        error = {"type": _ERRORS[refusal.kind], "message": refusal.message}
        return _event("error", error=error)

    def body(self, pieces: Sequence[Piece]) -> JsonObject:
        reply = WholeReply.of(pieces)
        return {
            **self._head,
            "content": list(map(_block_of, reply.parts)),
            "stop_reason": _STOPS[reply.end.stop],
            "stop_sequence": reply.end.stop_sequence,
            "usage": _usage(reply.end.usage),
        }

    def _start(self, block: JsonObject) -> bytes:
        if self._open:
            return b""
        self._open = True
        return _event("content_block_start", index=self._count, content_block=block)

    def _delta(self, kind: str, **delta: Any) -> bytes:
        return _event("content_block_delta", index=self._count, delta={"type": kind, **delta})

    def _stop(self) -> bytes:
        if not self._open:
            return b""
        self._open = False
        self._count += 1
        return _event("content_block_stop", index=self._count - 1)


def _event(kind: str, **fields: Any) -> bytes:
    return sse({"type": kind, **fields}, kind)


def _block_of(part: TextPiece | ReasoningEnd | CallEnd) -> JsonObject:
    match part:
        case TextPiece(text):
            return {"type": "text", "text": text}
        case ReasoningEnd(text, sealed):
            return {"type": "thinking", "thinking": text, "signature": sealed}
        case CallEnd(call_id, tool, arguments, _):
            return {"type": "tool_use", "id": call_id, "name": tool.name, "input": arguments}


def _usage(usage: Usage) -> JsonObject:
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
    }
