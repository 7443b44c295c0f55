"""JSON values as a JSON Schema asks for, as rules of a grammar.

What the schema says becomes part of the grammar as far as a grammar can say it in few rules:

    type            one or several; without one, what the other keywords speak of; else any JSON value
    enum, const     exactly these
    anyOf, oneOf    any of the branches, flattened; several matching at once is not ruled out for oneOf
    allOf           its parts merged, properties and required names united
    $ref            within the schema, recursive ones too
    properties      in the schema's order; required ones always, others may be left out; no others, unless the object
                    names none: then it is a map, of what `additionalProperties` says
    items, prefixItems, minItems, maxItems    up to `_MAX_ITEMS`; longer lists have no bound
    minLength       0 or 1; other lengths and `pattern`, `format` are the validator's
    minimum, maximum (and exclusive ones)     of integers; for numbers only whether they may be negative, or zero

One argument may be a text in a language of its own (`CustomForm`): its grammar then takes the place of the string's, as
far as `lark` can translate it.

What it cannot say (`not`, `if`, `patternProperties`, `uniqueItems`, keys of a map that must differ) is left out: the
grammar then admits more than the schema, and the call is checked as every other is.

Numbers have at most 18 digits before the point and lie between 1e-307 and 1e308; integers have no fraction. Strings
hold no control characters and no half of a surrogate pair. Between two tokens one space may stand, where JSON writers
put it.

Text around the JSON may end at a tag, so strings can be kept free of some text (`avoid`), as it stands in the source:
`\\u003c` is not `<`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from joey.protocols.grammar import gbnf
from joey.protocols.grammar.lark import custom_text
from joey.schema.kinds import KINDS, is_a, type_of
from joey.schema.references import joined, properties, required, resolve, without
from joey.toolspec import CustomForm
from joey.wire import JsonObject, JsonValue

_MAX_ITEMS = 12
_DIGITS = 18
_MAX_INTEGER = 10**_DIGITS - 1
_CONTROLS = "".join(map(chr, range(32)))
_QUOTE, _BACKSLASH = gbnf.literal('"'), gbnf.literal("\\")
_WORDS = ("title", "description", "default", "examples", "$defs", "definitions", "$schema", "$id")
_ESCAPABLE = '"\\/bfnrt'

Branch: TypeAlias = Mapping[str, Any]
"""A schema without references and unions: `{"const": …}`, or at most one `type`."""


def branches(schema: JsonValue, root: JsonObject, above: tuple[int, ...] = ()) -> Iterator[Branch]:
    """The alternatives a schema comes down to. `above` are the unions that are being taken apart: no schema is its own
    alternative."""
    schema = resolve(schema, root)
    if schema is False:
        return
    if not isinstance(schema, Mapping):
        yield {}
        return
    schema = without(schema, *_WORDS)
    if union := next((key for key in ("anyOf", "oneOf") if isinstance(schema.get(key), list)), None):
        rest = without(schema, union)
        for member in schema[union] if id(schema[union]) not in above else ():
            both = joined([rest, resolve(member, root)]) if rest else member
            yield from branches(both, root, (*above, id(schema[union])))
    elif "const" in schema or isinstance(schema.get("enum"), list):
        values = [schema["const"]] if "const" in schema else schema["enum"]
        kinds = _named(schema.get("type"))
        yield from ({"const": value} for value in values if not kinds or any(is_a(value, kind) for kind in kinds))
    else:
        kinds = _named(schema.get("type")) or [type_of(schema) or ("object" if schema.get("required") else None)]
        for each in kinds:
            yield {**schema, "type": each} if each in KINDS else {}


def _named(kinds: JsonValue) -> list[Any]:
    return kinds if isinstance(kinds, list) else [kinds] if isinstance(kinds, str) else []


def properties_of(schema: JsonObject) -> tuple[JsonObject, Sequence[str]]:
    """The properties of an object, and which of them it must have; what is required is one, declared or not."""
    known, names = properties(schema), required(schema)
    return {**known, **{name: {} for name in names if name not in known}}, names


def item_bounds(branch: Branch) -> tuple[int, int | None]:
    """How many items an array has at least and at most, as far as the grammar counts them."""
    minimum, maximum = branch.get("minItems"), branch.get("maxItems")
    minimum = min(minimum, _MAX_ITEMS) if isinstance(minimum, int) and minimum > 0 else 0
    return minimum, max(maximum, minimum) if isinstance(maximum, int) and 0 <= maximum <= _MAX_ITEMS else None


def is_filled(branch: Branch) -> bool:
    """Whether a string of this branch may not be empty."""
    minimum = branch.get("minLength")
    return isinstance(minimum, int) and minimum > 0


class JsonRules:
    """Rules for JSON values under one root schema. `avoid` is what no string may hold, as it stands there."""

    def __init__(
        self,
        rules: gbnf.GrammarRules,
        root: JsonObject,
        avoid: Sequence[str] = (),
        name: str = "json",
        custom: CustomForm | None = None,
    ) -> None:
        """`custom` has the grammar of one argument that is a text in a language of its own."""
        self._rules = rules
        self._custom = custom
        self._root = root
        self._avoid = avoid
        self._name = name
        self._made: dict[str, str] = {}

    def value(self, schema: JsonValue, name: str = "value") -> str:
        """An expression for the values of a schema; for a schema that allows none, one for any value."""
        return self.any_of(list(branches(schema, self._root)), name)

    def any_of(self, alternatives: Sequence[Branch], name: str = "value") -> str:
        """An expression for the values of any of these branches."""
        if not alternatives or any(not branch for branch in alternatives):
            return self._any()
        return gbnf.either(list(dict.fromkeys(self._branch(branch, name) for branch in alternatives)))

    def literal(self, value: JsonValue) -> str:
        """Exactly this value."""
        if isinstance(value, Mapping):
            pairs = [f"{self.key(key)} {self.literal(item)}" for key, item in value.items()]
            return self._listed("{", "}", pairs)
        if isinstance(value, list):
            return self._listed("[", "]", [self.literal(item) for item in value])
        return gbnf.literal(self.text(value))

    def text(self, value: JsonValue) -> str:
        """A scalar as it is written."""
        text = json.dumps(value, ensure_ascii=False)
        for char in ("&<>" if "&" in self._avoid else "<>") if "<" in self._avoid else "":
            text = text.replace(char, f"\\u{ord(char):04x}")
        return text

    def key(self, name: str) -> str:
        return f"{gbnf.literal(self.text(name) + ':')} {self._space}"

    @property
    def _space(self) -> str:
        return '" "?'

    @property
    def _comma(self) -> str:
        return self._rules.rule("comma", '"," " "?')

    def _listed(self, begin: str, end: str, parts: Sequence[str]) -> str:
        return (
            f"{gbnf.literal(begin)} {f' {self._comma} '.join(parts)} {gbnf.literal(end)}"
            if parts
            else gbnf.literal(begin + end)
        )

    def _branch(self, branch: Branch, name: str) -> str:
        if "const" in branch:
            return self.literal(branch["const"])
        match branch.get("type"):
            case "string":
                return self.string(at_least_one=is_filled(branch))
            case "integer":
                return integer(self._rules, branch)
            case "number":
                return number(self._rules, branch)
            case "boolean":
                return self._rules.rule("boolean", '"true" | "false"')
            case "null":
                return gbnf.literal("null")
        return self._container(branch, name)

    def _container(self, branch: Branch, name: str) -> str:
        """A rule for an object or array. It has its name before its body is made, so that schemas may recurse."""
        identity = json.dumps(branch, sort_keys=True, default=repr)
        if identity not in self._made:
            self._made[identity] = mine = self._rules.reserve(f"{self._name}-{name}")
            array = branch["type"] == "array"
            self._rules.define(mine, self._array(branch, name) if array else self._object(branch, name))
        return self._made[identity]

    # Strings

    def string(self, *, at_least_one: bool = False) -> str:
        """A string in quotes."""
        kind = f"{self._name}-string" if self._avoid else "string"
        return self._rules.rule(
            f"{kind}-filled" if at_least_one else kind,
            f"{_QUOTE} {self._characters('not-empty' if at_least_one else '')}",
        )

    def _characters(self, start: str) -> str:
        """What follows the opening quote, with the closing one. An automaton whose state is the begun part of what is
        avoided; the state `not-empty` is that of nothing, where the string may not end."""
        step = gbnf.matcher(self._avoid)
        named = set("".join(self._avoid)) - set(_CONTROLS) - {'"', "\\"}

        def ways(state: str) -> list[gbnf.Way[str]]:
            text = "" if state == "not-empty" else state
            found: list[gbnf.Way[str]] = [
                (read, after)
                for read, after in gbnf.moves(named, lambda char: step(text, char), never='"\\' + _CONTROLS)
                if after not in self._avoid
            ]
            found.append((f"{_BACKSLASH} {self._escape}", ""))
            return found if state == "not-empty" else [*found, (_QUOTE, None)]

        name = f"{self._name}-characters-{start}" if self._avoid else f"characters-{start}"
        key = ("characters", start, *self._avoid)
        return self._rules.shared(key, lambda: self._rules.automaton(name, start, ways))

    @property
    def _escape(self) -> str:
        """What may follow a backslash. Halves of surrogate pairs are no characters, so they come in pairs."""
        four, pair = "[dD] [0-7] hex hex", f'[dD] [89abAB] hex hex {_BACKSLASH} "u" [dD] [c-fC-F] hex hex'
        self._rules.rule("hex", "[0-9a-fA-F]")
        code = self._rules.rule("code", f"[0-9a-cA-CefEF] hex hex hex | {four} | {pair}")
        return self._rules.rule("escape", f'{gbnf.one_of(_ESCAPABLE)} | "u" {code}')

    # Containers

    def _array(self, branch: Branch, name: str) -> str:
        first = branch.get("prefixItems")
        places = [self.value(each, name) for each in first] if isinstance(first, list) else []
        rest = branch.get("items", {})
        minimum, maximum = item_bounds(branch)
        if rest is False:
            maximum = len(places) if maximum is None else min(maximum, len(places))
        every = self.value(rest, name) if rest is not False else ""
        return f'"[" {self._items(places, every, minimum, maximum, name)}'

    def _items(self, places: Sequence[str], every: str, minimum: int, maximum: int | None, name: str) -> str:
        """What follows the bracket: the states count the items, up to where the count no longer matters."""
        last = max(len(places), minimum) if maximum is None else maximum

        def ways(count: int) -> list[gbnf.Way[int]]:
            ends: list[gbnf.Way[int]] = [('"]"', None)] if count >= minimum else []
            if maximum is not None and count >= maximum:
                return ends
            item = places[count] if count < len(places) else every
            comma = f"{self._comma} " if count else ""
            return [(f"{comma}{item}", min(count + 1, last + 1)), *ends]

        return self._rules.automaton(f"{self._name}-{name}-items", 0, ways)

    def _object(self, branch: Branch, name: str) -> str:
        declared, required = properties_of(branch)
        if declared:
            return self.members(declared, required, name)
        extra = branch.get("additionalProperties", True)
        if extra is False:
            return gbnf.literal("{}")
        return self._map(extra, name)

    def _map(self, schema: JsonValue, name: str) -> str:
        pair = f'{self.string()} ":" {self._space} {self.value(schema, name)}'
        return f'"{{" ({pair} ({self._comma} {pair})*)? "}}"'

    def members(self, declared: Mapping[str, JsonValue], required: Sequence[str], name: str) -> str:
        """An object of these properties, in their order. State: the next property, and whether a comma comes first."""
        pairs = [(key, f"{self.key(key)} {self._member(key, schema)}") for key, schema in declared.items()]

        def ways(state: tuple[int, bool]) -> list[gbnf.Way[tuple[int, bool]]]:
            at, begun = state
            if at == len(pairs):
                return [('"}"', None)]
            key, pair = pairs[at]
            found: list[gbnf.Way[tuple[int, bool]]] = [(f"{self._comma} {pair}" if begun else pair, (at + 1, True))]
            return found if key in required else [*found, (gbnf.EMPTY, (at + 1, begun))]

        return f'"{{" {self._rules.automaton(f"{self._name}-{name}-members", (0, False), ways)}'

    def _member(self, key: str, schema: JsonValue) -> str:
        if self._custom is not None and key == self._custom.argument and not self._avoid:
            text = custom_text(self._custom, self._rules, self._name)
            if text is not None:
                return text
        return self.value(schema, key)

    def _any(self) -> str:
        """Any JSON value."""
        kind = f"{self._name}-any" if self._avoid else "any"
        if kind not in self._made:
            self._made[kind] = mine = self._rules.reserve(kind)
            pair = f'{self.string()} ":" {self._space} {mine}'
            scalar = f'{self.string()} | {number(self._rules, {})} | "true" | "false" | "null"'
            array = f'"[" ({mine} ({self._comma} {mine})*)? "]"'
            entire = f'"{{" ({pair} ({self._comma} {pair})*)? "}}"'
            self._rules.define(mine, f"{scalar} | {array} | {entire}")
        return self._made[kind]


# Numbers


def integer(rules: gbnf.GrammarRules, schema: Branch) -> str:
    """An integer between the schema's bounds, of at most 18 digits."""
    low, high = integer_bounds(schema)
    if low > high or (low, high) == (-_MAX_INTEGER, _MAX_INTEGER):
        return rules.rule("integer", f'"-"? {_natural(rules)}')
    below = [f'"-" {part}' for part in _range(max(1, -high), -low)]
    return rules.rule("integer-between", " | ".join([*below, *_range(max(0, low), high)]))


