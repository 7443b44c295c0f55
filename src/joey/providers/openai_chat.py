"""OpenAI's Chat Completions, through the official SDK, from any endpoint that speaks them.

Endpoints differ more than models do, so the reader looks up every field by name: no index, no id, arguments as an
object instead of text, reasoning under two names, usage on every chunk or on none.

Some servers take a grammar of the reply, each in its own form: `GRAMMAR_FORMS`. OpenAI's own takes none.

Reasoning that must go back as it came (OpenRouter's `reasoning_details`) travels as a signature: the list as JSON.
"""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar, TypeAlias

import httpx2
import openai

from joey.chunks import Chunk, ReasoningChunk, StopChunk, TextChunk, ToolCallChunk, UsageChunk
from joey.errors import UsageError
from joey.messages import ImageBlock, Message, ReasoningBlock, StopReason, TextBlock, ToolResultBlock, ToolUseBlock
from joey.providers import errors
from joey.providers.base import CONNECT_TIMEOUT, Connection, ModelRequest, Provider
from joey.providers.catalogue import Abilities
from joey.providers.encoding import ids
from joey.providers.encoding.body import to_json, with_messages
from joey.providers.encoding.conversation import Preparation, PreparedConversation
from joey.providers.encoding.memo import Memo, Remembered
from joey.providers.encoding.reasoning import ReasoningDetails
from joey.schema.normalise import normalise
from joey.system.hosts import host_of, is_this_machine
from joey.toolspec import ToolSpec

_RULES: Mapping[str, ids.MakeId] = {
    "anthropic": ids.anthropic_id,
    "openai": ids.openai_id,
    "mistral": ids.mistral_id,
}
_STOPS: dict[str, StopReason] = {
    "stop": "end",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "refusal",
}
_KEY_VARIABLE = "OPENAI_API_KEY"
GrammarForm: TypeAlias = Callable[[str], dict[str, Any]]
GRAMMAR_FORMS: Mapping[str, GrammarForm] = {
    "llama.cpp": lambda grammar: {"grammar": grammar},
    "vllm": lambda grammar: {"structured_outputs": {"grammar": grammar}},
    "vllm-guided": lambda grammar: {"guided_grammar": grammar},  # vLLM before 0.12
}
"""What goes into the body of a request to have the reply follow a grammar, by server."""


def connect(connection: Connection) -> OpenAIProvider:
    """A provider for `open_model`."""
    return OpenAIProvider(
        api_key=connection.api_key,
        base_url=connection.base_url,
        abilities=connection.abilities,
        key_variable=connection.key_variable,
        grammar=None if connection.grammar == "off" else connection.grammar,
    )


