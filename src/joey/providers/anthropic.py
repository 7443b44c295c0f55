"""Anthropic's Messages, through the official SDK.

The request: the system prompt and the last two user messages carry a cache mark, so that each request finds the
previous one in the cache; tools go as a parameter of their own. Call arguments stream as they are made, which is
still behind a beta header; prompt caching no longer is.

The reply: events of the SDK's raw stream, each to a chunk or none. A thinking block's signature comes with its last
piece. A redacted thinking block has no text, only data that must go back unchanged: it travels as a signature that
begins with `REDACTED`.
"""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from typing import Any, ClassVar

import anthropic
import httpx2

from joey.chunks import Chunk, ReasoningChunk, StopChunk, TextChunk, ToolCallChunk, UsageChunk
from joey.errors import UsageError
from joey.messages import (
    Block,
    ImageBlock,
    Message,
    ReasoningBlock,
    ResultBlock,
    StopReason,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from joey.providers import errors
from joey.providers.base import CONNECT_TIMEOUT, Connection, ModelRequest, Provider
from joey.providers.catalogue import Abilities
from joey.providers.encoding import ids
from joey.providers.encoding.body import to_json, with_messages
from joey.providers.encoding.conversation import Preparation, PreparedConversation
from joey.providers.encoding.memo import Memo, Remembered
from joey.schema.normalise import normalise
from joey.toolspec import ToolSpec

REDACTED = "redacted_thinking:"
CACHE_MARK = {"type": "ephemeral"}
MARKED_USER_MESSAGES = 2
FINE_GRAINED_TOOLS = "fine-grained-tool-streaming-2025-05-14"
INTERLEAVED_THINKING = "interleaved-thinking-2025-05-14"
_ROOM_TO_ANSWER = 1024
_KEY_VARIABLES = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")

_STOPS: dict[str, StopReason] = {
    "end_turn": "end",
    "pause_turn": "end",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "stop_sequence": "stop_sequence",
    "refusal": "refusal",
}


def connect(connection: Connection) -> AnthropicProvider:
    """A provider for `open_model`."""
    if connection.grammar not in (None, "off"):
        raise UsageError("anthropic takes no grammar; servers that speak OpenAI's format may, such as llamacpp/…")
    api_key, base_url = connection.api_key, connection.base_url
    return AnthropicProvider(api_key=api_key, base_url=base_url, abilities=connection.abilities)


class AnthropicProvider(Provider):
    """Replies from Anthropic, or from a server that speaks its Messages."""

    name: ClassVar[str] = "anthropic"

    def __init__(
        self,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        abilities: Abilities | None = None,
        betas: Sequence[str] = (),
        timeout: float = 600.0,
    ) -> None:
        super().__init__(abilities)
        self._betas = tuple(betas)
        self._encoder: Memo[[Abilities], AnthropicEncoder] = Memo(AnthropicEncoder)
        if base_url is not None and not api_key and not any(map(os.environ.get, _KEY_VARIABLES)):
            api_key = "none"  # a local server wants no key, but the SDK wants one
        # Retrying is the caller's, who can show it.
        self._client = anthropic.AsyncAnthropic(
            api_key=api_key,
            base_url=base_url,
            max_retries=0,
            timeout=httpx2.Timeout(timeout, connect=CONNECT_TIMEOUT),
        )
        if not _has_credentials(self._client):
            raise errors.MissingKeyError("no API key for anthropic; set ANTHROPIC_API_KEY")

    async def close(self) -> None:
        await self._client.close()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        abilities = self.abilities(request.model)
        began = False
        try:
            if abilities.streaming:
                async for chunk in self._streamed(request, abilities):
                    began = True
                    yield chunk
            else:
                for chunk in await self._whole(request, abilities):
                    yield chunk
        except (anthropic.AnthropicError, httpx2.HTTPError, json.JSONDecodeError, UnicodeDecodeError) as error:
            address = str(self._client.base_url)
            raise _failure(error, address, began=began).hiding(self._client.api_key) from error

    async def _streamed(self, request: ModelRequest, abilities: Abilities) -> AsyncIterator[Chunk]:
        events = await self._create(request, abilities, stream=True)
        reader = _StreamReader()
        try:
            errors.refuse_page(events.response.headers.get("content-type"), str(self._client.base_url))
            async for event in events:
                for chunk in reader.read(event):
                    yield chunk
        except httpx2.HTTPError:
            if not reader.is_complete:
                raise
        finally:
            await events.close()
        yield reader.stop()

    async def _whole(self, request: ModelRequest, abilities: Abilities) -> list[Chunk]:
        message = await self._create(request, abilities, stream=False)
        return list(_whole_chunks(message))

    async def _create(self, request: ModelRequest, abilities: Abilities, *, stream: bool) -> Any:
        headers = {"anthropic-beta": ",".join(betas)} if (betas := self._betas_for(request, stream)) else {}
        post: Any = self._client.post
        return await post(
            "/v1/messages",
            cast_to=anthropic.types.Message,
            # The SDK copies what it is given, part by part, unless it is what goes over the wire.
            content=self._encoder(abilities).body(request, stream=stream),
            options={"headers": headers},
            stream=stream,
            stream_cls=anthropic.AsyncStream[anthropic.types.RawMessageStreamEvent],
        )

    def _betas_for(self, request: ModelRequest, stream: bool) -> list[str]:
        betas = list(self._betas)
        if request.tools and stream:
            betas.append(FINE_GRAINED_TOOLS)
        if request.tools and request.reasoning and request.reasoning.budget:
            betas.append(INTERLEAVED_THINKING)
        return betas


def _has_credentials(client: anthropic.AsyncAnthropic) -> bool:
    """Whether the SDK found a key, a token, a profile of the user's, or headers that hold one."""
    headers = {name.lower() for name in (*client.auth_headers, *client.default_headers)}
    return client.credentials is not None or not headers.isdisjoint(("x-api-key", "authorization"))


# The request


class AnthropicEncoder:
    """Requests for models with these abilities. It remembers what it made of each message of a growing conversation."""

    def __init__(self, abilities: Abilities) -> None:
        self._abilities = abilities
        self._preparation = Preparation(abilities)
        self._messages: Remembered[Message, bytes] = Remembered(lambda message: to_json(_message(message)))
        self._tool = Memo(_tool)

    def body(self, request: ModelRequest, **options: Any) -> bytes:
        """The request as JSON, with the transport's options."""
        conversation = self._preparation.prepare(request)
        messages = list(self._messages(conversation.messages))
        for place in _marked_for_cache(conversation.messages):
            messages[place] = to_json(_with_cache_mark(_message(conversation.messages[place])))
        return with_messages({**self._parameters(request, conversation), **options}, messages)

    def _parameters(self, request: ModelRequest, conversation: PreparedConversation) -> dict[str, Any]:
        self._tool.next_round()
        parameters: dict[str, Any] = {"model": request.model, "max_tokens": request.max_tokens}
        if conversation.system:
            parameters["system"] = [{"type": "text", "text": conversation.system, "cache_control": CACHE_MARK}]
        if conversation.tools:
            parameters["tools"] = [self._tool(tool) for tool in conversation.tools]
            parameters["tool_choice"] = request.tool_choice.to_anthropic()
        if request.stop_sequences:
            parameters["stop_sequences"] = list(request.stop_sequences)
        _add_reasoning(parameters, request)
        if request.temperature is not None and self._abilities.temperature and "thinking" not in parameters:
            parameters["temperature"] = request.temperature
        return parameters


def _add_reasoning(parameters: dict[str, Any], request: ModelRequest) -> None:
    reasoning = request.reasoning
    if reasoning is None:
        return
    if reasoning.budget:
        parameters["thinking"] = {"type": "enabled", "budget_tokens": reasoning.budget}
        parameters["max_tokens"] = max(request.max_tokens, reasoning.budget + _ROOM_TO_ANSWER)
    elif reasoning.effort:
        parameters["thinking"] = {"type": "adaptive"}
    if reasoning.effort:
        parameters["output_config"] = {"effort": reasoning.effort}


def _tool(tool: ToolSpec) -> dict[str, Any]:
    accepted = normalise(tool.schema, close_objects=False).schema
    return ToolSpec(tool.name, tool.description, accepted).to_anthropic()


def _message(message: Message) -> dict[str, Any]:
    content = [converted for block in message.content if (converted := _block(block)) is not None]
    # A message of nothing but reasoning that cannot go back must still be there, or the sides would not take turns.
    return {"role": message.role, "content": content or [{"type": "text", "text": "(no text)"}]}


def _block(block: Block) -> dict[str, Any] | None:
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text}
    if isinstance(block, ToolUseBlock):
        return {"type": "tool_use", "id": ids.anthropic_id(block.id), "name": block.name, "input": block.arguments}
    if isinstance(block, ToolResultBlock):
        return _result(block)
    if isinstance(block, ImageBlock):
        return _image(block)
    return _thinking(block)


