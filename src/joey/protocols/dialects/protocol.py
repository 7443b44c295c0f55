"""A dialect as a protocol: the table's row, with its parser, its writer and its declaration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from joey.errors import UsageError
from joey.messages import Block, ImageBlock, TextBlock, ToolResultBlock, ToolUseBlock
from joey.protocols.base import OnError, Protocol
from joey.protocols.dialects.grammar import dialect_grammar
from joey.protocols.dialects.parser import DialectParser
from joey.protocols.dialects.prompt import declaration, reminder
from joey.protocols.dialects.spec import Dialect
from joey.protocols.dialects.styles import STYLES
from joey.protocols.dialects.table import DIALECTS
from joey.protocols.dialects.writer import write_calls, write_results
from joey.toolspec import ToolChoice, ToolSpec


class DialectProtocol(Protocol):
    """One row of the table. `prompt_tail` is what the prompt ends with: `<think>` where a reply begins inside it."""

    name: str  # type: ignore[misc]
    thinks_in_text: ClassVar[bool] = True
    options: ClassVar[Sequence[str]] = ("prompt_tail",)

    def __init__(self, dialect: Dialect, prompt_tail: str = "") -> None:
        self.dialect = dialect
        self.name = dialect.name
        self.broken_as_text = dialect.broken_as_text
        self.style = STYLES[dialect.name]
        self.prompt_tail = prompt_tail

    def _with(self, **options: Any) -> Self:
        tail = options["prompt_tail"]
        if not isinstance(tail, str):
            raise UsageError(f"the option 'prompt_tail' of {self.name} must be a string, got {tail!r}")
        return type(self)(self.dialect, tail)

    def parser(self, tools: Sequence[ToolSpec], *, on_error: OnError | None = None) -> DialectParser:
        return DialectParser(self.dialect, tools, on_error, self.prompt_tail)

    def describe(self, tools: Sequence[ToolSpec]) -> str:
        return declaration(self.dialect, self.style, tools) if tools else ""

    def encode_call(self, call: ToolUseBlock, tools: Sequence[ToolSpec] = ()) -> TextBlock:
        return self.encode_calls((call,), tools)

    def encode_calls(self, calls: Sequence[ToolUseBlock], tools: Sequence[ToolSpec] = ()) -> TextBlock:
        """All calls of one turn, with what stands around and between them."""
        return TextBlock(write_calls(self.dialect, self.style, calls, tools))

    def encode_turn(self, calls: Sequence[ToolUseBlock], tools: Sequence[ToolSpec] = ()) -> tuple[Block, ...]:
        return (self.encode_calls(calls, tools),)

    def encode_results(
        self, results: Sequence[ToolResultBlock], calls: Sequence[ToolUseBlock] = ()
    ) -> tuple[Block, ...]:
        known = {call.id: (call, number) for number, call in enumerate(calls)}
        answered: list[tuple[str, ToolUseBlock, int]] = []
        images: list[Block] = []
        for place, result in enumerate(results):
            text = "\n".join(block.text for block in result.content if isinstance(block, TextBlock))
            unknown = (ToolUseBlock(result.tool_use_id, "tool", {}), place)
            answered.append((f"Error: {text}" if result.is_error else text, *known.get(result.tool_use_id, unknown)))
            images += [block for block in result.content if isinstance(block, ImageBlock)]
        return (TextBlock(write_results(self.dialect, self.style, answered)), *images)

    def grammar(self, tools: Sequence[ToolSpec], choice: ToolChoice | None = None) -> str:
        return dialect_grammar(self.dialect, self.style, tools, choice or ToolChoice(), self.prompt_tail)

    def reminder(self, tools: Sequence[ToolSpec]) -> str:
        return reminder(self.dialect, self.style, tools)


PROTOCOLS: dict[str, DialectProtocol] = {name: DialectProtocol(dialect) for name, dialect in DIALECTS.items()}
