"""A reader of GBNF, for the proofs about grammars: whether a grammar admits a text, and random texts that it admits.

The recogniser works as llama.cpp does: a set of stacks of places in rules, each of them before a character. A stack is
a linked list of interned nodes, so that equal stacks are one object; rules that end in a rule leave nothing on it.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", '"': '"', "[": "[", "]": "]"}
_CODES = {"x": 2, "u": 4, "U": 8}
_WORD = re.compile(r"[a-zA-Z0-9-]+")
_BLANK = re.compile(r"[ \t]*")
_BOUNDS = re.compile(r"\{([0-9]+)(,([0-9]*))?\}")
_MAX_COPIES = 30
"""Servers write repetition with a bound out: a grammar of ours that asks for more is refused."""


@dataclass(frozen=True, slots=True)
class Chars:
    """A class of characters."""

    ranges: tuple[tuple[int, int], ...]
    negated: bool = False

    def __contains__(self, char: str) -> bool:
        code = ord(char)
        return any(low <= code <= high for low, high in self.ranges) != self.negated


Element: TypeAlias = "Chars | str"
Sequence_: TypeAlias = tuple[Element, ...]


class Grammar:
    """A grammar that was read."""

    def __init__(self, text: str) -> None:
        self.rules: dict[str, list[Sequence_]] = {}
        for line in text.splitlines():
            name, sign, body = line.partition(" ::= ")
            assert sign and _WORD.fullmatch(name) and name not in self.rules, line
            self.rules[name] = []
            reader = _BodyReader(body, self.rules, name)
            self.rules[name] = reader.alternatives()
            assert reader.at == len(body), f"{line!r} ends at {body[reader.at :]!r}"
        used = {each for rule in self.rules.values() for way in rule for each in way if isinstance(each, str)}
        assert used <= set(self.rules), f"undefined: {used - set(self.rules)}"
        self._refuse_empty_loops()

    def _refuse_empty_loops(self) -> None:
        """No rule may come to itself without reading anything: that is left recursion, and an empty loop."""
        done: set[str] = set()

        def visit(name: str, above: tuple[str, ...]) -> None:
            assert name not in above, f"{name} recurses on the left: {above}"
            if name in done:
                return
            for way in self.rules[name]:
                for element in way:
                    if isinstance(element, Chars):
                        break
                    visit(element, (*above, name))
                    if element not in self.nullable:
                        break
            done.add(name)

        for name in self.rules:
            visit(name, ())

    @cached_property
    def nullable(self) -> set[str]:
        found: set[str] = set()
        while True:
            more = {name for name, ways in self.rules.items() if any(found.issuperset(way) for way in ways)} - found
            if not more:
                return found
            found |= more

    # Recognition

    def admits(self, text: str) -> bool:
        machine = Machine(self)
        return machine.read(text) is None and machine.complete

    def refusal(self, text: str) -> str:
        """Where a text stops being admitted, in words; empty if it is admitted."""
        machine = Machine(self)
        at = machine.read(text)
        if at is not None:
            return f"{text[:at]!r} >>> {text[at : at + 40]!r}"
        return "" if machine.complete else f"{text!r} is not complete"

    # Sampling

    @cached_property
    def _cost(self) -> dict[str, int]:
        """The fewest steps from a rule to a text."""
        cost = dict.fromkeys(self.rules, 10**6)
        while True:
            new = {name: 1 + min(self._way_cost(way, cost) for way in ways) for name, ways in self.rules.items()}
            if new == cost:
                return cost
            cost = new

    @staticmethod
    def _way_cost(way: Sequence_, cost: dict[str, int]) -> int:
        return sum(1 if isinstance(element, Chars) else cost[element] for element in way)

    def _shortest(self, ways: list[Sequence_]) -> Sequence_:
        return min(ways, key=lambda way: self._way_cost(way, self._cost))

    def sample(self, rng: random.Random, budget: int = 400) -> str:
        """A text of the grammar: wild as long as the budget lasts, then the shortest way home."""
        out: list[str] = []
        waiting: list[Element] = ["root"]
        while waiting:
            element = waiting.pop()
            if isinstance(element, Chars):
                out.append(_pick(element, rng))
                continue
            ways = self.rules[element]
            budget -= 1
            waiting += reversed(rng.choice(ways) if budget > 0 else self._shortest(ways))
        return "".join(out)

    def wander(self, rng: random.Random, wishes: Sequence[str], budget: int = 200) -> str:
        """A text of the grammar written as a model writes, character by character: some of what is wished for, where
        the grammar lets it, and anything else in between. Then the shortest way home."""
        out: list[str] = []
        machine, wish = Machine(self), ""
        while True:
            budget -= 1
            if machine.complete and (budget < 0 or rng.random() < 0.02):
                return "".join(out)
            wish = wish or (rng.choice(wishes) if rng.random() < 0.4 else "")
            stacks = [node for node in machine.stacks if node is not None]
            if not stacks:
                return "".join(out)
            if wish and budget >= 0 and any(wish[0] in node.chars for node in stacks):
                char, wish = wish[0], wish[1:]
            else:
                node = rng.choice(stacks) if budget >= 0 else min(stacks, key=self._cost_home)
                char, wish = _pick(node.chars, rng), ""
            assert machine.read(char) is None
            out.append(char)

    def _cost_home(self, node: _Node | None) -> int:
        return 0 if node is None else self._way_cost(node.way[node.at :], self._cost) + self._cost_home(node.after)


_FAVOURITES = "<>/&;\"'`~\\ \n\t{}[]:,=-+.aeAtn019é\u00a0\u2028\ufeff😀\x1c\x7f\r"


def _pick(chars: Chars, rng: random.Random) -> str:
    if not chars.negated:
        low, high = rng.choice(chars.ranges)
        return chr(rng.randint(low, high))
    while True:
        char = rng.choice(_FAVOURITES) if rng.random() < 0.8 else chr(rng.choice((rng.randint(1, 0x2FF), 0x20AC)))
        if char in chars:
            return char


@dataclass
class _BodyReader:
    """Reads the right side of a rule."""

    body: str
    rules: dict[str, list[Sequence_]]
    near: str
    at: int = 0

    def _new(self, alternatives: list[Sequence_] | None = None) -> str:
        """A rule for what stands in brackets or is repeated."""
        name = f"{self.near}_{len(self.rules)}"
        self.rules[name] = alternatives or []
        return name

    def alternatives(self) -> list[Sequence_]:
        found = [self._sequence()]
        while self._peek() == "|":
            self.at += 1
            found.append(self._sequence())
        return found

    def _peek(self) -> str:
        self.at = _BLANK.match(self.body, self.at).end()  # type: ignore[union-attr]
        return self.body[self.at : self.at + 1]

    def _sequence(self) -> Sequence_:
        found: list[Element] = []
        while (char := self._peek()) and char not in "|)":
            found += self._repeated(self._item(char))
        return tuple(found)

    def _item(self, char: str) -> Sequence_:
        if char == '"':
            return self._literal()
        if char == "[":
            return (self._class(),)
        if char == "(":
            self.at += 1
            inner = self.alternatives()
            assert self._peek() == ")", self.body[self.at :]
            self.at += 1
            return (self._new(inner),)
        word = _WORD.match(self.body, self.at)
        assert word, f"cannot read {self.body[self.at :]!r}"
        self.at = word.end()
        return (word.group(),)

    def _repeated(self, item: Sequence_) -> Sequence_:
        char = self.body[self.at : self.at + 1]
        if char in ("*", "+", "?") and char:
            self.at += 1
            return self._times(item, int(char == "+"), 1 if char == "?" else None)
        bounds = _BOUNDS.match(self.body, self.at)
        if bounds is None:
            return item
        self.at = bounds.end()
        least = int(bounds[1])
        limit = least if bounds[2] is None else int(bounds[3]) if bounds[3] else None
        assert max(least, limit or 0) <= _MAX_COPIES, f"{bounds.group()} is written out by servers"
        return self._times(item, least, limit)

    def _times(self, item: Sequence_, least: int, limit: int | None) -> Sequence_:
        if limit is None:
            loop = self._new()
            self.rules[loop] = [(*item, loop), ()]
            return (*item * least, loop)
        tail: Sequence_ = ()
        for _ in range(limit - least):
            tail = (self._new([(*item, *tail), ()]),)
        return (*item * least, *tail)

    def _literal(self) -> Sequence_:
        self.at += 1
        chars = []
        while self.body[self.at] != '"':
            chars.append(self._char())
        self.at += 1
        return tuple(Chars(((code, code),)) for code in chars)

    def _class(self) -> Chars:
        self.at += 1
        negated = self.body[self.at] == "^"
        self.at += negated
        ranges = []
        while self.body[self.at] != "]":
            low = high = self._char()
            if self.body[self.at] == "-" and self.body[self.at + 1] != "]":
                self.at += 1
                high = self._char()
            assert low <= high
            ranges.append((low, high))
        self.at += 1
        assert ranges
        return Chars(tuple(ranges), negated)

    def _char(self) -> int:
        char = self.body[self.at]
        assert char.isprintable() and not "\x7f" <= char <= "\xff", f"{char!r} should be escaped"
        self.at += 1
        if char != "\\":
            return ord(char)
        kind = self.body[self.at]
        self.at += 1
        if kind not in _CODES:
            return ord(_ESCAPES[kind])
        size = _CODES[kind]
        self.at += size
        assert not re.match(r"[0-9a-fA-F]", self.body[self.at :]), (
            "some readers would take this digit for part of the code"
        )
        return int(self.body[self.at - size : self.at], 16)


@dataclass(frozen=True, slots=True, eq=False)
class _Node:
    """A place in a way of a rule, and what comes after that way."""

    way: Sequence_
    at: int
    after: _Node | None

    @property
    def chars(self) -> Chars:
        """The characters that may come next; a node on top of a stack stands before some."""
        element = self.way[self.at]
        assert isinstance(element, Chars)
        return element


@dataclass
class Machine:
    grammar: Grammar
    _nodes: dict[tuple[int, int, int], _Node] = field(default_factory=dict)
    _closures: dict[int, tuple[_Node | None, ...]] = field(default_factory=dict)
    max_stacks: int = 0

    def __post_init__(self) -> None:
        self.stacks: Sequence[_Node | None] = list(
            dict.fromkeys(itertools.chain.from_iterable(self._enter("root", None)))
        )

    @property
    def complete(self) -> bool:
        return None in self.stacks

    def read(self, text: str) -> int | None:
        """Read a text; the place of the first character that does not fit."""
        for at, char in enumerate(text):
            after: dict[_Node | None, None] = {}
            for node in self.stacks:
                if node is not None and char in node.chars:
                    after.update(dict.fromkeys(self._behind(node)))
            self.stacks = list(after)
            self.max_stacks = max(self.max_stacks, len(after))
            if not after:
                return at
        return None

    def _behind(self, node: _Node) -> tuple[_Node | None, ...]:
        if id(node) not in self._closures:
            self._closures[id(node)] = self._closure(node.way, node.at + 1, node.after)
        return self._closures[id(node)]

    def _enter(self, rule: str, after: _Node | None) -> Iterator[tuple[_Node | None, ...]]:
        for way in self.grammar.rules[rule]:
            yield self._closure(way, 0, after)

    def _closure(self, way: Sequence_, at: int, after: _Node | None) -> tuple[_Node | None, ...]:
        """The stacks that stand before a character, from this place on; None is the end of the text."""
        if at == len(way):
            return (None,) if after is None else self._closure(after.way, after.at, after.after)
        element = way[at]
        if isinstance(element, Chars):
            return (self._node(way, at, after),)
        rest = after if at + 1 == len(way) else self._node(way, at + 1, after)
        return tuple(dict.fromkeys(itertools.chain.from_iterable(self._enter(element, rest))))

    def _node(self, way: Sequence_, at: int, after: _Node | None) -> _Node:
        return self._nodes.setdefault((id(way), at, id(after)), _Node(way, at, after))
