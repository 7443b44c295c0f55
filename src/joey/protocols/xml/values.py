"""Typed arguments of the `xml` protocol: what stands between a parameter's tags, read by its JSON Schema.

A string stays what the model wrote. Where the schema asks for something else, three notations are understood:

* JSON: `<arguments>{"a": 1}</arguments>`, `<recursive>true</recursive>`, `<line>7</line>`; text that is nearly JSON,
  and lists written as lines, are read as `coerce` reads them;
* elements: `<args><file><path>a.py</path></file></args>`. For an object, children are properties and repeated ones
  make a list; for an array, every child is an item, whatever it is called;
* attributes: `<suggest mode="code">Do it</suggest>` is `{"mode": "code", "text": "Do it"}`, the text going to the
  property `text`, or else to the one required string property that is still free.

What cannot be read as the schema asks stays a string: saying what is wrong with it is the validator's business.
Elements left open end with the value, a closing tag that fits nothing is text, entities and CDATA are decoded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from joey.protocols.json import relaxed as rjson
from joey.protocols.xml.entities import decode_entities
from joey.protocols.xml.tags import JSON_CLOSE, JSON_OPEN, WHITE_SPACE
from joey.schema.coerce import coerce
from joey.schema.kinds import kinds_of, named_kinds
from joey.schema.references import members, properties, required, resolve
from joey.wire import ArgumentPath, JsonObject, JsonValue

_TAG = re.compile(r"<(/?)([^\W\d][\w.:-]*)((?:\s+[\w.:-]+\s*=\s*(?:\"[^\"<]*\"|'[^'<]*'))*)\s*(/?)>")
_ATTRIBUTE = re.compile(r"([\w.:-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_CDATA, _CDATA_END = "<![CDATA[", "]]>"
_MAX_DEPTH = 64
_NESTED = frozenset({"object", "array"})


def read_value(text: str, schema: JsonValue, root: JsonObject) -> JsonValue:
    """The value of a typed parameter."""
    text = text.strip(WHITE_SPACE)
    if text.startswith("<") and not _NESTED.isdisjoint(kinds_of(schema, root)):
        tree = _tree(text)
        if tree.children:
            return _coerce(tree, schema, root)
    return _read_text(text, schema, root)


def _read_text(text: str, schema: JsonValue, root: JsonObject) -> JsonValue:
    """A value without elements."""
    kinds = kinds_of(schema, root)
    if text.strip() == "null" and "null" in kinds and "string" not in kinds:
        return None
    if not _NESTED.isdisjoint(kinds):
        found, value = _json(text) if text[:1] in ("{", "[") else (False, None)
        if found:
            return value
        if not text:
            return {} if "object" in kinds else []
    return _coerced(text, schema, root)


def read_json_parameter(source: str) -> tuple[str, JsonValue]:
    """Name and value of what stood between `<json_parameter name=` and its closing tag. ValueError if it is none."""
    name, end = json.JSONDecoder().raw_decode(source)
    if not isinstance(name, str) or source[end : end + 1] != ">":
        raise ValueError("the name must be a quoted string, followed by '>'")
    return name, json.loads(source[end + 1 :])


def write_json_parameter(name: str, value: JsonValue) -> str:
    """Any argument, in the form that can carry everything. No `<` or `>` stands in it but those of its tags."""
    return f"{JSON_OPEN}{plain_json(name)}>{plain_json(value)}{JSON_CLOSE}"


def leaves(value: JsonValue, path: ArgumentPath) -> Iterator[tuple[ArgumentPath, str, bool]]:
    """The strings and literals in a value, each with its path and whether it is a literal."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))
    elif isinstance(value, str):
        yield path, value, False
    else:
        yield path, json.dumps(value), True


def plain_json(value: JsonValue) -> str:
    """JSON in which no `<` or `>` stands."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c").replace(">", "\\u003e")


def _json(text: str) -> tuple[bool, JsonValue]:
    try:
        return True, json.loads(text)
    except (ValueError, RecursionError):
        return False, None


def _coerced(text: str, schema: JsonValue, root: JsonObject) -> JsonValue:
    """Plain text as the schema asks. The schema is put beside the tool's own properties, for its references."""
    beside = {**root, "type": "object", "properties": {**properties(root), "": schema}, "required": []}
    return coerce({"": text}, beside, rjson.loads)[""]


@dataclass(slots=True)
class _Element:
    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[_Element] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    inner_start: int = 0
    inner: str = ""

    @property
    def text(self) -> str:
        return "".join(self.words).strip(WHITE_SPACE)


_Open: TypeAlias = list[_Element]


