"""Values of the dialects as rules of a grammar: text without escapes, Python literals, Gemma's own notation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from joey.protocols.grammar.gbnf import EMPTY, GrammarRules, Way, either, literal, matcher, moves
from joey.protocols.grammar.json_values import Branch, JsonRules, is_filled, number
from joey.wire import JsonObject, JsonValue

_CDATA, _CDATA_END, _CDATA_SPLIT = "<![CDATA[", "]]>", "]]]]><![CDATA[>"


def short_words(words: Iterable[str]) -> list[str]:
    """The words without those that hold another one: to avoid the shorter is to avoid both."""
    found = sorted(set(words), key=lambda word: (len(word), word))
    return [word for at, word in enumerate(found) if not any(short in word for short in found[:at])]


def raw_text(rules: GrammarRules, name: str, words: Sequence[str], *, filled: bool = False, never: str = "\0") -> str:
    """Any text in which none of the words occurs. The state is the begun part of one; `filled` may not be empty."""
    step = matcher(words)
    named = set("".join(words))
    start = "\0start" if filled else ""

    def ways(state: str) -> list[Way[str]]:
        text = "" if state == "\0start" else state
        found: list[Way[str]] = [
            (read, after)
            for read, after in moves(named, lambda char: step(text, char), never=never)
            if after not in words
        ]
        return found if state == "\0start" else [*found, (EMPTY, None)]

    return rules.shared(("raw", filled, never, *words), lambda: rules.automaton(name, start, ways))


def cdata(rules: GrammarRules, *, filled: bool = False) -> str:
    """A CDATA block; the end of one inside it is split in two."""
    part = raw_text(rules, "cdata-part", [_CDATA_END], filled=filled)
    more = raw_text(rules, "cdata-part", [_CDATA_END])
    body = f"{part} ({literal(_CDATA_SPLIT)} {more})*"
    return rules.rule("cdata-filled" if filled else "cdata", f"{literal(_CDATA)} {body} {literal(_CDATA_END)}")


class PythonRules(JsonRules):
    """Python literals, in which JSON's words and quotes are read as well."""

    def __init__(self, rules: GrammarRules, root: JsonObject, name: str) -> None:
        super().__init__(rules, root, name=name)

    def literal(self, value: JsonValue) -> str:
        if isinstance(value, (dict, list)):
            return super().literal(value)
        forms = [repr(value), json.dumps(value, ensure_ascii=False)]
        return either([literal(form) for form in dict.fromkeys(forms)])

    def key(self, name: str) -> str:
        forms = dict.fromkeys((f"{name!r}:", f"{json.dumps(name, ensure_ascii=False)}:"))
        return f'{either([literal(form) for form in forms])} " "?'

    def string(self, *, at_least_one: bool = False) -> str:
        double = super().string(at_least_one=at_least_one)
        return self._rules.rule(
            f"python-{double}",
            f"{double} | {self._quoted(chr(39), at_least_one)} | {self._quoted(chr(34), at_least_one)}",
        )

    def _quoted(self, quote: str, at_least_one: bool) -> str:
        self._rules.rule("hex", "[0-9a-fA-F]")
        code = '"x" hex hex | "u" ([0-9a-cA-CefEF] hex hex hex | [dD] [0-7] hex hex) | "U000" hex hex hex hex hex'
        escape = self._rules.rule("python-escape", rf"""[nrt'"\\] | {code}""")
        char = self._rules.rule(
            "python-char-single" if quote == "'" else "python-char-double",
            rf"""[^{"'" if quote == "'" else '"'}\\\x00-\x1F] | "\\" {escape}""",
        )
        return f"{literal(quote)} {char}{'+' if at_least_one else '*'} {literal(quote)}"

    def _branch(self, branch: Branch, name: str) -> str:
        if "const" not in branch and branch.get("type") == "boolean":
            return self._rules.rule("python-boolean", '"True" | "False" | "true" | "false"')
        if "const" not in branch and branch.get("type") == "null":
            return self._rules.rule("python-none", '"None" | "null"')
        return super()._branch(branch, name)

    def _any(self) -> str:
        if "any" not in self._made:
            self._made["any"] = mine = self._rules.reserve("python-any")
            pair = f'{self.string()} ":" " "? {mine}'
            words = '"True" | "False" | "None" | "true" | "false" | "null"'
            scalar = f"{self.string()} | {number(self._rules, {})} | {words}"
            array, entire = f'"[" ({mine} ({self._comma} {mine})*)? "]"', f'"{{" ({pair} ({self._comma} {pair})*)? "}}"'
            self._rules.define(mine, f"{scalar} | {array} | {entire}")
        return self._made["any"]


class GemmaRules(JsonRules):
    """Gemma's notation: keys without quotes, strings between tokens, or in quotes if they hold one."""

    def __init__(self, rules: GrammarRules, root: JsonObject, avoid: Sequence[str], quote: str, name: str) -> None:
        super().__init__(rules, root, name=name)
        self._words, self._token = list(avoid), literal(quote)

    def text(self, value: JsonValue) -> str:
        return json.dumps(value, ensure_ascii=False)

    def literal(self, value: JsonValue) -> str:
        if isinstance(value, str) and not any(word in value for word in self._words):
            return f"{self._token} {literal(value) if value else EMPTY} {self._token}"
        return super().literal(value)

    def key(self, name: str) -> str:
        plain = name.isidentifier() and name.isascii()
        return literal(f"{name}:" if plain else f"{self.text(name)}:")

    def string(self, *, at_least_one: bool = False) -> str:
        quoted = super().string(at_least_one=at_least_one)
        raw = raw_text(self._rules, "gemma-text", self._words, filled=at_least_one)
        return self._rules.rule(f"gemma-{quoted}", f"{self._token} {raw} {self._token} | {quoted}")

    def _map(self, schema: JsonValue, name: str) -> str:
        pair = f'{self._map_key()} ":" {self.value(schema, name)}'
        return f'"{{" ({pair} ({self._comma} {pair})*)? "}}"'

    def _map_key(self) -> str:
        quoted = JsonRules(self._rules, {}).string()
        return self._rules.rule("gemma-key", f"[a-zA-Z_] [a-zA-Z0-9_]{{0,28}} | {quoted}")

    def _any(self) -> str:
        if "any" not in self._made:
            self._made["any"] = mine = self._rules.reserve("gemma-any")
            pair = f'{self._map_key()} ":" {mine}'
            scalar = f'{self.string()} | {number(self._rules, {})} | "true" | "false" | "null"'
            array, entire = f'"[" ({mine} ({self._comma} {mine})*)? "]"', f'"{{" ({pair} ({self._comma} {pair})*)? "}}"'
            self._rules.define(mine, f"{scalar} | {array} | {entire}")
        return self._made["any"]

    def _branch(self, branch: Branch, name: str) -> str:
        if "const" not in branch and branch.get("type") == "string":
            return self.string(at_least_one=is_filled(branch))
        return super()._branch(branch, name)
