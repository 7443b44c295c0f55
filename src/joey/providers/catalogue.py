"""What is known in advance: who serves models, what a model takes, what it costs. Three tables, each open to users.

Endpoints: one that speaks a wire format we know is one line.

Abilities: the same conversation goes to all models, transformed where one takes less. The table knows the families that
differ from the usual; a model that is not in it is taken for a usual one. Users override it for a model of their own
with `dataclasses.replace`.

Prices are US dollars for a million tokens, read in November 2026 from platform.claude.com/docs (about-claude/pricing,
and the pages of the models) and from pages that quote developers.openai.com/api/docs/pricing; retired models keep the
last price they had. `Prices.extended` puts newer ones, or those of other models, over them. Tokens read from or written
to a cache without a price of their own count as input. A model that is not in the table has no price, not a guessed
one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, TypeAlias

from joey.errors import UsageError
from joey.images.sizing import ImageLimits
from joey.usage import Usage

# Who serves models


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A place that serves models: its wire format, its address, and the variable that holds its key."""

    wire: str
    key_variable: str
    base_url: str | None = None
    base_url_variable: str | None = None

    @property
    def needs_key(self) -> bool:
        """Whether it is out there, and not a server of the user's own."""
        return self.base_url is not None and self.base_url.startswith("https:")


ENDPOINTS: Mapping[str, Endpoint] = {
    "anthropic": Endpoint("anthropic", "ANTHROPIC_API_KEY", None, "ANTHROPIC_BASE_URL"),
    "openai": Endpoint("openai", "OPENAI_API_KEY", None, "OPENAI_BASE_URL"),
    "openrouter": Endpoint("openai", "OPENROUTER_API_KEY", "https://openrouter.ai/api/v1"),
    "deepseek": Endpoint("openai", "DEEPSEEK_API_KEY", "https://api.deepseek.com/v1"),
    "mistral": Endpoint("openai", "MISTRAL_API_KEY", "https://api.mistral.ai/v1"),
    "ollama": Endpoint("openai", "OLLAMA_API_KEY", "http://localhost:11434/v1", "OLLAMA_BASE_URL"),
    "llamacpp": Endpoint("openai", "LLAMACPP_API_KEY", "http://localhost:8080/v1", "LLAMACPP_BASE_URL"),
    "lmstudio": Endpoint("openai", "LMSTUDIO_API_KEY", "http://localhost:1234/v1", "LMSTUDIO_BASE_URL"),
    "vllm": Endpoint("openai", "VLLM_API_KEY", "http://localhost:8000/v1", "VLLM_BASE_URL"),
}
"""The providers that can be named in front of a model."""
LOCAL = "local"
"""And the one that is no place: a model in this process."""
WIRES: Mapping[str, str] = {
    "anthropic": "joey.providers.anthropic",
    "openai": "joey.providers.openai_chat",
    LOCAL: "joey.providers.local.provider",
}
"""The module for each wire format; its function `connect` opens a provider."""


# What a model takes

