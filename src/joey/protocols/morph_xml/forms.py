"""The forms in which `morph_xml` may write one argument, for its grammar: `grammar` says which there are.

Each form is tried out on the reader: samples of the values, as the writer writes them, must be read back equal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Protocol

from joey.protocols.grammar.gbnf import DEAD, OTHER, GrammarRules, Way, either, literal, matcher, moves, none_of
from joey.protocols.grammar.json_values import (
    Branch,
    JsonRules,
    branches,
    integer_bounds,
    is_filled,
    item_bounds,
    properties_of,
)
from joey.protocols.morph_xml.call import read_body
from joey.protocols.morph_xml.writer import NAME, elements, escape, plain_json
from joey.protocols.xml import relaxed as rxml
from joey.wire import JsonObject, JsonValue

SPACES = "".join(char for char in map(chr, range(0x3001)) if re.match(r"\s", char))
_EDGES = SPACES + "/>"
_MAX_DEPTH = 4


class FormedCall(Protocol):
    """What the forms of an argument need to know of the call."""

    name: str
    root: JsonObject
    rules: GrammarRules
    json: JsonRules

    @property
    def line(self) -> str: ...

    def members(self, declared: JsonObject, required: Sequence[str], name: str, *, top: bool) -> str: ...


class Forms:
    """The forms of one property: of the call (`top`), or of an object in it."""

    def __init__(self, call: FormedCall, name: str, schema: JsonValue, *, top: bool) -> None:
        self._call = call
        self._name = name
        self._schema = schema
        self._top = top
        self._branches = list(branches(schema, call.root))
        self._probe = {
            **call.root,
            "type": "object",
            "properties": {**(call.root.get("properties") or {}), name: schema},
            "required": [],
        }

    def all(self) -> list[str]:
        """Expressions for the element or elements, never none."""
        found = list(dict.fromkeys(form for branch in self._branches for form in self._of(branch)))
        return found or [self._element(self._name, "[^<]*")]

    def _of(self, branch: Branch) -> list[str]:
        if "const" in branch:
            return self._const(branch["const"])
        match branch.get("type"):
            case "null":
                return self._const(None)
            case None:  # anything
                return [*self._text(branch), *self._const(None), *self._repeated(branch)]
            case "string":
                return self._text(branch)
            case "array":
                return [*self._repeated(branch), *self._as_json(branch)]
            case "object":
                return [*self._nested(branch), *self._as_json(branch)]
        return self._as_json(branch)

    @staticmethod
    def _element(name: str, inside: str) -> str:
        return f"{literal(f'<{name}>')} {inside} {literal(f'</{name}>')}"

    # Trying out

    def _reads_back(self, *values: JsonValue) -> bool:
        """Whether the reader gives back what the writer writes."""
        return all(self._reads_as("\n".join(elements(self._name, value, "  ")), value) for value in values)

    def _reads_as(self, text: str, value: JsonValue) -> bool:
        try:
            found = read_body(f"\n{text}\n", self._probe)
        except rxml.RxmlError:
            return False
        return json.dumps(found, sort_keys=True) == json.dumps({self._name: value}, sort_keys=True)

    # Scalars

    def _const(self, value: JsonValue) -> list[str]:
        if not self._reads_back(value):
            return self._as_json({"const": value})
        lines = elements(self._name, value, "")
        return [f" {self._call.line} ".join(literal(line.lstrip(" ")) for line in lines)]

    def _as_json(self, branch: Branch) -> list[str]:
        values = samples(branch, self._call.root)
        texts = [f"<{self._name}>{plain_json(value)}</{self._name}>" for value in values]
        if not all(map(self._reads_as, texts, values)):
            return []
        return [self._element(self._name, self._call.json.any_of([branch], self._name))]

    def _text(self, branch: Branch) -> list[str]:
        if self._top and rxml.takes_raw_text(self._schema, self._call.root):
            return [f"{literal(f'<{self._name}>')} {self._free_text(filled=is_filled(branch))}"]
        if branch and not self._reads_back("ab", "a, b"):
            return []
        return [self._element(self._name, self._inner_text(branch))]

    def _inner_text(self, branch: Branch) -> str:
        """Text in which no `<` stands."""
        return f"[^<]* {none_of('<' + SPACES)} [^<]*" if is_filled(branch) else "[^<]*"

    def _free_text(self, *, filled: bool) -> str:
        """Any text up to the closing tag. State: the begun part of a tag that matters, and whether text came before."""
        opening, closing, end = f"<{self._name}", f"</{self._name}", f"</{self._call.name}"
        step = matcher([opening, closing, end, "</"])
        marked = {opening, closing, end}

        def after(state: tuple[str, bool], char: str) -> Any:
            begun, some = state
            if begun == closing and char == ">":
                return None if some else DEAD
            if char and ((begun in marked and char in _EDGES) or (begun == "</" and char in SPACES)):
                return DEAD
            then = step(begun, char)
            return then, some or char == OTHER or len(begun + char) > len(then)

        def ways(state: tuple[str, bool]) -> list[Way[tuple[str, bool]]]:
            named = {*opening, *closing, *end, *(_EDGES if state[0] in {*marked, "</"} else "")}
            return moves(named, lambda char: after(state, char))

        rules = self._call.rules
        return rules.shared(
            (opening, end, filled), lambda: rules.automaton(f"text-to-{self._name}", ("", not filled), ways)
        )

    # Lists and objects

    def _nested(self, branch: Branch) -> list[str]:
        inside = self._inside(branch, self._name)
        value = max(samples(branch, self._call.root), key=len)
        return [self._element(self._name, inside)] if inside and self._reads_back(value) else []

    def _inside(self, branch: Branch, name: str) -> str:
        """The properties of an object as elements; empty if some cannot be one."""
        declared, required = properties_of(branch)
        named = {key: schema for key, schema in declared.items() if NAME.match(key) and key != "item"}
        if not named or not named.keys() >= set(required):
            return ""
        return self._call.members(named, required, f"{self._call.name}-{name}-members", top=False)

    def _repeated(self, branch: Branch) -> list[str]:
        """A list of which no item is null or a list: its element several times, or one with an `<item>` inside."""
        if "prefixItems" in branch:
            return []
        items = list(branches(branch.get("items"), self._call.root))
        minimum, maximum = item_bounds(branch)
        found = []
        if maximum is None or maximum > 1:
            each = self._items(self._name, items, 2)
            bounds = f"{{{max(minimum, 2) - 1},{'' if maximum is None else maximum - 1}}}"
            found += [f"{each} ({self._call.line} {each}){bounds}"] if each else []
        if minimum <= 1 and maximum != 0:
            each, line = self._items("item", items, 1), self._call.line
            found += [self._element(self._name, f"{line} {each} {line}")] if each else []
        return found

    def _items(self, name: str, items: Sequence[Branch], count: int) -> str:
        """An item of a list as an element, of those branches that are read back; empty if there are none."""
        insides = [self._item(name, item) for item in items if self._can_be_item(item, count)]
        return self._element(name, either(list(dict.fromkeys(filter(None, insides))))) if any(insides) else ""

    def _can_be_item(self, item: Branch, count: int) -> bool:
        value = max(samples(item, self._call.root), key=lambda each: len(json.dumps(each)))
        return value is not None and not isinstance(value, list) and self._reads_back([value] * count)

    def _item(self, name: str, branch: Branch) -> str:
        if isinstance(branch.get("const"), (str, int, float)):
            value = branch["const"]
            return literal(escape(value) if isinstance(value, str) else plain_json(value))
        match branch.get("type"):
            case "object":
                return self._inside(branch, name)
            case "integer" | "number" | "boolean":
                return self._call.json.any_of([branch])
            case "string":
                return self._inner_text(branch)
        return "" if "const" in branch else "[^<]*"


def samples(branch: Branch, root: JsonObject, depth: int = 0) -> list[JsonValue]:
    """Some values of a branch."""
    if "const" in branch:
        return [branch["const"]]
    match branch.get("type"):
        case "integer":
            low, high = integer_bounds(branch)
            return [7 if low <= 7 <= high else low]
        case "number":
            return [1.5, 7]
        case "boolean":
            return [True, False]
        case "null":
            return [None]
        case "array":
            minimum, maximum = item_bounds(branch)
            if depth >= _MAX_DEPTH:
                return [[]]
            item = _sample(branch.get("items"), root, depth)
            limit = maximum if maximum is not None else max(2, minimum)
            return [[item] * count for count in (0, 1, 2, minimum) if minimum <= count <= limit]
        case "object":
            declared, required = properties_of(branch)
            extra = branch.get("additionalProperties", {})
            entries = declared or ({} if extra is False else {"a": extra})
            whole = {key: _sample(schema, root, depth) for key, schema in entries.items() if depth < _MAX_DEPTH}
            return [whole, *([{}] if whole and not required else [])]
    return ["ab"]


def _sample(schema: JsonValue, root: JsonObject, depth: int) -> JsonValue:
    found = list(branches(schema, root))
    return samples(found[0], root, depth + 1)[0] if found else "ab"
