"""A robust reader for the XML that models write.

    loads("<path>a.py</path><days>3</days>", schema)   ->   {"path": "a.py", "days": 3}

The text is the inside of a call: elements that are its arguments. The schema decides how each is read.

    string           the raw text between its tags, white space and markup (CDATA too) included, entities decoded
    anything else    its child elements, else its trimmed text; then `coerce` makes of it what the schema asks for

Child elements become an object; repeated ones a list; `<item>`s alone and `<0>`, `<1>`… alone a list; attributes become
`@_name` keys beside a `#text`. Comments and DOCTYPE are skipped. One root element that is no argument is taken off
(`<args>…</args>`); if it cannot be one, because its name is no name, its text is all there is, and the answer no
object. `<key xsi:nil="true"/>` is null. Entities are decoded only where the schema says string.

Where a string ends is the hard question, since it may hold anything, its own closing tag included. `StringEnd` answers
it by structure. A closing tag ends the value when white space and then an opening tag or the parent's end follow it;
nested tags of the same name are counted; where nothing fits, the first closing tag counts.

Errors (RxmlError): tags that do not match or are never closed, a bare `<` outside strings, a string argument given
twice, more than MAX_DEPTH levels. Every character is looked at a bounded number of times.

`strict` reads as the stricter real reader does: every `<` in a string must begin something that a `>` ends before the
string does, a string ends at its first closing tag and may hold no tag of its own name, and one with attributes inside
an object becomes an object itself. For calls of a model that would be too strict.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from joey.protocols.json import relaxed as rjson
from joey.protocols.xml.entities import decode_entities
from joey.schema.coerce import NO_SCHEMA, coerce, number_if_safe
from joey.schema.kinds import type_of
from joey.schema.references import Schema, members, properties, resolve
from joey.wire import JsonValue

MAX_DEPTH = 100

_NAME = re.compile(r"[^\s<>/=\"'!?&][^\s<>/=]*")
_ATTRIBUTE = re.compile(r"\s*([^\s=>/\"'<]+)(\s*=\s*)?")
_SPACE = re.compile(r"\s*")
OPENING = re.compile(r"<[\w$@:]")
TAG_END = re.compile(r"[^<>]*>")
_RAW_ELEMENTS = frozenset({"script", "style"})
_TAG_IN_STRING = re.compile(r"""<[^>"']*(?:"[^"]*"[^>"']*|'[^']*'[^>"']*)*>""")
_WRAPPER_NAME = re.compile(r"[^\W\d]")
CDATA, CDATA_END = "<![CDATA[", "]]>"


class RxmlError(ValueError):
    """The text cannot be read; the message says what is wrong with it."""


class DuplicateStringError(RxmlError):
    """A string argument was given twice: which one counts cannot be known."""


def loads(
    text: str,
    schema: Schema = NO_SCHEMA,
    *,
    text_key: str = "#text",
    first_of_duplicates: bool = False,
    strict: bool = False,
) -> JsonValue:
    """The arguments in the inside of a call, coerced to the schema. Raises RxmlError when they cannot be read."""
    root = resolve(schema, schema)
    reader = _Reader(text, root, text_key, strict=strict)
    body = reader.content(root, None, 0)
    if len(body.children) == 1 and _is_wrapper(body.children[0], root):
        wrapper = body.children[0]
        if reader.is_only_text(wrapper):
            return coerce(text[wrapper.start : wrapper.end].strip(), schema, rjson.loads)
        body = wrapper.content or _Content()
    if strict and not first_of_duplicates:
        reader.refuse_own_tags(body)
    _drop_duplicates(body, root, first_wins=first_of_duplicates)
    return coerce(reader.value(body, root, 0), schema, rjson.loads)


def read(text: str, *, entities: bool = True) -> JsonValue:
    """Elements as plain data, without a schema: every leaf is a string, trimmed, with its entities decoded or not."""
    reader = _Reader(text, NO_SCHEMA, "#text", guess=False, entities=entities)
    return reader.value(reader.content(NO_SCHEMA, None, 0), NO_SCHEMA, 0)


@dataclass(slots=True)
class _Content:
    """What stands between two tags."""

    children: list[_Element] = field(default_factory=list)
    text: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Element:
    """One element: its inside as the offsets `start` and `end`, read as content unless the schema says string."""

    name: str
    attributes: dict[str, str | None]
    start: int
    end: int
    raw: bool
    content: _Content | None

    @property
    def is_nil(self) -> bool:
        return self.start == self.end and self.attributes.get("xsi:nil") == "true"


class _Reader:
    """Reads one text from left to right."""

    def __init__(
        self,
        text: str,
        root: Schema,
        text_key: str,
        *,
        guess: bool = True,
        entities: bool = True,
        strict: bool = False,
    ) -> None:
        self._text = text
        self._at = 0
        self._root = root
        self._text_key = text_key
        self._guess = guess
        self._entities = entities
        self._strict = strict
        self._ambiguous: set[str] = set()
        self._nowhere: set[str] = set()

    # Elements

    def content(self, schema: Schema, parent: str | None, depth: int) -> _Content:
        """Everything up to the parent's closing tag, which is read as well; without a parent, up to the end."""
        if depth > MAX_DEPTH:
            raise RxmlError(f"elements are nested more than {MAX_DEPTH} deep")
        found = _Content()
        text = self._text
        while True:
            start = text.find("<", self._at)
            if start < 0:
                found.text.append(text[self._at :])
                self._at = len(text)
                if parent is not None:
                    raise RxmlError(f"<{parent}> is never closed")
                return found
            found.text.append(text[self._at : start])
            self._at = start
            if text.startswith("</", start):
                self._closing_tag(parent)
                return found
            if text.startswith("<!", start):
                found.text.append(self._declaration())
            elif text.startswith("<?", start):
                found.children.append(self._instruction())
            else:
                found.children.append(self._element(schema, parent, depth))

    def _closing_tag(self, parent: str | None) -> None:
        match = re.compile(r"</\s*([^\s<>]*)\s*>").match(self._text, self._at)
        name = match[1] if match else self._text[self._at : self._at + 20]
        if match is None or (name != parent and parent != ""):
            expected = f"</{parent}>" if parent else "no closing tag"
            raise RxmlError(f"</{name}> closes nothing here: expected {expected}")
        self._at = match.end()

    def _element(self, schema: Schema, parent: str | None, depth: int) -> _Element:
        match = _NAME.match(self._text, self._at + 1)
        nameless = self._strict and parent is None and self._text[self._at + 1 : self._at + 2] in (" ", ">")
        if match is None and not nameless:
            raise RxmlError(f"a bare '<' before {self._text[self._at + 1 : self._at + 11]!r}: write it as &lt;")
        name = match.group() if match else ""
        self._at = match.end() if match else self._at + 1
        attributes, empty = self._attributes(name)
        mine = child_schema(schema, name, self._root)
        if mine is NO_SCHEMA and parent is None:
            mine = self._root  # perhaps a wrapper around all arguments, so read what is inside as those
        raw = takes_raw_text(mine, self._root)
        start = self._at
        if empty:
            return _Element(name, attributes, start, start, raw, _Content())
        if raw or name in _RAW_ELEMENTS:
            end = self._skip_string(name, parent)
            if raw and self._strict:
                self._check_tags(name, start, end)
            return _Element(name, attributes, start, end, True, None)
        inner = self.content(mine, name, depth + 1)
        end = self._text.rindex("</", start, self._at)
        return _Element(name, attributes, start, end, False, inner)

    def _skip_string(self, name: str, parent: str | None) -> int:
        """Go behind the closing tag of a raw element; the offset where its text ends."""
        found = StringEnd(name, parent).find(self._text, self._at, eager=self._strict or name in self._ambiguous)
        if found is None:
            raise RxmlError(f"<{name}> is never closed")
        if not found.certain:
            self._ambiguous.add(name)
        self._at = found.after
        return found.end

    def _check_tags(self, name: str, start: int, end: int) -> None:
        """Refuse a string in which a `<` has no `>` of its own, so that it would take that of the closing tag."""
        at = self._text.find("<", start)
        while at < end:
            tag = _TAG_IN_STRING.match(self._text, at)
            if tag is None or tag.end() > end:
                raise RxmlError(f"a bare '<' in <{name}> is never ended by a '>': write it as &lt;")
            at = self._text.find("<", tag.end())

    def refuse_own_tags(self, body: _Content) -> None:
        """Refuse strings that hold a tag of their own name."""
        for child in body.children:
            own = re.compile(rf"<{re.escape(child.name)}[\s/>]")
            if child.raw and own.search(self._text, child.start, child.end):
                raise DuplicateStringError(f"<{child.name}> stands in itself: give each argument once")

    def is_only_text(self, element: _Element) -> bool:
        """Whether an element around all arguments is none: it has no true name, or what is in it is no XML."""
        if element.raw:
            return "<" in self._text[element.start : element.end]
        return not (element.content and element.content.children) and not _WRAPPER_NAME.match(element.name)

    def _attributes(self, name: str) -> tuple[dict[str, str | None], bool]:
        """The attributes of the tag whose name was read, and whether the tag closes itself."""
        attributes: dict[str, str | None] = {}
        text = self._text
        while True:
            self._at = _SPACE.match(text, self._at).end()  # type: ignore[union-attr]
            if text.startswith("/>", self._at):
                self._at += 2
                return attributes, True
            if text.startswith(">", self._at):
                self._at += 1
                return attributes, False
            match = _ATTRIBUTE.match(text, self._at)
            if match:
                self._at = match.end()
                value = self._quoted() if match[2] else None
                attributes[match[1]] = value
            elif self._at >= len(text) or text[self._at] == "<":
                raise RxmlError(f"the tag <{name} is never finished")
            else:
                self._at += 1

    def _quoted(self) -> str | None:
        quote = self._text[self._at : self._at + 1]
        if quote not in ('"', "'") or not quote:
            self._at = re.compile(r"[^\s>]*").match(self._text, self._at).end()  # type: ignore[union-attr]
            return None
        start = self._at + 1
        end = self._find(quote, start)
        self._at = end
        return self._text[start : end - 1]

    def _declaration(self) -> str:
        """Go behind a comment, a CDATA section or a DOCTYPE; the text it stands for."""
        start = self._at
        if self._text.startswith("<!--", start):
            self._at = self._find("-->", start)
            return ""
        if self._text.startswith(CDATA, start):
            self._at = self._find(CDATA_END, start)
            return self._text[start + len(CDATA) : self._at].removesuffix(CDATA_END)
        self._at = self._find(">", start)
        if "[" in self._text[start : self._at]:
            self._at = self._find("]>", start)
        return ""

    def _instruction(self) -> _Element:
        match = _NAME.match(self._text, self._at + 2)
        start = self._at + 1
        self._at = self._find(">", start)
        name = "?" + (match.group() if match else "")
        return _Element(name, {}, self._at, self._at, False, _Content())

    def _find(self, mark: str, start: int) -> int:
        """Behind the next such mark; at the end if there is none, which is looked up only once."""
        at = -1 if mark in self._nowhere else self._text.find(mark, start)
        if at < 0:
            self._nowhere.add(mark)
            return len(self._text)
        return at + len(mark)

    # Values

    def value(self, content: _Content, schema: Schema, depth: int) -> JsonValue:
        """Content as data: an object of its children, or its text."""
        text = "".join(content.text).strip()
        if not content.children:
            if depth == 0 and schema is not NO_SCHEMA:
                return {}
            return self._leaf(text, schema)
        found: dict[str, list[Any]] = {}
        for child in content.children:
            found.setdefault(child.name, []).append(self._element_value(child, schema, depth))
        value = {name: self._one_or_all(each, child_schema(schema, name, self._root)) for name, each in found.items()}
        if text and depth:
            value[self._text_key] = text
        return value if depth == 0 and schema is not NO_SCHEMA else self._as_list(value, schema)

    def _one_or_all(self, values: list[Any], schema: Schema) -> JsonValue:
        """The values of one name: the only one, or a list. An empty tag before the one number is a false start."""
        if len(values) > 1 and values[0] == "" and type_of(schema) in ("number", "integer", "boolean"):
            values = values[1:]
        return values[0] if len(values) == 1 else values

    def _leaf(self, text: str, schema: Schema) -> str:
        if not self._guess:
            return decode_entities(text) if self._entities else text
        return decode_entities(text) if _holds_strings(schema, self._root) else text

    def _element_value(self, element: _Element, schema: Schema, depth: int) -> JsonValue:
        mine = child_schema(schema, element.name, self._root)
        if element.is_nil:
            return None
        if element.raw:
            text = self._text[element.start : element.end]
            if not takes_raw_text(mine, self._root):
                return text.strip()
            if self._strict and depth and element.attributes and type_of(resolve(schema, self._root)) == "object":
                marked = {f"@_{key}": each for key, each in element.attributes.items()}
                return {self._text_key: decode_entities(text.strip())} | marked
            return decode_entities(text.strip() if _is_list_of_strings(schema, self._root) else text)
        value = self.value(element.content or _Content(), mine, depth + 1)
        return self._with_attributes(value, element.attributes, mine)

    def _with_attributes(self, value: JsonValue, attributes: Mapping[str, str | None], schema: Schema) -> JsonValue:
        if not attributes or type_of(schema) in ("number", "integer", "boolean", "string"):
            return value
        marked = {f"@_{key}": each for key, each in attributes.items()}
        if isinstance(value, dict):
            return value | marked
        return ({self._text_key: value} if value else {}) | marked

    def _as_list(self, value: dict[str, Any], schema: Schema) -> JsonValue:
        """`<item>`s alone and `<0>`, `<1>`… alone are lists, unless the schema wants an object."""
        if not self._guess or type_of(schema) == "object" or _known(schema, self._root):
            return value
        if list(value) == ["item"]:
            inner = value["item"]
            if type_of(schema) == "array":
                return "" if inner == "" and not _holds_strings(schema, self._root) else value
            return [number_if_safe(each) for each in inner] if isinstance(inner, list) else number_if_safe(inner)
        if list(value) == [str(index) for index in range(len(value))]:
            return list(value.values())
        return value


@dataclass(frozen=True, slots=True)
class EndFound:
    """Where a string ends and what follows its closing tag begins. Not `certain`: it was the best of the possible."""

    end: int
    after: int
    certain: bool


class StringEnd:
    """Finds where a string element ends, by what stands around its closing tags. The stream parser keeps its rules."""

    def __init__(self, name: str, parent: str | None) -> None:
        self._tag = re.compile(rf"<(/\s*)?{re.escape(name)}(?=[\s/>])")
        self._parent = re.compile(rf"</\s*{re.escape(parent)}\s*>" if parent is not None else r"\Z")

    def find(self, text: str, start: int, *, eager: bool = False) -> EndFound | None:
        """The end of the string that starts here. An eager search takes the first closing tag of its depth."""
        depth = 0
        possible: EndFound | None = None
        for match in self._tag.finditer(text, start):
            end = TAG_END.match(text, match.end())
            if end is None:
                continue
            if not match[1]:
                depth += not end.group().endswith("/>")
            elif self._is_certain(text, end.end(), depth, ambiguous=possible is not None):
                return EndFound(match.start(), end.end(), certain=True)
            elif depth:
                depth -= 1
            else:
                possible = possible or EndFound(match.start(), end.end(), certain=False)
                if eager:
                    break
        return possible

    def _is_certain(self, text: str, after: int, depth: int, *, ambiguous: bool) -> bool:
        following = _SPACE.match(text, after).end()  # type: ignore[union-attr]
        if self._parent.match(text, following):
            return depth == 0 or not ambiguous
        return depth == 0 and OPENING.match(text, following) is not None


def child_schema(schema: Schema, name: str, root: Schema, hops: int = 8) -> Schema:
    """The schema of a child element of this name: a property, an element of an array, a member's property."""
    schema = resolve(schema, root)
    if not isinstance(schema, Mapping):
        return NO_SCHEMA
    if name in properties(schema):
        return resolve(properties(schema)[name], root)
    if type_of(schema) == "array":
        return _array_child(schema, name, root)
    for member in members(schema) if hops else ():
        found = child_schema(member, name, root, hops - 1)
        if found is not NO_SCHEMA:
            return found
    extra = schema.get("additionalProperties")
    return resolve(extra, root) if isinstance(extra, Mapping) and extra else NO_SCHEMA


def _array_child(schema: Mapping[str, Any], name: str, root: Schema) -> Schema:
    prefix = schema.get("prefixItems")
    if isinstance(prefix, list) and name.isdecimal() and int(name) < len(prefix):
        return resolve(prefix[int(name)], root)
    items = resolve(schema.get("items", NO_SCHEMA), root)
    return resolve(properties(items)[name], root) if name in properties(items) else items


def takes_raw_text(schema: Schema, root: Schema) -> bool:
    """Whether an element with this schema is a string, or a string or null, so that markup inside it is text."""
    schema = resolve(schema, root)
    kind = type_of(schema)
    if kind is not None or not isinstance(schema, Mapping):
        return kind == "string"
    kinds = {type_of(resolve(member, root)) for member in members(schema)}
    return "string" in kinds and kinds <= {"string", "null"}


def _known(schema: Schema, root: Schema) -> Collection[str]:
    schema = resolve(schema, root)
    if type_of(schema) == "array":
        schema = resolve(schema.get("items"), root)
    return properties(schema)


def _holds_strings(schema: Schema, root: Schema) -> bool:
    schema = resolve(schema, root)
    if type_of(schema) == "array":
        schema = resolve(schema.get("items"), root)
    return type_of(schema) == "string"


def _is_list_of_strings(schema: Schema, root: Schema) -> bool:
    return type_of(resolve(schema, root)) == "array" and _holds_strings(schema, root)


def _is_wrapper(element: _Element, root: Schema) -> bool:
    declares = isinstance(root, Mapping) and isinstance(root.get("properties"), Mapping)
    return declares and element.name not in root["properties"]


def _drop_duplicates(body: _Content, root: Schema, *, first_wins: bool) -> None:
    """Only one of each string argument may stay: also not a second one inside an element nobody knows."""
    seen: set[str] = set()
    kept = []
    for child in body.children:
        if child.name in seen and takes_raw_text(child_schema(root, child.name, root), root):
            if not first_wins:
                raise DuplicateStringError(f"<{child.name}> was given twice: give each argument once")
            continue
        seen |= {child.name} if child.name in _known(root, root) else _names_inside(child)
        kept.append(child)
    body.children = kept


def _names_inside(element: _Element) -> set[str]:
    return {child.name for child in element.content.children} if element.content else set()
