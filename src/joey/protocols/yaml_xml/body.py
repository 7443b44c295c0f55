"""The arguments of a call: what stands between its tags.

YAML, or elements named after the arguments, as `morph_xml` has them. Many models write a long text as a plain value,
without the bar and without indentation, which is no YAML:

    path: a.html
    content: <!DOCTYPE html>
    <html>

Where the text is not YAML, a line that begins with the name of an argument begins it, and it goes on to the next such
line: for strings as it stands, for everything else only if it is one line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from joey.protocols.json import relaxed as rjson
from joey.protocols.morph_xml.call import read_body as read_elements
from joey.protocols.xml import relaxed as rxml
from joey.protocols.yaml_xml.reader import YamlError, loads
from joey.schema.coerce import coerce
from joey.schema.kinds import kinds_of
from joey.schema.references import properties
from joey.wire import JsonObject, JsonValue


def read_body(body: str, schema: JsonObject) -> dict[str, JsonValue]:
    """The arguments. Raises YamlError if they cannot be read."""
    words = body.strip()
    if words.startswith("<"):
        try:
            return read_elements(body, schema)
        except rxml.RxmlError as error:
            raise YamlError(str(error)) from None
    strings = takes_text(schema)
    try:
        value = loads(body, strings)
    except YamlError as error:
        value = dict(_plain_texts(body, schema, strings, error))
    if value is None:
        value = {}
    if not isinstance(value, dict):
        raise YamlError("they are no keys with values")
    found: dict[str, JsonValue] = coerce(value, schema, rjson.loads)
    return found


def takes_text(schema: JsonObject) -> Callable[[str], bool]:
    """Whether an argument is a string, by its name."""
    known = properties(schema)
    strings = {name for name in known if "string" in kinds_of(known[name], schema)}
    return lambda name: name in strings


def _plain_texts(
    body: str, schema: JsonObject, strings: Callable[[str], bool], error: YamlError
) -> Iterator[tuple[str, JsonValue]]:
    names = "|".join(re.escape(name) for name in properties(schema))
    begins = list(re.finditer(rf"^({names}):(?:[ \t]|(?=\r?\n)|$)", body, re.MULTILINE)) if names else []
    if not begins or body[: begins[0].start()].strip() or not any(strings(begin[1]) for begin in begins):
        raise error
    ends = [*(begin.start() for begin in begins[1:]), len(body)]
    for begin, end in zip(begins, ends, strict=True):
        text = body[begin.end() : end].replace("\r\n", "\n")
        one_line = "\n" not in text.rstrip("\n")
        if one_line and (text.count("\n") <= 1 or not text.strip()):
            yield begin[1], _one_line(text, strings(begin[1]))
        elif strings(begin[1]):
            yield begin[1], text.removeprefix("\n")
        else:
            raise error


def _one_line(text: str, is_text: bool) -> JsonValue:
    try:
        return loads(f"value: {text.strip()}", lambda _: is_text)["value"]
    except YamlError:
        if is_text:
            return text
        raise
