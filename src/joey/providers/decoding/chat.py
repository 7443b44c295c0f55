"""Chat Completions, streamed or whole, to chunks.

Endpoints differ more than models do, so every field is looked up by name and may have any shape: no index, no id,
arguments as an object instead of text, reasoning under two names or inside the content, content as a list of parts,
usage on every chunk or on none. Part of the answer that cannot be read is reported; counts that cannot are left out.

A reply is over when it gives a `finish_reason`, or ends with `[DONE]`, or came whole. Some servers end it with an
error: as the reason, or beside it. An error that comes after the reason changes nothing.

Groq checks the model's calls itself and answers with an error that holds what the model wrote. That is the model's
mistake, not a failed request: it is read as the call that it was meant to be.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from joey.chunks import Chunk, PromptChunk, ReasoningChunk, StopChunk, TextChunk, ToolCallChunk, UsageChunk
from joey.messages import StopReason
from joey.providers import errors
from joey.providers.decoding.reader import ReplyReader, unexpected
from joey.providers.decoding.shapes import count, index, items, json_text, mapping, text, word
from joey.providers.encoding.reasoning import ReasoningDetails
from joey.providers.error_body import message_in

_STOPS: dict[str, StopReason] = {
    "stop": "end",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "refusal",
}
_FAILURES: Mapping[str, type[errors.ProviderError]] = {
    "error": errors.OverloadedError,
    "insufficient_system_resource": errors.OverloadedError,  # DeepSeek
    "network_error": errors.OverloadedError,  # Z.AI
    "abort": errors.CutStreamError,  # SGLang, vLLM
}
"""Reasons to stop that say that the reply failed."""
_REFUSED_CALL = "tool_use_failed"
_USUAL = {"index", "delta", "finish_reason", "logprobs"}


class ChatReader(ReplyReader):
    """Completion chunks, or one whole completion, to our chunks."""

    def __init__(self) -> None:
        self._reason: str | None = None
        self._answered = False
        self._called = False
        self._refused = False
        self._thinks = False
        self._details = ReasoningDetails()

    @property
    def is_complete(self) -> bool:
        return bool(self._reason)

    def read(self, name: str, data: Any) -> Iterator[Chunk]:
        if self._answered and not self._thinks and (words := _only_text(data)):
            yield TextChunk(words)
            return
        for entry in _entries(data):
            yield from self._entry(entry, _of_stream, is_error=name == "error")

    def read_whole(self, body: Any) -> Iterator[Chunk]:
        for entry in _entries(body):
            yield from map(_numbered, itertools.count(), self._entry(entry, _of_whole))
        if not self._answered:
            raise errors.from_body(body) if message_in(body) else unexpected("the body", body)

    def end(self, *, marked: bool) -> Iterator[Chunk]:
        if self._reason is None and not (marked and self._answered):
            raise errors.CutStreamError("the reply broke off before its end")
        yield from self._take_details()
        yield self._stop(self._reason or "")

    def rescue(self, body: Any) -> list[Chunk]:
        error = mapping(mapping(body).get("error"))
        if error.get("code") != _REFUSED_CALL:
            return []
        return [*_refused_call(error.get("failed_generation")), StopChunk("tool_calls", _REFUSED_CALL)]

    def _entry(self, entry: Mapping[str, Any], message_of: Any, *, is_error: bool = False) -> Iterator[Chunk]:
        if (is_error or entry.get("error")) and not self.is_complete:
            yield from self._failed(entry)
            return
        yield from _prompt_read(entry)
        for choice in _first(entry.get("choices")):
            self._answered = True
            if choice.get("error") and not self.is_complete:
                raise errors.from_body(choice, began=True)
            yield from self._message(message_of(choice))
            yield from _counted(choice)
            self._end_with(choice.get("finish_reason"))
        yield from _counted(entry)

    def _failed(self, entry: Mapping[str, Any]) -> Iterator[Chunk]:
        rescued = self.rescue(entry)
        if not rescued:
            raise errors.from_body(entry, began=True)
        self._reason, self._called = _REFUSED_CALL, True
        yield from rescued[:-1]

    def _end_with(self, reason: Any) -> None:
        failure = _FAILURES.get(text(reason))
        if failure is not None and not self.is_complete:
            raise failure(f"the provider ended the reply with {reason!r}")
        self._reason = self._reason or text(reason) or None

    def _message(self, message: Mapping[str, Any]) -> Iterator[Chunk]:
        details = message.get("reasoning_details")
        self._details.add(details)
        self._thinks = self._thinks or bool(details)
        thoughts = _texts(message.get("reasoning_content") or message.get("reasoning")) or _texts(details)
        refusal = text(message.get("refusal"))
        self._refused = self._refused or bool(refusal)
        parts = list(_parts(message.get("content"))) or ([TextChunk(refusal)] if refusal else [])
        calls = [*_calls(message.get("tool_calls")), *_calls(message.get("function_call"))]
        if thoughts:
            yield ReasoningChunk(thoughts)
        if parts or calls:
            yield from self._take_details()
        yield from parts
        self._called = self._called or bool(calls)
        yield from calls

    def _take_details(self) -> Iterator[Chunk]:
        """The reasoning is over: its signature, once."""
        signature = self._details.take()
        if signature is not None:
            yield ReasoningChunk("", signature)

    def _stop(self, reason: str) -> StopChunk:
        if self._refused:
            return StopChunk("refusal", reason)
        if self._called and reason in ("", "stop", _REFUSED_CALL):  # many servers say `stop`
            return StopChunk("tool_calls", reason)
        return StopChunk(_STOPS.get(reason, "unknown") if reason else "end", reason)


def _only_text(data: Any) -> str:
    """The text of a piece that is nothing else, as nearly all pieces of a reply are; empty for any other."""
    if type(data) is not dict or data.get("usage") or "error" in data or "prompt_progress" in data:
        return ""
    choices = data.get("choices")
    if type(choices) is not list or len(choices) != 1 or type(choice := choices[0]) is not dict:
        return ""
    delta = choice.get("delta")
    if type(delta) is not dict or choice.get("finish_reason") or choice.get("index") or not choice.keys() <= _USUAL:
        return ""
    words = delta.get("content")
    return words if type(words) is str and len(delta) == 1 else ""


def _entries(data: Any) -> Iterator[Mapping[str, Any]]:
    """The objects of an event. Null says nothing; a list is Google's way to send them."""
    for entry in data if isinstance(data, list) else [data]:
        if isinstance(entry, dict):
            yield entry
        elif entry is not None:
            raise unexpected("a piece", entry)


