"""The `xml` protocol: the tags of Cline and Roo Code. What is sent to the model: how to call tools, and its history.

The grammar and the reading of replies are in `parser`, the tags in `tags`, typed arguments in `values`.

Calls are written so that the parser reads back exactly the same arguments. An argument is written in the plain form,
`<path>a.py</path>`, if that form can carry it. Some values it cannot: a string with white space at its ends, where that
is trimmed; one that holds a closing tag that may count; anything but a string where the schema allows strings too; an
argument that the schema does not name. These are written as `<json_parameter name="path">"…"</json_parameter>`, JSON in
which `<` and `>` are escaped. Without the tool's schema only strings are written plain, and only such as no schema
could read as something else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from joey.frames import one_line
from joey.messages import Block, ResultBlock, TextBlock, ToolResultBlock, ToolUseBlock
from joey.protocols.base import OnError, Protocol
from joey.protocols.xml.grammar import xml_grammar
from joey.protocols.xml.parser import XmlParser
from joey.protocols.xml.tags import WHITE_SPACE, CallShape, Parameter
from joey.protocols.xml.values import read_value, write_json_parameter
from joey.schema.example import example_call
from joey.schema.kinds import kinds_of
from joey.toolspec import ToolChoice, ToolSpec
from joey.wire import JsonObject, JsonValue

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
    return write_call(tool.name, example_call(tool), tool)


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


def write_call(name: str, arguments: JsonObject, tool: ToolSpec | None = None) -> str:
    """The call as the model would have written it."""
    shape = CallShape(tool or ToolSpec(name, schema={"properties": {key: {} for key in arguments}}))
    lines = [_write_argument(key, value, shape, known=tool is not None) for key, value in arguments.items()]
    return "\n".join([f"<{name}>", *lines, shape.close])


def _write_argument(name: str, value: JsonValue, shape: CallShape, *, known: bool) -> str:
    parameter = shape.parameters.get(f"<{name}>")
    if parameter is None or not (isinstance(value, str) or (known and parameter.takes_json)):
        return write_json_parameter(name, value)
    body = _body(value, parameter)
    if _is_safe(body, parameter) and _reads_back(body, value, parameter, known=known):
        return f"{parameter.open}{body}{parameter.close}"
    return write_json_parameter(name, value)


def _body(value: JsonValue, parameter: Parameter) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"\n{text}\n" if parameter.long or "\n" in text else text


def _is_safe(body: str, parameter: Parameter) -> bool:
    """Whether no closing tag in the body could be taken for the end of the parameter, by any reader.

    In a long one that is so where neither white space nor another tag follows.
    """
    if parameter.end_of_call is not None and parameter.end_of_call in body:
        return False
    if parameter.long:
        return re.search(f"{re.escape(parameter.close)}([<{WHITE_SPACE}]|\\Z)", body) is None
    return parameter.close not in body


def _reads_back(body: str, value: JsonValue, parameter: Parameter, *, known: bool) -> bool:
    if parameter.typed:
        return _same(read_value(body, parameter.schema, parameter.shape.root), value)
    return parameter.trim(body) == value and (known or parameter.long or not _looks_typed(body))


def _looks_typed(text: str) -> bool:
    """Whether a schema could make this text something else than a string."""
    if text.lower() in ("", "none", "true", "false", "null") or text.startswith("<"):
        return True
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _same(one: JsonValue, other: JsonValue) -> bool:
    """Equal, and of the same types: in Python 1 == 1.0 == True."""
    if type(one) is not type(other):
        return False
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(_same(value, other[key]) for key, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)
