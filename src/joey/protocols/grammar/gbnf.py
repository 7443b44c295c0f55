"""What a legal reply is, written as GBNF: llama.cpp's notation of a context-free grammar over characters.

A server that takes such a grammar lets the model choose only among tokens that keep to it. Each protocol puts its own
grammar together (its module `grammar`); here is what they share.

`Rules` collects rules and gives each a name. Expressions are plain GBNF text: a literal, a class of characters, the
name of a rule, or several of them joined. GBNF cannot say "any text without this tag", so that is written as an
automaton, one rule a state: each state lists what may be read next and which state follows. `Rules.automaton` takes
such a machine. `matcher` is the heart of most: it looks for words without ever reading back (after Knuth, Morris and
Pratt), and `moves` makes of its steps what may be read, one class of characters for each next state.

Three things keep servers quick. Rules recurse on the right only, so that the stack of a parser does not grow with the
text. No rule can loop without reading a character. Repetition with a bound is written out by servers, so that bounds
are small everywhere.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from joey.errors import UsageError
from joey.toolspec import ToolChoice, ToolSpec

EMPTY = '""'
"""The expression that reads nothing."""

State = TypeVar("State", bound=Hashable)
Way: TypeAlias = tuple[str, State | None]
"""One way on from a state of an automaton: an expression to read, and the state after it; None is the end."""


class GrammarRules:
    """The rules of a grammar, as they are made. Rules that say the same are one."""

    def __init__(self) -> None:
        self._bodies: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._shared: dict[Hashable, str] = {}

    def rule(self, name: str, body: str) -> str:
        """The name of a rule with this body: the wanted name, or one like it if that is taken."""
        known = self._names.get(body)
        if known is None:
            known = self.reserve(name)
            self.define(known, body)
        return known

    def reserve(self, name: str) -> str:
        """A free name, for a rule that refers to itself; `define` gives it its body."""
        plain = "".join(char if char.isascii() and char.isalnum() else "-" for char in name).strip("-") or "rule"
        plain = plain if plain[0].isalpha() else f"r-{plain}"
        number, free = 1, plain
        while free in self._bodies:
            number, free = number + 1, f"{plain}-{number + 1}"
        self._bodies[free] = ""
        return free

    def define(self, name: str, body: str) -> None:
        self._bodies[name] = body
        self._names.setdefault(body, name)

    def automaton(self, name: str, start: State, ways: Callable[[State], Iterable[Way[State]]]) -> str:
        """The rule of the first state; the others are made as they are reached."""
        names = {start: self.reserve(name)}
        waiting = [start]
        while waiting:
            state = waiting.pop()
            alternatives = []
            for read, after in ways(state):
                if after is not None and after not in names:
                    names[after] = self.reserve(f"{name}-{len(names)}")
                    waiting.append(after)
                alternatives.append(read if after is None else f"{read} {names[after]}".removeprefix(f"{EMPTY} "))
            self.define(names[state], " | ".join(alternatives))
        return names[start]

    def shared(self, key: Hashable, make: Callable[[], str]) -> str:
        """What `make` makes, once for each key."""
        if key not in self._shared:
            self._shared[key] = make()
        return self._shared[key]

    def text(self, root: str) -> str:
        """The whole grammar; the first rule is the root."""
        return "".join(f"{name} ::= {body}\n" for name, body in [("root", root), *self._bodies.items()])


# Automata over characters

OTHER = ""
"""Stands for every character that is not named."""
DEAD: Any = "dead"
"""The state that cannot be entered: what leads to it cannot be read."""


def moves(named: Iterable[str], step: Callable[[str], State | None], *, never: str = "") -> list[Way[State]]:
    """A state's ways on for each character: those that `step` sends to the same state are one class.

    `step` is called for each of the `named` characters and for OTHER. The characters in `never` cannot be read.
    """
    rest = step(OTHER)
    groups: dict[State | None, str] = {}
    for char in sorted(set(named) - set(never)):
        after = step(char)
        groups[after] = groups.get(after, "") + char
    apart = {after: group for after, group in groups.items() if after != rest}
    ways = [
        (none_of("".join(apart.values()) + never), rest),
        *((one_of(group), after) for after, group in apart.items()),
    ]
    return [(read, after) for read, after in ways if after != DEAD]


def matcher(words: Sequence[str]) -> Callable[[str, str], str]:
    """The step of a machine that looks for words: its state is the longest end of the text that begins one of them."""
    prefixes = {word[:end] for word in words for end in range(len(word) + 1)}

    def step(state: str, char: str) -> str:
        if char == OTHER:
            return ""
        text = state + char
        while text not in prefixes:
            text = text[1:]
        return text

    return step


# Notation. Readers of GBNF differ in their escapes: some lose the zeros that `\u00A0` begins with, some take every hex
# digit behind `\x` for a part of it. So `\u` is for large codes only, and no such digit follows a code.

_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t", "\\": r"\\"}
_IN_LITERAL = {**_SHORT, '"': r"\""}
_IN_CLASS = {**_SHORT, "[": r"\[", "]": r"\]", "^": r"\x5E", "-": r"\x2D"}
_HEX_FOLLOWS = re.compile(r"(\\(?:x[0-9A-F]{2}|u[0-9A-F]{4}|U[0-9A-F]{8}))(?=[0-9a-fA-F])")
_CODES = (r"\x", r"\u", r"\U")


def literal(text: str) -> str:
    """Exactly this text."""
    written = "".join(_escaped(char, _IN_LITERAL) for char in text)
    apart = _HEX_FOLLOWS.sub(r'\1" "', written)
    return f'"{apart}"'


def one_of(chars: str) -> str:
    """One of these characters."""
    return literal(chars) if len(chars) == 1 else f"[{_class(chars)}]"


def none_of(chars: str) -> str:
    """One character that is none of these."""
    return f"[^{_class(chars)}]" if chars else r"[^\x00]"


def _class(chars: str) -> str:
    """Characters as they stand in a class; three and more in a row are a range."""
    codes = sorted(set(map(ord, chars)))
    found = []
    for _, group in itertools.groupby(enumerate(codes), lambda numbered: numbered[1] - numbered[0]):
        row = [chr(code) for _, code in group]
        found += [(row[0], row[-1])] if len(row) > 2 else [(char, char) for char in row]
    # What ends in a code comes last, and of that first what begins with none.
    written = [(_escaped(low, _IN_CLASS), _escaped(high, _IN_CLASS)) for low, high in found]
    written.sort(key=lambda ends: (ends[1].startswith(_CODES), ends[0].startswith("\\")))
    return "".join(low if low == high else f"{low}-{high}" for low, high in written)


def _escaped(char: str, special: Mapping[str, str]) -> str:
    code = ord(char)
    if char in special:
        return special[char]
    if code < 256 and not 32 <= code < 127:
        return f"\\x{code:02X}"
    if char.isprintable():
        return char
    return f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"


def optional(expression: str) -> str:
    return f"({expression})?"


def either(expressions: Sequence[str]) -> str:
    """One of these expressions."""
    return expressions[0] if len(expressions) == 1 else f"({' | '.join(expressions)})"


# Choices


def callable_tools(tools: Sequence[ToolSpec], choice: ToolChoice) -> Sequence[ToolSpec]:
    """The tools that a reply under this choice may call. With no tools there is nothing to require."""
    if choice.mode == "none":
        return ()
    if choice.mode != "one":
        return tools
    named = [tool for tool in tools if tool.name == choice.name]
    if not named:
        offered = ", ".join(tool.name for tool in tools) or "none"
        raise UsageError(f"the tool {choice.name!r} cannot be required: it is not offered. Offered: {offered}")
    return named


def must_call(tools: Sequence[ToolSpec] | Mapping[str, object], choice: ToolChoice) -> bool:
    """Whether the reply is calls and nothing else: one, or where `several` is true any number of them."""
    return bool(tools) and choice.mode in ("required", "one")


def several(choice: ToolChoice) -> bool:
    """Whether a reply that must call a tool may make more than one call."""
    return choice.mode == "required" and choice.parallel


def repeated(rules: GrammarRules, call: str) -> str:
    """One call or more, on lines of their own or not."""
    one = rules.rule("one-call", call)
    return f'{one} ("\\n"* {one})*'
