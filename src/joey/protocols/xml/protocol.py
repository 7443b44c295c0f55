"""The `xml` protocol: the tags of Cline and Roo Code. What is sent to the model: how to call tools, and its history.

The grammar and the reading of replies are in `parser`, the tags in `tags`, typed arguments in `values`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from joey.frames import one_line
from joey.messages import Block, ResultBlock, TextBlock, ToolResultBlock, ToolUseBlock
from joey.protocols.base import OnError, Protocol
from joey.protocols.xml.grammar import xml_grammar
from joey.protocols.xml.parser import XmlParser
from joey.protocols.xml.writer import write_call
from joey.schema.kinds import kinds_of
from joey.toolspec import ToolChoice, ToolSpec

_FORMAT = """\
You act by calling tools. A call is written in your answer as XML-style tags: the tool's name is the outer tag, and \
each parameter has a tag of its own inside it.

<tool_name>
<first_parameter>value</first_parameter>
<second_parameter>value</second_parameter>
</tool_name>"""

_RULES = """\
- Write tags exactly as shown: no attributes, no spaces, no other case. Close every parameter and the call itself.
- Write values as they are. Nothing is escaped: & and < stay & and <, and no CDATA is needed.
- Put each parameter on a line of its own, with nothing but line breaks between parameters.
- A parameter that asks for an object or an array takes JSON. Numbers and booleans are written bare.
- Leave out optional parameters that you do not need.
- Put a call in the plain answer, never in a code block or in backticks: what stands in code is not run.
- A call that is not closed is not run."""

_BREAKS = "\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
_HEAD = re.compile(
    rf"((?:\A|[{_BREAKS}])[ \t\u200b\ufeff]{{0,200}})(?:(\[)(?=[^{_BREAKS}]*\] Result:)|(<)(?=\\*/?error>))"
)
"""The marks of a result, where a line begins. In a tool's words each gets a backslash behind its first character, and
one that has some gets one more, so that they can be read back exactly."""
_SUBJECTS = (
    "path",
    "file_path",
    "command",
    "regex",
    "query",
    "question",
    "url",
    "uri",
    "tool_name",
    "mode_slug",
    "mode",
)


class XmlProtocol(Protocol):
    """Calls as XML-style tags in the answer's text."""

    name: ClassVar[str] = "xml"

    def describe(self, tools: Sequence[ToolSpec]) -> str:
        if not tools:
            return ""
        described = "\n\n".join(_describe_tool(tool) for tool in tools)
        return f"# Calling tools\n\n{_FORMAT}\n\n{_RULES}\n\n# Tools\n\n{described}"

    def parser(self, tools: Sequence[ToolSpec], *, on_error: OnError | None = None) -> XmlParser:
        return XmlParser(tools, on_error)

    def encode_call(self, call: ToolUseBlock, tools: Sequence[ToolSpec] = ()) -> Block:
        """Given the tools, more arguments can be written in the plain form; it reads back the same without."""
        tool = next((tool for tool in tools if tool.name == call.name), None)
        return TextBlock(write_call(call.name, call.arguments, tool))

    def encode_results(
        self, results: Sequence[ToolResultBlock], calls: Sequence[ToolUseBlock] = ()
    ) -> tuple[Block, ...]:
        """Given the calls, in the same order or with the same ids, each result names what it answers."""
        by_id = {call.id: call for call in calls if call.id}
        blocks: list[Block] = []
        for index, result in enumerate(results):
            call = by_id.get(result.tool_use_id) or (calls[index] if index < len(calls) else None)
            blocks += _encode_result(result, _label(call) if call else result.tool_use_id or "tool")
        return tuple(blocks)

    def grammar(self, tools: Sequence[ToolSpec], choice: ToolChoice | None = None) -> str:
        return xml_grammar(tools, choice or ToolChoice())

    def reminder(self, tools: Sequence[ToolSpec]) -> str:
        lines = ["# How to call a tool", "", _FORMAT]
        example = next((tool for tool in tools if tool.name == "attempt_completion"), tools[0] if tools else None)
        if example is not None:
            lines += ["", "For example:", "", _example(example)]
        return "\n".join([*lines, "", _RULES])


def _describe_tool(tool: ToolSpec) -> str:
    lines = [f"## {tool.name}"]
    if tool.description:
        lines.append(tool.description.strip())
    lines += ["Parameters:", *_describe_parameters(tool)] if tool.parameters else ["It has no parameters."]
    return "\n".join([*lines, "Example:", _example(tool)])


def _describe_parameters(tool: ToolSpec) -> Iterator[str]:
    required = tool.schema.get("required") or ()
    for name in tool.parameters:
        schema: Any = tool.schema["properties"][name]
        need = "required" if name in required else "optional"
        kinds = " or ".join(sorted(kinds_of(schema, tool.schema)))
        words = one_line(str(schema.get("description", ""))) if isinstance(schema, Mapping) else ""
        values = schema.get("enum") if isinstance(schema, Mapping) else None
        choice = f" One of: {one_line(', '.join(map(str, values)))}." if isinstance(values, list) else ""
        yield f"- {one_line(name)} ({need}{', ' + kinds if kinds else ''}): {words}{choice}".rstrip(": ")


def _example(tool: ToolSpec) -> str:
    return write_call(tool.name, tool.example_call, tool)


def _encode_result(result: ToolResultBlock, label: str) -> list[Block]:
    head = TextBlock(f"[{label}] Result:")
    content = [_broken(block) for block in result.content] or [TextBlock("(the tool answered nothing)")]
    if not result.is_error:
        return [head, *content]
    words = "\n".join(block.text for block in content if isinstance(block, TextBlock))
    others = [block for block in content if not isinstance(block, TextBlock)]
    return [head, TextBlock(f"The tool failed:\n<error>\n{words}\n</error>"), *others]


def _broken(block: ResultBlock) -> ResultBlock:
    """Words of a tool, in which no line passes for the head of another result, or for the end of an error."""
    return TextBlock(_HEAD.sub(r"\1\2\3\\", block.text)) if isinstance(block, TextBlock) else block


def _label(call: ToolUseBlock) -> str:
    """What a call was about, such as `read_file for 'a.py'`."""
    subject = next((call.arguments[key] for key in _SUBJECTS if isinstance(call.arguments.get(key), str)), "")
    line = next(iter(subject.strip().splitlines()), "")
    if not line:
        return call.name
    return f"{call.name} for '{line if len(line) <= 80 else line[:79] + '…'}'"
