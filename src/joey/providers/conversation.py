"""The conversation as one model takes it: repaired, and transformed where the model takes less than the usual."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from joey.messages import Block, ImageBlock, Message, ResultBlock, TextBlock, ToolResultBlock
from joey.providers.abilities import Abilities
from joey.providers.base import Request
from joey.providers.plain import without_tool_blocks
from joey.providers.repair import Shape, merge_neighbours, repair, shape_of
from joey.toolspec import ToolSpec


@dataclass(frozen=True, slots=True)
class Conversation:
    """What goes into the request. An empty `system` means that there is none, or that it is in the first message."""

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]


def prepare(request: Request, abilities: Abilities, shape: Callable[[Message], Shape] = shape_of) -> Conversation:
    """The request's conversation, fit for a model with these abilities."""
    tools = request.tools if abilities.tools else ()
    messages: Sequence[Message] = repair(request.messages, shape).messages
    if not tools:
        # Providers refuse calls in the history of a request without tools.
        messages = merge_neighbours(map(without_tool_blocks, messages))
    if not abilities.images:
        messages = [_without_images(message) for message in messages]
    system = request.system
    if system and abilities.system == "none":
        messages, system = _with_system_inside(system, messages), ""
    return Conversation(system, tuple(messages), tools)


def _with_system_inside(system: str, messages: Sequence[Message]) -> Sequence[Message]:
    first = Message("user", (TextBlock(system),))
    return merge_neighbours([first, *messages])


def _without_images(message: Message) -> Message:
    if not any(isinstance(block, (ImageBlock, ToolResultBlock)) for block in message.content):
        return message
    return replace(message, content=tuple(map(_block_without_images, message.content)))


def _block_without_images(block: Block) -> Block:
    if isinstance(block, ImageBlock):
        return _mention(block)
    if isinstance(block, ToolResultBlock):
        return replace(block, content=tuple(map(_result_without_images, block.content)))
    return block


def _result_without_images(block: ResultBlock) -> ResultBlock:
    return _mention(block) if isinstance(block, ImageBlock) else block


def _mention(image: ImageBlock) -> TextBlock:
    return TextBlock(f"[A picture ({image.media_type}) is left out here: this model takes none.]")
