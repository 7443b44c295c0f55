"""The grammar of a reply in the `xml` protocol: what the model may write so that `parser` reads whole calls.

A call is written in the one form that `writer` writes: each parameter on a line of its own, in the schema's order,
and as `<json_parameter name="…">` where the plain form cannot carry a value. What may stand in the plain form:

    a string        any text without its closing tag. A long one (see `tags`) may hold that tag where neither
                    white space nor `<` follows, so that a program that names it can be written, while `</content>`
                    at the end of a line is always the end: a small model that goes astray there is led back. If
                    the call ends the reply, the closing tag of its last string may be left out, as small models do
                    after `</html>`: they would look for another way to end, and not find one. So a line that is
                    this tag cannot be part of the string; such a string is written as JSON
    an enum         its values, if reading them gives them back
    anything else   JSON without the closing tag, in the types for which reading gives back what was written: the
                    reader itself is asked

Around the calls stands free text, by the rules of `prose`: a call must stand outside code, and what is outside code
must not hold the tag of a tool, unless a call begins there. On a line with inline code tags are kept away altogether,
since whether they would be inside it depends on what comes later; fences are followed to their end. Fences of more
than `_LONGEST_FENCE` characters cannot be written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from joey.protocols.grammar import gbnf
from joey.protocols.grammar.json_values import Branch, JsonRules, branches, is_filled, properties_of
from joey.protocols.xml.tags import CUT_TAG, JSON_CLOSE, JSON_OPEN, WHITE_SPACE, CallShape, Parameter, can_be_tag
from joey.protocols.xml.values import plain_json, read_value
from joey.schema.kinds import kind_of
from joey.toolspec import ToolChoice, ToolSpec
from joey.wire import JsonValue

_MAX_FENCE = 5


def xml_grammar(tools: Sequence[ToolSpec], choice: ToolChoice) -> str:
    """What a reply may be, with these tools and this choice."""
    rules = gbnf.GrammarRules()
    offered = [tool for tool in tools if can_be_tag(tool.name)]
    called = gbnf.callable_tools(offered, choice)
    ends_reply = gbnf.must_call(called, choice) and not gbnf.several(choice)
    bodies = {f"<{tool.name}>": _Call(tool, rules).body(ends_reply=ends_reply) for tool in called}
    if gbnf.must_call(bodies, choice):
        call = gbnf.either([f"{gbnf.literal(tag)} {body}" for tag, body in bodies.items()])
        return rules.text(gbnf.repeated(rules, call) if gbnf.several(choice) else call)
    text = _Text([f"<{tool.name}>" for tool in offered], bodies, parallel=choice.parallel)
    return rules.text(rules.automaton("text", _LINE, text.ways))


# Calls


class _Call:
    """The rules of one tool's calls."""

    def __init__(self, tool: ToolSpec, rules: gbnf.GrammarRules) -> None:
        self._tool = tool
        self._rules = rules
        self._shape = CallShape(tool)
        self._root = tool.schema
        self._json = JsonRules(rules, tool.schema, avoid=["<"], name="escaped")

    def body(self, *, ends_reply: bool) -> str:
        """What follows the opening tag, up to and including the closing one. State: the next parameter."""
        declared, required = properties_of(self._root)
        lines = [(name, f'{self._parameter(name, schema)} "\\n"') for name, schema in declared.items()]

        def ways(at: int) -> list[gbnf.Way[int]]:
            if at == len(lines):
                return [(gbnf.literal(self._shape.close), None)]
            name, line = lines[at]
            found: list[gbnf.Way[int]] = (
                [(line, at + 1)] if name in required else [(line, at + 1), (gbnf.EMPTY, at + 1)]
            )
            unclosed = self._unclosed(name) if ends_reply and at + 1 == len(lines) else ""
            return [*found, (unclosed, None)] if unclosed else found

        first = self._rules.automaton(f"call-{self._tool.name}", 0, ways)
        return self._rules.rule(f"call-{self._tool.name}-body", f'"\\n" {first}')

    def _parameter(self, name: str, schema: JsonValue) -> str:
        opened = gbnf.literal(f"{JSON_OPEN}{plain_json(name)}>")
        forms = [f"{opened} {self._json.value(schema, name)} {gbnf.literal(JSON_CLOSE)}"]
        parameter = self._shape.parameters.get(f"<{name}>")
        if parameter is not None:
            read = self._typed(parameter) if parameter.typed else self._string(parameter)
            forms = [*([f"{gbnf.literal(parameter.open)} {read}"] if read else []), *forms]
        return gbnf.either(forms)

    def _unclosed(self, name: str) -> str:
        """A long value whose closing tag was forgotten, with the closing tag of the call; empty if it is not long."""
        parameter = self._shape.parameters.get(f"<{name}>")
        if parameter is None or parameter.end_of_call is None:
            return ""
        close, end = parameter.close, parameter.end_of_call
        step = gbnf.matcher([close, end])

        def after(state: str, char: str) -> Any:
            then = step(state, char)
            return gbnf.DEAD if then == close else None if then == end else then

        def ways(state: str) -> list[gbnf.Way[str]]:
            return gbnf.moves({*close, *end}, lambda char: after(state, char))

        return f"{gbnf.literal(parameter.open)} {self._rules.automaton(f'unclosed-{parameter.tag}', '', ways)}"

    def _string(self, parameter: Parameter) -> str:
        """The plain form of a string, with its closing tag."""
        found = list(branches(parameter.schema, self._root))
        free = [branch for branch in found if branch.get("type", "string") == "string" and "const" not in branch]
        if free:
            return _free_text(self._rules, parameter, filled=all(map(is_filled, free)))
        values = [branch["const"] for branch in found if isinstance(branch.get("const"), str)]
        return self._closed([gbnf.literal(each) for each in values if self._is_exact(each, parameter)], parameter)

    def _is_exact(self, value: str, parameter: Parameter) -> bool:
        return parameter.trim(f"\n{value}\n") == parameter.trim(value) == value and parameter.close not in value

    def _typed(self, parameter: Parameter) -> str:
        """The plain form of anything but a string: JSON, of the branches that are read back as they were written."""
        if not parameter.takes_json:
            return ""
        found = [branch for branch in branches(parameter.schema, self._root) if _reads_back(branch, parameter)]
        rules = JsonRules(self._rules, self._root, avoid=[parameter.close], name=f"in-{parameter.tag}")
        return self._closed([rules.any_of(found, parameter.tag)], parameter) if found else ""

    def _closed(self, values: Sequence[str], parameter: Parameter) -> str:
        return f'"\\n"? {gbnf.either(values)} "\\n"? {gbnf.literal(parameter.close)}' if values else ""