class OpenAIProvider(Provider):
    """Replies from OpenAI, or from any server that speaks its Chat Completions."""

    name: ClassVar[str] = "openai"

    def __init__(
        self,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        abilities: Abilities | None = None,
        headers: Mapping[str, str] | None = None,
        key_variable: str = _KEY_VARIABLE,
        timeout: float = 600.0,
        grammar: str | GrammarForm | None = None,
        fields: Mapping[str, Any] | None = None,
    ) -> None:
        """`grammar` is the server whose way of asking for one is used, of GRAMMAR_FORMS, or a way of its own; None
        sends no grammars. `fields` are a server's own, put into the body of every request."""
        super().__init__(abilities)
        if isinstance(grammar, str) and grammar not in GRAMMAR_FORMS:
            raise UsageError(f"the grammar form {grammar!r} is unknown; there are: {', '.join(GRAMMAR_FORMS)}")
        self._grammar_form = GRAMMAR_FORMS[grammar] if isinstance(grammar, str) else grammar
        self._fields = dict(fields or {})
        self._encoder: Memo[[Abilities], ChatEncoder] = Memo(ChatEncoder)
        key = api_key or os.environ.get(key_variable)
        if not key and base_url is None:
            raise errors.MissingKeyError(f"no API key for {self.name}; set {key_variable}")
        # Local servers want no key, but the SDK wants one. Retrying is the caller's, who can show it.
        self._client = openai.AsyncOpenAI(
            api_key=key or "none",
            base_url=base_url,
            default_headers=headers,
            max_retries=0,
            timeout=httpx2.Timeout(timeout, connect=CONNECT_TIMEOUT),
            # A proxy cannot reach this machine's own servers, and text for them is nobody else's business.
            http_client=openai.DefaultAsyncHttpxClient(trust_env=False)
            if is_this_machine(host_of(base_url or ""))
            else None,
        )

    @property
    def takes_grammar(self) -> bool:
        return self._grammar_form is not None

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
        except (openai.OpenAIError, httpx2.HTTPError, json.JSONDecodeError, UnicodeDecodeError) as error:
            address = str(self._client.base_url)
            raise _failure(error, address, began=began).hiding(self._client.api_key) from error

    async def _streamed(self, request: ModelRequest, abilities: Abilities) -> AsyncIterator[Chunk]:
        usage = {"stream_options": {"include_usage": True}} if abilities.stream_usage else {}
        events = await self._create(request, abilities, stream=True, **usage)
        reader = _StreamReader()
        try:
            errors.refuse_page(events.response.headers.get("content-type"), str(self._client.base_url))
            async for event in events:
                for chunk in reader.read(event):
                    yield chunk
        except (openai.APIConnectionError, httpx2.HTTPError):
            if not reader.is_complete:
                raise
        finally:
            await events.close()
        for chunk in reader.end():
            yield chunk

    async def _whole(self, request: ModelRequest, abilities: Abilities) -> list[Chunk]:
        reader = _StreamReader()
        return [*reader.read(await self._create(request, abilities, stream=False)), *reader.end()]

    async def _create(self, request: ModelRequest, abilities: Abilities, *, stream: bool, **options: Any) -> Any:
        grammar = self._grammar_form(request.grammar) if request.grammar is not None and self._grammar_form else {}
        extra = {"stream": stream, **options, **self._fields, **grammar}
        post: Any = self._client.post
        return await post(
            "/chat/completions",
            cast_to=openai.types.chat.ChatCompletion,
            # The SDK copies what it is given, part by part, unless it is what goes over the wire.
            content=self._encoder(abilities).body(request, **extra),
            stream=stream,
            stream_cls=openai.AsyncStream[openai.types.chat.ChatCompletionChunk],
        )


# The request


class ChatEncoder:
    """Requests for models with these abilities. It remembers what it made of each message of a growing conversation."""

    def __init__(self, abilities: Abilities) -> None:
        self._abilities = abilities
        self._preparation = Preparation(abilities)
        self._messages: Remembered[Message, bytes] = Remembered(
            lambda message: b",".join(map(to_json, chat_messages(message, abilities)))
        )
        self._tool = Memo(_tool)

    def body(self, request: ModelRequest, **options: Any) -> bytes:
        """The request as JSON, with the transport's options."""
        conversation = self._preparation.prepare(request)
        messages = list(filter(None, self._messages(conversation.messages)))
        if conversation.system:
            messages.insert(0, to_json({"role": self._abilities.system, "content": conversation.system}))
        return with_messages({**self._parameters(request, conversation), **options}, messages)

    def _parameters(self, request: ModelRequest, conversation: PreparedConversation) -> dict[str, Any]:
        abilities = self._abilities
        self._tool.next_round()
        parameters: dict[str, Any] = {"model": request.model, abilities.max_tokens: request.max_tokens}
        if conversation.tools:
            parameters["tools"] = [self._tool(tool) for tool in conversation.tools]
            parameters.update(request.tool_choice.to_openai())
        if request.temperature is not None and abilities.temperature:
            parameters["temperature"] = request.temperature
        if request.stop_sequences:
            parameters["stop"] = list(request.stop_sequences)
        if request.reasoning and request.reasoning.effort:
            parameters["reasoning_effort"] = request.reasoning.effort
        return parameters


def chat_messages(message: Message, abilities: Abilities) -> list[dict[str, Any]]:
    """A message in OpenAI's roles: results and what is beside them are messages of their own."""
    legal = _RULES[abilities.ids]
    return [_assistant(message, legal, abilities)] if message.role == "assistant" else _user(message, legal, abilities)


