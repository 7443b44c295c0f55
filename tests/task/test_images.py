"""Images on their way into a conversation: attached, mentioned, in results, and too many of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from image_kit import block, made, size
from joey.commands import Say
from joey.events import ToolRunFinished
from joey.images.limits import ImageLimits
from joey.messages import ImageBlock, Message, TextBlock, ToolResultBlock
from joey.providers.base import ModelRequest
from joey.providers.catalogue import Abilities
from joey.providers.encoding.conversation import Preparation
from joey.testing.script import reply
from joey.tools.builtin import builtin_tools
from joey.tools.options import BuiltinOptions
from joey.tools.toolset import build_toolset
from task_kit import Kit, call, done

LARGE = made(3000, 1000)


def seeing(folder: Path, script: list[Any]) -> Kit:
    """A task whose model is shown what it reads."""
    kit = Kit(folder, script)
    tools = builtin_tools(BuiltinOptions(sees_images=True))
    kit.change(tools=lambda mode: build_toolset(mode, tools))
    return kit


def sent_images(kit: Kit) -> list[ImageBlock]:
    blocks = [block for message in kit.sent for block in message.content]
    inside = [part for block in blocks if isinstance(block, ToolResultBlock) for part in block.content]
    return [block for block in (*blocks, *inside) if isinstance(block, ImageBlock)]


async def test_what_the_user_attaches_and_what_a_mention_brings_is_resized(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [done()])
    await kit.run(images=[block(LARGE)], attached=[TextBlock("a.png"), block(LARGE)])
    assert [size(image) for image in sent_images(kit)] == [(1568, 523), (1568, 523)]


async def test_what_a_tool_answers_is_resized_before_it_is_written_down(tmp_path: Path) -> None:
    kit = seeing(tmp_path, [reply(call("r", "read_file", path="big.png")), done()])
    (kit.workspace / "big.png").write_bytes(LARGE)
    await kit.run()
    assert [size(image) for image in sent_images(kit)] == [(1568, 523)]
    (ran,) = [event for event in kit.of(ToolRunFinished) if event.name == "read_file"]
    assert [size(part) for part in ran.result.content if isinstance(part, ImageBlock)] == [(1568, 523)]
    assert "Image file (image/png" in ran.result.text


async def test_what_the_user_says_meanwhile_is_resized(tmp_path: Path) -> None:
    kit = seeing(tmp_path, [reply(call("r", "list_files", path=".")), done()])

    def say(task_id: str, event: Any) -> None:
        if isinstance(event, ToolRunFinished) and event.name == "list_files" and kit.task:
            kit.task.send(Say("and this", images=(block(LARGE),)))

    kit.change(watch=say, headless=True)
    await kit.run()
    assert [size(image) for image in sent_images(kit)] == [(1568, 523)]


async def test_a_damaged_image_becomes_a_note_and_the_task_goes_on(tmp_path: Path) -> None:
    kit = Kit(tmp_path, [done()])
    assert (await kit.run(images=[ImageBlock("image/png", "!!")])).outcome == "completed"
    assert sent_images(kit) == [] and "its data is damaged" in str(kit.sent)


# One request


IMAGE = block(made(4, 4))


def conversation(count: int) -> list[Message]:
    """A image from the user, then screenshots in results."""
    messages = [Message("user", (TextBlock("look"), IMAGE))]
    for number in range(1, count):
        result = ToolResultBlock(f"c{number}", (TextBlock("shot"), IMAGE))
        messages += [Message("assistant", (call(f"c{number}", "look"),)), Message("user", (result,))]
    return messages


def images_sent(messages: list[Message], limits: ImageLimits) -> list[bool]:
    """Of each image, oldest first, whether it is sent."""
    tools = tuple(tool.spec for tool in builtin_tools()[:1])
    prepared = Preparation(Abilities(image_limits=limits)).prepare(ModelRequest("m", tuple(messages), tools=tools))
    flat = [part for message in prepared.messages for block in message.content for part in _parts(block)]
    return [
        isinstance(part, ImageBlock) for part in flat if isinstance(part, ImageBlock) or "is left out here" in part.text
    ]


def _parts(block: Any) -> list[Any]:
    if isinstance(block, ToolResultBlock):
        return list(block.content)
    return [block] if isinstance(block, (ImageBlock, TextBlock)) else []


def test_of_too_many_images_the_newest_are_sent_and_the_rest_is_mentioned() -> None:
    limits = ImageLimits(max_images=8)
    assert images_sent(conversation(8), limits) == [True] * 8
    assert images_sent(conversation(9), limits) == [False] * 2 + [True] * 7
    assert images_sent(conversation(10), limits) == [False] * 2 + [True] * 8, "the beginning does not change each time"
    assert images_sent(conversation(11), limits) == [False] * 4 + [True] * 7


def test_images_that_are_too_much_together_are_left_out_from_the_oldest_on() -> None:
    limits = ImageLimits(max_bytes=3 * len(IMAGE.data))
    assert images_sent(conversation(5), limits) == [False, False, True, True, True]


def test_an_image_that_another_model_took_and_this_one_would_refuse_is_left_out() -> None:
    """As in a task that was begun elsewhere."""
    messages = [*conversation(2), Message("user", (block(made(200, 200, noise=True)),))]
    assert images_sent(messages, ImageLimits(refused_bytes=1000)) == [True, True, False]


def test_messages_that_keep_their_images_stay_the_same_objects() -> None:
    messages = conversation(9)
    tools = tuple(tool.spec for tool in builtin_tools()[:1])
    prepared = Preparation(Abilities(image_limits=ImageLimits(max_images=8))).prepare(
        ModelRequest("m", tuple(messages), tools=tools)
    )
    assert [one is other for one, other in zip(prepared.messages, messages, strict=True)].count(False) == 2
