"""What a client asks for, whichever wire it came over: our conversation, our tools, and how the answer should come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from joey.gateway.offered import OfferedTools
from joey.messages import Block, Message, Role, TextBlock
from joey.providers.catalogue import Effort
from joey.toolspec import ToolChoice
from joey.wire import JsonObject

SYSTEM_OPEN, SYSTEM_CLOSE = "<system_message>", "</system_message>"


@dataclass(frozen=True, slots=True)
class ReplyFormat:
    """What the text of the reply must be: JSON, of this schema if there is one."""

    schema: JsonObject = field(default_factory=lambda: {"type": "object"})


@dataclass(frozen=True, slots=True)
class ClientRequest:
    """One request of a client, understood."""

    model: str
    messages: tuple[Message, ...]
    system: str = ""
    tools: OfferedTools = field(default_factory=OfferedTools)
    choice: ToolChoice = field(default_factory=ToolChoice)
    """In `one`, the name is the one that the model knows."""
    callable_tools: OfferedTools = field(default_factory=OfferedTools)
    """Those of the tools that may be called in this reply."""
    max_tokens: int | None = None
    temperature: float | None = None
    stop_sequences: tuple[str, ...] = ()
    sent_on: JsonObject = field(default_factory=dict)
    """Fields for the model's server, such as `top_p`, by their names in Chat Completions."""
    effort: Effort | None = None
    budget: int | None = None
    format: ReplyFormat | None = None
    stream: bool = False
    include_usage: bool = False
    include_sealed: bool = False
    """Whether the client wants sealed reasoning, to hand it back with the next request."""
    conversation: str = ""
    """What tells this conversation from others, where the client says it."""
    echo: JsonObject = field(default_factory=dict)
    """Fields of the request that the wire repeats in its answer."""


class ConversationReader:
    """Messages as they are read: neighbours of one role are one message, and system messages find their place.

    Those at the beginning are the system prompt. A later one becomes marked text of the user's side: most chat
    templates take no second system message, and what was sent before it must stay as it was, or prompt caches are lost.
    """

    def __init__(self) -> None:
        self._system: list[str] = []
        self._turns: list[tuple[Role, list[Block]]] = []

    def system(self, text: str) -> None:
        if not text.strip():
            return
        if self._turns:
            self.add("user", [TextBlock(f"{SYSTEM_OPEN}\n{text.strip()}\n{SYSTEM_CLOSE}")])
        else:
            self._system.append(text.strip())

    def add(self, role: Role, blocks: Sequence[Block]) -> None:
        if self._turns and self._turns[-1][0] == role:
            self._turns[-1][1].extend(blocks)
        elif blocks:
            self._turns.append((role, list(blocks)))

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(Message(role, tuple(blocks)) for role, blocks in self._turns)

    @property
    def system_prompt(self) -> str:
        return "\n\n".join(self._system)
