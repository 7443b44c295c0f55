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
