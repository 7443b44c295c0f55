"""Requests of Anthropic's Messages, as bytes.

The system prompt and the last two user messages carry a cache mark, so that each request finds the previous one in the
cache; tools go as a parameter of their own. Call arguments stream as they are made, which is still behind a beta
header; prompt caching no longer is.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

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
from joey.providers.base import ModelRequest
from joey.providers.catalogue import Abilities
from joey.providers.decoding.messages import REDACTED
from joey.providers.encoding import ids
from joey.providers.encoding.body import Body, BodyEncoder, entry
from joey.providers.encoding.conversation import Preparation, PreparedConversation
from joey.providers.encoding.memo import Memo
from joey.schema.normalise import normalise
from joey.toolspec import ToolChoice, ToolSpec

PATH = "/v1/messages"
CACHE_MARK = {"type": "ephemeral"}
MARKED_USER_MESSAGES = 2
FINE_GRAINED_TOOLS = "fine-grained-tool-streaming-2025-05-14"
INTERLEAVED_THINKING = "interleaved-thinking-2025-05-14"
_ROOM_TO_ANSWER = 1024


class MessagesRequests:
    """What is sent to one server, whoever sends it."""

    def __init__(self, betas: Sequence[str] = ()) -> None:
        self._betas = tuple(betas)
        self._encoder: Memo[[Abilities], MessagesEncoder] = Memo(MessagesEncoder)

    def body(self, request: ModelRequest, abilities: Abilities) -> Body:
        return self._encoder(abilities).body(request, stream=abilities.streaming)

    def headers(self, request: ModelRequest, abilities: Abilities) -> dict[str, str]:
        """The headers of this request alone."""
        betas = list(self._betas)
        if request.tools and abilities.streaming:
            betas.append(FINE_GRAINED_TOOLS)
        if request.tools and request.reasoning and request.reasoning.budget:
            betas.append(INTERLEAVED_THINKING)
        return {"anthropic-beta": ",".join(betas)} if betas else {}


class MessagesEncoder:
    """Requests for models with these abilities. It remembers what it made of each message of a growing conversation."""

    def __init__(self, abilities: Abilities) -> None:
        self._abilities = abilities
        self._preparation = Preparation(abilities)
        self._body = BodyEncoder(lambda message: entry(_message(message)))
        self._tool = Memo(_tool)

    def body(self, request: ModelRequest, **options: Any) -> Body:
        """The request as JSON, with the transport's options."""
        conversation = self._preparation.prepare(request)
        messages = conversation.messages
        marked = {place: entry(_with_cache_mark(_message(messages[place]))) for place in _marked_for_cache(messages)}
        return self._body({**self._parameters(request, conversation), **options}, messages, own=marked)

    def _parameters(self, request: ModelRequest, conversation: PreparedConversation) -> dict[str, Any]:
        self._tool.next_round()
        parameters: dict[str, Any] = {"model": request.model, "max_tokens": request.max_tokens}
        if conversation.system:
            parameters["system"] = [{"type": "text", "text": conversation.system, "cache_control": CACHE_MARK}]
        if conversation.tools:
            choice = request.tool_choice if self._abilities.forced_calls else _unforced(request.tool_choice)
            parameters["tools"] = [self._tool(tool) for tool in conversation.tools]
            parameters["tool_choice"] = choice.to_anthropic()
        if request.stop_sequences:
            parameters["stop_sequences"] = list(request.stop_sequences)
        _add_reasoning(parameters, request)
        if request.temperature is not None and self._abilities.temperature and "thinking" not in parameters:
            parameters["temperature"] = request.temperature
        return parameters


def _unforced(choice: ToolChoice) -> ToolChoice:
    """The choice for a model that cannot be forced to call: it decides itself."""
    return choice if choice.mode == "none" else ToolChoice(parallel=choice.parallel)


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
    if block.signature is None or block.signature.startswith(("[", "{")):  # unsigned, or another provider's
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
