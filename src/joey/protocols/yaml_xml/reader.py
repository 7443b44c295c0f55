"""YAML as models write arguments: mappings, lists, block scalars, quotes, JSON.

    path: a.py
    tags: [a, "b c"]
    content: |
      def f():
          return 1

A small part of YAML 1.2 with its core types (`no` is a word, 010 is ten), read line by line. Anchors and aliases of one
document are read; tags, complex keys and several documents are not. Whatever is not understood is a YamlError: nothing
is guessed here.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from joey.protocols.yaml_xml.flow import FlowError, read_flow
from joey.wire import JsonValue

MAX_DEPTH, MAX_KEY = 60, 300
_KEY = re.compile(
    r"(?:\"((?:[^\"\\]|\\.)*)\"|'((?:[^']|'')*)'|([^\s\"'#&*!|>%@`{}\[\],-][^#{}\[\],]*?|-[^\s:]+?))\s*:(?=\s|$)"
)
_BLOCK = re.compile(r"([|>])(?:([+-])([1-9])?|([1-9])([+-])?)?[ \t]*(?:#.*)?$")
_NO_LINE = 1 << 30
_ANCHOR = re.compile(r"&(\w[\w-]*)(?:\s+|$)")
_COMMENT = re.compile(r"(?:^|[ \t])#.*$", re.MULTILINE)
_NUMBER = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_WORDS: dict[str, JsonValue] = {
    **dict.fromkeys(("null", "Null", "NULL", "~", ""), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


class YamlError(ValueError):
    """The text is not of the YAML that is read here."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line: how far it is indented, and its words."""

    indent: int
    text: str

    @property
    def blank(self) -> bool:
        return not self.text or self.text.startswith("#")


def loads(text: str, as_text: Callable[[str], bool] = lambda _: False) -> JsonValue:
    """The value of a document. `as_text`: for which of its keys a plain scalar is text, whatever it looks like."""
    lines = text.replace("\r\n", "\n").split("\n")
    start = next((number for number, line in enumerate(lines) if line.strip() and not line.strip().startswith("#")), 0)
    if lines[start].strip() == "---":
        start += 1
    return _Reader(lines[start:], as_text).document()


def block_header(text: str) -> tuple[str, str, int] | None:
    """The head of a block scalar: `|` or `>`, its chomping (`+`, `-` or nothing), its indentation if that is said."""
    found = _BLOCK.match(text)
    if not found:
        return None
    return found[1], found[2] or found[5] or "", int(found[3] or found[4] or 0)


def key_of(text: str) -> tuple[str, str] | None:
    """The key that a line begins with, and what follows its colon."""
    found = _KEY.match(text[:MAX_KEY])
    if not found:
        return None
    double, single, plain = found.groups()
    key = plain.strip() if plain is not None else _unquoted(double) if double is not None else single.replace("''", "'")
    return key, text[found.end() :].strip()


def scalar(word: str) -> JsonValue:
    """A plain scalar by the core types."""
    if word in _WORDS:
        return _WORDS[word]
    if word[:2] in ("0x", "0o") and re.fullmatch(r"0x[0-9a-fA-F]{1,15}|0o[0-7]{1,20}", word):
        return int(word[2:], 16 if word[1] == "x" else 8)
    if len(word) < 400 and _NUMBER.fullmatch(word):
        value: JsonValue = float(word) if set(".eE") & set(word) else int(word)
        return value if not (isinstance(value, float) and math.isinf(value)) else word
    return word