_PROBES: Mapping[str, Sequence[JsonValue]] = {
    "integer": (7, -12),
    "number": (7, 1.5, -2e-9),
    "boolean": (True, False),
    "null": (None,),
    "object": ({"a": [1, "b"]},),
    "array": ([], [1, {"a": "b"}], ["a", "b"]),
}


def _reads_back(branch: Branch, parameter: Parameter) -> bool:
    """Whether the reader makes of the JSON of such values what they were."""
    probes = [branch["const"]] if "const" in branch else _PROBES.get(branch.get("type", ""), ())
    texts = [(plain_json(value), value) for value in probes]
    return bool(texts) and all(
        _same(read_value(text, parameter.schema, parameter.shape.root), value) for text, value in texts
    )


def _same(one: JsonValue, other: JsonValue) -> bool:
    return kind_of(one) == kind_of(other) and bool(one == other)


_FILLED = 3


def _free_text(rules: gbnf.GrammarRules, parameter: Parameter, *, filled: bool) -> str:
    """Any text up to the closing tag. State: the begun part of that tag, and how far the text is from being empty."""
    close, end = parameter.close, parameter.end_of_call or ""
    step = gbnf.matcher([close, end] if end else [close])
    blank = "\n" if parameter.verbatim else WHITE_SPACE

    def grown(size: int, text: str) -> int:
        for char in text:
            size = _FILLED if char not in blank else min(size + parameter.verbatim, _FILLED)
        return size

    def after(state: tuple[str, int], char: str) -> Any:
        begun, size = state
        if char == gbnf.OTHER:
            return "", _FILLED
        begun_after = step(begun, char)
        if begun_after and begun_after == end:
            return gbnf.DEAD
        text = begun + char
        return begun_after, grown(size, text[: len(text) - len(begun_after)])

    def ways(state: tuple[str, int]) -> list[gbnf.Way[tuple[str, int]]]:
        named = {*close, *end, *(blank if state[1] < _FILLED else "")}
        found = []
        for read, then in gbnf.moves(named, lambda char: after(state, char)):
            if then is None or then[0] != close:
                found.append((read, then))
                continue
            if then[1] == _FILLED:
                found.append((read, None))
            if parameter.long:
                found.append((f"{read} {gbnf.none_of(WHITE_SPACE + '<')}", ("", _FILLED)))
        return found

    key = f"text-to-{parameter.tag}" + ("-filled" if filled else "")
    return rules.shared(
        (close, end, filled, parameter.long, blank), lambda: rules.automaton(key, ("", 0 if filled else _FILLED), ways)
    )


