"""What fills the model's window: the next request in parts, each with about how many tokens it takes.

Characters are counted part by part; what the provider counted last is shared out among them. Where it counted nothing
yet, a token is taken for four characters.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from joey.messages import Block, ImageBlock, Message, ReasoningBlock, TextBlock, ToolResultBlock, ToolUseBlock
from joey.task.config import TaskConfig
from joey.task.history import is_summary
from joey.task.log import TaskLog
from joey.task.prompt import PromptContext
from joey.task.request import RequestBuilder
from joey.task.toolbox import Toolbox

_CHARACTERS_A_TOKEN = 4
_IMAGE = 1500 * _CHARACTERS_A_TOKEN
PARTS = (
    "system prompt",
    "instructions",
    "tools",
    "summary",
    "messages",
    "replies and calls",
    "files and searches",
    "command output",
    "results of MCP tools",
    "other results",
    "images",
)
"""In the order in which a request has them, more or less."""
_RESULTS = {"read": "files and searches", "command": "command output", "mcp": "results of MCP tools"}


@dataclass(frozen=True, slots=True)
class ContextView:
    """The parts that are not empty, with their tokens; `window` is None where nobody knows it."""

    parts: tuple[tuple[str, int], ...]
    window: int | None = None
    counted: bool = False
    """Whether the provider counted the whole."""

    @property
    def used(self) -> int:
        return sum(tokens for _, tokens in self.parts)


def context_of(config: TaskConfig, log: TaskLog, toolbox: Toolbox, builder: RequestBuilder) -> ContextView:
    """What the next request of a task consists of."""
    state = log.state
    groups = {offered.name: offered.tool.group for offered in toolbox.registry.toolset.offered}
    sizes = Counter(_of_prompt(config, toolbox, builder))
    for part, size in _of_messages(builder.sent(state), groups):
        sizes[part] += size
    total, counted = sum(sizes.values()), state.last_usage.total
    tokens = counted or total // _CHARACTERS_A_TOKEN
    parts = tuple((part, round(sizes[part] * tokens / total)) for part in PARTS if sizes[part])
    return ContextView(parts, config.model.replies.context_window, counted=bool(counted))


def _of_prompt(config: TaskConfig, toolbox: Toolbox, builder: RequestBuilder) -> dict[str, int]:
    specs, protocol = toolbox.registry.specs, config.model.protocol
    native = (len(spec.name) + len(spec.description) + len(json.dumps(spec.schema)) for spec in specs)
    tools = len(protocol.describe(specs)) if protocol.in_text else sum(native)
    context = config.workspace.prompt_context or PromptContext("")
    wishes = len(context.wishes(toolbox.mode.slug))
    whole = len(builder.system_prompt())
    rest = whole - wishes - (tools if protocol.in_text else 0)
    return {"system prompt": max(0, rest), "instructions": wishes, "tools": tools}


def _of_messages(messages: tuple[Message, ...], groups: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    names: dict[str, str] = {}
    for message in messages:
        for block in message.content:
            if isinstance(block, ToolUseBlock):
                names[block.id] = block.name
            if isinstance(block, ToolResultBlock):
                part = _RESULTS.get(groups.get(names.get(block.tool_use_id, ""), ""), "other results")
                yield from (("images" if isinstance(each, ImageBlock) else part, _size(each)) for each in block.content)
            else:
                yield _part_of(message, block), _size(block)


def _part_of(message: Message, block: Block) -> str:
    if isinstance(block, ImageBlock):
        return "images"
    if message.role == "assistant":
        return "replies and calls"
    text = block.text if isinstance(block, TextBlock) else ""
    return "summary" if is_summary(text) else "files and searches" if text.startswith("<mentioned ") else "messages"


def _size(block: Block) -> int:
    match block:
        case ImageBlock():
            return _IMAGE
        case TextBlock(text) | ReasoningBlock(text):
            return len(text)
        case ToolUseBlock(_, name, arguments):
            return len(name) + len(json.dumps(arguments, ensure_ascii=False))
        case _:
            return 0
