"""Results as they enter the conversation: nothing passes for our marks, and images are as the model takes them.

Large ones are sent in part: they are the first thing to give up when a conversation is too long. One limit holds for
all results of a task: of a longer one the beginning and the end are sent, with a note between them. Results that are
old may have a lower one: they are shortened before anything is summarized. The journal keeps all of them whole. The
limit is chosen so that the conversation loses what it must: a result counts as large if it is more than an eighth of
everything, so a conversation of many small ones is left to the summary.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from joey.frames import neutral
from joey.images.sizing import resize_images
from joey.journal.replay import TaskState
from joey.messages import Block, ImageBlock, Message, ResultBlock, TextBlock, ToolResult, ToolResultBlock
from joey.task.config import Model
from joey.task.user_words import is_users_text

B = TypeVar("B")


def from_outside(result: ToolResult) -> ToolResult:
    """The result of a tool, whose words may be anybody's: none of them passes for a mark of ours (joey.frames)."""
    if not any(isinstance(block, TextBlock) and "<" in block.text for block in result.content):
        return result
    return replace(result, content=tuple(_neutral_block(block) for block in result.content))


def _neutral_block(block: ResultBlock) -> ResultBlock:
    return TextBlock(neutral(block.text)) if isinstance(block, TextBlock) else block


async def resized(blocks: Sequence[B], model: Model) -> list[B | ImageBlock | TextBlock]:
    """The blocks with every image as the model takes it. All that enters the conversation passes here."""
    if not any(isinstance(block, ImageBlock) for block in blocks):
        return [*blocks]
    limits = model.provider.abilities(model.name).image_limits
    return [*await asyncio.to_thread(resize_images, blocks, limits)]


def block_of(call_id: str, result: ToolResult) -> ToolResultBlock:
    return ToolResultBlock(call_id, result.content, result.is_error)


MIN_RESULT = 2000
"""Characters that every result keeps."""
_LARGE = 8
"""A result is large if it is more than this part of the conversation."""
_ROOM = 0.9
"""How much of what the model takes is used, and of a conversation whose excess nobody counted: half."""
_UNKNOWN_SHARE = 0.5
_NOTE = "\n[… {count:,} characters of this result are left out: the conversation was too long for the model …]\n"
"""With its place for a number it is about as long as with a number of many digits."""


def result_limit(state: TaskState, place: int) -> int | None:
    """How many characters are sent of the results in the message at this place; None: all."""
    sent = state.shortening
    limits = [sent.result_limit] if sent.result_limit is not None else []
    if sent.old_results is not None and place < sent.old_results[1]:
        limits.append(sent.old_results[0])
    return min(limits, default=None)


def result_sizes(messages: Iterable[Message]) -> list[int]:
    """How many characters of text each result has."""
    return [_size(block) for message in messages for block in message.content if isinstance(block, ToolResultBlock)]


def limit_for(sizes: Sequence[int], total: int, share: float | None) -> int | None:
    """How long a result may be so that `total` characters shrink to a share of them; None if no result is large."""
    floor = max(MIN_RESULT, total // _LARGE)
    large = sorted((size for size in sizes if size > floor), reverse=True)
    if not large:
        return None
    excess = total - int(total * _ROOM * (_UNKNOWN_SHARE if share is None else min(share, 1.0)))
    return max(MIN_RESULT, _level(large, excess), *(size for size in sizes if size <= floor))


def _level(sizes: Sequence[int], excess: int) -> int:
    """Where results must be cut off so that together they lose the excess; the longest lose first."""
    cut = 0
    for number, size in enumerate(sizes, start=1):
        cut += size
        level = (cut - excess) // number
        if number == len(sizes) or level >= sizes[number]:
            return level
    return 0


def shortened(message: Message, limit: int) -> Message:
    """The message with its long results cut; itself if there are none."""
    if all(size <= limit for size in result_sizes([message])):
        return message
    return replace(message, content=tuple(_cut(block, limit) for block in message.content))


def _cut(block: Block, limit: int) -> Block:
    if not isinstance(block, ToolResultBlock) or _size(block) <= limit:
        return block
    text = "\n".join(part.text for part in _texts(block))
    words = [part for part in block.content if is_users_text(part)]
    kept = [part for part in block.content if not isinstance(part, TextBlock)]
    room = limit - len(_NOTE)
    head, tail = text[: room * 2 // 3], text[len(text) - room // 3 :]
    note = _NOTE.format(count=len(text) - len(head) - len(tail))
    return replace(block, content=(*words, TextBlock(head + note + tail), *kept))


def _size(block: ToolResultBlock) -> int:
    return sum(len(part.text) for part in _texts(block))


def _texts(block: ToolResultBlock) -> Iterator[TextBlock]:
    """What can be left out: not the user's words."""
    return (part for part in block.content if isinstance(part, TextBlock) and not is_users_text(part))
