"""A model on this machine, run in this process: no key, no network.

    provider, model = open_model("local/coder-1.5b")            # what `joey local install` fetched
    provider, model = open_model("local/models/any.gguf")       # any other file

The engine speaks Chat Completions, so the ordinary provider asks it. What is special is here: it is loaded at the first
request, it takes the likeliest token each time (temperature 0) unless set otherwise, and a reply may take at most half
of its small window. llama.cpp reads the whole conversation as one text in which `<|im_end|>` is the end of a message,
whoever wrote it. So each such word in the conversation gets a backslash behind its first character, and one that has
some gets one more. Which words there are is written in the model's own file; none is guessed. Even so the same question
can get another answer: what was kept of the prompt changes the rounding.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar

from joey.chunks import Chunk
from joey.errors import UsageError
from joey.messages import Block, ImageBlock, Message, ReasoningBlock, TextBlock, ToolResultBlock, ToolUseBlock
from joey.providers.base import Connection, EngineOptions, ModelRequest, Provider
from joey.providers.catalogue import Abilities
from joey.providers.local.engine import engine_for, plan, require_runtime
from joey.providers.local.weights import chat_template, model_file
from joey.providers.plain_chat import PlainChatProvider


def without_words(request: ModelRequest, words: Sequence[str]) -> ModelRequest:
    """The request with these words broken, in every text of it."""
    if not words:
        return request
    pattern = _pattern(tuple(words))

    def broken(text: str) -> str:
        return pattern.sub(lambda found: f"{found[0]}\\", text)

    messages = tuple(_rewritten(message, broken) for message in request.messages)
    return replace(request, system=broken(request.system), messages=messages)


@lru_cache(maxsize=8)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(rf"{re.escape(word[0])}(?=\\*{re.escape(word[1:])})" for word in words))


def _rewritten(message: Message, rewrite: Callable[[str], str]) -> Message:
    """The message with each of its texts rewritten; the same object where none changed."""
    content = tuple(_block(block, rewrite) for block in message.content)
    same = all(one is other for one, other in zip(content, message.content, strict=True))
    return message if same else replace(message, content=content)


def _block(block: Block, rewrite: Callable[[str], str]) -> Block:
    match block:
        case TextBlock(text) | ReasoningBlock(text):
            return block if (clean := rewrite(text)) == text else replace(block, text=clean)
        case ToolUseBlock(_, _, arguments):
            return block if (clean := _value(arguments, rewrite)) == arguments else replace(block, arguments=clean)
        case ToolResultBlock(_, parts):
            results: Any = tuple(_block(part, rewrite) for part in parts)
            return block if results == parts else replace(block, content=results)
        case ImageBlock():
            return block


def _value(value: Any, rewrite: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return rewrite(value)
    if isinstance(value, dict):
        return {rewrite(key): _value(item, rewrite) for key, item in value.items()}
    return [_value(item, rewrite) for item in value] if isinstance(value, list) else value


_TIMEOUT = 3600.0
"""Seconds without a word: a long prompt, behind others in the queue, on a slow machine."""
_FIELDS = {
    "cache_prompt": True,
    "return_progress": True,  # for the user; and without a word on the wire the engine does not see that we are gone
}


def connect(connection: Connection) -> LocalProvider:
    """A provider for `open_model`."""
    model = connection.model
    if connection.base_url is not None:
        raise UsageError(
            f"local/{model} runs in this process and takes no base_url; for a server use llamacpp/… or openai/…"
        )
    takes_grammar = connection.grammar != "off"
    return LocalProvider(model, options=connection.engine, abilities=connection.abilities, takes_grammar=takes_grammar)


class LocalProvider(Provider):
    """Replies from a model in this process."""

    name: ClassVar[str] = "local"

    def __init__(
        self,
        model: str,
        *,
        options: EngineOptions | None = None,
        abilities: Abilities | None = None,
        takes_grammar: bool = True,
        fields: Mapping[str, Any] | None = None,
    ) -> None:
        """`fields` go into the body of every request: llama.cpp's own, such as `seed`."""
        require_runtime()
        self._engine = engine_for(plan(model_file(model), options or EngineOptions()))
        super().__init__(abilities or self._engine.plan.abilities)
        self._fields = {**_FIELDS, **(fields or {})}
        self._takes_grammar = takes_grammar
        self._server: PlainChatProvider | None = None

    @property
    def takes_grammar(self) -> bool:
        return self._takes_grammar

    @property
    def chat_template(self) -> str:
        return chat_template(self._engine.plan.path)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        server = await self._opened()
        async with aclosing(server.stream(self._adapted(request))) as chunks:
            async for chunk in chunks:
                yield chunk

    async def close(self) -> None:
        """Let go of the connection. The engine stays for the next task; it ends with the process."""
        if self._server is not None:
            await self._server.close()
            self._server = None

    async def _opened(self) -> PlainChatProvider:
        if self._server is None:
            address = await asyncio.to_thread(self._engine.load)
            self._server = PlainChatProvider(
                f"{address}/v1",
                api_key=self._engine.key,
                abilities=self._abilities,
                grammar=self._held_to if self._takes_grammar else None,
                fields=self._fields,
                timeout=_TIMEOUT,
                counts_tokens=True,
            )
        return self._server

    async def count_tokens(self, request: ModelRequest) -> int | None:
        server = await self._opened()
        return await server.count_tokens(self._adapted(request))

    def _held_to(self, grammar: str) -> dict[str, Any]:
        """A grammar admits any characters in a text, and to llama.cpp `<|im_start|>` is some. A model that wants to end
        where it may not would write such tokens, which nobody sees, until its window is full."""
        return {"grammar": grammar, "logit_bias": [[token, False] for token in self._engine.silent_tokens]}

    def _adapted(self, request: ModelRequest) -> ModelRequest:
        temperature = 0.0 if request.temperature is None else request.temperature
        max_tokens = max(1, self._engine.plan.context // 2)
        request = without_words(request, self._engine.control_words)
        return replace(request, temperature=temperature, max_tokens=min(request.max_tokens, max_tokens))
