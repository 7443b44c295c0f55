"""Writes calls in the tags of the `xml` protocol, so that the parser reads back exactly the same arguments.

An argument is written in the plain form, `<path>a.py</path>`, if that form can carry it. Some values it cannot: a
string with white space at its ends, where that is trimmed; one that holds a closing tag that may count; anything
but a string where the schema allows strings too; an argument that the schema does not name. These are written as
`<json_parameter name="path">"…"</json_parameter>`, JSON in which `<` and `>` are escaped.

Without the tool's schema only strings are written plain, and only such as no schema could read as something else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from joey.protocols.xml.tags import WHITE_SPACE, CallShape, Parameter
from joey.protocols.xml.values import read_value, write_json_parameter
from joey.toolspec import ToolSpec
from joey.wire import JsonObject, JsonValue


def write_call(name: str, arguments: JsonObject, tool: ToolSpec | None = None) -> str:
    """The call as the model would have written it."""
    shape = CallShape(tool or ToolSpec(name, schema={"properties": {key: {} for key in arguments}}))
    lines = [_write_argument(key, value, shape, known=tool is not None) for key, value in arguments.items()]
    return "\n".join([f"<{name}>", *lines, shape.close])


def _write_argument(name: str, value: JsonValue, shape: CallShape, *, known: bool) -> str:
    parameter = shape.parameters.get(f"<{name}>")
    if parameter is None or not (isinstance(value, str) or (known and parameter.takes_json)):
        return write_json_parameter(name, value)
    body = _body(value, parameter)
    if _is_safe(body, parameter) and _reads_back(body, value, parameter, known=known):
        return f"{parameter.open}{body}{parameter.close}"
    return write_json_parameter(name, value)


def _body(value: JsonValue, parameter: Parameter) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"\n{text}\n" if parameter.long or "\n" in text else text


def _is_safe(body: str, parameter: Parameter) -> bool:
    """Whether no closing tag in the body could be taken for the end of the parameter, by any reader.

    In a long one that is so where neither white space nor another tag follows.
    """
    if parameter.end_of_call is not None and parameter.end_of_call in body:
        return False
    if parameter.long:
        return re.search(f"{re.escape(parameter.close)}([<{WHITE_SPACE}]|\\Z)", body) is None
    return parameter.close not in body


def _reads_back(body: str, value: JsonValue, parameter: Parameter, *, known: bool) -> bool:
    if parameter.typed:
        return _same(read_value(body, parameter.schema, parameter.shape.root), value)
    return parameter.trim(body) == value and (known or parameter.long or not _looks_typed(body))


def _looks_typed(text: str) -> bool:
    """Whether a schema could make this text something else than a string."""
    if text.lower() in ("", "none", "true", "false", "null") or text.startswith("<"):
        return True
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _same(one: JsonValue, other: JsonValue) -> bool:
    """Equal, and of the same types: in Python 1 == 1.0 == True."""
    if type(one) is not type(other):
        return False
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(_same(value, other[key]) for key, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)
