"""The grammar of a reply in the `xml` protocol."""

from __future__ import annotations

from collections.abc import Sequence

from joey.protocols.grammar import EMPTY, Rules, callable_tools, either, literal, must_call
from joey.protocols.xml_tags import CallShape, can_be_tag
from joey.toolspec import ToolChoice, ToolSpec


def xml_grammar(tools: Sequence[ToolSpec], choice: ToolChoice) -> str:
    rules = Rules()
    known = [tool for tool in callable_tools(tools, choice) if can_be_tag(tool.name)]
    calls = [_call(tool, rules) for tool in known]
    text = rules.rule("text", "[^<]*")
    if must_call(known, choice):
        return rules.text(either(calls))
    return rules.text(f"{text} ({either(calls)} {text})*" if calls else text or EMPTY)


def _call(tool: ToolSpec, rules: Rules) -> str:
    parts = [literal(f"<{tool.name}>\n")]
    required = tool.schema.get("required") or ()
    for parameter in CallShape(tool).parameters.values():
        if parameter.tag == parameter.name:
            value = rules.until(f"until-{parameter.tag}", parameter.close)
            whole = f'{literal(parameter.open)} {value} "\\n"'
            parts.append(whole if parameter.name in required else f"({whole})?")
    return rules.rule(f"call-{tool.name}", " ".join([*parts, literal(f"</{tool.name}>")]))
