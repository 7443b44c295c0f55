"""Chunks as each wire format sends them: the other side of what the providers read. `FORMATS` lists them by path."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from joey.chunks import Chunk, PromptChunk, ReasoningChunk, StopChunk, TextChunk, ToolCallChunk, UsageChunk
from joey.testing.script import Failure, summary

WireEvent: TypeAlias = tuple[str | None, str]
"""An event of a stream: its name, if it has one, and its data."""


@dataclass(frozen=True, slots=True)
class WireFormat:
    """How an API sends a reply of a model: its events, or its body if it is not streamed; and an error, likewise."""

    events: Callable[[Sequence[Chunk], str], Iterator[WireEvent]]
    body: Callable[[Sequence[Chunk], str], dict[str, Any]]
    error: Callable[[Failure], dict[str, Any]]
    error_event: Callable[[Failure], WireEvent]


_ANTHROPIC_STOPS = {
    "end": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "stop_sequence": "stop_sequence",
    "refusal": "refusal",
    "unknown": "unknown",
}
_OPENAI_STOPS = {
    "end": "stop",
    "tool_calls": "tool_calls",
    "length": "length",
    "stop_sequence": "stop",
    "refusal": "content_filter",
    "unknown": "unknown",
}


# OpenAI's Chat Completions


def openai_events(chunks: Sequence[Chunk], model: str) -> Iterator[WireEvent]:
    yield _openai_event(model, {"role": "assistant", "content": None})
    usage = UsageChunk()
    for chunk in chunks:
        if isinstance(chunk, UsageChunk):
            usage = chunk
        elif isinstance(chunk, StopChunk):
            yield _openai_event(model, {}, finish=_OPENAI_STOPS[chunk.reason])
            yield _openai_event(model, None, usage=_openai_usage(usage))
        elif isinstance(chunk, PromptChunk):
            yield _openai_progress(model, chunk)
        else:
            yield _openai_event(model, _openai_delta(chunk))
    yield None, "[DONE]"


def openai_body(chunks: Sequence[Chunk], model: str) -> dict[str, Any]:
    total = summary(chunks)
    calls = [_openai_call(None, *call) for call in total["calls"]]
    message: dict[str, Any] = {"role": "assistant", "content": total["text"] or None}
    if total["reasoning"]:
        message["reasoning_content"] = total["reasoning"]
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "finish_reason": _OPENAI_STOPS[total["stop"]]}
    usage = _openai_usage(total["usage"] or UsageChunk())
    return {**_openai_head(model, "chat.completion"), "choices": [choice], "usage": usage}


def openai_error(failure: Failure) -> dict[str, Any]:
    kind = failure.kind or "server_error"
    return {"error": {"message": failure.message, "type": kind, "code": kind, "param": None}}


def openai_error_event(failure: Failure) -> WireEvent:
    return None, json.dumps(openai_error(failure))


def _openai_event(model: str, delta: Any, *, finish: str | None = None, usage: Any = None) -> WireEvent:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    data = {**_openai_head(model, "chat.completion.chunk"), "choices": choices}
    return None, json.dumps(data if usage is None else {**data, "usage": usage}, ensure_ascii=False)


def _openai_progress(model: str, chunk: PromptChunk) -> WireEvent:
    """How far llama.cpp is with the prompt, in its own words."""
    choice = {"index": 0, "delta": {"role": "assistant", "content": None}, "finish_reason": None}
    progress = {"total": chunk.total, "cache": 0, "processed": chunk.read, "time_ms": 0}
    data = {**_openai_head(model, "chat.completion.chunk"), "choices": [choice], "prompt_progress": progress}
    return None, json.dumps(data)


def _openai_head(model: str, kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-local", "object": kind, "created": 0, "model": model}


def _openai_delta(chunk: TextChunk | ReasoningChunk | ToolCallChunk) -> dict[str, Any]:
    if isinstance(chunk, TextChunk):
        return {"content": chunk.text}
    if isinstance(chunk, ToolCallChunk):
        return {"tool_calls": [_openai_call(chunk.index, chunk.id, chunk.name, chunk.arguments)]}
    if chunk.signature is None:
        return {"reasoning_content": chunk.text}
    return {"reasoning_content": chunk.text, "reasoning_details": _details(chunk.signature)}


def _details(signature: str) -> Any:
    """A signature of this format is a list as JSON; another's has no place here."""
    return json.loads(signature) if signature.startswith("[") else []


def _openai_call(index: int | None, call_id: str | None, name: str | None, arguments: str | None) -> dict[str, Any]:
    call: dict[str, Any] = {} if index is None else {"index": index}
    if call_id is not None:
        call |= {"id": call_id, "type": "function"}
    function = {"name": name, "arguments": arguments}
    return {**call, "function": {key: value for key, value in function.items() if value is not None}}


