"""A dialect as a protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from joey.errors import UsageError
from joey.messages import Block, TextBlock, ToolResultBlock, ToolUseBlock
from joey.protocols.base import OnError, Protocol
from joey.protocols.dialects.parser import DialectParser
from joey.protocols.dialects.spec import Dialect
from joey.toolspec import ToolSpec


class DialectProtocol(Protocol):
    """One row of the table. `prompt_tail` is what the prompt ends with: `<think>` where a reply begins inside it."""

    name: str  # type: ignore[misc]
    options: ClassVar[Sequence[str]] = ("prompt_tail",)

    def __init__(self, dialect: Dialect, prompt_tail: str = "") -> None:
        self.dialect = dialect
        self.name = dialect.name
        self.prompt_tail = prompt_tail

    def _with(self, **options: Any) -> Self:
        tail = options["prompt_tail"]
        if not isinstance(tail, str):
            raise UsageError(f"the option 'prompt_tail' of {self.name} must be a string, got {tail!r}")
        return type(self)(self.dialect, tail)

    def parser(self, tools: Sequence[ToolSpec], *, on_error: OnError | None = None) -> DialectParser:
        return DialectParser(self.dialect, tools, on_error, self.prompt_tail)

    def describe(self, tools: Sequence[ToolSpec]) -> str:
        raise NotImplementedError

    def encode_call(self, call: ToolUseBlock, tools: Sequence[ToolSpec] = ()) -> TextBlock:
        raise NotImplementedError

    def encode_results(
        self, results: Sequence[ToolResultBlock], calls: Sequence[ToolUseBlock] = ()
    ) -> tuple[Block, ...]:
        raise NotImplementedError

    def reminder(self, tools: Sequence[ToolSpec]) -> str:
        raise NotImplementedError
