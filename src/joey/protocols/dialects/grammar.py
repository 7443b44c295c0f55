"""What a legal reply in a dialect is, as GBNF, made from the same two tables as everything else.

A call is the written form of the dialect (`styles`) with its fields replaced by rules: the name of each tool, its
arguments as JSON, as elements or as literals, as the schema asks. Around it, for `auto`, stands text in which no marker
of the frame occurs, and before it reasoning, if the dialect has any. Values without escapes (tagged ones, strings
between tokens) cannot hold the dialect's own markers, except in the form in which they are written then.

`required` and `one` are one call, after reasoning or not; a reply that begins inside reasoning (`prompt_tail`) must
close it first. Calls are admitted in the form of the template only, not in those that models drift to.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from joey.protocols.dialects.frame import marks_of
from joey.protocols.dialects.grammar_values import GemmaRules, PythonRules, cdata, raw_text, short_words
from joey.protocols.dialects.spec import Channels, Dialect, Function, Tagged
from joey.protocols.dialects.styles import Style
from joey.protocols.grammar.gbnf import (
    EMPTY,
    GrammarRules,
    Way,
    callable_tools,
    either,
    literal,
    must_call,
    optional,
    several,
)
from joey.protocols.grammar.json_values import Branch, JsonRules, branches, is_filled, properties_of
from joey.schema.kinds import kind_of
from joey.toolspec import ToolChoice, ToolSpec
from joey.wire import JsonObject, JsonValue

_FIELD = re.compile(r"%([NJAI01PKVSTR])")
_IDS = {"nine": "[a-zA-Z0-9]{9}", "": "[a-zA-Z0-9]{1,12}"}
Fields: TypeAlias = Mapping[str, str]


def dialect_grammar(
    dialect: Dialect, style: Style, tools: Sequence[ToolSpec], choice: ToolChoice, prompt_tail: str = ""
) -> str:
    """What a reply may be, with these tools and this choice."""
    return _Maker(dialect, style, prompt_tail).text(callable_tools(tools, choice), choice)


class _Maker:
    def __init__(self, dialect: Dialect, style: Style, prompt_tail: str) -> None:
        self._dialect, self._style = dialect, style
        self._rules = GrammarRules()
        self._made: dict[tuple[str, str, str], str] = {}
        self._grammar = dialect.calls.body if isinstance(dialect.calls, Channels) else dialect.calls
        self._inside_think = bool(dialect.frame.think) and prompt_tail.rstrip().endswith(
            (dialect.frame.think or ("",))[0].strip() or "\0"
        )

    # The reply

    def text(self, tools: Sequence[ToolSpec], choice: ToolChoice) -> str:
        many = several(choice) if must_call(tools, choice) else choice.parallel
        calls = self._calls(tools, many) if tools else ""
        think = self._think()
        if must_call(tools, choice):
            more = f" ({calls})*" if many and self._style.text == "%R" and not self._may_repeat() else ""
            return self._rules.text(f"{think} {calls}{more}".strip())
        words = self._text_words()
        free = self._rules.rule("text", raw_text(self._rules, "text-part", words))
        if self._style.text != "%R":
            message = self._fill(self._style.text, {"R": free})
            return self._rules.text(f"{think} {either([message, calls] if calls else [message])}".strip())
        if not calls:
            return self._rules.text(f"{think} {free}".strip())
        if not choice.parallel:
            return self._rules.text(f"{think} {free} {optional(calls)}".strip())
        body = self._rules.reserve("body")
        self._rules.define(body, f"{free} | {free} {calls} {body}")
        return self._rules.text(f"{think} {body}".strip())

    def _text_words(self) -> list[str]:
        """What may not stand in text: the markers that mean something there."""
        marks = marks_of(self._dialect)
        frame, calls = self._dialect.frame, self._dialect.calls
        words = {
            *marks.call_openers,
            *frame.section[0],
            *frame.section[1],
            *marks.closers,
            *frame.removed,
            *frame.stops,
        }
        words |= {each.strip() for pair in (frame.think, *frame.more_think) if pair for each in pair}
        if isinstance(calls, Channels):
            words |= {*calls.start_anywhere, *calls.ends, *calls.message}
        if marks.bare:
            words |= {'{"', "{ ", "{\n", "[{", "[ ", "[\n", "```"}
        if isinstance(calls, Function) and calls.bare:
            words |= {"["}
        return short_words({word.strip() or word for word in words if word})

    def _think(self) -> str:
        think = self._dialect.frame.think
        if self._style.think:
            free = raw_text(self._rules, "thought", self._text_words())
            return optional(self._fill(self._style.think, {"R": free}))
        if think is None:
            return ""
        words = short_words({think[1].strip(), *self._text_words()})
        inside = f"{raw_text(self._rules, 'thought', words)} {literal(think[1])}"
        return inside if self._inside_think else optional(f"{literal(think[0])} {inside}")

    # Calls

    def _calls(self, tools: Sequence[ToolSpec], several: bool) -> str:
        style = self._style
        begin = style.call[: _first_field(style.call)]
        call = self._rules.rule("call", f"{self._lit(begin)}{either([self._call(tool, begin) for tool in tools])}")
        join = f"{literal(style.join)} " if style.join else ""
        more = f" ({join}{call})*" if several and self._may_repeat() else ""
        return self._rules.rule("calls", f"{self._lit(style.before)}{call}{more}{self._lit(style.after, after=True)}")

    def _may_repeat(self) -> bool:
        """A form without anything around its calls is repeated by the text around it."""
        style = self._style
        return bool(style.before or style.after or style.join)

    @staticmethod
    def _lit(text: str, *, after: bool = False) -> str:
        return "" if not text else f" {literal(text)}" if after else f"{literal(text)} "

    def _call(self, tool: ToolSpec, begin: str) -> str:
        """A call without what all calls begin with: readers that never go back (llguidance) see the name first."""
        style = self._style
        fields = {
            "N": literal(tool.name),
            "J": literal(json.dumps(tool.name, ensure_ascii=False)),
            "0": "[0-9]{1,3}",
            "1": "[0-9]{1,3}",
            "I": f"{literal(f'functions.{tool.name}:')} [0-9]{{1,4}}" if style.ids == "functions" else _IDS[style.ids],
        }
        if "%A" in style.call:
            fields["A"] = self._json_arguments(tool)
        elif "%P" in style.call:
            fields["P"] = self._arguments(tool)
        return self._rules.rule(f"{tool.name}-call", self._fill(style.call.removeprefix(begin), fields))

    def _fill(self, form: str, fields: Fields) -> str:
        parts, at = [], 0
        for field in _FIELD.finditer(form):
            parts += [literal(form[at : field.start()])] if field.start() > at else []
            parts.append(fields[field[1]])
            at = field.end()
        parts += [literal(form[at:])] if at < len(form) else []
        return " ".join(parts)

    def _json_arguments(self, tool: ToolSpec) -> str:
        values = JsonRules(self._rules, tool.schema, name=tool.name, custom=tool.custom)
        return self._rules.rule(f"{tool.name}-arguments", _object(values, tool.schema))

    def _arguments(self, tool: ToolSpec) -> str:
        declared, required = properties_of(tool.schema)
        names = sorted(declared) if self._style.sort else list(declared)
        if isinstance(self._grammar, Function):
            pairs = {name: self._pair(self._grammar, tool, name, declared[name]) for name in names}
            comma = "," if self._grammar.raw_quotes else ", "
            return self._members(tool.name, pairs, required, literal(comma))
        assert isinstance(self._grammar, Tagged)
        elements = {name: self._element(self._grammar, tool, name, declared[name]) for name in names}
        empty = literal(self._style.empty) if self._style.empty and not elements else EMPTY
        join = literal(self._style.argument_join) if self._style.argument_join else ""
        return self._members(tool.name, elements, required, join) if elements else empty

    def _members(self, name: str, items: Mapping[str, str], required: Sequence[str], comma: str) -> str:
        """The items in their order, those that are required always. State: the next item, and whether one came."""
        listed = list(items.items())

        def ways(state: tuple[int, bool]) -> list[Way[tuple[int, bool]]]:
            at, begun = state
            if at == len(listed):
                return [(EMPTY, None)]
            key, item = listed[at]
            read = f"{comma} {item}" if begun and comma else item
            found: list[Way[tuple[int, bool]]] = [(read, (at + 1, begun or bool(comma)))]
            return found if key in required else [*found, (EMPTY, (at + 1, begun))]

        return self._rules.automaton(f"{name}-members", (0, False), ways)

    # Tagged

    def _element(self, grammar: Tagged, tool: ToolSpec, key: str, schema: JsonValue) -> str:
        forms = [
            self._fill(
                self._style.argument,
                {"K": literal(grammar.written_key(key)), "V": value, "S": literal(string), "T": kind},
            )
            for value, string, kind in self._values(grammar, tool, key, schema)
        ]
        return self._rules.rule(f"{tool.name}-{key}", either(list(dict.fromkeys(forms))))

    def _values(self, grammar: Tagged, tool: ToolSpec, key: str, schema: JsonValue) -> Iterator[tuple[str, str, str]]:
        """The ways to write a value, each with what the attributes `string` and `type` say of it."""
        words = self._unsafe(grammar)
        for branch in list(branches(schema, tool.schema)) or [{}]:
            if _is_string(branch):
                yield self._raw(branch, words), "true", literal("string")
            else:
                kind = branch.get("type") or kind_of(branch.get("const"))
                written = self._no_string(grammar, tool, key, branch, words)
                yield written, "false", literal({"integer": "number"}.get(str(kind), str(kind)))

    def _no_string(self, grammar: Tagged, tool: ToolSpec, key: str, branch: Branch, words: Sequence[str]) -> str:
        """A value that is no string: JSON, and Python where the template writes it."""
        kind, style = branch.get("type"), self._style
        forms = [JsonRules(self._rules, tool.schema, avoid=words, name=f"{tool.name}-in-tags").any_of([branch], key)]
        if grammar.nested and kind in ("object", "array"):
            forms = [self._nested(grammar, tool, branch, key), self._in_cdata(tool, branch, key)]
        elif style.values == "python" or (style.values == "python_scalars" and kind not in ("object", "array")):
            python = PythonRules(self._rules, tool.schema, f"{tool.name}-py").any_of([branch], key)
            forms.append(python)
            if kind in ("object", "array"):
                forms.append(f"{literal('<![CDATA[')} {python} {literal(']]>')}")
        elif kind in ("object", "array") or not branch:
            forms.append(self._in_cdata(tool, branch, key))
        return either(list(dict.fromkeys(forms)))

    def _in_cdata(self, tool: ToolSpec, branch: Branch, key: str) -> str:
        plain = JsonRules(self._rules, tool.schema, avoid=("]]>",), name=f"{tool.name}-in-cdata")
        return f"{literal('<![CDATA[')} {plain.any_of([branch], key)} {literal(']]>')}"

    def _nested(self, grammar: Tagged, tool: ToolSpec, branch: Branch, key: str) -> str:
        """An object or a list as nested elements. It has its name before its body, so that schemas may recurse."""
        identity = ("nested", tool.name, json.dumps(branch, sort_keys=True, default=repr))
        if identity not in self._made:
            self._made[identity] = mine = self._rules.reserve(f"{tool.name}-{key}-nested")
            if branch.get("type") == "array":
                item = self._in_element(grammar, tool, "item", branch.get("items", {}))
                body = f"({item})*" if branch.get("items") is not False else EMPTY
            else:
                declared, required = properties_of(branch)
                inner = {name: self._in_element(grammar, tool, name, each) for name, each in declared.items()}
                body = self._members(f"{tool.name}-{key}", inner, required, "") if inner else EMPTY
            self._rules.define(mine, body)
        return self._made[identity]

    def _in_element(self, grammar: Tagged, tool: ToolSpec, name: str, schema: JsonValue) -> str:
        """A nested element. A CDATA block is read in the outermost only."""
        prefix, forms = grammar.key[0][:-1], []
        words = self._unsafe(grammar)
        for branch in list(branches(schema, tool.schema)) or [{}]:
            if _is_string(branch):
                const = branch.get("const")
                forms.append(literal(const) if const else raw_text(self._rules, "value", words, never="\r"))
            elif branch.get("type") in ("object", "array"):
                forms.append(self._nested(grammar, tool, branch, name))
            else:
                forms.append(JsonRules(self._rules, tool.schema, avoid=words, name=tool.name).any_of([branch], name))
        return f"{literal(f'{prefix}<{name}>')} {either(list(dict.fromkeys(forms)))} {literal(f'{prefix}</{name}>')}"

    def _raw(self, branch: Branch, words: Sequence[str]) -> str:
        if "const" in branch:
            return literal(str(branch["const"]))
        filled = is_filled(branch)
        plain = raw_text(self._rules, "value-filled" if filled else "value", words, filled=filled, never="\r")
        return either([plain, cdata(self._rules, filled=filled)])

    def _unsafe(self, grammar: Tagged) -> list[str]:
        frame = self._dialect.frame
        groups: Iterable[Sequence[str]] = (
            grammar.value_end,
            grammar.open,
            grammar.close,
            grammar.key,
            grammar.wrap[0],
            grammar.wrap[1],
            frame.section[0],
            frame.section[1],
            ("<![CDATA[",),
        )
        return short_words({word for group in groups for word in _common(group)})

    # Function syntax

    def _pair(self, grammar: Function, tool: ToolSpec, key: str, schema: JsonValue) -> str:
        name = key if re.fullmatch(r"[A-Za-z_]\w*", key) else json.dumps(key, ensure_ascii=False)
        return self._rules.rule(
            f"{tool.name}-{key}", f"{literal(name + grammar.equals)} {self._literal(grammar, tool, key, schema)}"
        )

    def _literal(self, grammar: Function, tool: ToolSpec, key: str, schema: JsonValue) -> str:
        if grammar.escaped:
            return self._escaped(grammar, tool, key, schema)
        if grammar.raw_quotes:
            quote = grammar.quotes[0]
            avoid = (quote, *grammar.open, *grammar.close)
            return GemmaRules(self._rules, tool.schema, avoid, quote, f"{tool.name}-g").value(schema, key)
        if grammar.literals == "json":
            return JsonRules(self._rules, tool.schema, name=tool.name).value(schema, key)
        return PythonRules(self._rules, tool.schema, f"{tool.name}-py").value(schema, key)

    def _escaped(self, grammar: Function, tool: ToolSpec, key: str, schema: JsonValue) -> str:
        quote = grammar.quotes[0]
        words = [quote, *grammar.open, *grammar.close]
        values = JsonRules(self._rules, tool.schema, avoid=words, name=f"{tool.name}-escaped")
        inner = []
        for branch in list(branches(schema, tool.schema)) or [{}]:
            if not _is_string(branch):
                inner.append(values.any_of([branch], key))
                if branch.get("type") not in ("object", "array"):  # the template writes True and None
                    inner.append(PythonRules(self._rules, tool.schema, f"{tool.name}-py").any_of([branch], key))
            elif "const" in branch:
                inner.append(literal(str(branch["const"])))
            else:
                inner.append(raw_text(self._rules, "escaped", words, filled=is_filled(branch)))
        return f"{literal(quote)} {either(list(dict.fromkeys(inner)))} {literal(quote)}"


def _first_field(form: str) -> int:
    found = _FIELD.search(form)
    return found.start() if found else 0


def _is_string(branch: Branch) -> bool:
    return isinstance(branch["const"], str) if "const" in branch else branch.get("type") in (None, "string")


def _object(values: JsonRules, schema: JsonObject) -> str:
    declared, required = properties_of(schema)
    if declared:
        return values.members(declared, required, "arguments")
    says_more = any(schema.get(key) for key in ("$ref", "anyOf", "oneOf", "allOf", "additionalProperties"))
    return values.value(schema, "arguments") if says_more else literal("{}")


def _common(group: Sequence[str]) -> Sequence[str]:
    """A group of many variants of one marker as what they have in common at their end."""
    if len(group) <= 4:
        return group
    shortest = min(group, key=len)
    length = next(
        size
        for size in range(len(shortest), -1, -1)
        if all(each.endswith(shortest[len(shortest) - size :]) for each in group)
    )
    common = shortest[len(shortest) - length :]
    return (common,) if len(common) > 4 else group