def _tree(source: str) -> _Element:
    """The elements of a value, under a nameless one that stands for the parameter itself."""
    root = _Element("")
    path: _Open = [root]
    at, cdata = 0, True
    while at < len(source):
        place = source.find("<", at)
        if place < 0:
            break
        path[-1].words.append(decode_entities(source[at:place]))
        if cdata and source.startswith(_CDATA, place):
            end = source.find(_CDATA_END, place)
            cdata = end >= 0  # once there is no end, there is none for the rest either: do not look again
            if cdata:
                path[-1].words.append(source[place + len(_CDATA) : end])
                at = end + len(_CDATA_END)
                continue
        at = _read_tag(source, place, path)
    path[-1].words.append(decode_entities(source[at:]))
    _end(path, 0, source, len(source))
    return root


def _read_tag(source: str, place: int, path: _Open) -> int:
    found = _TAG.match(source, place)
    if found is None:
        path[-1].words.append("<")
        return place + 1
    closing, name, attributes, empty = found.groups()
    if closing:
        depth = next((i for i in range(len(path) - 1, 0, -1) if path[i].name == name), 0)
        if depth:
            _end(path, depth, source, place)
        else:
            path[-1].words.append(found.group())
    elif len(path) > _MAX_DEPTH:
        path[-1].words.append(found.group())
    else:
        given = {key: decode_entities(a or b) for key, a, b in _ATTRIBUTE.findall(attributes)}
        path.append(_Element(name, given, inner_start=found.end()))
        path[-2].children.append(path[-1])
        if empty:
            path.pop()
    return found.end()


def _end(path: _Open, depth: int, source: str, place: int) -> None:
    for element in path[depth:]:
        element.inner = source[element.inner_start : place]
    del path[depth:]


def _resolved(schema: JsonValue, root: JsonObject, kind: str) -> JsonObject:
    """The schema behind references; of a union, the branch of the wanted kind."""
    for _ in range(_MAX_DEPTH):
        schema = resolve(schema, root)
        if not isinstance(schema, Mapping):
            return {}
        branches = members(schema)
        if named_kinds(schema) or not branches:
            return schema
        schema = next((branch for branch in branches if kind in kinds_of(branch, root)), {})
    return {}


def _coerce(element: _Element, schema: JsonValue, root: JsonObject) -> JsonValue:
    """An element as a value of this schema."""
    kinds = kinds_of(schema, root)
    if not kinds:
        return _untyped(element)
    if "array" in kinds and element.children:
        items = _resolved(schema, root, "array").get("items")
        return [_coerce(child, items, root) for child in element.children]
    if "object" in kinds and (element.children or element.attributes or "string" not in kinds):
        return _coerce_object(element, _resolved(schema, root, "object"), root)
    if "string" in kinds:
        return element.inner.strip(WHITE_SPACE) if element.children else element.text
    return _read_text(element.text, schema, root)


def _untyped(element: _Element) -> JsonValue:
    if not element.children and not element.attributes:
        return element.text
    return _coerce_object(element, {}, root={})


def _coerce_object(element: _Element, schema: JsonObject, root: JsonObject) -> JsonValue:
    known = properties(schema)
    if not element.children and not element.attributes and element.text[:1] == "{":
        found, value = _json(element.text)
        if found:
            return value
    result: dict[str, Any] = {}
    for key, text in element.attributes.items():
        result[key] = _coerce(_Element(key, words=[text]), known.get(key), root)
    groups: dict[str, list[_Element]] = {}
    for child in element.children:
        groups.setdefault(_property(child.name, known, root), []).append(child)
    for name, group in groups.items():
        result[name] = _coerce_property(group, known.get(name), root)
    text_name = _text_property(schema, known, result, root)
    if element.text and text_name:
        result[text_name] = element.text
    return result


def _property(name: str, known: JsonObject, root: JsonObject) -> str:
    """The property a child stands for: its name, or the list of which it is the singular."""
    plural = f"{name}s"
    singular = name not in known and "array" in kinds_of(known.get(plural), root)
    return plural if singular else name


def _coerce_property(group: list[_Element], schema: JsonValue, root: JsonObject) -> JsonValue:
    if "array" not in kinds_of(schema, root):
        values = [_coerce(element, schema, root) for element in group]
        return values[0] if len(values) == 1 else values if not kinds_of(schema, root) else values[-1]
    items = _resolved(schema, root, "array").get("items")
    if len(group) == 1 and not _is_item(group[0], items, root):
        return _coerce(group[0], schema, root)
    return [_coerce(element, items, root) for element in group]


def _is_item(element: _Element, items: JsonValue, root: JsonObject) -> bool:
    """Whether an element is itself an item of a list, not the list."""
    known = properties(_resolved(items, root, "object"))
    if known:
        return any(child.name in known for child in element.children) or bool(element.attributes)
    return not element.children and element.text[:1] != "["


def _text_property(schema: JsonObject, known: JsonObject, taken: JsonObject, root: JsonObject) -> str:
    """The property that an element's own text is the value of."""
    if "text" in known or not known:
        return "text" if "text" not in taken else ""
    free = [name for name in known if name not in taken and "string" in kinds_of(known[name], root)]
    wanted = [name for name in free if name in required(schema)] or free
    return wanted[0] if len(wanted) == 1 else ""
