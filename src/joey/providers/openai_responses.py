"""OpenAI's Responses, through the official SDK, from any endpoint that speaks them.

A conversation is a flat list of items: messages, calls, results and reasoning, each an item of its own. Nothing is kept
on the server (`store: false`), so that a journal is all that a task needs. What the model thought comes encrypted, and
goes back unchanged and in place, before the calls it led to; the ids of other items are left out, since the server
would look them up.

A tool that is one text (`ToolSpec.custom`) can be offered as a custom tool: the model then writes the text as it is,
held to a grammar, and not as JSON. Tools of one group (`ToolSpec.namespace`) go into a namespace where the model
knows such. Both are the model's abilities, and the first is also a setting.

Some fields are wanted but not needed, and not every server or account takes them. One that is refused is left out from
then on (`OPTIONAL`).
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Unpack

import httpx2
import openai

from joey.chunks import Chunk, StopChunk, UsageChunk
from joey.messages import (
    Block,
    ImageBlock,
    Message,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from joey.providers.base import Connection, ModelRequest
from joey.providers.catalogue import Abilities
from joey.providers.decoding.reader import ReplyReader
from joey.providers.decoding.responses import ResponsesReader
from joey.providers.encoding import ids
from joey.providers.encoding.body import Body, BodyEncoder, entry
from joey.providers.encoding.conversation import Preparation, PreparedConversation
from joey.providers.encoding.memo import Memo
from joey.providers.openai_sdk import KEY_VARIABLE, OpenAIOptions, OpenAISdkProvider
from joey.schema.normalise import normalise
from joey.toolspec import ToolChoice, ToolSpec

_MIN_TOKENS = 16
"""The smallest length of a reply that OpenAI takes."""
OPTIONAL: Mapping[str, re.Pattern[str]] = {
    "reasoning.summary": re.compile(r"reasoning[._ ]summar", re.IGNORECASE),
    "include": re.compile(r"\binclude\b|encrypted[_ ]content", re.IGNORECASE),
    "prompt_cache_key": re.compile(r"prompt_cache_key"),
    "parallel_tool_calls": re.compile(r"parallel_tool_calls"),
}
"""Fields that a request can do without, and the words by which a refusal names each."""


def connect(connection: Connection) -> ResponsesProvider:
    """A provider for `open_model`."""
    return ResponsesProvider(
        api_key=connection.api_key,
        base_url=connection.base_url,
        abilities=connection.abilities,
        key_variable=connection.key_variable or KEY_VARIABLE,
        custom_tools=connection.custom_tools,
    )


class ResponsesProvider(OpenAISdkProvider):
    """Replies from OpenAI, or from any server that speaks its Responses."""

    def __init__(self, *, custom_tools: bool = False, **connection: Unpack[OpenAIOptions]) -> None:
        """`custom_tools`: tools that are one text are offered as such to models that were trained on it."""
        super().__init__(**connection)
        self._refused: set[str] = set()
        self._custom: dict[str, str] = {}
        self._encoder: Memo[[Abilities], ResponsesEncoder] = Memo(
            lambda abilities: ResponsesEncoder(abilities, self._custom if custom_tools else None)
        )

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """The reply. Servers that resemble OpenAI call it completed when it was cut at its length; the count tells."""
        used = 0
        async with aclosing(super().stream(request)) as chunks:
            async for chunk in chunks:
                used = chunk.output_tokens if isinstance(chunk, UsageChunk) else used
                cut = isinstance(chunk, StopChunk) and chunk.reason == "end" and used >= _length(request)
                yield StopChunk("length", "completed") if cut else chunk

    async def _post(self, request: ModelRequest, abilities: Abilities) -> httpx2.Response:
        while True:
            try:
                return await self._send_once(request, abilities)
            except openai.BadRequestError as error:
                refused = next((name for name in OPTIONAL if self._names(name, error)), None)
                if refused is None:
                    raise
                self._refused.add(refused)

    async def _send_once(self, request: ModelRequest, abilities: Abilities) -> httpx2.Response:
        options = {"stream": abilities.streaming, **self._fields}
        body = self._encoder(abilities).body(request, frozenset(self._refused), **options)
        return await self._send("/responses", body)

    def _names(self, field: str, error: openai.BadRequestError) -> bool:
        """Whether an error is about this field, and the field was sent."""
        return field not in self._refused and bool(OPTIONAL[field].search(f"{error.param or ''} {error.message}"))

    def _reader(self) -> ReplyReader:
        return ResponsesReader(self._custom)


# The request


class ResponsesEncoder:
    """Requests for models with these abilities. It remembers what it made of each message of a growing conversation.

    `custom` is where the custom tools that were offered are noted: the name, and the argument that its text is. Without
    it, none is offered as such.
    """

    def __init__(self, abilities: Abilities, custom: dict[str, str] | None = None) -> None:
        self._abilities = abilities
        self._custom = custom if "custom_tools" in abilities.responses_tools else None
        self._custom_calls: set[str] = set()
        self._namespaces: dict[str, str] = {}
        self._preparation = Preparation(abilities)
        self._body = BodyEncoder(lambda message: b"".join(map(_entry, self._of(message))), "input")
        self._tool = Memo(self._tool_entry)

    def body(self, request: ModelRequest, without: frozenset[str] = frozenset(), **options: Any) -> Body:
        """The request as JSON, with the transport's options, and without fields that the server refuses."""
        conversation = self._preparation.prepare(request)
        parameters = {**self._parameters(request, conversation, without), **options}
        return self._body(parameters, conversation.messages)

    def _parameters(
        self, request: ModelRequest, conversation: PreparedConversation, without: frozenset[str]
    ) -> dict[str, Any]:
        parameters: dict[str, Any] = {"model": request.model, "store": False}
        parameters["max_output_tokens"] = _length(request)
        if conversation.system:
            parameters["instructions"] = conversation.system
        if conversation.tools:
            parameters["tools"] = self._tools(conversation.tools)
            parameters.update(_choice(request.tool_choice, self._custom or {}))
        if request.temperature is not None and self._abilities.temperature:
            parameters["temperature"] = request.temperature
        if self._abilities.reasons:
            parameters["include"] = ["reasoning.encrypted_content"]
            parameters["reasoning"] = self._reasoning(request, without)
        if request.conversation:
            parameters["prompt_cache_key"] = request.conversation
        return {name: value for name, value in parameters.items() if name not in without and value != {}}

    def _reasoning(self, request: ModelRequest, without: frozenset[str]) -> dict[str, str]:
        effort = request.reasoning.effort if request.reasoning else None
        reasoning: dict[str, str] = {"effort": effort} if effort else {}
        return reasoning if "reasoning.summary" in without else {**reasoning, "summary": "auto"}

    # Tools

    def _tools(self, tools: Sequence[ToolSpec]) -> list[dict[str, Any]]:
        self._tool.next_round()
        flat, groups = list[dict[str, Any]](), defaultdict[str, list[dict[str, Any]]](list)
        for tool in tools:
            if tool.namespace and "namespaces" in self._abilities.responses_tools:
                self._namespaces[tool.name] = tool.namespace
                groups[tool.namespace].append(self._tool(tool))
            else:
                flat.append(self._tool(tool))
        return flat + [_namespace(name, group) for name, group in groups.items()]

    def _tool_entry(self, tool: ToolSpec) -> dict[str, Any]:
        if tool.custom is not None and self._custom is not None:
            self._custom[tool.name] = tool.custom.argument
            grammar = {"type": "grammar", "syntax": tool.custom.syntax, "definition": tool.custom.grammar}
            return {"type": "custom", "name": tool.name, "description": tool.description, "format": grammar}
        schema = normalise(tool.schema, close_objects=False).schema
        # The server takes tools for strict ones by default, and then refuses most schemas.
        entry = {"type": "function", "name": tool.name, "description": tool.description, "parameters": schema}
        return {**entry, "strict": False}

    # Items

    def _of(self, message: Message) -> Iterator[dict[str, Any] | bytes]:
        return self._assistant(message.content) if message.role == "assistant" else self._user(message.content)

    def _assistant(self, content: Sequence[Block]) -> Iterator[dict[str, Any] | bytes]:
        last = max((place for place, block in enumerate(content) if not isinstance(block, ReasoningBlock)), default=-1)
        for place, block in enumerate(content):
            if isinstance(block, TextBlock):
                yield _message("assistant", [{"type": "output_text", "text": block.text}])
            elif isinstance(block, ToolUseBlock):
                yield self._call(block)
            elif isinstance(block, ReasoningBlock) and place < last:  # what led to nothing is refused
                yield from self._thought(block)

    def _thought(self, block: ReasoningBlock) -> Iterator[dict[str, Any] | bytes]:
        if item := _kept(block.signature):
            yield item
        elif self._abilities.echo_reasoning and block.signature is None and block.text:
            thoughts = [{"type": "reasoning_text", "text": block.text}]
            yield {"type": "reasoning", "summary": [], "content": thoughts}

    def _call(self, call: ToolUseBlock) -> dict[str, Any]:
        call_id = ids.openai_id(call.id)
        head: dict[str, Any] = {"call_id": call_id, "name": call.name}
        if namespace := self._namespaces.get(call.name):
            head["namespace"] = namespace
        text = call.arguments.get((self._custom or {}).get(call.name, ""))
        if isinstance(text, str) and len(call.arguments) == 1:
            self._custom_calls.add(call_id)
            return {"type": "custom_tool_call", **head, "input": text}
        arguments = json.dumps(call.arguments, ensure_ascii=False, separators=(",", ":"))
        return {"type": "function_call", **head, "arguments": arguments}

    def _user(self, content: Sequence[Block]) -> Iterator[dict[str, Any]]:
        """Results first, each an item of its own, then everything else in one message."""
        yield from (self._result(block) for block in content if isinstance(block, ToolResultBlock))
        parts = [_part(block) for block in content if isinstance(block, (TextBlock, ImageBlock))]
        if parts:
            yield _message("user", parts)

    def _result(self, result: ToolResultBlock) -> dict[str, Any]:
        call_id = ids.openai_id(result.tool_use_id)
        kind = "custom_tool_call_output" if call_id in self._custom_calls else "function_call_output"
        return {"type": kind, "call_id": call_id, "output": _output(result.content)}