USUAL_IMAGES = ImageLimits()
IdRule: TypeAlias = Literal["anthropic", "openai", "mistral"]


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a model, or the endpoint that serves it, takes."""

    system: Literal["system", "developer", "none"] = "system"
    """The role of the system prompt. With none, it becomes the beginning of the first user message."""
    streaming: bool = True
    tools: bool = True
    """A tools parameter. Without it, calls and results in the history are written as text."""
    images: bool = True
    image_limits: ImageLimits = USUAL_IMAGES
    """How large and how many, if it takes any."""
    temperature: bool = True
    stream_usage: bool = True
    """Whether the endpoint takes the request to count tokens in a stream."""
    max_tokens: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    merge_tool_result_text: bool = False
    """Text after tool results goes into the last of them: some models forget their reasoning at a user message."""
    echo_reasoning: bool = False
    """Whether the model wants its plain reasoning back (`reasoning_content`)."""
    ids: IdRule = "openai"
    context_window: int | None = None
    """How many tokens a conversation may have; None if that is not known."""


USUAL = Abilities()
_OPENAI_IMAGES = ImageLimits(max_side=2048, refused_bytes=20 * 1024 * 1024, max_bytes=40 * 1024 * 1024)
_REASONERS = Abilities(
    system="developer", temperature=False, max_tokens="max_completion_tokens", image_limits=_OPENAI_IMAGES
)
_KNOWN: tuple[tuple[re.Pattern[str], Abilities], ...] = tuple(
    (re.compile(pattern), abilities)
    for pattern, abilities in (
        (
            r"o1-(mini|preview)",
            Abilities(system="none", tools=False, temperature=False, images=False, max_tokens="max_completion_tokens"),
        ),
        # Chat Completions takes no tools for these beside their reasoning; a protocol in text needs none.
        (r"gpt-(5\.6|[6-9]|\d\d)", replace(_REASONERS, tools=False)),
        (r"(o\d|gpt-5)", _REASONERS),
        (r"claude-[a-z]+-([5-9]|\d\d)", Abilities(temperature=False)),
        (r"deepseek-(reasoner|r1)", Abilities(merge_tool_result_text=True, images=False, temperature=False)),
        (r"(glm-|minimax-|kimi-k2-thinking)", Abilities(merge_tool_result_text=True, echo_reasoning=True)),
        (r"(mistral|codestral|devstral|magistral|ministral)-", Abilities(ids="mistral")),
    )
)


_WINDOWS: tuple[tuple[re.Pattern[str], int], ...] = tuple(
    (re.compile(pattern), tokens)
    for pattern, tokens in (
        (r"claude-[a-z]+-([5-9]|\d\d)(-|$)", 1_000_000),
        (r"claude-", 200_000),
        (r"gpt-(5\.6|6)", 1_050_000),
        (r"gpt-5", 400_000),
        (r"gpt-4\.1", 1_047_576),
        (r"(gpt-4o|gpt-4-turbo|o1-(mini|preview))", 128_000),
        (r"(o1|o3|o4-mini)", 200_000),
        (r"deepseek-(chat|reasoner)$", 128_000),
    )
)


@cache
def abilities_of(model: str) -> Abilities:
    """The abilities of a model by its name; a vendor in front of it (`openai/o3`) does not matter."""
    name = model.rsplit("/", 1)[-1].lower()
    known = next((abilities for pattern, abilities in _KNOWN if pattern.match(name)), USUAL)
    window = next((tokens for pattern, tokens in _WINDOWS if pattern.match(name)), None)
    return replace(known, context_window=window)


# What it costs


@dataclass(frozen=True, slots=True)
class LongContext:
    """Factors that apply to a request with more than `threshold` input tokens."""

    threshold: int
    input: float = 1.0
    output: float = 1.0
    cache_write: float = 1.0
    cache_read: float = 1.0


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars for a million tokens."""

    input: float
    output: float
    cache_write: float | None = None
    cache_read: float | None = None
    long_context: LongContext | None = None

    def cost(self, usage: Usage) -> float:
        """What a request with this usage cost, in dollars."""
        everything = usage.input_tokens + usage.cache_write_tokens + usage.cache_read_tokens
        long = self.long_context if self.long_context and everything > self.long_context.threshold else None
        factors = long or LongContext(0)
        dollars = (
            usage.input_tokens * self.input * factors.input
            + usage.output_tokens * self.output * factors.output
            + usage.cache_write_tokens * self._or_input(self.cache_write, factors.cache_write, factors)
            + usage.cache_read_tokens * self._or_input(self.cache_read, factors.cache_read, factors)
        )
        return dollars / 1_000_000

    def _or_input(self, price: float | None, factor: float, factors: LongContext) -> float:
        return self.input * factors.input if price is None else price * factor


