"""Writes calls in Morph-XML.

What is written is read back equal wherever the schema can tell what a text means: strings with `&` and `<` escaped,
null as an element with `xsi:nil`, lists as repeated elements, objects as nested ones. What has no such form (empty
lists and objects, lists in lists, keys that are no names) is written as JSON, which the reader takes as well.
"""

from __future__ import annotations

import json
import re

from joey.wire import JsonObject, JsonValue

NAME = re.compile(r"[^\W\d][\w.:-]*\Z")
_EDGE_SPACE = re.compile(r"\A\s+|\s+\Z")


def write_call(name: str, arguments: JsonObject) -> str:
    """A call in the model's own words."""
    if not arguments:
        return f"<{name}/>"
    if not all(map(NAME.match, arguments)):
        return f"<{name}>\n{plain_json(dict(arguments))}\n</{name}>"
    lines = [line for key, value in arguments.items() for line in elements(key, value, "  ")]
    return "\n".join([f"<{name}>", *lines, f"</{name}>"])


def elements(name: str, value: JsonValue, indent: str) -> list[str]:
    """The elements of one argument: one for each value of a list, else a single one."""
    if isinstance(value, list) and len({isinstance(item, str) for item in value}) > 1:
        return _element(name, value, indent, listed=False)  # as JSON: elements do not tell "42" from 42
    if isinstance(value, list) and len(value) > 1 and all(map(_is_plain, value)):
        return [line for item in value for line in _element(name, item, indent, listed=True)]
    if isinstance(value, list) and len(value) == 1 and _is_plain(value[0]):
        inner = _element("item", value[0], indent + "  ", listed=True)
        return [f"{indent}<{name}>", *inner, f"{indent}</{name}>"]
    return _element(name, value, indent, listed=False)


def _element(name: str, value: JsonValue, indent: str, *, listed: bool) -> list[str]:
    if isinstance(value, dict) and _is_plain(value):
        inner = [line for key, item in value.items() for line in elements(key, item, indent + "  ")]
        return [f"{indent}<{name}>", *inner, f"{indent}</{name}>"]
    if value is None:
        return [f'{indent}<{name} xsi:nil="true"/>']
    if not isinstance(value, str):
        return [f"{indent}<{name}>{plain_json(value)}</{name}>"]
    text = escape(value)
    if listed:  # the reader trims the strings of a list
        text = _EDGE_SPACE.sub(lambda blanks: "".join(f"&#{ord(blank)};" for blank in blanks.group()), text)
    return [f"{indent}<{name}>{text}</{name}>"]


def _is_plain(value: JsonValue) -> bool:
    """Whether a value may stand in a list or object as elements, not as JSON."""
    if isinstance(value, dict):
        return bool(value) and "item" not in value and all(map(NAME.match, value))
    return value is not None and not isinstance(value, list)


def escape(text: str) -> str:
    """Text without what means something in XML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("]]>", "]]&gt;")


def plain_json(value: JsonValue) -> str:
    """JSON without the characters that mean something in XML: entities in it are not decoded everywhere."""
    text = json.dumps(value, ensure_ascii=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