def integer_bounds(schema: Branch) -> tuple[int, int]:
    """The least and the greatest integer that the schema allows."""
    low = [math.ceil(each) for each in _numbers(schema, "minimum")]
    low += [math.floor(each) + 1 for each in _numbers(schema, "exclusiveMinimum")]
    high = [math.floor(each) for each in _numbers(schema, "maximum")]
    high += [math.ceil(each) - 1 for each in _numbers(schema, "exclusiveMaximum")]
    return max([-_MAX_INTEGER, *low]), min([_MAX_INTEGER, *high])


def _numbers(schema: Branch, key: str) -> list[float]:
    value = schema.get(key)
    return [value] if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) else []


def _natural(rules: gbnf.GrammarRules) -> str:
    return rules.rule("natural", f'"0" | [1-9] [0-9]{{0,{_DIGITS - 1}}}')


def _range(low: int, high: int) -> list[str]:
    """Expressions for the integers from low to high, none of them negative: by length, then by common beginning."""
    parts = []
    while low <= high:
        length = len(str(low))
        max_length = len(str(high + 1)) - 1  # all numbers of this length are in the range
        if low == 10 ** (length - 1) and max_length >= length:
            parts.append(_joined_up("[1-9]", f"[0-9]{{{length - 1},{max_length - 1}}}" if max_length > 1 else ""))
            low = 10**max_length
        else:
            top = min(high, 10**length - 1)
            parts += _same_length(str(low), str(top))
            low = top + 1
    return parts


