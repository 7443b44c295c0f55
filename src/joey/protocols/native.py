"""Placeholder while the floor is laid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from joey.messages import Block, ToolResultBlock, ToolUseBlock
from joey.protocols.base import OnError, Parser, Protocol
from joey.toolspec import ToolSpec
from joey.wire import JsonValue


class NativeParser(Parser):
    def arguments(self, call_id: str) -> JsonValue:
        return {}

    def _text(self, text: str) -> None:
        self._emit_text(text)

    def _close(self) -> None: ...


class NativeProtocol(Protocol):
    """The provider carries the calls: tools go in a parameter of the request, calls come as chunks of their own."""

    name: ClassVar[str] = "native"
    in_text: ClassVar[bool] = False

    def describe(self, tools: Sequence[ToolSpec]) -> str:
        return ""

    def parser(self, tools: Sequence[ToolSpec], *, on_error: OnError | None = None) -> NativeParser:
        return NativeParser(tools, on_error)

    def encode_call(self, call: ToolUseBlock) -> Block:
        return call

    def encode_results(self, results: Sequence[ToolResultBlock]) -> tuple[Block, ...]:
        return tuple(results)

    def reminder(self, tools: Sequence[ToolSpec]) -> str:
        return ""
