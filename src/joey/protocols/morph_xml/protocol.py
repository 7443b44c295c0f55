"""Morph-XML: a call is an element named after the tool, its arguments are elements inside it.

    <write_to_file>
      <path>a.py</path>
      <content>print("hi")</content>
    </write_to_file>

How a call is read stands in `parser`, how one is written in `writer`; here is how the protocol is taught.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from joey.errors import UsageError
from joey.messages import Block, TextBlock, ToolResultBlock, ToolUseBlock
from joey.protocols.base import OnError, Protocol
from joey.protocols.morph_xml.grammar import morph_grammar
from joey.protocols.morph_xml.parser import MorphXmlParser
from joey.protocols.morph_xml.writer import write_call
from joey.schema.example import example_call
from joey.schema.references import Schema
from joey.toolspec import ToolChoice, ToolSpec

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
        return "\n\n".join([_INTRODUCTION, *(describe_tool(tool, _example(tool)) for tool in tools)])

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

    def grammar(self, tools: Sequence[ToolSpec], choice: ToolChoice | None = None) -> str:
        return morph_grammar(tools, choice or ToolChoice(), self._original_schemas)

    def reminder(self, tools: Sequence[ToolSpec]) -> str:
        example = _example(tools[0]) if tools else "<tool_name>\n  <argument_name>value</argument_name>\n</tool_name>"
        names = ", ".join(tool.name for tool in tools)
        return (
            "A tool is called by an element named after it, with one element inside for each argument, all of them "
            f"closed and each given once unless it is a list:\n\n{example}\n\nTools: {names}."
        )


_OWN_TAG = re.compile(r"(?:<|&(?:amp;)*lt;)(?=\s{0,8}/?\s{0,8}tool_result)", re.IGNORECASE)
"""The element's own tag in the text of a result. It is escaped, and what looks escaped already once more, so it can
be read back exactly; nothing else is touched."""


def _write_result(result: ToolResultBlock) -> list[Block]:
    """A result as the model reads it: its words in an element, its images after it."""
    tag = '<tool_result error="true">' if result.is_error else "<tool_result>"
    words = "\n".join(block.text for block in result.content if isinstance(block, TextBlock))
    words = _OWN_TAG.sub(lambda found: "&lt;" if found[0] == "<" else f"&amp;{found[0][1:]}", words)
    images: list[Any] = [block for block in result.content if not isinstance(block, TextBlock)]
    return [TextBlock(f"{tag}\n{words}\n</tool_result>"), *images]


def describe_tool(tool: ToolSpec, example: str) -> str:
    heading = f"## {tool.name}\n\n{tool.description.strip()}".rstrip()
    schema = json.dumps(tool.schema, ensure_ascii=False)
    return f"{heading}\n\nArguments, as JSON Schema: {schema}\n\nExample:\n\n{example}"


def _example(tool: ToolSpec) -> str:
    return write_call(tool.name, example_call(tool))
