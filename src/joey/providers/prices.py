"""What a model costs: US dollars for a million tokens.

Tokens read from or written to a cache without a price of their own count as input. A model whose price is not known has
no cost, not a guessed one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from joey.errors import UsageError
from joey.usage import Usage


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
        counts = usage.input_tokens, usage.output_tokens, usage.cache_write_tokens, usage.cache_read_tokens
        return sum(count * price for count, price in zip(counts, self.rates(everything), strict=True)) / 1_000_000

    def is_at_most(self, other: Price) -> bool:
        """Whether no token of any kind, in a request of any size, costs more than with the other."""
        sizes = [0, *(each.long_context.threshold + 1 for each in (self, other) if each.long_context)]
        return all(
            mine <= theirs for size in sizes for mine, theirs in zip(self.rates(size), other.rates(size), strict=True)
        )

    def rates(self, tokens: int) -> tuple[float, float, float, float]:
        """Input, output, writing to a cache and reading from it, in a request with so many input tokens."""
        long = self.long_context if self.long_context and tokens > self.long_context.threshold else LongContext(0)
        read = self.input * long.input
        cache = (self.cache_write, long.cache_write), (self.cache_read, long.cache_read)
        written, cached = (read if price is None else price * factor for price, factor in cache)
        return read, self.output * long.output, written, cached


def read_price(model: str, entry: Any) -> Price:
    """The price in a table of a user's: `{"input": 1, "output": 2, "cache_read": 0.1}`."""
    if isinstance(entry, Price):
        return entry
    allowed = ("input", "output", "cache_write", "cache_read")
    if not isinstance(entry, Mapping) or not {"input", "output"} <= set(entry) <= set(allowed):
        raise UsageError(f"the price of {model!r} needs 'input' and 'output', and may have 'cache_write', 'cache_read'")
    wrong = [name for name in entry if isinstance(entry[name], bool) or not isinstance(entry[name], (int, float))]
    if wrong:
        raise UsageError(f"{wrong[0]!r} in the price of {model!r} must be a number: dollars for a million tokens")
    return Price(**entry)