def _tool(tool: ToolSpec) -> dict[str, Any]:
    accepted = normalise(tool.schema, close_objects=False).schema
    return ToolSpec(tool.name, tool.description, accepted).to_openai()


def _assistant(message: Message, legal: ids.MakeId, abilities: Abilities) -> dict[str, Any]:
    texts = [block.text for block in message.content if isinstance(block, TextBlock)]
    entry: dict[str, Any] = {"role": "assistant", "content": "\n".join(texts)}
    reasoning = [block for block in message.content if isinstance(block, ReasoningBlock)]
    details = [detail for block in reasoning for detail in ReasoningDetails.read(block.signature)]
    if details:
        entry["reasoning_details"] = details
    if abilities.echo_reasoning and reasoning:
        entry["reasoning_content"] = "".join(block.text for block in reasoning)
    calls = [_call(block, legal) for block in message.content if isinstance(block, ToolUseBlock)]
    if calls:
        entry["tool_calls"] = calls
    return entry


def _call(call: ToolUseBlock, legal: ids.MakeId) -> dict[str, Any]:
    arguments = json.dumps(call.arguments, ensure_ascii=False, separators=(",", ":"))
    return {"id": legal(call.id), "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _user(message: Message, legal: ids.MakeId, abilities: Abilities) -> list[dict[str, Any]]:
    """Results first, each a message of its own, then everything else in one."""
    results = [block for block in message.content if isinstance(block, ToolResultBlock)]
    chat = [_tool_message(block, legal) for block in results]
    parts = [part for block in results for part in _images_of(block, legal)]
    for block in message.content:
        if isinstance(block, TextBlock) and block.text:
            parts.append({"type": "text", "text": block.text})
        elif isinstance(block, ImageBlock):
            parts.append(_image(block))
    if chat and parts and abilities.merge_tool_result_text and all(part["type"] == "text" for part in parts):
        chat[-1]["content"] = "\n\n".join([chat[-1]["content"], *(part["text"] for part in parts)])
    elif parts:
        chat.append({"role": "user", "content": _plainest(parts)})
    return chat


def _plainest(parts: list[dict[str, Any]]) -> Any:
    """One text is sent as a string: every server takes that."""
    return parts[0]["text"] if len(parts) == 1 and parts[0]["type"] == "text" else parts


def _tool_message(result: ToolResultBlock, legal: ids.MakeId) -> dict[str, Any]:
    words = [
        block.text if isinstance(block, TextBlock) else "(an image follows in the next message)"
        for block in result.content
    ]
    return {"role": "tool", "tool_call_id": legal(result.tool_use_id), "content": "\n".join(words) or "(empty)"}


def _images_of(result: ToolResultBlock, legal: ids.MakeId) -> Iterator[dict[str, Any]]:
    """A tool message takes no images, so they follow it, with a word on where they belong."""
    images = [block for block in result.content if isinstance(block, ImageBlock)]
    if images:
        yield {"type": "text", "text": f"Images in the result of {legal(result.tool_use_id)}:"}
    for image in images:
        yield _image(image)


def _image(block: ImageBlock) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:{block.media_type};base64,{block.data}"}}


# The reply


class _StreamReader:
    """Completion chunks, or one whole completion, to our chunks."""

    def __init__(self) -> None:
        self._reason: str | None = None
        self._called = False
        self._refused = False
        self._details = ReasoningDetails()

    def read(self, event: Any) -> list[Chunk]:
        try:
            return list(self._chunks(event))
        except (AttributeError, TypeError) as error:
            raise errors.CutStreamError(f"part of the reply has an unexpected form ({error})") from error

    @property
    def is_complete(self) -> bool:
        """Whether the reason to stop has come. After it only the usage does, and is not worth another request."""
        return self._reason is not None

    def end(self) -> list[Chunk]:
        if self._reason is None:
            raise errors.CutStreamError("the reply broke off before its end")
        return [*self._take_details(), self._stop(self._reason)]

    def _chunks(self, event: Any) -> Iterator[Chunk]:
        for choice in (getattr(event, "choices", None) or [])[:1]:
            delta, whole = getattr(choice, "delta", None), getattr(choice, "message", None)
            if delta is not None:
                yield from self._message(delta)
            elif whole is not None:
                yield from map(_numbered, itertools.count(), self._message(whole))
            self._reason = getattr(choice, "finish_reason", None) or self._reason
        usage = getattr(event, "usage", None)
        if usage is not None:
            yield _usage(usage)

    def _message(self, message: Any) -> Iterator[Chunk]:
        self._details.add(getattr(message, "reasoning_details", None))
        thought = getattr(message, "reasoning_content", None) or getattr(message, "reasoning", None)
        if isinstance(thought, str) and thought:
            yield ReasoningChunk(thought)
        refusal = getattr(message, "refusal", None)
        self._refused = self._refused or bool(refusal)
        text = getattr(message, "content", None) or refusal
        calls = [*(getattr(message, "tool_calls", None) or ()), *_old_call(message)]
        if text or calls:
            yield from self._take_details()
        if text:
            yield TextChunk(text)
        for call in calls:
            self._called = True
            yield _call_chunk(call)

    def _take_details(self) -> Iterator[Chunk]:
        """The reasoning is over: its signature, once."""
        signature = self._details.take()
        if signature is not None:
            yield ReasoningChunk("", signature)

    def _stop(self, reason: str) -> StopChunk:
        if self._refused:
            return StopChunk("refusal", reason)
        if reason == "stop" and self._called:  # many servers say so
            return StopChunk("tool_calls", reason)
        return StopChunk(_STOPS.get(reason, "unknown"), reason)


def _numbered(place: int, chunk: Chunk) -> Chunk:
    """Calls of a whole reply have no index; their place tells them apart."""
    return replace(chunk, index=place) if isinstance(chunk, ToolCallChunk) else chunk


def _old_call(message: Any) -> Iterator[Any]:
    """The call in the form from before there were several."""
    call = getattr(message, "function_call", None)
    if call is not None:
        yield call


def _call_chunk(call: Any) -> ToolCallChunk:
    function = getattr(call, "function", None) or call
    arguments = getattr(function, "arguments", None)
    if arguments is not None and not isinstance(arguments, str):
        arguments = json.dumps(arguments)
    return ToolCallChunk(
        getattr(call, "index", None),
        getattr(call, "id", None) or None,
        getattr(function, "name", None) or None,
        arguments,
    )


def _usage(usage: Any) -> UsageChunk:
    """OpenAI counts cached tokens into the prompt; we do not."""
    details = getattr(usage, "prompt_tokens_details", None)
    read = getattr(details, "cached_tokens", None) or 0
    written = getattr(details, "cache_write_tokens", None) or 0
    prompt = getattr(usage, "prompt_tokens", None) or 0
    return UsageChunk(max(0, prompt - read - written), getattr(usage, "completion_tokens", None) or 0, written, read)


# What can go wrong


def _failure(error: Exception, address: str, *, began: bool) -> errors.ProviderError:
    if isinstance(error, openai.APIStatusError):
        return errors.classify(
            errors.message_in(error.body) or error.message,
            status=error.status_code,
            kinds=errors.kinds_in(error.body),
            headers=error.response.headers,
            now=time.time(),
        )
    if isinstance(error, (openai.APIConnectionError, httpx2.HTTPError)):
        return errors.unreachable(error, address, began=began)
    if isinstance(error, openai.APIError):
        return errors.classify(error.message, status=_code(error), kinds=errors.kinds_in(error.body), began=True)
    if isinstance(error, ValueError):
        return errors.CutStreamError(f"a piece of the reply could not be read ({error})")
    return errors.BadRequestError(f"the request could not be made ({error})")


def _code(error: openai.APIError) -> int | None:
    """An error inside a stream has no status of its own; some servers put one into the code."""
    return int(error.code) if error.code and error.code.isdigit() else None