def _result(block: ToolResultBlock) -> dict[str, Any]:
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": ids.anthropic_id(block.tool_use_id)}
    result["content"] = _result_content(block.content)
    if block.is_error:
        result["is_error"] = True
    return result


def _result_content(content: Sequence[ResultBlock]) -> Any:
    filled = [block for block in content if not isinstance(block, TextBlock) or block.text]
    if all(isinstance(block, TextBlock) for block in filled) and len(filled) <= 1:
        return "".join(block.text for block in filled if isinstance(block, TextBlock))
    return [{"type": "text", "text": block.text} if isinstance(block, TextBlock) else _image(block) for block in filled]


def _image(block: ImageBlock) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": block.media_type, "data": block.data}}


def _thinking(block: ReasoningBlock) -> dict[str, Any] | None:
    if block.signature is None or block.signature.startswith("["):  # unsigned, or another provider's
        return None
    if block.signature.startswith(REDACTED):
        return {"type": "redacted_thinking", "data": block.signature.removeprefix(REDACTED)}
    return {"type": "thinking", "thinking": block.text, "signature": block.signature}


def _marked_for_cache(messages: Sequence[Message]) -> Iterator[int]:
    """The places of the last user messages."""
    backwards = range(len(messages) - 1, -1, -1)
    return itertools.islice((place for place in backwards if messages[place].role == "user"), MARKED_USER_MESSAGES)