def _unquoted(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        raise YamlError(f"an escape cannot be read in {text[:40]!r}") from None


class _Reader:
    def __init__(self, lines: list[str], as_text: Callable[[str], bool]) -> None:
        self._raw = lines
        self._lines = [Line(len(line) - len(line.lstrip(" \t")), line.strip(" \t")) for line in lines]
        self._at = 0
        self._depth = 0
        self._as_text = as_text
        self._anchors: dict[str, JsonValue] = {}

    def document(self) -> JsonValue:
        first = self._next()
        if first is None:
            return None
        value = self._block(first.indent, top=True)
        if (rest := self._next()) is not None:
            raise YamlError(f"expected the end, got {rest.text[:40]!r}")
        return value

    def _next(self) -> Line | None:
        """The next line with something on it."""
        while self._at < len(self._lines) and self._lines[self._at].blank:
            self._at += 1
        return self._lines[self._at] if self._at < len(self._lines) else None

    def _block(self, indent: int, *, top: bool = False) -> JsonValue:
        """What stands at this indentation: a list, a mapping, or one value."""
        line = self._lines[self._at]
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise YamlError(f"it is nested deeper than {MAX_DEPTH} levels")
        value: JsonValue
        if _is_item(line.text):
            value = self._list(indent)
        elif line.text[0] in "{[" or key_of(line.text) is None:
            self._at += 1
            value = self._value(line.text, indent - 1, as_text=False)
        else:
            value = self._mapping(indent, top=top)
        self._depth -= 1
        return value

    def _mapping(self, indent: int, *, top: bool) -> JsonValue:
        found: dict[str, JsonValue] = {}
        while (line := self._next()) is not None and line.indent == indent and not _is_item(line.text):
            pair = key_of(line.text)
            if pair is None:
                raise YamlError(f"expected a key and a colon, got {line.text[:40]!r}")
            key, rest = pair
            if key in found:
                raise YamlError(f"the key {key!r} is given twice")
            self._at += 1
            found[key] = self._value(rest, indent, as_text=top and self._as_text(key), lists=True)
        if line is not None and line.indent > indent:
            raise YamlError(f"the line {line.text[:40]!r} is indented too far")
        return found

    def _list(self, indent: int) -> JsonValue:
        found: list[JsonValue] = []
        while (line := self._next()) is not None and line.indent == indent and _is_item(line.text):
            rest = line.text[1:].lstrip(" \t")
            inner = indent + len(line.text) - len(rest)
            if rest and (_is_item(rest) or (key_of(rest) is not None and rest[0] not in "{[")):
                self._lines[self._at] = Line(inner, rest)  # a list or a mapping that begins on the line of its dash
                found.append(self._block(inner))
            else:
                self._at += 1
                found.append(self._value(rest, indent, as_text=False))
        return found

    def _value(self, rest: str, indent: int, *, as_text: bool, lists: bool = False) -> JsonValue:
        """A value whose first line is known, behind a key or a dash that is indented so far."""
        if anchor := _ANCHOR.match(rest):
            value = self._value(rest[anchor.end() :], indent, as_text=as_text, lists=lists)
            self._anchors[anchor[1]] = value
            return value
        if rest.startswith("*") and rest[1:] in self._anchors:
            return self._anchors[rest[1:]]
        if header := block_header(rest):
            return self._block_scalar(header, indent)
        if not rest or rest.startswith("#"):
            return self._nested(indent, lists=lists)
        if rest[0] in "\"'{[":
            return self._closed(rest, indent)
        return self._plain(rest, indent, as_text=as_text)

    def _nested(self, indent: int, *, lists: bool) -> JsonValue:
        line = self._next()
        if line is not None and (line.indent > indent or (lists and line.indent == indent and _is_item(line.text))):
            return self._block(line.indent)
        return None

    def _closed(self, rest: str, indent: int) -> JsonValue:
        """A value in quotes or brackets, perhaps over several lines: those that are indented further."""
        try:
            value, end = read_flow(rest, scalar)
        except FlowError as error:
            more = self._indented(indent) if error.unfinished else []
            if not more:
                raise YamlError(str(error)) from None
            return self._closed("\n".join([rest, *more]), _NO_LINE)
        if _COMMENT.sub("", rest[end:]).strip():
            raise YamlError(f"expected the end of a value, got {rest[end : end + 40]!r}")
        return value

    def _indented(self, indent: int) -> list[str]:
        start = self._at
        while self._at < len(self._lines) and (not self._lines[self._at].text or self._lines[self._at].indent > indent):
            self._at += 1
        return [line.text for line in self._lines[start : self._at]]

    def _plain(self, rest: str, indent: int, *, as_text: bool) -> JsonValue:
        if rest[0] in "&*!|>%@`,]}" or (rest[0] in "-?:" and rest[1:2] in ("", " ")):
            raise YamlError(f"expected a value, got {rest[:40]!r}")
        words = [_COMMENT.sub("", rest)]
        blanks = 0
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.text and line.indent <= indent:
                break
            self._at += 1
            if not line.text:
                blanks += 1
                continue
            words += ["\n" * blanks if blanks else " ", _COMMENT.sub("", line.text)]
            blanks = 0
        text = "".join(words).strip()
        if re.search(r":(?:\s|$)", text):
            raise YamlError(f"a value holds a colon: {text[:40]!r}")
        return text if as_text and text not in ("null", "~") else scalar(text)

    def _block_scalar(self, header: tuple[str, str, int], indent: int) -> str:
        style, chomp, extra = header
        start = self._at
        while self._at < len(self._lines) and (
            not self._raw[self._at].strip() or self._lines[self._at].indent > indent
        ):
            self._at += 1
        raw = self._raw[start : self._at]
        ended = self._at < len(self._lines)  # else the text ended with the last line, which has no line break
        first = next((line for line in raw if line.strip()), "")
        width = max(indent, 0) + extra if extra else len(first) - len(first.lstrip(" "))
        lines = [line[width:] if line.strip() else line[width:].strip(" \t") for line in raw]
        if any(line.strip() and line[:width].strip() for line in raw):
            raise YamlError("a line of a block is indented less than the first")
        return chomped(_literal(lines, ended) if style == "|" else _folded(lines, ended), chomp)


def _is_item(text: str) -> bool:
    return text == "-" or text.startswith("- ")


def _literal(lines: list[str], ended: bool) -> str:
    return "\n".join(lines) + ("\n" if lines and ended else "")


def _folded(lines: list[str], ended: bool) -> str:
    """Lines joined by spaces; blank lines and those that are indented further stay lines."""
    parts: list[str] = []
    blanks, before = 0, ""
    for line in lines:
        if not line:
            blanks += 1
            continue
        if parts:
            keeps = line[0] in " \t" or before[:1] in (" ", "\t")
            parts.append("\n" * (blanks + 1) if keeps else "\n" * blanks if blanks else " ")
        else:
            parts.append("\n" * blanks)
        parts.append(line)
        blanks, before = 0, line
    return "".join(parts) + "\n" * (blanks if not ended else blanks + 1 if parts else blanks)


def chomped(text: str, chomp: str) -> str:
    """A block's text with the line breaks at its end that its header wants."""
    if chomp == "+":
        return text
    words = text.rstrip("\n")
    return f"{words}\n" if words and not chomp and text.endswith("\n") else words