def _same_length(low: str, high: str) -> list[str]:
    """The range between two numbers of as many digits."""
    rest = len(low) - 1
    if rest < 0:
        return [""]
    if low[0] == high[0]:
        return [_joined_up(gbnf.literal(low[0]), part) for part in _same_length(low[1:], high[1:])]
    first, last, parts = int(low[0]), int(high[0]), []
    if low[1:].strip("0"):
        parts += [_joined_up(gbnf.literal(low[0]), part) for part in _same_length(low[1:], "9" * rest)]
        first += 1
    tail = []
    if high[1:].strip("9"):
        tail = [_joined_up(gbnf.literal(high[0]), part) for part in _same_length("0" * rest, high[1:])]
        last -= 1
    if first <= last:
        digit = gbnf.literal(str(first)) if first == last else f"[{first}-{last}]"
        parts.append(_joined_up(digit, f"[0-9]{{{rest}}}" if rest else ""))
    return parts + tail


def _joined_up(first: str, rest: str) -> str:
    return f"{first} {rest}".rstrip()


def number(rules: gbnf.GrammarRules, schema: Branch) -> str:
    """A number that fits a double. With an exponent there is one digit before the point, so that none overflows."""
    exponent = rules.rule("exponent", '[eE] [+-]? ([0-9] [0-9]? | [12] [0-9] [0-9] | "30" [0-7])')
    fraction = rules.rule("fraction", '"." [0-9]{1,22}')
    if _numbers(schema, "exclusiveMinimum") == [0]:
        tiny = '"0." "0"{0,5} [1-9] [0-9]{0,16}'
        ordinary = f"[1-9] [0-9]{{0,{_DIGITS - 1}}} {gbnf.optional(fraction)}"
        return rules.rule("positive", f"{ordinary} | {tiny} | [1-9] {gbnf.optional(fraction)} {exponent}")
    plain = f"{_natural(rules)} {gbnf.optional(fraction)}"
    unsigned = rules.rule("unsigned", f"{plain} | [0-9] {gbnf.optional(fraction)} {exponent}")
    at_least = [*_numbers(schema, "minimum"), *_numbers(schema, "exclusiveMinimum")]
    return unsigned if any(bound >= 0 for bound in at_least) else rules.rule("number", f'"-"? {unsigned}')