def _length(request: ModelRequest) -> int:
    return max(_MIN_TOKENS, request.max_tokens)


def _entry(item: dict[str, Any] | bytes) -> bytes:
    return b"," + item if isinstance(item, bytes) else entry(item)


def _kept(signature: str | None) -> bytes | None:
    """An item of reasoning as it came; None for what is no such item, but another provider's."""
    if signature is None or not signature.startswith("{"):
        return None
    try:
        item = json.loads(signature)
    except (ValueError, RecursionError):
        return None
    return signature.encode() if item.get("type") == "reasoning" else None


def _choice(choice: ToolChoice, custom: Mapping[str, str]) -> dict[str, Any]:
    """Chat Completions' parameters, with the tool's name one level higher."""
    parameters = choice.to_openai()
    if choice.name:
        parameters["tool_choice"] = {"type": "custom" if choice.name in custom else "function", "name": choice.name}
    return parameters


def _namespace(name: str, tools: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "namespace", "name": name, "description": f"Tools of {name}.", "tools": tools}


def _message(role: str, content: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": content}


def _part(block: ResultBlock) -> dict[str, Any]:
    if isinstance(block, TextBlock):
        return {"type": "input_text", "text": block.text}
    return {"type": "input_image", "detail": "auto", "image_url": f"data:{block.media_type};base64,{block.data}"}


def _output(content: Sequence[ResultBlock]) -> Any:
    """Text alone is sent as a string: every server takes that."""
    if all(isinstance(block, TextBlock) for block in content):
        return "\n".join(block.text for block in content if isinstance(block, TextBlock)) or "(empty)"
    return [_part(block) for block in content]
