"""The contract of a provider: a request in, the chunks of one reply out.

A provider knows one wire format and nothing of protocols, tools or tasks. It raises `ProviderError`s and nothing
else, and it does not try again: that is `joey.providers.retry`, where it can be seen. Every reply that ends well
ends in exactly one StopChunk; a stream that ends without one is a CutStreamError.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from joey.chunks import Chunk
from joey.errors import UsageError
from joey.messages import Message
from joey.providers.catalogue import Abilities, Effort, abilities_of
from joey.providers.errors import ProviderError
from joey.toolspec import ToolChoice, ToolSpec

CONNECT_TIMEOUT = 10.0
ERROR_TIMEOUT = 10.0
"""Seconds for which the body of an error is read, whether it ends or not."""


@dataclass(frozen=True, slots=True)
class ReasoningOptions:
    """How much the model may think: an effort in words, a budget in tokens, or both; each provider takes its own."""

    effort: Effort | None = None
    budget: int | None = None


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One question to a model: the whole conversation so far, and what it may do.

    Tools are given for native calls. Where a protocol writes calls into the text, its description of the tools is in
    `system` and `tools` is empty. A conversation that grows should hold the same Message objects from request to
    request: providers remember what they made of each.
    """

    model: str
    messages: tuple[Message, ...]
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice = field(default_factory=ToolChoice)
    max_tokens: int = 8192
    temperature: float | None = None
    stop_sequences: tuple[str, ...] = ()
    reasoning: ReasoningOptions | None = None
    grammar: str | None = None
    """What the reply may be, in GBNF. Sent by providers that say `takes_grammar`."""
    on_wait: Callable[[float], None] = field(default=lambda _seconds: None, compare=False, repr=False)
    """Gets the seconds that the request has to wait for its turn, where the provider's limits make it wait."""
    conversation: str = ""
    """A name of the conversation, the same in all its requests: some servers keep a cache for each."""


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """How a model in this process is run. None is decided by the machine and the model."""

    threads: int | None = None
    context: int | None = None
    """How many tokens a conversation may have."""


@dataclass(frozen=True, slots=True)
class Connection:
    """What `open_model` found out about a model and its place. A provider's `connect` takes what it needs of it."""

    model: str
    base_url: str | None = None
    api_key: str | None = None
    key_variable: str = ""
    abilities: Abilities | None = None
    grammar: str | None = None
    """How grammars are sent to the server; `off` for not at all, None to let the provider decide."""
    engine: EngineOptions | None = None
    custom_tools: bool = False
    """Whether tools that are one text are offered as such, to models that were trained on it."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """What the server takes in a request beside the API."""


def refuse_grammar(connection: Connection, provider: str) -> None:
    """For one whose servers take no grammar. Raises UsageError."""
    if connection.grammar not in (None, "off"):
        raise UsageError(f"{provider} takes no grammar; servers that speak OpenAI's format may, such as llamacpp/…")


class Provider(ABC):
    """Somewhere replies come from."""

    name: ClassVar[str]

    def __init__(self, abilities: Abilities | None = None) -> None:
        self._abilities = abilities

    def abilities(self, model: str) -> Abilities:
        """What this model takes: what the provider was given, else what its name says."""
        return self._abilities or abilities_of(model)

    @property
    def takes_grammar(self) -> bool:
        """Whether grammars are sent to the server, so that the model can write nothing else."""
        return False

    @property
    def chat_template(self) -> str:
        """The model's chat template, which shows its own dialect, where it can be looked at without a request."""
        return ""

    @abstractmethod
    def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """The reply, as it comes. Closing it early (`contextlib.aclosing`) ends the request."""

    async def count_tokens(self, request: ModelRequest) -> int | None:
        """How many tokens the request has for this model, counted by its server; None if that does not count."""
        return None

    def fall_back(self, error: ProviderError) -> str | None:
        """Use another model from now on, if there is one for such a failure; returns its full name."""
        return None

    @property
    def can_fall_back(self) -> bool:
        """Whether there is another model to use when this one cannot be had."""
        return False

    def answering(self, model: str) -> str:
        """The full name of the model that answers for this one now."""
        return model

    async def close(self) -> None:  # noqa: B027 - most have nothing to close
        """Let go of connections."""
