"""The grammar of a reply in `json_mix`: one JSON object between two tags, and free text without the start tag.

    <tool_call>{"name": "read_file", "arguments": {"path": "a.py"}}</tool_call>

A line break may stand beside each tag, as many models were taught. Strings may hold the tags: in complete JSON the
parser finds the true end. The reply to a forced call (`tool_choice`) is the same object without tags.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from joey.protocols.grammar.gbnf import (
    EMPTY,
    GrammarRules,
    Way,
    callable_tools,
    either,
    literal,
    matcher,
    moves,
    must_call,
)
from joey.protocols.grammar.json_values import JsonRules, properties_of
from joey.toolspec import ToolChoice, ToolSpec

_NAME, _ARGUMENTS = literal('{"name":'), literal('"arguments":')
_DONE = "done"


def json_mix_grammar(tools: Sequence[ToolSpec], choice: ToolChoice, tags: tuple[str, str]) -> str:
    """What a reply may be, with these tools, this choice and these tags."""
    start, end = tags
    rules = GrammarRules()
    offered = callable_tools(tools, choice)
    inside = f'"\\n"? {call_rule(offered, rules)} "\\n"? {literal(end)}' if offered else ""
    if must_call(offered, choice):
        return rules.text(f"{literal(start)} {inside}")
    step = matcher([start])

    def ways(state: str) -> list[Way[str]]:
        if state == _DONE:
            return [(EMPTY, None)]
        found: list[Way[str]] = []
        for read, after in moves(start, lambda char: step(state, char)):
            if after != start:
                found.append((read, after))
            elif inside:
                found.append((f"{read} {inside}", "" if choice.parallel else _DONE))
        return [*found, (EMPTY, None)]

    return rules.text(rules.automaton("text", "", ways))


def call_rule(tools: Sequence[ToolSpec], rules: GrammarRules) -> str:
    """A rule for a call of one of the tools as a JSON object."""
    calls = [f'{_name(tool)} "," " "? {_ARGUMENTS} " "? {_arguments(tool, rules)}' for tool in tools]
    return rules.rule("call", f'{_NAME} " "? {either(calls)} "}}"')


def _name(tool: ToolSpec) -> str:
    return literal(json.dumps(tool.name, ensure_ascii=False))


def _arguments(tool: ToolSpec, rules: GrammarRules) -> str:
    values = JsonRules(rules, tool.schema, name=tool.name, custom=tool.custom)
    declared, required = properties_of(tool.schema)
    if declared:
        body = values.members(declared, required, "arguments")
    else:
        says_more = any(tool.schema.get(key) for key in ("$ref", "anyOf", "oneOf", "allOf", "additionalProperties"))
        body = values.value(tool.schema, "arguments") if says_more else literal("{}")
    return rules.rule(f"{tool.name}-arguments", body)
