"""One call and nothing else: the reply to a request that forces a tool is a JSON object `{"name", "arguments"}`.

The first text block of the reply is read, as strict JSON. It becomes one call, whatever it holds, because whoever
forced a tool waits for a call: text that is no JSON object, or arguments that are no object, is a malformed one, which
never runs, and is reported through `on_error`; without a name the tool is called `unknown`. What comes after the first
block is plain text.

The call comes when its text is complete: until then it is not known whether the name will stand. So there is no state
but the text, and it is read once.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import ClassVar

from joey.chunks import ReasoningChunk, StopChunk
from joey.errors import UsageError
from joey.events import ToolCallDelta, ToolCallMalformed, ToolCallStarted
from joey.messages import Block, TextBlock, ToolResultBlock, ToolUseBlock
from joey.protocols.base import BaseParser, OnError, Protocol
from joey.protocols.buffer import Pieces
from joey.protocols.grammar.gbnf import GrammarRules, callable_tools
from joey.protocols.json.relaxed import RelaxedJsonError, loads
from joey.protocols.json_mix.protocol import call_rule, encode_results
from joey.schema.example import example_call
from joey.toolspec import ToolChoice, ToolSpec
from joey.wire import JsonObject, JsonValue

UNKNOWN = "unknown"


class ToolChoiceParser(BaseParser):
    """Reads one reply that must be a call."""

    def __init__(self, tools: Sequence[ToolSpec], on_error: OnError | None = None) -> None:
        super().__init__(tools, on_error)
        self._block = Pieces()
        self._arguments: JsonObject | None = None

    def arguments(self, call_id: str) -> JsonValue:
        if call_id != "call_1" or self._arguments is None:
            raise UsageError(
                f"there is no call {call_id!r} in this reply yet; the call comes when its text is complete"
            )
        return self._arguments

    def _text(self, text: str) -> None:
        if self._arguments is not None:
            self._emit_text(text)
        elif text:
            self._block.add(text)

    def _reasoning(self, chunk: ReasoningChunk) -> None:
        if self._block.length:
            self._conclude()
        super()._reasoning(chunk)

    def _close(self) -> None:
        self._conclude()
        if self._stop is None or self._stop.reason == "end":
            self._stop = StopChunk("tool_calls", self._stop.detail if self._stop else "")

    def _conclude(self) -> None:
        """The first block is complete: it is the call."""
        if self._arguments is not None:
            return
        source = self._block.text()
        name, self._arguments, problem = _read(source)
        self._close_reasoning()
        call_id = self._new_call_id()
        self._out.append(ToolCallStarted(call_id, name))
        if source:
            self._out.append(ToolCallDelta(call_id, (), "", source))
        if problem:
            self._out.append(ToolCallMalformed(call_id, name, source, problem))
            self._report(problem, source, name)
        else:
            self._call_finished(call_id, name, self._arguments, source)


def _read(text: str) -> tuple[str, JsonObject, str | None]:
    """The name and the arguments that the text gives, and what is wrong with it, if anything."""
    try:
        call = loads(text, relaxed=False, duplicates=True)
        json.dumps(call, allow_nan=False)
    except RelaxedJsonError as error:
        return UNKNOWN, {}, f"the reply to a forced tool call is not JSON: {error}"
    except ValueError:
        return UNKNOWN, {}, "the reply to a forced tool call holds a number that is too large"
    if not isinstance(call, dict):
        return UNKNOWN, {}, f"the reply to a forced tool call must be an object, got {text.strip()[:40]}"
    name = call.get("name")
    arguments = call.get("arguments", {})
    problem = None
    if not isinstance(arguments, dict):
        problem = f"the arguments of a forced tool call must be an object, got {json.dumps(arguments)[:40]}"
        arguments = {}
    return name if isinstance(name, str) and name else UNKNOWN, arguments, problem


class ToolChoiceProtocol(Protocol):
    """For requests that force a call: of any of the tools, or, if only one is offered, of that one."""

    name: ClassVar[str] = "tool_choice"
    forced: ClassVar[bool] = True

    def parser(self, tools: Sequence[ToolSpec], *, on_error: OnError | None = None) -> ToolChoiceParser:
        return ToolChoiceParser(tools, on_error)

    def encode_call(self, call: ToolUseBlock, tools: Sequence[ToolSpec] = ()) -> TextBlock:
        return TextBlock(_call_text(call.name, call.arguments))

    def encode_results(
        self, results: Sequence[ToolResultBlock], calls: Sequence[ToolUseBlock] = ()
    ) -> tuple[Block, ...]:
        return encode_results(results, calls)

    def describe(self, tools: Sequence[ToolSpec]) -> str:
        if not tools:
            return ""
        whom = f"the tool {tools[0].name}" if len(tools) == 1 else "one of the tools below"
        described = "\n\n".join(map(_describe_tool, tools))
        return f"{_DESCRIPTION.format(whom=whom)}\n{described}\n"

    def grammar(self, tools: Sequence[ToolSpec], choice: ToolChoice | None = None) -> str | None:
        """One call, whatever the choice: this protocol is for requests that force one."""
        forced = callable_tools(tools, choice or ToolChoice())
        rules = GrammarRules()
        return rules.text(call_rule(forced, rules)) if forced else None

    def reminder(self, tools: Sequence[ToolSpec]) -> str:
        names = ", ".join(tool.name for tool in tools)
        return _REMINDER + (f" The tools are: {names}." if names else "")


def _call_text(name: str, arguments: JsonObject) -> str:
    return json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False, separators=(",", ":"))


def _describe_tool(tool: ToolSpec) -> str:
    schema = json.dumps(tool.schema, ensure_ascii=False)
    example = _call_text(tool.name, example_call(tool))
    lines = [f"### {tool.name}", tool.description, f"Arguments (JSON Schema): {schema}", f"Example: {example}"]
    return "\n".join(line for line in lines if line)


_DESCRIPTION = """\
## Your reply is a tool call

Reply by calling {whom}. The whole reply is one JSON object and nothing else, without a code fence around it:

{{"name": "the tool's name", "arguments": {{"the argument's name": "its value"}}}}

- `name` is the name of the tool, `arguments` an object that fits its schema, {{}} if nothing is needed.
- It must be strict JSON: double quotes, no comments, no comma before a closing bracket.
"""

_REMINDER = """\
The whole reply must be one JSON object and nothing else: {"name": "the tool's name", "arguments": {}}, with the
arguments that the tool's schema asks for."""