def _openai_usage(usage: UsageChunk) -> dict[str, Any]:
    prompt = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    details = {"cached_tokens": usage.cache_read_tokens, "cache_write_tokens": usage.cache_write_tokens}
    return {
        "prompt_tokens": prompt,
        "completion_tokens": usage.output_tokens,
        "total_tokens": prompt + usage.output_tokens,
        "prompt_tokens_details": details,
    }


# Anthropic's Messages


def anthropic_events(chunks: Sequence[Chunk], model: str) -> Iterator[WireEvent]:
    usage = next((chunk for chunk in reversed(chunks) if isinstance(chunk, UsageChunk)), UsageChunk())
    counted = _anthropic_usage(usage)
    message = {**_anthropic_head(model), "content": [], "stop_reason": None, "usage": {**counted, "output_tokens": 1}}
    yield _anthropic_event("message_start", message=message)
    blocks = _Blocks()
    for chunk in chunks:
        yield from blocks.events(chunk)
    yield from blocks.close()
    stop = next((chunk for chunk in chunks if isinstance(chunk, StopChunk)), None)
    if stop is not None:
        delta = {"stop_reason": _ANTHROPIC_STOPS[stop.reason], "stop_sequence": None}
        yield _anthropic_event("message_delta", delta=delta, usage=counted)
        yield _anthropic_event("message_stop")


def anthropic_body(chunks: Sequence[Chunk], model: str) -> dict[str, Any]:
    total = summary(chunks)
    content: list[dict[str, Any]] = []
    if total["reasoning"] or total["signatures"]:
        signature = "".join(total["signatures"])
        content.append({"type": "thinking", "thinking": total["reasoning"], "signature": signature})
    if total["text"]:
        content.append({"type": "text", "text": total["text"]})
    for call_id, name, arguments in total["calls"]:
        content.append({"type": "tool_use", "id": call_id, "name": name, "input": json.loads(arguments or "{}")})
    usage = _anthropic_usage(total["usage"] or UsageChunk())
    return {
        **_anthropic_head(model),
        "content": content,
        "stop_reason": _ANTHROPIC_STOPS[total["stop"]],
        "usage": usage,
    }


def anthropic_error(failure: Failure) -> dict[str, Any]:
    return {"type": "error", "error": {"type": failure.kind or "api_error", "message": failure.message}}


def anthropic_error_event(failure: Failure) -> WireEvent:
    return "error", json.dumps(anthropic_error(failure))


class _Blocks:
    """Opens and closes content blocks: neighbouring text is one, neighbouring thoughts are one, each call is one."""

    def __init__(self) -> None:
        self._count = 0
        self._open: tuple[str, int] | None = None
        self._calls: dict[Any, int] = {}

    def events(self, chunk: Chunk) -> Iterator[WireEvent]:
        if isinstance(chunk, TextChunk):
            yield from self._enter("text", {"type": "text", "text": ""})
            yield self._delta({"type": "text_delta", "text": chunk.text})
        elif isinstance(chunk, ReasoningChunk):
            yield from self._enter("thinking", {"type": "thinking", "thinking": "", "signature": ""})
            if chunk.text:
                yield self._delta({"type": "thinking_delta", "thinking": chunk.text})
            if chunk.signature is not None:
                yield self._delta({"type": "signature_delta", "signature": chunk.signature})
                yield from self.close()
        elif isinstance(chunk, ToolCallChunk):
            yield from self._call(chunk)

    def close(self) -> Iterator[WireEvent]:
        if self._open is not None:
            yield _anthropic_event("content_block_stop", index=self._open[1])
            self._open = None

    def _call(self, chunk: ToolCallChunk) -> Iterator[WireEvent]:
        if chunk.index not in self._calls:
            block: dict[str, Any] = {"type": "tool_use", "id": chunk.id, "name": chunk.name, "input": {}}
            yield from self.close()
            yield from self._enter(f"call {chunk.index}", block)
            self._calls[chunk.index] = self._count - 1
        if chunk.arguments:
            delta = {"type": "input_json_delta", "partial_json": chunk.arguments}
            yield _anthropic_event("content_block_delta", index=self._calls[chunk.index], delta=delta)

    def _enter(self, kind: str, block: dict[str, Any]) -> Iterator[WireEvent]:
        if self._open is not None and self._open[0] == kind:
            return
        yield from self.close()
        self._open = (kind, self._count)
        self._count += 1
        yield _anthropic_event("content_block_start", index=self._open[1], content_block=block)

    def _delta(self, delta: dict[str, Any]) -> WireEvent:
        assert self._open is not None
        return _anthropic_event("content_block_delta", index=self._open[1], delta=delta)


def _anthropic_head(model: str) -> dict[str, Any]:
    return {"id": "msg_local", "type": "message", "role": "assistant", "model": model, "stop_sequence": None}


def _anthropic_event(kind: str, **fields: Any) -> WireEvent:
    return kind, json.dumps({"type": kind, **fields}, ensure_ascii=False)


def _anthropic_usage(usage: UsageChunk) -> dict[str, Any]:
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
    }


