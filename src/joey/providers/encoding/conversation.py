"""The conversation as one model takes it: repaired, and transformed where the model takes less than the usual."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from joey.images.limits import ImageLimits
from joey.messages import Block, ImageBlock, Message, ResultBlock, TextBlock, ToolResultBlock
from joey.providers.base import ModelRequest
from joey.providers.catalogue import Abilities
from joey.providers.encoding.memo import Memo, Remembered
from joey.providers.encoding.plain import without_tool_blocks
from joey.providers.encoding.repair import Repairer, merge_neighbours, shape_of
from joey.toolspec import ToolSpec
from joey.wire import sendable

_TAKES_NONE = "this model takes none"
_TOO_MANY = "there are too many for one request, and it is an older one"
_TOO_LARGE = "it is too large for this model"


@dataclass(frozen=True, slots=True)
class PreparedConversation:
    """What goes into the request. An empty `system` means that there is none, or that it is in the first message."""

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]


class Preparation:
    """Conversations for models with these abilities. It remembers what it made of each message of a conversation."""

    def __init__(self, abilities: Abilities) -> None:
        self._abilities = abilities
        self._shape = Memo(shape_of)
        self._repair = Repairer(self._shape)
        self._with_tools = Remembered(self._accepted)
        self._without_tools: Remembered[Message, Message] = Remembered(
            lambda message: self._accepted(without_tool_blocks(message))
        )
        self._sizes = Remembered(_sizes)
        self._tools: Memo[[tuple[ToolSpec, ...]], tuple[ToolSpec, ...]] = Memo(sendable)

    def prepare(self, request: ModelRequest) -> PreparedConversation:
        """The request's conversation, as such a model takes it."""
        self._shape.next_round()
        self._tools.next_round()
        abilities = self._abilities
        tools = self._tools(request.tools) if abilities.tools else ()
        # Providers refuse calls in the history of a request without tools.
        accepted = self._with_tools if tools else self._without_tools
        messages = accepted(self._repair(request.messages).messages)
        if abilities.images:
            messages = _within(messages, abilities.image_limits, self._sizes(messages))
        system = sendable(request.system)
        if system and abilities.system == "none":
            messages, system = _with_system_inside(system, messages), ""
        return PreparedConversation(system, tuple(messages), tools)

    def _accepted(self, message: Message) -> Message:
        message = sendable(message)
        return message if self._abilities.images else _without_images(message)


def _within(messages: Sequence[Message], limits: ImageLimits, sizes_of: Sequence[tuple[int, ...]]) -> Sequence[Message]:
    """The messages with as many images as one request may have: the oldest are left out, and what would be refused.

    Several at a time, so that the beginning of the conversation does not change with every new one.
    """
    if not any(sizes_of):
        return messages
    sizes = list(itertools.chain.from_iterable(sizes_of))
    why = [_TOO_LARGE if size > limits.refused_bytes else "" for size in sizes]
    excess, batch = len(sizes) - limits.max_images, max(1, limits.max_images // 4)
    left_out = -(-excess // batch) * batch if excess > 0 else 0
    while sum(sizes[left_out:]) > limits.max_bytes:
        left_out += 1
    why[:left_out] = [_TOO_MANY] * left_out
    if not any(why):
        return messages
    each, kept = iter(why), list[Message]()
    for message, images in zip(messages, sizes_of, strict=True):
        here = list(itertools.islice(each, len(images)))
        kept.append(_without_images(message, here) if any(here) else message)
    return kept


def _sizes(message: Message) -> tuple[int, ...]:
    return tuple(len(image.data) for image in _images(message))


def _images(message: Message) -> list[ImageBlock]:
    found: list[ImageBlock] = []
    for block in message.content:
        if isinstance(block, ImageBlock):
            found.append(block)
        elif isinstance(block, ToolResultBlock):
            found += [part for part in block.content if isinstance(part, ImageBlock)]
    return found


def _with_system_inside(system: str, messages: Sequence[Message]) -> Sequence[Message]:
    first = Message("user", (TextBlock(system),))
    return merge_neighbours([first, *messages])


def _without_images(message: Message, why: Iterable[str] | None = None) -> Message:
    """The message with its images mentioned instead, each for its reason; one whose reason is empty is kept."""
    if not any(isinstance(block, (ImageBlock, ToolResultBlock)) for block in message.content):
        return message
    reasons = itertools.repeat(_TAKES_NONE) if why is None else iter(why)

    def mentioned(block: ResultBlock) -> ResultBlock:
        if not isinstance(block, ImageBlock) or not (reason := next(reasons)):
            return block
        return TextBlock(f"[An image ({block.media_type}) is left out here: {reason}.]")

    def content(block: Block) -> Block:
        if isinstance(block, ToolResultBlock):
            return replace(block, content=tuple(map(mentioned, block.content)))
        return mentioned(block) if isinstance(block, ImageBlock) else block

    return replace(message, content=tuple(map(content, message.content)))
