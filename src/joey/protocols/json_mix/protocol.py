"""JSON in tags: `<tool_call>{"name": "read_file", "arguments": {"path": "a.py"}}</tool_call>`, amid plain text.

Outside an element everything is text; a TagScanner holds back what may be the beginning of the start tag. Inside, a
RelaxedReader reads the JSON as it comes, so that a call starts when its name is known and its arguments grow live.
What is between the tags: one call, or an array of calls. A call is an object with a `name`, a non-empty string, and
`arguments` (or `parameters`): an object, null, left out, or an object written into a string. Other keys are ignored.
How an element is read, and where it ends, is written in `element`.

Deliberately not handled: tags with attributes, spaces or other case; unescaped quotes in strings (guessing where a
file's text ends would write the wrong file); calls without tags. All of them stay text, or are reported.

The grammar of a reply has one JSON object between two tags, and free text without the start tag. A line break may stand
beside each tag, as many models were taught. Strings may hold the tags: in complete JSON the parser finds the true end.
The reply to a forced call (`tool_choice`) is the same object without tags.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, ClassVar, Self

from joey.chunks import Chunk, TextChunk
from joey.errors import UsageError
from joey.events import StreamEvent, TextDelta
from joey.messages import Block, ImageBlock, TextBlock, ToolResultBlock, ToolUseBlock
from joey.protocols.base import BaseParser, OnError, Protocol
from joey.protocols.buffer import TagScanner
from joey.protocols.grammar import gbnf
from joey.protocols.grammar.json_values import JsonRules, properties_of
from joey.protocols.json_mix.element import Element
from joey.schema.example import example_call
from joey.toolspec import ToolChoice, ToolSpec
from joey.wire import JsonValue

_SLICE = 4096


class JsonMixParser(BaseParser):
    """Reads one reply. `scanned` counts the characters looked at, for the tests."""

    def __init__(self, tools: Sequence[ToolSpec], on_error: OnError | None, tags: tuple[str, str]) -> None:
        super().__init__(tools, on_error)
        self._tags = tags
        self._scanner = TagScanner(tags[:1])
        self._element: Element | None = None
        self._finished_arguments: dict[str, JsonValue] = {}
        self._scanned = 0

    @property
    def scanned(self) -> int:
        return self._scanned + self._scanner.scanned + (self._element.scanned if self._element else 0)

    def arguments(self, call_id: str) -> JsonValue:
        if call_id in self._finished_arguments:
            return self._finished_arguments[call_id]
        partial = self._element.snapshot(call_id) if self._element else None
        if partial is None:
            raise UsageError(f"there is no call {call_id!r} in this reply, or it was malformed")
        return partial

    def feed(self, chunk: str | Chunk) -> list[StreamEvent]:
        """The events that the next chunk brings. A plain string is a TextChunk."""
        text = chunk if type(chunk) is str else chunk.text if type(chunk) is TextChunk else ""
        if not text or not self._text_open:
            return super().feed(chunk)
        if self._scanner.is_plain(text):  # most pieces of a long text
            return [TextDelta(text)]
        self._read(text)
        return self._take()

    def _text(self, text: str) -> None:
        if not text:
            return
        if self._element is None:
            if self._scanner.is_plain(text):
                self._emit_text(text)
                return
        else:
            delta = self._element.take(text)
            if delta is not None:
                self._out.append(delta)
                return
        self._read(text)

    def _read(self, text: str) -> None:
        # In slices, so that what is left after each of many calls in one chunk is not copied over and over.
        left = [(text, 0)]
        while left:
            text, start = left.pop()
            stop = start + _SLICE
            if stop < len(text):
                left.append((text, stop))
            rest = self._read_slice(text[start:stop])
            if rest:
                left.append((rest, 0))

    def _read_slice(self, text: str) -> str | None:
        """Read up to the next border of an element; the answer is what follows it."""
        if self._element is None:
            self._scanner.feed(text)
            before, tag = self._scanner.next()
            self._emit_text(before)
            if tag is not None:
                self._open_element()
            return self._scanner.rest() if tag is not None else None
        self._element.out = self._out
        rest = self._element.feed(text)
        if rest is not None:
            self._end_element()
        return rest

    def _open_element(self) -> None:
        self._close_reasoning()
        self._close_text()
        self._element = Element(self._tags, self._new_call_id, self._report)

    def _end_element(self) -> None:
        assert self._element is not None
        self._scanned += self._element.scanned
        self._finished_arguments |= self._element.finished
        self._any_call_finished = bool(self._finished_arguments)
        self._element = None

    def _close(self) -> None:
        while self._element is not None:
            self._element.out = self._out
            rest = self._element.close()
            self._end_element()
            self._read(rest)
        self._emit_text(self._scanner.rest())


class JsonMixProtocol(Protocol):
    """Calls as JSON between two tags, which can be chosen."""

    name: ClassVar[str] = "json_mix"
    options: ClassVar[Sequence[str]] = ("start", "end")

    def __init__(self, start: str = "<tool_call>", end: str = "</tool_call>") -> None:
        if not start or not end or start == end:
            raise UsageError(f"json_mix needs two different tags that are not empty, got {start!r} and {end!r}")
        self.start, self.end = start, end

    def _with(self, **options: Any) -> Self:
        tags = {"start": self.start, "end": self.end} | options
        for option, tag in tags.items():
            if not isinstance(tag, str):
                raise UsageError(f"the option {option!r} of json_mix must be a string, got {tag!r}")
        return type(self)(**tags)

    def parser(self, tools: Sequence[ToolSpec], *, on_error: OnError | None = None) -> JsonMixParser:
        return JsonMixParser(tools, on_error, (self.start, self.end))

    def encode_call(self, call: ToolUseBlock, tools: Sequence[ToolSpec] = ()) -> TextBlock:
        body = json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False, separators=(",", ":"))
        return TextBlock(f"{self.start}{body}{self.end}")

    def encode_results(
        self, results: Sequence[ToolResultBlock], calls: Sequence[ToolUseBlock] = ()
    ) -> tuple[Block, ...]:
        return encode_results(results, calls)

    def describe(self, tools: Sequence[ToolSpec]) -> str:
        if not tools:
            return ""
        described = "\n\n".join(self._describe_tool(tool) for tool in tools)
        return _DESCRIPTION.format(start=self.start, end=self.end, tools=described)

    def _describe_tool(self, tool: ToolSpec) -> str:
        schema = json.dumps(tool.schema, ensure_ascii=False)
        example = self.encode_call(ToolUseBlock("", tool.name, example_call(tool))).text
        lines = [f"### {tool.name}", tool.description, f"Arguments (JSON Schema): {schema}", f"Example: {example}"]
        return "\n".join(line for line in lines if line)

    def grammar(self, tools: Sequence[ToolSpec], choice: ToolChoice | None = None) -> str:
        return json_mix_grammar(tools, choice or ToolChoice(), (self.start, self.end))

    def reminder(self, tools: Sequence[ToolSpec]) -> str:
        names = ", ".join(tool.name for tool in tools)
        return _REMINDER.format(start=self.start, end=self.end, names=f" The tools are: {names}." if names else "")


_OWN_TAG = re.compile(r"<(?=\s{0,8}/?\s{0,8}tool_response)", re.IGNORECASE)


def encode_results(results: Sequence[ToolResultBlock], calls: Sequence[ToolUseBlock] = ()) -> tuple[Block, ...]:
    """Each result as `<tool_response>{...}</tool_response>`, in the order of the calls; images follow as they are."""
    names = {call.id: call.name for call in calls if call.id}
    blocks: list[Block] = []
    for result in results:
        text = "\n".join(block.text for block in result.content if isinstance(block, TextBlock))
        name = names.get(result.tool_use_id)
        body = {"name": name} if name else {}
        body["error" if result.is_error else "result"] = text
        # The text is read back as it was, and cannot end the element or begin another.
        written = _OWN_TAG.sub(r"\\u003c", json.dumps(body, ensure_ascii=False))
        blocks.append(TextBlock(f"<tool_response>{written}</tool_response>"))
        blocks += [block for block in result.content if isinstance(block, ImageBlock)]
    return tuple(blocks)


_DESCRIPTION = """\
## Calling tools