# OpenAI's Responses


def responses_events(chunks: Sequence[Chunk], model: str) -> Iterator[WireEvent]:
    yield _responses_event("response.created", response=_responses_head(model, "in_progress"))
    items = _Items()
    for chunk in chunks:
        yield from items.events(chunk)
    yield from items.close()
    if any(isinstance(chunk, StopChunk) for chunk in chunks):
        response = responses_body(chunks, model)
        yield _responses_event(f"response.{response['status']}", response=response)


def responses_body(chunks: Sequence[Chunk], model: str) -> dict[str, Any]:
    stop = next((chunk.reason for chunk in chunks if isinstance(chunk, StopChunk)), "end")
    why = {"length": "max_output_tokens", "refusal": "content_filter"}.get(stop)
    usage = _responses_usage(summary(chunks)["usage"] or UsageChunk())
    items = _Items()
    for chunk in chunks:
        _ = list(items.events(chunk))
    _ = list(items.close())
    body = {**_responses_head(model, "incomplete" if why else "completed"), "output": items.done, "usage": usage}
    return {**body, "incomplete_details": {"reason": why} if why else None}


def responses_error_event(failure: Failure) -> WireEvent:
    return _responses_event("error", **openai_error(failure)["error"] | {"type": "error"})


class _Items:
    """Opens, grows and closes items: neighbouring text is one, neighbouring thoughts are one, each call is one."""

    def __init__(self) -> None:
        self.done: list[dict[str, Any]] = []
        self._open: dict[str, Any] | None = None
        self._call: int | None = None

    def events(self, chunk: Chunk) -> Iterator[WireEvent]:
        if isinstance(chunk, TextChunk):
            yield from self._enter("message", {"role": "assistant", "content": [_output_text("")]})
            yield self._grow("output_text", chunk.text, content_index=0)
        elif isinstance(chunk, ReasoningChunk):
            yield from self._enter("reasoning", {"summary": [{"type": "summary_text", "text": ""}]})
            if chunk.text:
                yield self._grow("reasoning_summary_text", chunk.text, summary_index=0)
            if chunk.signature is not None:
                yield from self.close(_item_in(chunk.signature))
        elif isinstance(chunk, ToolCallChunk):
            if chunk.index != self._call or self._open is None:
                yield from self.close()
                self._call = chunk.index
            yield from self._enter("function_call", {"call_id": chunk.id, "name": chunk.name, "arguments": ""})
            if chunk.arguments:
                yield self._grow("function_call_arguments", chunk.arguments)

    def close(self, item: dict[str, Any] | None = None) -> Iterator[WireEvent]:
        if self._open is not None:
            done = {**self._open, **(item or {}), "status": "completed"}
            yield _responses_event("response.output_item.done", output_index=len(self.done), item=done)
            self.done.append(done)
            self._open = None

    def _enter(self, kind: str, fields: dict[str, Any]) -> Iterator[WireEvent]:
        if self._open is not None and self._open["type"] == kind:
            return
        yield from self.close()
        self._open = {"type": kind, "id": f"item_{len(self.done)}", **fields}
        yield _responses_event("response.output_item.added", output_index=len(self.done), item=self._open)

    def _grow(self, kind: str, piece: str, **place: int) -> WireEvent:
        assert self._open is not None
        if kind == "function_call_arguments":
            self._open["arguments"] += piece
        else:
            self._open["content" if kind == "output_text" else "summary"][0]["text"] += piece
        where = {"output_index": len(self.done), "item_id": self._open["id"], **place}
        return _responses_event(f"response.{kind}.delta", **where, delta=piece)


def _item_in(signature: str) -> dict[str, Any]:
    """A signature of this format is an item as JSON; another's is kept as what only the server can read."""
    return json.loads(signature) if signature.startswith("{") else {"encrypted_content": signature}


def _output_text(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": []}


def _responses_head(model: str, status: str) -> dict[str, Any]:
    head = {"id": "resp_local", "object": "response", "created_at": 0, "model": model, "status": status}
    return {**head, "error": None, "output": [], "usage": None}


def _responses_event(kind: str, **fields: Any) -> WireEvent:
    return kind, json.dumps({"type": kind, **fields}, ensure_ascii=False)


def _responses_usage(usage: UsageChunk) -> dict[str, Any]:
    everything = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    details = {"cached_tokens": usage.cache_read_tokens, "cache_write_tokens": usage.cache_write_tokens}
    return {
        "input_tokens": everything,
        "input_tokens_details": details,
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": everything + usage.output_tokens,
    }


FORMATS: Mapping[str, WireFormat] = {
    "/v1/chat/completions": WireFormat(openai_events, openai_body, openai_error, openai_error_event),
    "/v1/responses": WireFormat(responses_events, responses_body, openai_error, responses_error_event),
    "/v1/messages": WireFormat(anthropic_events, anthropic_body, anthropic_error, anthropic_error_event),
}