# Free text

_State: TypeAlias = tuple[Any, ...]
_LINE: _State = ("line",)
_MID, _PERHAPS_CODE = "mid", "perhaps code"


class _Text:
    """The automaton of free text with calls in it. Its states:

    ("line",)               at the beginning of a line, perhaps indented
    ("mid", tag)            in a line, outside code, with the beginning of a tag just read
    ("perhaps code", tag)   in a line with backticks
    ("run", c, n)           in a run of backticks or tildes that begins a line
    ("info", c, n)          in the first line of a fence
    ("fence", c, n)         in a line of a fence; ("fence line", c, n, k) at its beginning, after k such characters;
    ("closing", c, n)       after what may be the last line of a fence
    ("done",)               after the one call that is allowed
    """

    def __init__(self, tags: Sequence[str], bodies: Mapping[str, str], *, parallel: bool) -> None:
        self._prefixes = {tag[:end] for tag in tags for end in range(1, len(tag) + 1)}
        self._tags = set(tags)
        self._bodies = bodies
        self._after_call: _State = (_MID, "") if parallel else ("done",)

    def ways(self, state: _State) -> list[gbnf.Way[_State]]:
        found: list[gbnf.Way[_State]] = []
        if state != ("done",):
            for read, after in gbnf.moves(self._named(state), lambda char: self._step(state, char)):
                call = self._bodies.get(after[1]) if after and after[0] == _MID else None
                found.append((read, after) if call is None else (f"{read} {call}", self._after_call))
        may_end = state[0] not in (_MID, _PERHAPS_CODE) or len(state[1]) < CUT_TAG
        return [*found, (gbnf.EMPTY, None)] if may_end else found

    def _named(self, state: _State) -> set[str]:
        named = set("\n`~<> \t\r")
        if state[0] in (_MID, _PERHAPS_CODE):
            named |= {prefix[-1] for prefix in self._prefixes if prefix[:-1] == state[1]}
        return named

    def _step(self, state: _State, char: str) -> _State:
        kind = state[0]
        if kind in (_MID, _PERHAPS_CODE):
            return self._in_line(kind, state[1], char)
        if kind == "line":
            return self._line_start(char)
        steps: dict[str, Callable[..., _State]] = {
            "run": self._run, "info": self._info, "fence": self._fence, "fence line": self._fence_line,
            "closing": self._closing,
        }  # fmt: skip
        return steps[kind](char, *state[1:])

    def _in_line(self, kind: str, tag: str, char: str) -> _State:
        longer = tag + char
        if char != gbnf.OTHER and longer in self._prefixes:
            legal = longer not in self._tags or (kind == _MID and longer in self._bodies)
            return (kind, longer) if legal else gbnf.DEAD
        if tag:  # what was no tag after all is read as what it is
            state: _State = (kind, "")
            for each in [*tag[1:], char]:
                state = self._step(state, each) if state != gbnf.DEAD else state
            return state
        if char == "\n":
            return _LINE
        return (_PERHAPS_CODE, "") if char == "`" else (kind, "")

    def _line_start(self, char: str) -> _State:
        if char and char in " \t>":
            return _LINE
        return ("run", char, 1) if char in ("`", "~") else self._in_line(_MID, "", char)

    def _run(self, char: str, of: str, length: int) -> _State:
        if char == of:
            return ("run", of, length + 1) if length < _MAX_FENCE else gbnf.DEAD
        if length >= 3:
            return self._info(char, of, length)
        return self._in_line(_PERHAPS_CODE if of == "`" else _MID, "", char)

    def _info(self, char: str, of: str, length: int) -> _State:
        if char == "\n":
            return ("fence line", of, length, 0)
        return (_PERHAPS_CODE, "") if char == of == "`" else ("info", of, length)

    def _fence(self, char: str, of: str, length: int) -> _State:
        return ("fence line", of, length, 0) if char == "\n" else ("fence", of, length)

    def _fence_line(self, char: str, of: str, length: int, count: int) -> _State:
        if char == of:
            return ("fence line", of, length, min(count + 1, length))
        if count == length:
            return self._closing(char, of, length)
        indents = char != gbnf.OTHER and char in " \t>" and not count
        return ("fence line", of, length, 0) if indents else self._fence(char, of, length)

    def _closing(self, char: str, of: str, length: int) -> _State:
        if char == "\n":
            return _LINE
        return ("closing", of, length) if char and char in " \t\r" else ("fence", of, length)