To call a tool, write one JSON object between {start} and {end}:

{start}{{"name": "the tool's name", "arguments": {{"the argument's name": "its value"}}}}{end}

- `name` is the name of one tool below; `arguments` is an object that fits its schema, {{}} if nothing is needed.
- Inside the tags stands JSON and nothing else. In strings, write a quote as \\" and a new line as \\n.
- Always close with {end}. A call without it is not carried out.
- You may write text before and after a call. For several calls, write each between tags of its own.
- Then stop and wait: what the tool answers comes in the next message, in <tool_response> and </tool_response>.

## Tools

{tools}
"""

_REMINDER = """\
A tool call is written as one JSON object between tags, like this:

{start}{{"name": "the tool's name", "arguments": {{"the argument's name": "its value"}}}}{end}

The JSON must be complete, quotes and new lines inside strings escaped, and {end} must follow.{names}"""


_NAME, _ARGUMENTS = gbnf.literal('{"name":'), gbnf.literal('"arguments":')
_DONE = "done"


def json_mix_grammar(tools: Sequence[ToolSpec], choice: ToolChoice, tags: tuple[str, str]) -> str:
    """What a reply may be, with these tools, this choice and these tags."""
    start, end = tags
    rules = gbnf.GrammarRules()
    offered = gbnf.callable_tools(tools, choice)
    inside = f'"\\n"? {call_rule(offered, rules)} "\\n"? {gbnf.literal(end)}' if offered else ""
    if gbnf.must_call(offered, choice):
        call = f"{gbnf.literal(start)} {inside}"
        return rules.text(gbnf.repeated(rules, call) if gbnf.several(choice) else call)
    step = gbnf.matcher([start])

    def ways(state: str) -> list[gbnf.Way[str]]:
        if state == _DONE:
            return [(gbnf.EMPTY, None)]
        found: list[gbnf.Way[str]] = []
        for read, after in gbnf.moves(start, lambda char: step(state, char)):
            if after != start:
                found.append((read, after))
            elif inside:
                found.append((f"{read} {inside}", "" if choice.parallel else _DONE))
        return [*found, (gbnf.EMPTY, None)]

    return rules.text(rules.automaton("text", "", ways))


def call_rule(tools: Sequence[ToolSpec], rules: gbnf.GrammarRules) -> str:
    """A rule for a call of one of the tools as a JSON object."""
    calls = [f'{_name(tool)} "," " "? {_ARGUMENTS} " "? {_arguments(tool, rules)}' for tool in tools]
    return rules.rule("call", f'{_NAME} " "? {gbnf.either(calls)} "}}"')


def _name(tool: ToolSpec) -> str:
    return gbnf.literal(json.dumps(tool.name, ensure_ascii=False))


def _arguments(tool: ToolSpec, rules: gbnf.GrammarRules) -> str:
    values = JsonRules(rules, tool.schema, name=tool.name, custom=tool.custom)
    declared, required = properties_of(tool.schema)
    if declared:
        body = values.members(declared, required, "arguments")
    else:
        says_more = any(tool.schema.get(key) for key in ("$ref", "anyOf", "oneOf", "allOf", "additionalProperties"))
        body = values.value(tool.schema, "arguments") if says_more else gbnf.literal("{}")
    return rules.rule(f"{tool.name}-arguments", body)
