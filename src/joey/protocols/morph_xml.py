"""Morph-XML: a call is an element named after the tool, its arguments are elements inside it.

    <write_to_file>
      <path>a.py</path>
      <content>print("hi")</content>
    </write_to_file>

How a call is read stands in `morph_parser`; here is how the protocol is taught and written. What is written is read
back equal wherever the schema can tell what a text means: strings with `&` and `<` escaped, null as an element with
`xsi:nil`, lists as repeated elements, objects as nested ones. What has no such form (empty lists and objects, lists in
lists, keys that are no names) is written as JSON, which the reader takes as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from joey.errors import UsageError
from joey.messages import Block, TextBlock, ToolResultBlock, ToolUseBlock
from joey.protocols.base import OnError, Protocol
from joey.protocols.coerce import Schema
from joey.protocols.example import example_call
from joey.protocols.morph_parser import MorphXmlParser
from joey.toolspec import ToolSpec
from joey.wire import JsonObject, JsonValue

_NAME = re.compile(r"[^\W\d][\w.:-]*\Z")
_EDGE_SPACE = re.compile(r"\A\s+|\s+\Z")

_INTRODUCTION = """\
# Tools

To use a tool, write an element named after it, with one element inside it for each argument:

<tool_name>
  <argument_name>value</argument_name>
</tool_name>

Rules:
- Use only the tools listed here, and only their arguments. Close every element.
- Text goes between the tags as it is: do not quote it, do not indent it, write no CDATA. Everything in between counts.
- Write &lt; for < and &amp; for & only where they would be misread: in the closing tag of the argument's own name, and
  in text such as &amp;lt; that you mean literally.
- A list is its argument's element repeated, once for each value. An object has an element for each of its keys.
- Numbers, true and false are written plainly. Null is <argument_name xsi:nil="true"/>.
- Give an argument only once, unless it is a list. Leave out optional arguments that you do not need.
- A tool without arguments is <tool_name/>.
- What you write around the calls is read by the user. The results come with the next message: do not make them up."""


class MorphXmlProtocol(Protocol):
    """Calls as XML elements in the text. `original_schemas` win over the tools' own when arguments are coerced."""

    name: ClassVar[str] = "morph_xml"
    options: ClassVar[Sequence[str]] = ("original_schemas",)

    def __init__(self, original_schemas: Mapping[str, Schema] | None = None) -> None:
        if not isinstance(original_schemas or {}, Mapping):
            raise UsageError(f"original_schemas must be an object, schemas by tool, got {original_schemas!r}")
        self._original_schemas = dict(original_schemas or {})

    def _with(self, **options: Any) -> Self:
        return type(self)(**options)

    def describe(self, tools: Sequence[ToolSpec]) -> str:
        if not tools:
            return ""
        return "\n\n".join([_INTRODUCTION, *map(_describe_tool, tools)])

    def parser(
        self,
        tools: Sequence[ToolSpec],
        *,
        on_error: OnError | None = None,
        original_schemas: Mapping[str, Schema] | None = None,
    ) -> MorphXmlParser:
        schemas = self._original_schemas | dict(original_schemas or {})
        return MorphXmlParser(tools, on_error, original_schemas=schemas)

    def encode_call(self, call: ToolUseBlock, tools: Sequence[ToolSpec] = ()) -> Block:
        return TextBlock(write_call(call.name, call.arguments))

    def encode_results(
        self, results: Sequence[ToolResultBlock], calls: Sequence[ToolUseBlock] = ()
    ) -> tuple[Block, ...]:
        return tuple(block for result in results for block in _write_result(result))

    def reminder(self, tools: Sequence[ToolSpec]) -> str:
        example = _example(tools[0]) if tools else "<tool_name>\n  <argument_name>value</argument_name>\n</tool_name>"
        names = ", ".join(tool.name for tool in tools)
        return (
            "A tool is called by an element named after it, with one element inside for each argument, all of them "
            f"closed and each given once unless it is a list:\n\n{example}\n\nTools: {names}."
        )


def write_call(name: str, arguments: JsonObject) -> str:
    """A call in the model's own words."""
    if not arguments:
        return f"<{name}/>"
    if not all(map(_NAME.match, arguments)):
        return f"<{name}>\n{_json(dict(arguments))}\n</{name}>"
    lines = [line for key, value in arguments.items() for line in _elements(key, value, "  ")]
    return "\n".join([f"<{name}>", *lines, f"</{name}>"])


def _elements(name: str, value: JsonValue, indent: str) -> list[str]:
    """The elements of one argument: one for each value of a list, else a single one."""
    if isinstance(value, list) and len({isinstance(item, str) for item in value}) > 1:
        return _element(name, value, indent, listed=False)  # as JSON: elements do not tell "42" from 42
    if isinstance(value, list) and len(value) > 1 and all(map(_is_plain, value)):
        return [line for item in value for line in _element(name, item, indent, listed=True)]
    if isinstance(value, list) and len(value) == 1 and _is_plain(value[0]):
        inner = _element("item", value[0], indent + "  ", listed=True)
        return [f"{indent}<{name}>", *inner, f"{indent}</{name}>"]
    return _element(name, value, indent, listed=False)


def _element(name: str, value: JsonValue, indent: str, *, listed: bool) -> list[str]:
    if isinstance(value, dict) and _is_plain(value):
        inner = [line for key, item in value.items() for line in _elements(key, item, indent + "  ")]
        return [f"{indent}<{name}>", *inner, f"{indent}</{name}>"]
    if value is None:
        return [f'{indent}<{name} xsi:nil="true"/>']
    if not isinstance(value, str):
        return [f"{indent}<{name}>{_json(value)}</{name}>"]
    text = _escape(value)
    if listed:  # the reader trims the strings of a list
        text = _EDGE_SPACE.sub(lambda blanks: "".join(f"&#{ord(blank)};" for blank in blanks.group()), text)
    return [f"{indent}<{name}>{text}</{name}>"]


def _is_plain(value: JsonValue) -> bool:
    """Whether a value may stand in a list or object as elements, not as JSON."""
    if isinstance(value, dict):
        return bool(value) and "item" not in value and all(map(_NAME.match, value))
    return value is not None and not isinstance(value, list)


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("]]>", "]]&gt;")


def _json(value: JsonValue) -> str:
    """JSON without the characters that mean something in XML: entities in it are not decoded everywhere."""
    text = json.dumps(value, ensure_ascii=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _write_result(result: ToolResultBlock) -> list[Block]:
    """A result as the model reads it: its words in an element, its pictures after it."""
    tag = '<tool_result error="true">' if result.is_error else "<tool_result>"
    words = "\n".join(block.text for block in result.content if isinstance(block, TextBlock))
    words = words.replace("</tool_result", "&lt;/tool_result")
    pictures: list[Any] = [block for block in result.content if not isinstance(block, TextBlock)]
    return [TextBlock(f"{tag}\n{words}\n</tool_result>"), *pictures]


def _describe_tool(tool: ToolSpec) -> str:
    heading = f"## {tool.name}\n\n{tool.description.strip()}".rstrip()
    schema = json.dumps(tool.schema, ensure_ascii=False)
    return f"{heading}\n\nArguments, as JSON Schema: {schema}\n\nExample:\n\n{_example(tool)}"


def _example(tool: ToolSpec) -> str:
    return write_call(tool.name, example_call(tool))
