"""The grammar of a reply in `morph_xml`: what the model may write so that `parser` reads whole calls.

A call is written as `writer` writes it, with one line break and any indentation up to `_INDENT` before each
element. The arguments come in the schema's order. What may stand in an element, by its schema:

    a string         any text without tags of its own name and without the closing tag of the tool; inside lists and
                     objects without any `<`. Entities are decoded by the reader, so that all text can be written
    null             `<name xsi:nil="true"/>`
    a list           its element repeated, or one element with an `<item>`, or JSON
    an object        an element for each of its properties, at least one of them, or JSON
    anything else    JSON

The reader decides by the schema what a text means, and schemas can be such that a form is not read as it was meant (a
string that could be a list, properties that two branches of a union share). So every form is tried out: it is part of
the grammar if the reader gives back a sample that the writer wrote in it. Lists with branching items are JSON only. A
schema with no form left takes any text without `<`; what is wrong with it, the check of the call will say.

If an argument's name is no name of an element, the whole call may be one JSON object.

Free text holds no opening tag of a tool, unless a call begins there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from joey.protocols.grammar import gbnf
from joey.protocols.grammar.json_values import JsonRules, properties_of
from joey.protocols.morph_xml.forms import SPACES, Forms
from joey.protocols.morph_xml.writer import NAME
from joey.schema.references import Schema, resolve
from joey.toolspec import ToolChoice, ToolSpec
from joey.wire import JsonObject, JsonValue

_INDENT = 16


def morph_grammar(tools: Sequence[ToolSpec], choice: ToolChoice, original_schemas: Mapping[str, Schema]) -> str:
    """What a reply may be, with these tools and this choice. The schemas are those by which the parser reads."""
    rules = gbnf.GrammarRules()
    calls = {
        tool.name: _Call(tool.name, original_schemas.get(tool.name, tool.schema), rules).endings()
        for tool in gbnf.callable_tools(tools, choice)
    }
    if gbnf.must_call(calls, choice):
        call = gbnf.either([f"{gbnf.literal(f'<{name}')} {gbnf.either(ends)}" for name, ends in calls.items()])
        return rules.text(gbnf.repeated(rules, call) if gbnf.several(choice) else call)
    text = _Text([tool.name for tool in tools], calls, parallel=choice.parallel)
    return rules.text(rules.automaton("text", _TEXT, text.ways))


# Calls


class _Call:
    """The rules of one tool's calls."""

    def __init__(self, name: str, schema: Schema, rules: gbnf.GrammarRules) -> None:
        schema = resolve(schema, schema)
        self.name = name
        self.root: JsonObject = schema if isinstance(schema, Mapping) else {}
        self.rules = rules
        self.json = JsonRules(rules, self.root, avoid=["<", "&"], name="escaped")
        self._made: dict[str, str] = {}

    def endings(self) -> list[str]:
        """What may follow `<name`."""
        declared, required = properties_of(self.root)
        known = self.root.get("properties") or {}
        named = {name: schema for name, schema in declared.items() if NAME.match(name) and name in known}
        found = [] if required else ['"/>"']
        if named and named.keys() >= set(required):
            inside = self.members(named, required, f"call-{self.name}", top=True)
            found.append(f'">" {inside} {gbnf.literal(f"</{self.name}>")}')
        if named.keys() < declared.keys():
            whole = self.json.members(declared, required, self.name)
            found.append(f'">\\n" {whole} {gbnf.literal(f"{chr(10)}</{self.name}>")}')
        return found

    @property
    def line(self) -> str:
        """The beginning of a line."""
        return self.rules.rule("line", f'"\\n" " "{{0,{_INDENT}}}')

    def members(self, declared: JsonObject, required: Sequence[str], name: str, *, top: bool) -> str:
        """At least one of these properties, each on lines of its own, and the beginning of the closing tag's line."""
        lines = [(key, f"{self.line} {self._property(key, schema, top=top)}") for key, schema in declared.items()]

        def ways(state: tuple[int, bool]) -> list[gbnf.Way[tuple[int, bool]]]:
            at, begun = state
            if at == len(lines):
                return [(self.line, None)]
            key, line = lines[at]
            found: list[gbnf.Way[tuple[int, bool]]] = [(line, (at + 1, True))]
            some_are_left = begun or at + 1 < len(lines)
            return [*found, (gbnf.EMPTY, (at + 1, begun))] if key not in required and some_are_left else found

        return self.rules.automaton(name, (0, False), ways)

    def _property(self, name: str, schema: JsonValue, *, top: bool) -> str:
        """A rule for the elements of a property. It has its name before its body, so that schemas may recurse."""
        identity = json.dumps([name, schema, top], sort_keys=True, default=repr)
        if identity not in self._made:
            self._made[identity] = mine = self.rules.reserve(f"{self.name}-{name}")
            self.rules.define(mine, " | ".join(Forms(self, name, schema, top=top).all()))
        return self._made[identity]


# Free text

_State: TypeAlias = tuple[str, str]
_TEXT: _State = ("text", "")


class _Text:
    """The automaton of free text with calls in it. Its states:

    ("text", tag)    with the beginning of an opening tag just read
    ("space", "")    after the name of a tool and white space, which is text unless `>` or `/>` follows
    ("slash", "")    after a slash in such a place, which is text unless `>` follows
    ("done", "")     after the one call that is allowed
    """

    def __init__(self, names: Sequence[str], calls: Mapping[str, Sequence[str]], *, parallel: bool) -> None:
        self._names = set(names)
        self._prefixes = {f"<{name}"[:end] for name in names for end in range(1, len(name) + 2)}
        self._calls = calls
        self._after_call: _State = _TEXT if parallel else ("done", "")

    def ways(self, state: _State) -> list[gbnf.Way[_State]]:
        found: list[gbnf.Way[_State]] = [(gbnf.EMPTY, None)]
        if state[0] == "done":
            return found
        found += [(ending, self._after_call) for ending in self._calls.get(state[1][1:], ())]
        return [*gbnf.moves(self._named(state), lambda char: self._step(state, char)), *found]

    def _named(self, state: _State) -> set[str]:
        follow = {prefix[-1] for prefix in self._prefixes if prefix[:-1] == state[1]}
        at_edge = state[0] != "text" or state[1][1:] in self._names
        return {"<", *follow, *(f"{SPACES}/>" if at_edge else "")}

    def _step(self, state: _State, char: str) -> Any:
        kind, tag = state
        longer = tag + char
        if kind == "text" and char and longer in self._prefixes:
            return ("text", longer)
        if char and (kind != "text" or tag[1:] in self._names):
            if char == ">":
                return gbnf.DEAD
            if char == "/" and kind != "slash":
                return ("slash", "")
            if char in SPACES and kind != "slash":
                return ("space", "")
        if not tag:
            return ("text", "<") if char == "<" and self._prefixes else _TEXT
        state = _TEXT
        for each in [*tag[1:], char]:  # what was no tag after all is read as what it is
            state = self._step(state, each) if state != gbnf.DEAD else state
        return state
