"""An open Morph-XML call: its text so far, the argument it is in, and where that argument ends."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from joey.events import ToolCallDelta
from joey.protocols.buffer import Pieces
from joey.protocols.json import relaxed as rjson
from joey.protocols.xml import relaxed as rxml
from joey.protocols.xml.entities import decode_entities
from joey.schema.coerce import coerce
from joey.schema.references import Schema
from joey.wire import ArgumentPath, JsonValue

_SPACE = re.compile(r"\s*")
_CLOSING_HEAD = re.compile(r"</\s*")


class Tags(NamedTuple):
    """What is looked for inside an argument: tags of its own name and of the tools, and what may grow into them."""

    pattern: re.Pattern[str]
    prefixes: set[str]


class OpenElement:
    """An open call."""

    __slots__ = (
        "ambiguous",
        "body_start",
        "depth",
        "eager",
        "element_start",
        "end_tag",
        "end_tag_length",
        "ended",
        "given",
        "id",
        "is_json",
        "kept",
        "key",
        "live",
        "name",
        "out",
        "path",
        "prefixes",
        "schema",
        "section",
        "source",
        "streamed",
        "tag",
        "tool_depth",
        "value_start",
    )

    def __init__(self, call_id: str, name: str, schema: Schema, *, eager: bool) -> None:
        self.id = call_id
        self.name = name
        self.schema = schema
        self.eager = eager
        """This text was held back once already, so nothing in it is held back again."""
        self.end_tag = re.compile(rf"</\s*{re.escape(name)}\s*>")
        self.end_tag_length = 0
        self.source = Pieces()
        self.out: list[str] = []
        self.path: ArgumentPath = ()
        self.body_start = 0
        self.is_json: bool | None = None
        """Whether the body is a JSON object instead of elements; None before its first word."""
        self.given: set[str] = set()
        self.streamed: set[str] = set()
        self.section = ""
        """What ends the comment or CDATA section we are in."""
        self.key: str | None = None
        self.ended: int | None = None
        self.kept: Pieces | None = None
        self.close_value()

    def open_value(self, key: str, tags: Tags, *, live: bool) -> None:
        self.tag, self.prefixes = tags
        self.key = key
        self.live = live
        self.path = (key,) if live else ()
        self.given.add(key)

    def close_value(self) -> None:
        self.key = None
        self.live = False
        self.path = ()
        self.depth = self.tool_depth = 0
        self.ambiguous = False
        self.kept = None
        self.ended = None
        self.value_start = self.element_start = 0

    @property
    def flows(self) -> bool:
        """Whether the text of a growing argument can be given away as it is, unless it holds markup."""
        return self.live and self.kept is None

    def hold(self) -> Pieces:
        """From here on the argument's text is kept back."""
        self.kept = self.kept or Pieces()
        return self.kept

    def pass_on(self, raw: str) -> None:
        """The next text of the call: given away with the next delta, or kept while the call holds back."""
        if self.kept is not None:
            self.kept.add(raw)
        else:
            self.out.append(raw)

    def take_delta(self) -> ToolCallDelta | None:
        """What was passed on since the last time, as one delta."""
        raw = "".join(self.out)
        self.out.clear()
        if not raw:
            return None
        self.source.add(raw)
        if not self.path:
            return ToolCallDelta(self.id, (), "", raw)
        self.streamed.add(str(self.path[0]))
        return ToolCallDelta(self.id, self.path, decode_entities(raw), raw)

    def arguments_so_far(self) -> dict[str, JsonValue]:
        """The arguments that are complete, and the text so far of the one that is growing."""
        source = self.source.text()
        try:
            found = read_body(source[self.body_start : self.element_start if self.key else len(source)], self.schema)
        except rxml.RxmlError:
            found = {}
        if self.live and self.key:
            found[self.key] = decode_entities(source[self.value_start :])
        return found

    def ends_value(self, buffer: str, after: int) -> bool | None:
        """Whether a closing tag ends the argument for sure; None when more of the text must be seen to know."""
        following = _SPACE.match(buffer, after).end()  # type: ignore[union-attr]
        if self.end_tag.match(buffer, following):
            return self.depth == 0 or not (self.ambiguous or self.tool_depth or self.key == self.name)
        if buffer[following : following + 2] in ("", "<") or self._may_be_end(buffer, following):
            return None
        return self.depth == 0 and rxml.OPENING.match(buffer, following) is not None

    def _may_be_end(self, buffer: str, at: int) -> bool:
        """Whether the buffer ends in what may become the tool's closing tag."""
        head = _CLOSING_HEAD.match(buffer, at)
        if head is None:
            return False
        name = buffer[head.end() : head.end() + len(self.name)]
        end = head.end() + len(name)
        if name == self.name:
            end = _SPACE.match(buffer, end).end()  # type: ignore[union-attr]
        return end == len(buffer) and self.name.startswith(name)


def read_body(body: str, schema: Schema) -> dict[str, JsonValue]:
    """The arguments of a call: its elements, or a JSON object. Words outside of elements say nothing."""
    words = body.strip()
    as_elements = "<" in words and not words.startswith("{")
    value = rxml.loads(body, schema) if as_elements else _read_plain(words, schema)
    if not isinstance(value, dict):
        raise rxml.RxmlError("they are no elements named after the arguments")
    return value


def _read_plain(words: str, schema: Schema) -> JsonValue:
    if not words.startswith("{"):
        return coerce({}, schema, rjson.loads)
    try:
        return coerce(rjson.loads(words), schema, rjson.loads)
    except rjson.RelaxedJsonError as error:
        raise rxml.RxmlError(f"they begin like a JSON object, but {error}") from None


def leaves(path: ArgumentPath, value: JsonValue) -> Iterator[tuple[ArgumentPath, str, bool]]:
    """The strings and other scalars in a value, as deltas tell them: path, text, whether the text is a literal."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves((*path, key), item)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves((*path, index), item)
    elif isinstance(value, str):
        yield path, value, False
    else:
        yield path, json.dumps(value), True
