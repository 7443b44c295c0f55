"""The tags of the `xml` protocol, made from the tools: which there are, and what each of them may be followed by.

A tag is literal: `<name>` or `</name>`, no attributes, no spaces, no other case. That is what models were taught, and
what lets a single set lookup decide. Names that hold `<` or `>`, or begin with `/`, cannot be tags; such arguments,
like every value that the plain form cannot carry, are written as `<json_parameter name="…">…</json_parameter>`.

Three things are decided here for each parameter, from its name and its schema:

* `typed`: the schema asks for something else than a string (an object, an array, a number, a boolean).
* `long`: it may hold anything, its own closing tag included. These are strings named content, file_text, old_string,
  new_string, diff or patch, and strings whose schema has a `contentMediaType`.
* `verbatim`: only one newline at each end is not part of the value. These are the long ones but for diff and patch,
  which, like all others, lose the white space at both ends: it means nothing there, and the real systems trim it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from joey.schema.kinds import kinds_of
from joey.toolspec import ToolSpec
from joey.wire import JsonValue

WHITE_SPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""What is trimmed. Not what `str.strip` takes: a byte order mark is white space here, U+001C and U+0085 are not."""

JSON_OPEN = "<json_parameter name="
JSON_CLOSE = "</json_parameter>"
CUT_TAG = 4  # "<" and three letters: less of a tag at the end of a reply is more likely to be text

_VERBATIM = frozenset({"content", "file_text", "old_string", "new_string"})
_LONG = _VERBATIM | {"diff", "patch"}


class TagSet:
    """Some literal tags: which of them stands at a place, and whether one could be about to."""

    __slots__ = ("_max_length", "_prefixes", "_tags")

    def __init__(self, tags: Iterable[str]) -> None:
        self._tags = frozenset(tags)
        self._prefixes = {tag[:end] for tag in self._tags for end in range(1, len(tag))}
        self._max_length = max(map(len, self._tags), default=0)

    def at(self, text: str, place: int) -> str | None:
        """The tag that stands here."""
        end = text.find(">", place, place + self._max_length) + 1
        if end and text[place:end] in self._tags:
            return text[place:end]
        return JSON_OPEN if JSON_OPEN in self._tags and text.startswith(JSON_OPEN, place) else None

    def may_begin(self, text: str, place: int) -> bool:
        """Whether the rest of the text could grow into a tag."""
        return len(text) - place < self._max_length and text[place:] in self._prefixes


@dataclass(frozen=True)
class Parameter:
    """One parameter of a tool, under one of its names."""

    name: str
    tag: str
    schema: JsonValue
    shape: CallShape
    typed: bool
    long: bool
    verbatim: bool

    @cached_property
    def open(self) -> str:
        return f"<{self.tag}>"

    @cached_property
    def close(self) -> str:
        return f"</{self.tag}>"

    @cached_property
    def end_of_call(self) -> str | None:
        """A line that the plain form of a long value should not hold: at the end of a reply it ends the call."""
        return f"\n{self.shape.close}" if self.long and self.close != self.shape.close else None

    @property
    def takes_json(self) -> bool:
        """Whether JSON can stand between the tags: a tag with quotes or backslashes could hide in it."""
        return self.typed and '"' not in self.tag and "\\" not in self.tag

    @cached_property
    def followers(self) -> TagSet:
        """What must follow the closing tag, after white space, for it to be one for certain.

        A long value may hold its own element twice in a row, so for these the opening tag of the same name is no sign.
        """
        return TagSet(self.shape.inner - {self.open}) if self.long else self.shape.tags

    @cached_property
    def after_unclear(self) -> TagSet:
        """What decides about a closing tag that was followed by something else."""
        return TagSet({*self.shape.inner, self.close})

    def trim(self, value: str) -> str:
        """The value as the tool gets it."""
        if self.verbatim:
            return value.removeprefix("\n").removesuffix("\n")
        return value.strip(WHITE_SPACE)


class CallShape:
    """The tags that may stand in a call of one tool."""

    def __init__(self, tool: ToolSpec) -> None:
        self.name = tool.name
        self.root = tool.schema
        self.close = f"</{tool.name}>"
        properties = tool.schema.get("properties")
        known = properties if isinstance(properties, Mapping) else {}
        named = {**{alias: name for alias, name in tool.aliases.items() if name in known}, **{n: n for n in known}}
        self.parameters = {
            parameter.open: parameter
            for parameter in (self._parameter(tag, name, known[name]) for tag, name in named.items() if can_be_tag(tag))
        }
        self.inner = frozenset({*self.parameters, self.close, JSON_OPEN})
        self.tags = TagSet(self.inner)

    def _parameter(self, tag: str, name: str, schema: JsonValue) -> Parameter:
        kinds = kinds_of(schema, self.root)
        typed = bool(kinds) and "string" not in kinds
        media = isinstance(schema, Mapping) and "contentMediaType" in schema
        long = not typed and (media or not _LONG.isdisjoint({tag, name}))
        verbatim = not typed and (media or not _VERBATIM.isdisjoint({tag, name}))
        return Parameter(name, tag, schema, self, typed, long, verbatim)


def can_be_tag(name: str) -> bool:
    return bool(name) and "<" not in name and ">" not in name and not name.startswith("/")