def _first(choices: Any) -> Iterator[Mapping[str, Any]]:
    """The choice that was asked for; there can be others if a server makes several."""
    for choice in [choices] if isinstance(choices, dict) else items(choices):
        if isinstance(choice, dict) and index(choice.get("index")) in (None, 0):
            yield choice
            return


def _of_stream(choice: Mapping[str, Any]) -> Mapping[str, Any]:
    """The next piece. A server that sends all the text so far beside it has it under `message`."""
    delta = choice.get("delta")
    return _message_in(choice.get("message") if delta is None else delta, choice)


def _of_whole(choice: Mapping[str, Any]) -> Mapping[str, Any]:
    """The whole message. A server may put an empty piece beside it."""
    return _message_in(choice.get("message") or choice.get("delta"), choice)


def _message_in(message: Any, choice: Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(message, str):
        return {"content": message}
    if message and not isinstance(message, dict):
        raise unexpected("the message", message)
    return mapping(message) if message is not None else {"content": choice.get("text")}


def _parts(content: Any) -> Iterator[Chunk]:
    """Content is a text, or a list of parts: of text, of reasoning, or of what holds no words (references)."""
    for part in content if isinstance(content, list) else [content]:
        kind = text(mapping(part).get("type"))
        if isinstance(part, (bool, int, float)) and part:
            raise unexpected("the content", part)
        if kind in ("thinking", "reasoning"):
            thought = _texts(part.get("thinking") or part.get("reasoning") or part.get("text"))
            if thought:
                yield ReasoningChunk(thought)
        elif words := _texts(part):
            yield TextChunk(words)


def _texts(value: Any) -> str:
    """The words in a text, in a part with text, or in a list of either."""
    return "".join(map(_text, value)) if isinstance(value, list) else _text(value)


def _text(value: Any) -> str:
    part = mapping(value)
    return text(value) or text(part.get("text")) or text(part.get("refusal")) or text(part.get("summary"))


def _calls(calls: Any) -> list[ToolCallChunk]:
    """Calls, or one. Some servers fill every field of an answer: one with nothing in it is no call."""
    if calls and not isinstance(calls, (list, dict)):
        raise unexpected("a call", calls)
    chunks = [_call(call) for call in ([calls] if isinstance(calls, dict) else items(calls)) if call]
    return [chunk for chunk in chunks if chunk.id or chunk.name or chunk.arguments]


def _call(call: Any) -> ToolCallChunk:
    if not isinstance(call, dict):
        raise unexpected("a call", call)
    function = mapping(call.get("function")) or mapping(call.get("custom")) or call
    arguments = json_text(function.get("arguments", function.get("input")))
    return ToolCallChunk(
        index(call.get("index")), word(call.get("id")) or None, text(function.get("name")) or None, arguments
    )


def _numbered(place: int, chunk: Chunk) -> Chunk:
    """Calls of a whole reply have no index; their place tells them apart."""
    return replace(chunk, index=place) if isinstance(chunk, ToolCallChunk) else chunk


def _refused_call(written: Any) -> Iterator[Chunk]:
    """What the model wrote, as a call if it reads as one; else as one without a name, which is malformed."""
    try:
        call = mapping(json.loads(text(written)))
    except (ValueError, RecursionError):
        call = {}
    if text(call.get("name")):
        yield ToolCallChunk(None, None, text(call["name"]), json_text(call.get("arguments", call.get("parameters"))))
    elif text(written).strip():
        yield ToolCallChunk(arguments=text(written))


def _prompt_read(entry: Mapping[str, Any]) -> Iterator[Chunk]:
    """llama.cpp reports how far it is with the prompt, in pieces of the stream that hold nothing else."""
    progress = mapping(entry.get("prompt_progress"))
    read, total = count(progress.get("processed")), count(progress.get("total"))
    if read is not None and total:
        yield PromptChunk(min(read, total), total)


def _counted(holder: Mapping[str, Any]) -> Iterator[Chunk]:
    """OpenAI counts cached tokens into the prompt; we do not."""
    usage = mapping(holder.get("usage"))
    if not usage:
        return
    details = mapping(usage.get("prompt_tokens_details"))
    read = count(details.get("cached_tokens")) or 0
    written = count(details.get("cache_write_tokens")) or 0
    prompt = count(usage.get("prompt_tokens")) or 0
    output, thought = count(usage.get("completion_tokens")) or 0, mapping(usage.get("completion_tokens_details"))
    reasoning = count(thought.get("reasoning_tokens")) or 0
    yield UsageChunk(max(0, prompt - read - written), output, written, read, reasoning)
