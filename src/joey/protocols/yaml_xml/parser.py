"""Reading `yaml_xml`: an element named after the tool, its arguments in it as YAML.

    <write_to_file>
    path: a.py
    content: |
      print("hi")
    </write_to_file>

The body is read line by line, and as a whole when it is complete. A block scalar (`key: |`) of a string argument grows
with its lines; every other argument is reported at the end.

Where the call ends: at its closing tag. Inside a block the tag is text if the block goes on behind it, or another
argument follows, or the closing tag once more: a file may hold the tags of the tool that writes it.

What stands between the tags is YAML, or elements named after the arguments, as `morph_xml` has them. Many models write
a long text as a plain value, without the bar and without indentation, which is no YAML:

    path: a.html
    content: <!DOCTYPE html>
    <html>

Where the text is not YAML, a line that begins with the name of an argument begins it, and it goes on to the next such
line: for strings as it stands, for everything else only if it is one line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from joey.protocols.base import OnError
from joey.protocols.buffer import Pieces
from joey.protocols.dialects.calls import OpenCall, schema_of
from joey.protocols.dialects.json_calls import JsonCallReader
from joey.protocols.dialects.source import Markers, Source, Wait
from joey.protocols.dialects.spec import Json
from joey.protocols.dialects.stepped import SteppedParser
from joey.protocols.json import relaxed as rjson
from joey.protocols.morph_xml.call import read_body as read_elements
from joey.protocols.xml import relaxed as rxml
from joey.protocols.xml.values import leaves
from joey.protocols.yaml_xml.reader import MAX_KEY, YamlError, block_header, chomped, key_of, loads
from joey.schema.coerce import coerce
from joey.schema.kinds import kinds_of
from joey.schema.references import properties
from joey.toolspec import ToolSpec
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


_JSON = Json(open=("<tool_call>",), close=("</tool_call>",))


@dataclass(slots=True)
class _Growing:
    """A block scalar that is being read: its key, how its end is written, and how far its lines are indented."""

    key: str
    chomp: str
    indent: int
    width: int = 0
    """How far its text is indented; 0 before its first line."""
    breaks: int = 0
    """Line breaks that are held back: what becomes of the last ones depends on what follows."""
    begun: bool = False


class YamlXmlParser(SteppedParser):
    """Reads one reply."""

    def __init__(self, tools: Sequence[ToolSpec], on_error: OnError | None = None) -> None:
        super().__init__(tools, on_error)
        own = (f"<{name}{end}" for name in self.tools for end in (">", "/>", " />"))
        self._tags = Markers((*own, *_JSON.open))

    def text(self, text: str) -> None:
        """All text is text here: there is no markup between calls."""
        if text:
            self._prose.read(text)
            self._emit_text(text)

    def _reply(self) -> Wait[None]:
        while True:
            found = yield from self._source.until(self._tags, self.text)
            if found is None:
                return
            if self.quoted(found):
                self.text(found)
            elif found in _JSON.open and found[1:-1] not in self.tools:
                yield from self._json_call(found)
            else:
                yield from self._call(found, found[1:].rstrip("/> "))

    def _json_call(self, opener: str) -> Wait[None]:
        """JSON between other tags: a model that fell back into the form that is the most common."""
        reader = JsonCallReader(self, self._source, _JSON, repair="JSON in place of YAML")
        if not (yield from reader.names_a_call()):
            self.text(opener)
        else:
            yield from reader.read(opener)

    def _call(self, tag: str, name: str) -> Wait[None]:
        call = OpenCall(self)
        call.markup(tag)
        call.start(name)
        if tag.endswith("/>"):
            call.finish({})
        else:
            yield from _Body(self._source, call, schema_of(self, name)).read()


class _Body:
    """The inside of one call."""

    def __init__(self, source: Source, call: OpenCall, schema: JsonObject) -> None:
        self._source, self._call, self._schema = source, call, schema
        self._takes_text = takes_text(schema)
        self._closing = f"</{call.name}>"
        self._ends = Markers((self._closing, "\n"))
        self._text = Pieces()
        self._first_indent = -1
        self._block: _Growing | None = None
        self._grown: dict[str, list[str]] = {}
        call.snapshot = self._so_far

    def read(self) -> Wait[None]:
        line: list[str] = []
        while True:
            found = yield from self._source.until(self._ends, line.append)
            if found is None:
                self._call.markup("".join(line))
                self._call.fail(f"the reply ended before {self._closing}")
                return
            words = "".join(line)
            if found == "\n":
                self._line(words, "\n")
            elif (yield from self._closes(words)):
                self._line(words, "")
                self._finish()
                return
            else:
                line.append(found)
                continue
            line.clear()

    def _closes(self, words: str) -> Wait[bool]:
        """Whether a closing tag behind these words of a line ends the call."""
        block = self._block
        if block is None or not words.strip() or _indent(words) <= block.indent:
            return True
        source = self._source
        start = yield from source.space()
        ahead = yield from source.peek(max(MAX_KEY, len(self._closing)), start)
        if not ahead:
            return True
        between = source.text[source.at : source.at + start]
        if "\n" not in between:
            return False
        indent = len(between) - between.rindex("\n") - 1
        follows = key_of(ahead.split("\n", 1)[0]) is not None and indent == self._first_indent
        return not (indent > block.indent or follows or ahead.startswith(self._closing))

    def _line(self, words: str, end: str) -> None:
        self._text.add(words + end)
        block = self._block
        if block is not None:
            if not words.strip():
                block.breaks += bool(end)
                self._call.piece((block.key,), "", words + end)
                return
            if _indent(words) > block.indent:
                self._grow(block, words, end)
                return
            self._end_block()
        self._call.markup(words + end)
        if words.strip() and not words.strip().startswith("#"):
            self._begin_block(words)

    def _begin_block(self, words: str) -> None:
        indent = _indent(words)
        if self._first_indent < 0 and words.strip() != "---":
            self._first_indent = indent
        pair = key_of(words.strip()) if indent == self._first_indent else None
        header = block_header(pair[1]) if pair else None
        if pair and header and header[0] == "|" and not header[2] and self._takes_text(pair[0]):
            self._block = _Growing(pair[0], header[1], indent)
            self._grown[pair[0]] = []

    def _grow(self, block: _Growing, words: str, end: str) -> None:
        block.width = block.width or len(words) - len(words.lstrip(" "))
        text = "\n" * block.breaks + (words[block.width :].removesuffix("\r") if end else words[block.width :])
        block.breaks, block.begun = int(bool(end)), True
        self._grown[block.key].append(text)
        self._call.piece((block.key,), text, words + end)

    def _end_block(self) -> None:
        """The line breaks at the end of a block, as its header wants them."""
        block = self._block
        assert block is not None
        self._block = None
        last = "\n" * block.breaks
        rest = chomped(f"x{last}", block.chomp)[1:] if block.begun else last if block.chomp == "+" else ""
        self._grown[block.key].append(rest)
        self._call.piece((block.key,), rest, "")

    def _finish(self) -> None:
        if self._block is not None:
            self._end_block()
        call = self._call
        call.markup(self._closing)
        try:
            arguments = read_body(self._text.text(), self._schema)
        except YamlError as error:
            call.fail(f"the arguments of {call.name} cannot be read: {error}")
            return
        if any(arguments.get(key) != "".join(text) for key, text in self._grown.items()):
            call.fail(f"the arguments of {call.name} cannot be read: a block stands inside another value")
            return
        for key, value in arguments.items():
            if key not in self._grown:
                for path, text, literal in leaves(value, (key,)):
                    call.piece(path, text, "", literal)
        call.finish(arguments)

    def _so_far(self) -> JsonValue:
        return {key: "".join(text) for key, text in self._grown.items()}


def _indent(words: str) -> int:
    return len(words) - len(words.lstrip(" \t"))
