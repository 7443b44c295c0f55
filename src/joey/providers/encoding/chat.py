"""Requests of Chat Completions, as bytes.

Some servers take a grammar of the reply, each in its own form: `GRAMMAR_FORMS`. OpenAI's own takes none.

Reasoning that must go back as it came (OpenRouter's `reasoning_details`) travels as a signature: the list as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, TypeAlias

from joey.errors import UsageError
from joey.messages import ImageBlock, Message, ReasoningBlock, TextBlock, ToolResultBlock, ToolUseBlock
from joey.providers.base import ModelRequest
from joey.providers.catalogue import Abilities
from joey.providers.encoding import ids
from joey.providers.encoding.body import Body, BodyEncoder, entry
from joey.providers.encoding.conversation import Preparation, PreparedConversation
from joey.providers.encoding.memo import Memo
from joey.providers.encoding.reasoning import ReasoningDetails
from joey.schema.normalise import normalise
from joey.toolspec import ToolSpec

_RULES: Mapping[str, ids.MakeId] = {
    "anthropic": ids.anthropic_id,
    "openai": ids.openai_id,
    "mistral": ids.mistral_id,
}
GrammarForm: TypeAlias = Callable[[str], dict[str, Any]]
GRAMMAR_FORMS: Mapping[str, GrammarForm] = {
    "llama.cpp": lambda grammar: {"grammar": grammar},
    "vllm": lambda grammar: {"structured_outputs": {"grammar": grammar}},
    "vllm-guided": lambda grammar: {"guided_grammar": grammar},  # vLLM before 0.12
}
"""What goes into the body of a request to have the reply follow a grammar, by server."""


class ChatRequests:
    """What is sent to one server, whoever sends it."""

    def __init__(
        self, grammar: str | GrammarForm | None, *, counts_tokens: bool = False, fields: Mapping[str, Any] | None = None
    ) -> None:
        """`grammar` is the server whose way of asking for one is used, of GRAMMAR_FORMS, or a way of its own; None
        sends no grammars. `counts_tokens` says that it is a llama.cpp, which counts them. `fields` are the server's
        own, put into the body of every request."""
        if isinstance(grammar, str) and grammar not in GRAMMAR_FORMS:
            raise UsageError(f"the grammar form {grammar!r} is unknown; there are: {', '.join(GRAMMAR_FORMS)}")
        self._grammar_form = GRAMMAR_FORMS[grammar] if isinstance(grammar, str) else grammar
        self._counts = grammar == "llama.cpp" or counts_tokens
        self._fields = dict(fields or {})
        self._encoder: Memo[[Abilities], ChatEncoder] = Memo(ChatEncoder)

    @property
    def takes_grammar(self) -> bool:
        return self._grammar_form is not None

    def body(self, request: ModelRequest, abilities: Abilities) -> Body:
        counts = {"stream_options": {"include_usage": True}} if abilities.streaming and abilities.stream_usage else {}
        grammar = self._grammar_form(request.grammar) if request.grammar is not None and self._grammar_form else {}
        options = {"stream": abilities.streaming, **counts, **self._fields, **grammar}
        return self._encoder(abilities).body(request, **options)

    async def count_tokens(
        self, request: ModelRequest, abilities: Abilities, ask: Callable[[str, dict[str, Any]], Awaitable[Any]]
    ) -> int | None:
        """llama.cpp applies the model's own template and counts; no other server does both. `ask` gets what the server
        answers at a path of its own."""
        if not self._counts:
            return None
        body = json.loads(bytes(self._encoder(abilities).body(request)))
        shown = {name: body[name] for name in ("messages", "tools") if name in body}
        try:
            prompt = (await ask("/apply-template", shown))["prompt"]
            found = await ask("/tokenize", {"content": prompt, "add_special": True, "parse_special": True})
            return len(found["tokens"])
        except (ValueError, KeyError, TypeError):
            return None


class ChatEncoder:
    """Requests for models with these abilities. It remembers what it made of each message of a growing conversation."""

    def __init__(self, abilities: Abilities) -> None:
        self._abilities = abilities
        self._preparation = Preparation(abilities)
        self._body = BodyEncoder(lambda message: b"".join(map(entry, chat_messages(message, abilities))))
        self._tool = Memo(_tool)

    def body(self, request: ModelRequest, **options: Any) -> Body:
        """The request as JSON, with the transport's options."""
        conversation = self._preparation.prepare(request)
        system = conversation.system and entry({"role": self._abilities.system, "content": conversation.system})
        parameters = {**self._parameters(request, conversation), **options}
        return self._body(parameters, conversation.messages, opening=system or b"")

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
