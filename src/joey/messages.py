"""The conversation as data: messages made of blocks, and what a tool answers.

Blocks follow the shape of a provider's message content, so that a conversation can be written down and read again
without knowing which provider or protocol it was held with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from joey.effects import Effect
from joey.wire import Codec, JsonObject


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Words."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningBlock:
    """What the model thought before it spoke. The signature must go back to the provider unchanged."""

    text: str
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class ImageBlock:
    """An image: base64 data and its media type, such as image/png."""

    media_type: str
    data: str


@dataclass(frozen=True, slots=True)
class ToolUseBlock:
    """A tool call in the conversation. An empty id says that the protocol has none (the text protocols)."""

    id: str
    name: str
    arguments: JsonObject


ResultBlock: TypeAlias = TextBlock | ImageBlock


@dataclass(frozen=True, slots=True)
class ToolResultBlock:
    """The answer to the tool use with this id."""

    tool_use_id: str
    content: tuple[ResultBlock, ...]
    is_error: bool = False


Block: TypeAlias = TextBlock | ReasoningBlock | ImageBlock | ToolUseBlock | ToolResultBlock
Role: TypeAlias = Literal["user", "assistant"]
StopReason: TypeAlias = Literal["end", "tool_calls", "length", "stop_sequence", "refusal", "unknown"]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of one side."""

    role: Role
    content: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class ShownText:
    """Words for the user alone, such as a command's whole output, in its colours (`ESC [ … m`)."""

    text: str


@dataclass(frozen=True, slots=True)
class ShownDiff:
    """What a call changed in one file, as a unified diff."""

    path: str
    diff: str


@dataclass(frozen=True, slots=True)
class ShownImage:
    """An image for the user, such as a screenshot."""

    media_type: str
    data: str


Shown: TypeAlias = ShownText | ShownDiff | ShownImage


@dataclass(frozen=True, slots=True)
class CommandExit:
    """How a command ended: its exit code as a shell counts, and the name of the signal that ended it, if one did."""

    code: int
    signal: str = ""

    def __str__(self) -> str:
        return f"signal {self.signal} (exit code {self.code})" if self.signal else f"exit code {self.code}"


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answers: `content` is for the model, `shown` for the user, `effect` for the task loop, and
    `exit` how a command ended."""

    content: tuple[ResultBlock, ...]
    shown: tuple[Shown, ...] = ()
    is_error: bool = False
    effect: Effect | None = None
    exit: CommandExit | None = None

    @property
    def text(self) -> str:
        """What the model reads, images left out."""
        return "\n".join(block.text for block in self.content if isinstance(block, TextBlock))


BLOCKS = Codec(Block)
MESSAGES = Codec(Message)
TOOL_RESULTS = Codec(ToolResult)
