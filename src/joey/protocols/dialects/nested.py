"""Arguments as nested elements, each tag with a sentinel before it, as MiniMax M3 writes them.

    P<filters>P<lang>pythonP</lang>P</filters>     {"lang": "python"}
    P<tags>P<item>aP</item>P<item>bP</item>P</tags>   ["a", "b"]

What an element is says the schema; where it says nothing, elements called `item` make a list, others an object, and a
leaf is JSON or else text. This is the one form that the fields of a tagged dialect cannot describe.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from joey.protocols.dialects.spec import Reading
from joey.protocols.dialects.values import USUAL, any_value, typed
from joey.schema.kinds import kinds_of
from joey.schema.references import properties, resolve
from joey.wire import JsonObject, JsonValue

ITEM = "item"
_MAX_DEPTH = 64


@dataclass(slots=True)
class Node:
    """An element, its children and the text in it."""

    name: str
    children: list[Node] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.words)


def tree(source: str, prefix: str) -> Node | None:
    """The elements of a value under a nameless one; None if they are not well formed."""
    root = Node("")
    path = [root]
    at = 0
    for tag in re.finditer(rf"{re.escape(prefix)}<(/?)([^<>/\s]+)>", source):
        path[-1].words.append(source[at : tag.start()])
        at = tag.end()
        if not tag[1]:
            node = Node(tag[2])
            path[-1].children.append(node)
            path.append(node)
            if len(path) > _MAX_DEPTH:
                return None
        elif len(path) > 1 and path[-1].name == tag[2]:
            path.pop()
        else:
            return None
    path[-1].words.append(source[at:])
    return root if len(path) == 1 else None


def value_of(node: Node, schema: JsonValue, root: JsonObject, reading: Reading = USUAL) -> JsonValue:
    """The value of an element."""
    schema = resolve(schema, root)
    kinds = kinds_of(schema, root)
    if node.children:
        if "array" in kinds or ("object" not in kinds and all(child.name == ITEM for child in node.children)):
            items = schema.get("items") if isinstance(schema, dict) else None
            return _like_siblings([value_of(child, items, root, reading) for child in node.children])
        known = properties(schema) if isinstance(schema, dict) else {}
        return {child.name: value_of(child, known.get(child.name), root, reading) for child in node.children}
    text = node.text
    if not text and not {"object", "array"}.isdisjoint(kinds):
        return {} if "object" in kinds else []
    return typed(text, kinds, reading) if kinds else any_value(text)


def _like_siblings(items: list[JsonValue]) -> list[JsonValue]:
    """An empty element beside lists is an empty list."""
    lists = any(isinstance(item, list) for item in items)
    return [[] if lists and item == "" else item for item in items]


def written(value: JsonValue, prefix: str) -> Iterator[str]:
    """A value as nested elements."""
    pairs = value.items() if isinstance(value, dict) else ((ITEM, item) for item in value)
    for name, item in pairs:
        inner = "".join(written(item, prefix)) if isinstance(item, (dict, list)) else leaf(item)
        yield f"{prefix}<{name}>{inner}{prefix}</{name}>"


def leaf(value: JsonValue) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return str(value)
