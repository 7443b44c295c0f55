"""YAML in XML: a call is an element named after the tool, its arguments are YAML in it.

    <write_to_file>
    path: a.py
    content: |
      print("hi")
    </write_to_file>

How a call is read stands in `parser`, how one is written in `writer`; here is how the protocol is taught.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import ClassVar

from joey.messages import Block, TextBlock, ToolResultBlock, ToolUseBlock
from joey.protocols.base import OnError, Protocol
from joey.protocols.morph_xml.protocol import MorphXmlProtocol, describe_tool
from joey.protocols.yaml_xml.parser import YamlXmlParser
from joey.schema.example import example_call
from joey.toolspec import ToolSpec
from joey.wire import JsonObject, JsonValue

_INTRODUCTION = """\
# Tools

To use a tool, write an element named after it, with its arguments inside as YAML:

<tool_name>
argument_name: value
long_text: |
  Every line of it is indented by two spaces.
  <b>Tags and quotes</b> need nothing else.
</tool_name>

Rules:
- Use only the tools listed here, and only their arguments, each once. Close the element on a line of its own.
- Write text of several lines as a block: a bar behind the key, then its lines, all indented by two spaces.
- Put text of one line in double quotes if it holds a colon, a hash or quotes.
- A tool without arguments is <tool_name/>.
- What you write around the calls is read by the user. The results come with the next message: do not make them up."""


class YamlXmlProtocol(Protocol):
    """Calls as YAML in elements in the text."""

    name: ClassVar[str] = "yaml_xml"

    def describe(self, tools: Sequence[ToolSpec]) -> str:
        return "\n\n".join([_INTRODUCTION, *(describe_tool(tool, _example(tool)) for tool in tools)]) if tools else ""

    def parser(self, tools: Sequence[ToolSpec], *, on_error: OnError | None = None) -> YamlXmlParser:
        return YamlXmlParser(tools, on_error)

    def encode_call(self, call: ToolUseBlock, tools: Sequence[ToolSpec] = ()) -> Block:
        return TextBlock(write_call(call.name, dict(call.arguments)))

    def encode_results(
        self, results: Sequence[ToolResultBlock], calls: Sequence[ToolUseBlock] = ()
    ) -> tuple[Block, ...]:
        return MorphXmlProtocol().encode_results(results, calls)

    def reminder(self, tools: Sequence[ToolSpec]) -> str:
        example = _example(tools[0]) if tools else "<tool_name>\nargument_name: value\n</tool_name>"
        names = ", ".join(tool.name for tool in tools)
        return (
            "A tool is called by an element named after it, with its arguments inside as YAML, and closed on a line of "
            f"its own:\n\n{example}\n\nTools: {names}."
        )


def _example(tool: ToolSpec) -> str:
    return write_call(tool.name, dict(example_call(tool)))


_PLAIN_KEY = re.compile(r"[A-Za-z_][\w-]*")
_NO_BLOCK = re.compile("[^\\S\n ]|[\x00-\x08\x0b-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]")
"""What a block cannot hold as it stands: white space that is neither space nor line break, and control characters."""


def write_call(name: str, arguments: JsonObject) -> str:
    if not arguments:
        return f"<{name}/>"
    lines = "\n".join(_argument(key, value) for key, value in arguments.items())
    return f"<{name}>\n{lines}\n</{name}>"


def _argument(key: str, value: JsonValue) -> str:
    key = key if _PLAIN_KEY.fullmatch(key) else _json(key)
    if isinstance(value, str) and _as_block(value):
        return "\n".join(_block(key, value))
    return f"{key}: {_json(value)}"


def _as_block(text: str) -> bool:
    """Whether a text of several lines can stand in a block: its first line says how far it is indented."""
    words = text.strip("\n")
    return "\n" in text and bool(words) and not words[0].isspace() and not text.startswith("\n") and not _bad(text)


def _bad(text: str) -> bool:
    return _NO_BLOCK.search(text) is not None or any(line.isspace() for line in text.split("\n"))


def _block(key: str, text: str) -> Iterator[str]:
    words = text.rstrip("\n")
    breaks = len(text) - len(words)
    yield f"{key}: |{'-' if not breaks else '' if breaks == 1 else '+'}"
    for line in words.split("\n"):
        yield f"  {line}" if line else ""
    yield from [""] * (breaks - 1)


def _json(value: JsonValue) -> str:
    """JSON is YAML; a closing tag in it is written so that it is none."""
    return json.dumps(value, ensure_ascii=False).replace("</", "<\\/")