def _with_cache_mark(message: dict[str, Any]) -> dict[str, Any]:
    *before, last = message["content"]
    return {**message, "content": [*before, {**last, "cache_control": CACHE_MARK}]}


# The reply


class _StreamReader:
    """Events to chunks. Servers that only resemble Anthropic leave fields out, so each is looked up by name."""

    def __init__(self) -> None:
        self._usage = UsageChunk()
        self._stop: StopChunk | None = None
        self._signatures: dict[int, str] = {}

    def read(self, event: Any) -> list[Chunk]:
        try:
            return list(self._chunks(event))
        except (AttributeError, TypeError) as error:
            raise errors.CutStreamError(f"part of the reply has an unexpected form ({error})") from error

    def _chunks(self, event: Any) -> Iterator[Chunk]:
        kind = getattr(event, "type", None)
        if kind == "content_block_delta":
            yield from self._delta(event.index, event.delta)
        elif kind == "content_block_start":
            yield from _block_chunks(event.index, event.content_block)
        elif kind == "content_block_stop":
            if event.index in self._signatures:
                yield ReasoningChunk("", self._signatures.pop(event.index))
        elif kind == "message_start":
            yield from self._count(getattr(event.message, "usage", None))
        elif kind == "message_delta":
            yield from self._count(getattr(event, "usage", None))
            self._note_stop(getattr(event, "delta", None))

    @property
    def is_complete(self) -> bool:
        """Whether the reason to stop has come, after which nothing does."""
        return self._stop is not None

    def stop(self) -> StopChunk:
        if self._stop is None:
            raise errors.CutStreamError("the reply broke off before its end")
        return self._stop

    def _delta(self, index: int, delta: Any) -> Iterator[Chunk]:
        kind = getattr(delta, "type", None)
        if kind == "text_delta" and delta.text:
            yield TextChunk(delta.text)
        elif kind == "input_json_delta" and delta.partial_json:
            yield ToolCallChunk(index, arguments=delta.partial_json)
        elif kind == "thinking_delta" and delta.thinking:
            yield ReasoningChunk(delta.thinking)
        elif kind == "signature_delta":
            self._signatures[index] = self._signatures.get(index, "") + delta.signature

    def _count(self, usage: Any) -> Iterator[Chunk]:
        counted = _usage(usage, self._usage)
        if counted != self._usage:
            self._usage = counted
            yield counted

    def _note_stop(self, delta: Any) -> None:
        reason = getattr(delta, "stop_reason", None)
        if reason:
            self._stop = _stop_chunk(reason)


def _block_chunks(index: int, block: Any) -> Iterator[Chunk]:
    """What the start of a block brings, or the whole block when the reply was not streamed."""
    kind = getattr(block, "type", None)
    if kind == "text" and getattr(block, "text", ""):
        yield TextChunk(block.text)
    elif kind == "tool_use":
        given = getattr(block, "input", None)
        yield ToolCallChunk(index, block.id, block.name, json.dumps(given) if given else None)
    elif kind == "thinking" and (getattr(block, "thinking", "") or getattr(block, "signature", "")):
        yield ReasoningChunk(block.thinking, getattr(block, "signature", None) or None)
    elif kind == "redacted_thinking":
        yield ReasoningChunk("", REDACTED + block.data)


def _whole_chunks(message: Any) -> Iterator[Chunk]:
    for index, block in enumerate(message.content):
        yield from _block_chunks(index, block)
    yield _usage(message.usage, UsageChunk())
    yield _stop_chunk(message.stop_reason or "")


def _usage(usage: Any, before: UsageChunk) -> UsageChunk:
    def latest(name: str, known: int) -> int:
        value = getattr(usage, name, None)
        return known if value is None else value

    return UsageChunk(
        latest("input_tokens", before.input_tokens),
        latest("output_tokens", before.output_tokens),
        latest("cache_creation_input_tokens", before.cache_write_tokens),
        latest("cache_read_input_tokens", before.cache_read_tokens),
    )


def _stop_chunk(reason: str) -> StopChunk:
    return StopChunk(_STOPS.get(reason, "unknown"), reason)


# What can go wrong


def _failure(error: Exception, address: str, *, began: bool) -> errors.ProviderError:
    if isinstance(error, anthropic.APIStatusError):
        return errors.classify(
            errors.message_in(error.body) or error.message,
            status=error.status_code,
            kinds=errors.kinds_in(error.body),
            headers=error.response.headers,
            began=began,
            now=time.time(),
        )
    if isinstance(error, (anthropic.APIConnectionError, httpx2.HTTPError)):
        return errors.unreachable(error, address, began=began)
    if isinstance(error, ValueError):
        return errors.CutStreamError(f"a piece of the reply could not be read ({error})")
    return errors.BadRequestError(f"the request could not be made ({error})")
