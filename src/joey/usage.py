"""Tokens: of one request, of a reply so far, of a whole task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request, or of a whole task. Input excludes what the prompt cache read or wrote."""

    TAG: ClassVar[str] = "token_usage"

    input_tokens: int = 0
    output_tokens: int = 0
    cache_write_tokens: int = 0
    cache_read_tokens: int = 0
    reasoning_tokens: int = 0
    """How many of the output tokens were reasoning, where the provider says so."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
        )

    def merge(self, report: Usage) -> Usage:
        """The same request after another report. Providers report in parts and more than once; numbers only grow."""
        return Usage(
            max(self.input_tokens, report.input_tokens),
            max(self.output_tokens, report.output_tokens),
            max(self.cache_write_tokens, report.cache_write_tokens),
            max(self.cache_read_tokens, report.cache_read_tokens),
            max(self.reasoning_tokens, report.reasoning_tokens),
        )

    @classmethod
    def of(cls, usage: Usage) -> Self:
        """The same numbers as this class: a chunk's as an event, an event's as plain usage."""
        return cls(
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_write_tokens,
            usage.cache_read_tokens,
            usage.reasoning_tokens,
        )

    @property
    def total(self) -> int:
        """How much of the context window the request took, its answer included."""
        return self.input_tokens + self.output_tokens + self.cache_write_tokens + self.cache_read_tokens
