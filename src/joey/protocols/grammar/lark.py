"""Grammars of custom tools, in Lark's notation, as GBNF: for a model that writes the tool's input inside a JSON string.

    start: begin_patch hunk+ end_patch             a rule becomes a rule
    begin_patch: "*** Begin Patch" LF              a string stands for itself, as JSON writes it
    filename: /(.+)/                               see `regex`
    add_line: "+" /(.*)/ LF -> line                an alias says nothing about the text
    %import common.LF                              the few of Lark's library that are single characters or words

Rules may refer to each other and to themselves, but not begin with themselves: a server's parser would not end. What is
not understood (`%ignore`, templates, flags) is an UnsupportedError, and the tool is held to JSON alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from joey.protocols.grammar.gbnf import GrammarRules
from joey.protocols.grammar.regex import UnsupportedError, regex_in_json, text_in_json
from joey.toolspec import CustomForm

_COMMON = {
    "LF": r"\n", "CR": r"\r", "NEWLINE": r"(\r?\n)+", "WS": r"[ \t\f\r\n]+", "WS_INLINE": r"[ \t]+", "DIGIT": "[0-9]",
    "INT": "[0-9]+", "SIGNED_INT": "[+-]?[0-9]+", "LETTER": "[A-Za-z]", "WORD": "[A-Za-z]+",
    "CNAME": "[_A-Za-z][_A-Za-z0-9]*",
}  # fmt: skip
_TOKEN = re.compile(
    r"""(?P<string>"(?:[^"\\\n]|\\.)*")(?P<flag>i?)|/(?P<regex>(?:[^/\\\n]|\\.)+)/(?P<flags>[a-z]*)"""
    r"""|(?P<name>[?!_]?[A-Za-z_][A-Za-z0-9_]*)|(?P<alias>->\s*[A-Za-z_]\w*)|(?P<sign>[|()\[\]?*+])"""
)
_RULE = re.compile(r"^[?!]?([A-Za-z_][A-Za-z0-9_]*)(?:\.\d+)?\s*:(.*)$", re.DOTALL)
_COMMENT = re.compile(r"^\s*(//|#).*$", re.MULTILINE)
_IMPORT = re.compile(r"^%import\s+common\.(\w+)(?:\s*->\s*(\w+))?\s*$")


def custom_text(form: CustomForm, rules: GrammarRules, name: str) -> str | None:
    """An expression for the input of a custom tool as a JSON string; None where its grammar cannot be translated."""
    try:
        inner = regex_in_json(form.grammar) if form.syntax == "regex" else _Lark(form.grammar, rules, name).start()
    except (UnsupportedError, ValueError, IndexError, RecursionError):
        return None
    return rules.rule(f"{name}-{form.argument}", f'"\\"" {inner} "\\""')


@dataclass(frozen=True, slots=True)
class _Part:
    """A piece of an expansion: what it is, and its text."""

    kind: str
    text: str


class _Lark:
    def __init__(self, source: str, rules: GrammarRules, name: str) -> None:
        self._rules = rules
        self._prefix = name
        self._bodies: dict[str, list[_Part]] = {}
        self._common: dict[str, str] = {}
        self._names: dict[str, str] = {}
        for statement in _statements(source):
            self._read(statement)

    def start(self) -> str:
        for name in self._bodies:
            self._check_beginnings(name, ())
        return self._rule("start")

    def _read(self, statement: str) -> None:
        if imported := _IMPORT.match(statement):
            name = imported[1]
            if name not in _COMMON:
                raise UnsupportedError(f"common.{name}")
            self._common[imported[2] or name] = _COMMON[name]
        elif found := _RULE.match(statement):
            self._bodies[found[1]] = _tokens(found[2])
        else:
            raise UnsupportedError(statement[:40])

    def _rule(self, name: str) -> str:
        """The name of a rule's GBNF; it has it before its body is made, so that rules may recurse."""
        if name not in self._names:
            self._names[name] = mine = self._rules.reserve(f"{self._prefix}-{name}")
            if name in self._bodies:
                self._rules.define(mine, _Expansion(self._bodies[name], self._rule).read())
            elif name in self._common:
                self._rules.define(mine, regex_in_json(self._common[name]))
            else:
                raise UnsupportedError(f"the rule {name} is not there")
        return self._names[name]

    def _check_beginnings(self, name: str, above: tuple[str, ...]) -> None:
        """No rule may begin with itself. What can be empty in front of it is not looked for: few grammars have that."""
        if name in above:
            raise UnsupportedError(f"the rule {name} begins with itself")
        beginning = True
        for part in self._bodies.get(name, ()):
            if beginning and part.kind == "name":
                self._check_beginnings(part.text.lstrip("?!"), (*above, name))
            beginning = part.kind == "sign" and part.text in "|(["


def _statements(source: str) -> list[str]:
    """Rules with their continuation lines: one begins where a line begins with a name and a colon, or with `%`."""
    found: list[str] = []
    for line in _COMMENT.sub("", source).splitlines():
        if not line.strip():
            continue
        if line[0] == "%" or re.match(r"[?!]?[A-Za-z_]\w*(?:\.\d+)?\s*:", line):
            found.append(line.strip())
        elif found:
            found[-1] += f" {line.strip()}"
        else:
            raise UnsupportedError(line[:40])
    return found


def _tokens(text: str) -> list[_Part]:
    parts: list[_Part] = []
    at = 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        if text.startswith("//", at):
            break  # a comment
        found = _TOKEN.match(text, at)
        if found is None or found["flag"] or found["flags"]:
            raise UnsupportedError(text[at : at + 20])
        kind = found.lastgroup if found.lastgroup not in ("flag", "flags") else "string" if found["string"] else "regex"
        if kind != "alias":
            parts.append(_Part(str(kind), found[str(kind)]))
        at = found.end()
    return parts


class _Expansion:
    """Reads the right side of a rule."""

    def __init__(self, parts: list[_Part], rule: Callable[[str], str]) -> None:
        self._parts = parts
        self._at = 0
        self._rule = rule

    def read(self) -> str:
        found = self._alternatives()
        if self._at < len(self._parts):
            raise UnsupportedError(self._parts[self._at].text)
        return found

    def _sign(self, *signs: str) -> str:
        """The next part if it is one of these signs, which is then read."""
        part = self._parts[self._at] if self._at < len(self._parts) else None
        if part is None or part.kind != "sign" or part.text not in signs:
            return ""
        self._at += 1
        return part.text

    def _alternatives(self) -> str:
        found = [self._sequence()]
        while self._sign("|"):
            found.append(self._sequence())
        return found[0] if len(found) == 1 else f"({' | '.join(found)})"

    def _sequence(self) -> str:
        items: list[str] = []
        while self._at < len(self._parts):
            part = self._parts[self._at]
            if part.kind == "sign" and part.text in "|)]":
                break
            self._at += 1
            items.append(f"{self._item(part)}{self._sign('?', '*', '+')}")
        return " ".join(items) or '""'

    def _item(self, part: _Part) -> str:
        if part.kind == "string":
            text = text_in_json(json.loads(part.text))
            return text if " " not in text else f"({text})"
        if part.kind == "regex":
            return f"({regex_in_json(part.text.replace(chr(92) + '/', '/'))})"
        if part.kind == "name":
            return self._rule(part.text.lstrip("?!"))
        if part.text in "([":
            inner = self._alternatives()
            if not self._sign(")", "]"):
                raise UnsupportedError("an open bracket")
            return f"({inner})?" if part.text == "[" else f"({inner})"
        raise UnsupportedError(part.text)