_CLAUDE_LONG = LongContext(200_000, input=2, output=1.5, cache_write=2, cache_read=2)
_HAIKU_LONG = LongContext(100_000, input=5, output=5, cache_write=5, cache_read=5)
_GPT_LONG = LongContext(272_000, input=2, output=1.5, cache_write=2, cache_read=2)
PRICES: Mapping[str, Price] = {
    "claude-fable-5-1": Price(10, 50, 12.5, 0.25),
    "claude-fable-5": Price(10, 50, 12.5, 1),
    "claude-opus-5-5": Price(4, 20, 5, 0.2),
    "claude-opus-5": Price(5, 25, 6.25, 0.5),
    "claude-sonnet-5-5": Price(2, 10, 2.5, 0.2),
    "claude-sonnet-5": Price(2, 10, 2.5, 0.2),
    "claude-haiku-5-5": Price(0.1, 0.5, 0.125, 0.01, _HAIKU_LONG),
    "claude-opus-4-8": Price(5, 25, 6.25, 0.5),
    "claude-opus-4-7": Price(5, 25, 6.25, 0.5),
    "claude-opus-4-6": Price(5, 25, 6.25, 0.5),
    "claude-sonnet-4-6": Price(3, 15, 3.75, 0.3),
    "claude-opus-4-5": Price(5, 25, 6.25, 0.5),
    "claude-opus-4-1": Price(15, 75, 18.75, 1.5),
    "claude-opus-4": Price(15, 75, 18.75, 1.5),
    "claude-sonnet-4-5": Price(3, 15, 3.75, 0.3, _CLAUDE_LONG),
    "claude-sonnet-4": Price(3, 15, 3.75, 0.3, _CLAUDE_LONG),
    "claude-haiku-4-5": Price(1, 5, 1.25, 0.1),
    "claude-3-7-sonnet": Price(3, 15, 3.75, 0.3),
    "claude-3-5-sonnet": Price(3, 15, 3.75, 0.3),
    "claude-3-5-haiku": Price(0.8, 4, 1, 0.08),
    "gpt-6.1-sol": Price(2, 10, 2.5, 0.1, _GPT_LONG),
    "gpt-6.1-terra": Price(1, 5, None, 0.05, _GPT_LONG),
    "gpt-6-astra": Price(10, 50, 12.5, 1, _GPT_LONG),
    "gpt-6-sol": Price(2, 10, 2.5, 0.2, _GPT_LONG),
    "gpt-6-luna": Price(0.1, 0.5, 0.125, 0.01, _GPT_LONG),
    "gpt-5.6-sol": Price(4, 20, None, 0.4, _GPT_LONG),
    "gpt-5.6-terra": Price(2, 12, None, 0.2, _GPT_LONG),
    "gpt-5.6-luna": Price(0.2, 1.2, None, 0.02, _GPT_LONG),
    "gpt-5.5": Price(5, 30, None, 0.5),
    "gpt-5.4": Price(2.5, 15, None, 0.25),
    "gpt-5.4-mini": Price(0.75, 4.5, None, 0.075),
    "gpt-5.2": Price(1.75, 14, None, 0.175),
    "gpt-5.1": Price(1.25, 10, None, 0.125),
    "gpt-5": Price(1.25, 10, None, 0.125),
    "gpt-5-mini": Price(0.25, 2, None, 0.025),
    "gpt-5-nano": Price(0.05, 0.4, None, 0.005),
    "gpt-4.1": Price(2, 8, None, 0.5),
    "gpt-4.1-mini": Price(0.4, 1.6, None, 0.1),
    "gpt-4.1-nano": Price(0.1, 0.4, None, 0.025),
    "gpt-4o": Price(2.5, 10, None, 1.25),
    "gpt-4o-mini": Price(0.15, 0.6, None, 0.075),
    "o3": Price(2, 8, None, 0.5),
    "o4-mini": Price(1.1, 4.4, None, 0.275),
}

_DATE = re.compile(r"[-@](\d{8}|\d{4}-\d{2}-\d{2})$|-latest$")


class Prices:
    """The price of each known model."""

    def __init__(self, table: Mapping[str, Price] = PRICES) -> None:
        self._table = dict(table)

    def of(self, model: str) -> Price | None:
        """The price of a model: under its full name, else without the vendor in front and the date at the end."""
        bare = model.rsplit("/", 1)[-1]
        for name in (model, _DATE.sub("", model), bare, _DATE.sub("", bare)):
            if name in self._table:
                return self._table[name]
        return None

    def cost(self, model: str, usage: Usage) -> float | None:
        """Dollars, or None when the model's price is not known."""
        price = self.of(model)
        return None if price is None else price.cost(usage)

    def extended(self, entries: Mapping[str, Any]) -> Prices:
        """This table with more entries: `{"my-model": {"input": 1, "output": 2, "cache_read": 0.1}}`."""
        return Prices({**self._table, **{model: _read(model, entry) for model, entry in entries.items()}})


def _read(model: str, entry: Any) -> Price:
    if isinstance(entry, Price):
        return entry
    allowed = ("input", "output", "cache_write", "cache_read")
    if not isinstance(entry, Mapping) or not {"input", "output"} <= set(entry) <= set(allowed):
        raise UsageError(f"the price of {model!r} needs 'input' and 'output', and may have 'cache_write', 'cache_read'")
    wrong = [name for name in entry if isinstance(entry[name], bool) or not isinstance(entry[name], (int, float))]
    if wrong:
        raise UsageError(f"{wrong[0]!r} in the price of {model!r} must be a number: dollars for a million tokens")
    return Price(**entry)
