"""Tokens: of one request, of a reply so far, of a whole task."""

from __future__ import annotations

import operator
from dataclasses import astuple, dataclass
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
        return Usage(*map(operator.add, astuple(self), astuple(other)))

    def merge(self, report: Usage) -> Usage:
        """The same request after another report. Providers report in parts and more than once; numbers only grow."""
        return Usage(*map(max, astuple(self), astuple(report)))

    @classmethod
    def of(cls, usage: Usage) -> Self:
        """The same numbers as this class: a chunk's as an event, an event's as plain usage."""
        return cls(*astuple(usage))

    @property
    def total(self) -> int:
        """How much of the context window the request took, its answer included."""
        return self.input_tokens + self.output_tokens + self.cache_write_tokens + self.cache_read_tokens
