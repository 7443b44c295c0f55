"""What a model is shown about tools: the declaration of its official template if we know it, else one in our words."""

from __future__ import annotations

from collections.abc import Sequence

from joey.messages import ToolUseBlock
from joey.protocols.dialects.declare import json_lines
from joey.protocols.dialects.spec import Dialect
from joey.protocols.dialects.styles import Style
from joey.protocols.dialects.templates import TEMPLATES
from joey.protocols.dialects.writer import write_calls
from joey.schema.example import example_call
from joey.toolspec import ToolSpec


def declaration(dialect: Dialect, style: Style, tools: Sequence[ToolSpec]) -> str:
    """The part of the system prompt that declares the tools."""
    template = TEMPLATES.get(dialect.template or dialect.name)
    if template is None or style.tools is None:
        return _OWN.format(tools=json_lines(tools), example=example(dialect, style, tools))
    names = ", ".join(f'"{tool.name}.*"' for tool in tools)
    return template.replace("⟦names⟧", names).replace("⟦tools⟧", style.tools(list(tools)))


def example(dialect: Dialect, style: Style, tools: Sequence[ToolSpec]) -> str:
    """One call as the dialect writes it."""
    tool = next((tool for tool in tools if tool.parameters), tools[0])
    return write_calls(dialect, style, (ToolUseBlock("0", tool.name, example_call(tool)),), tools)


def reminder(dialect: Dialect, style: Style, tools: Sequence[ToolSpec]) -> str:
    shown = example(dialect, style, tools) if tools else ""
    names = ", ".join(tool.name for tool in tools)
    return _REMINDER.format(example=shown, names=f" The tools are: {names}." if names else "")


_OWN = """\
# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{tools}
</tools>

To call a function, write exactly in this format, with the function's own name and arguments:
{example}

Write nothing after the last call. The result comes in the next message."""

_REMINDER = """\
A tool call is written like this:

{example}

It must be complete, and written exactly so.{names}"""
