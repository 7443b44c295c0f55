"""A command line, taken apart: every simple command in it, wherever it hides.

The grammar is tree-sitter-bash, which is generous: it makes a tree of anything. So the tree is not taken at its word.
Whatever the grammar marks as an error, a kind of node not known here, literal text in which a substitution seems to
hide, a here-document that ends elsewhere than the shell would end it: each is a doubt, and a line with a doubt is
never allowed without asking. Commands are collected from a doubtful line all the same, so that a denied program
in it is denied.

Where commands run matters for the paths they name, so the walk keeps the places the shell may be in: each a row of
`cd` targets from the start, None once nobody can tell. A `cd` that may have failed leaves both places possible;
subshells, pipelines and substitutions forget theirs; a `cd` in a loop or a function makes the place unknown.

Not handled, on purpose: variables are not followed (a command named by one is a doubt of its own, decided in `judge`),
and aliases are not expanded (defining one is judged instead).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import TypeAlias

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from joey.policy.suspicions import doubts
from joey.policy.words import Word, read_word

Place: TypeAlias = tuple[str, ...] | None
Places: TypeAlias = frozenset[Place]

HERE: Places = frozenset({()})
NOWHERE_KNOWN: Places = frozenset({None})

LONGEST = 100_000
"""Characters in a line. Longer ones are not for a person to approve at a glance, nor for us."""
_DEEPEST = 120
_MOST_PLACES = 12


@dataclass(frozen=True, slots=True)
class Assignment:
    name: str
    value: Word | None
    """None for an array and other things that are not one word."""
    each: bool = False
    """Whether it is the variable of a loop."""


@dataclass(frozen=True, slots=True)
class Simple:
    """A simple command: its words, the assignments before it, and where it may run."""

    words: tuple[Word, ...]
    assignments: tuple[Assignment, ...] = ()
    places: Places = HERE
    source: str = ""
    function: bool = False
    """Whether it calls a function that the line has defined before, whose body is judged where it stands."""

    @property
    def name(self) -> str | None:
        return self.words[0].value if self.words else None


@dataclass(frozen=True, slots=True)
class Redirect:
    operator: str
    target: Word
    places: Places

    @property
    def writes(self) -> bool:
        return ">" in self.operator


@dataclass(slots=True)
class Line:
    """What a command line would do, as far as it can be told, and what could not be told."""

    commands: list[Simple] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    assignments: list[Assignment] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    """What the commands are called, as far as it is known."""
    doubts: list[str] = field(default_factory=list)

    def doubt(self, text: str) -> None:
        if text not in self.doubts:
            self.doubts.append(text)


_CONTINUED = re.compile(r"(?<!\\)((?:\\\\)*)\\\n")
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f\u0085\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff]")


def parse(text: str) -> Line:
    """Take a line apart. Never fails: what cannot be understood is in `doubts`."""
    line = Line()
    text = text.replace("\r\n", "\n")
    if len(text) > LONGEST:
        line.doubt(f"the line is longer than {LONGEST:,} characters")
        return line
    hidden = _HIDDEN.search(text)
    if hidden:
        line.doubt(f"it contains an invisible or control character (U+{ord(hidden[0]):04X})")
        text = _HIDDEN.sub("", text)
    # The grammar takes a continued line for a space, the shell for nothing, and in a comment it is neither:
    # both readings are judged.
    for reading in dict.fromkeys((text, _CONTINUED.sub(r"\1", text))):
        _Walk(line, reading.encode("utf-8", "replace")).run()
    return line


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


_SEQUENCES = frozenset(
    {"program", "do_group", "else_clause", "elif_clause", "if_statement", "case_item", "case_statement"}
)
_BRANCHES = _SEQUENCES | {"compound_statement", "while_statement", "for_statement", "c_style_for_statement"}
_APART = frozenset({"subshell", "command_substitution", "process_substitution"})
_LOOPS = frozenset({"while_statement", "for_statement", "c_style_for_statement"})


_MAY_MOVE = frozenset(
    {"time", "command", "builtin", "eval", "source", ".", "trap", "coproc", "exec", "nocorrect", "noglob"}
)
_MOVES = re.compile(r"\b(?:cd|chdir|pushd|popd)\b|[\\'\"$`]")


class _Walk:
    def __init__(self, line: Line, source: bytes) -> None:
        self._line = line
        self._source = source
        self._places: Places = HERE
        self._reached: Places = frozenset()
        self._functions: set[str] = set()
        self._more_words: dict[int, list[Word]] = {}
        """Words of a command that the grammar takes for part of a redirection before them, by the command's node."""

    def run(self) -> None:
        root = _parser().parse(self._source).root_node
        if root.has_error:
            self._line.doubt("it is not a complete shell command line")
        self._visit(root, 0)

    def _visit(self, node: Node, depth: int) -> None:
        if depth > _DEEPEST:
            self._line.doubt("it is nested too deeply")
            return
        for doubt in doubts(node, self._source):
            self._line.doubt(doubt)
        handler = getattr(self, f"_visit_{node.type}", None)
        if handler is not None:
            handler(node, depth)
        elif node.type in _APART:
            self._visit_apart(node, depth)
        elif node.type in _BRANCHES:
            self._visit_branch(node, depth)
        else:
            self._visit_children(node, depth)

    def _visit_children(self, node: Node, depth: int) -> None:
        for child in node.children:
            self._visit(child, depth + 1)

    # Where the shell may be

    def _visit_apart(self, node: Node, depth: int) -> None:
        before = self._places, self._reached
        self._visit_children(node, depth)
        self._places, self._reached = before

    def _visit_branch(self, node: Node, depth: int) -> None:
        """One statement after another, of which some may not run or fail."""
        before, reached = self._places, self._reached
        self._reached = frozenset()
        for child in node.children:
            self._visit(child, depth + 1)
            self._places |= before | self._reached
        if node.type in _LOOPS and self._reached:
            self._places |= NOWHERE_KNOWN
        if node.type == "for_statement":
            self._loop_variable(node)
        self._reached |= reached

    def _visit_list(self, node: Node, depth: int) -> None:
        for child in node.children:
            if child.type == "||":
                self._places |= self._reached | HERE
            self._visit(child, depth + 1)

    def _visit_pipeline(self, node: Node, depth: int) -> None:
        for child in node.children:
            self._visit_apart_child(child, depth)

    def _visit_apart_child(self, child: Node, depth: int) -> None:
        before = self._places, self._reached
        self._visit(child, depth + 1)
        self._places, self._reached = before

    def _moved(self, command: Simple) -> None:
        if command.name in _MAY_MOVE and (command.name in ("source", ".") or _MOVES.search(command.source)):
            self._places = NOWHERE_KNOWN
            self._reached |= NOWHERE_KNOWN
        if command.name not in ("cd", "pushd", "popd", "chdir"):
            return
        targets = [
            word for word in command.words[1:] if word.value is None or not re.fullmatch(r"-[LPe@]+|--", word.value)
        ]
        target = targets[0].value if len(targets) == 1 and command.name != "popd" else None
        if target is None and not targets and command.name != "popd":
            target = "~"
        known = target is not None and not target.startswith("-") and not target.startswith("+")
        after = (
            {(*place, target) for place in self._places if place is not None and target is not None}
            if known
            else {None}
        )
        if None in self._places or len(after) > _MOST_PLACES:
            after = {None}
        self._places = frozenset(after)
        self._reached |= self._places

    def _loop_variable(self, node: Node) -> None:
        name = node.child_by_field_name("variable")
        if name is None:
            return
        values = [read_word(child) for child in node.children_by_field_name("value")]
        harmless = all(not value.prefix.startswith("-") and (value.prefix or value.globs) for value in values)
        self._line.assignments.append(
            Assignment(_text(name), values[0] if len(values) == 1 else None, each=harmless and bool(values))
        )

    # What is run

    def _visit_command(self, node: Node, depth: int) -> None:
        words: list[Word] = []
        assignments: list[Assignment] = []
        for child in node.children:
            if child.type == "variable_assignment":
                assignments.append(_assignment(child))
            elif child.type in ("file_redirect", "herestring_redirect", "heredoc_redirect"):
                pass
            elif child.type == "subshell":
                self._line.doubt("parentheses stand where the shell has none")
            elif child.is_named or child.type not in ("==", "=~"):
                words.append(read_word(child))
            else:
                words.append(Word.literal(child.type))
        words += self._more_words.get(node.id, [])
        if _reserved(words):
            self._line.doubt("a word of the shell's own stands where the name of a program should")
        self._visit_children(node, depth)
        defined = bool(words) and words[0].value in self._functions
        self._found(Simple(tuple(words), tuple(assignments), self._places, _text(node), defined))

    def _found(self, command: Simple) -> None:
        self._line.commands.append(command)
        self._line.names.add(command.name or "")
        self._moved(command)

    def _visit_declaration_command(self, node: Node, depth: int) -> None:
        first, *rest = node.children
        assignments = tuple(_assignment(child) for child in rest if child.type == "variable_assignment")
        words = [Word.literal(_text(first))]
        words += [read_word(child) for child in rest if child.type != "variable_assignment"]
        self._visit_children(node, depth)
        self._line.assignments += assignments
        self._found(Simple(tuple(words), assignments, self._places, _text(node)))

    def _visit_unset_command(self, node: Node, depth: int) -> None:
        words = tuple(read_word(child) for child in node.children)
        self._functions.clear()
        self._visit_children(node, depth)
        self._found(Simple(words, (), self._places, _text(node)))

    def _visit_test_command(self, node: Node, depth: int) -> None:
        self._visit_children(node, depth)
        opening = _text(node.children[0])
        if opening == "((":
            return
        words = (Word.literal(opening), *(read_word(child) for child in node.children[1:-1]))
        self._found(Simple(words, (), self._places, _text(node)))

    def _visit_variable_assignment(self, node: Node, depth: int) -> None:
        assignment = _assignment(node)
        if not assignment.name:
            self._line.doubt("a word that begins with `=` names a program in some shells")
        self._line.assignments.append(assignment)
        self._visit_children(node, depth)

    def _visit_function_definition(self, node: Node, depth: int) -> None:
        name = node.child_by_field_name("name")
        before = self._places
        self._visit_children(node, depth)
        # Elsewhere than at the top the definition may not happen, or not last.
        if name is not None and node.parent is not None and node.parent.type == "program":
            self._functions.add(_text(name))
        # It runs when it is called, wherever that is.
        self._places = before | (NOWHERE_KNOWN if self._places != before else frozenset())

    # Files that are opened, text that is fed

    def _visit_redirected_statement(self, node: Node, depth: int) -> None:
        """`git >f push` is `git push >f`: what follows the file's name belongs to the last command before it."""
        more = [word for child in node.children for word in _after_target(child)]
        if more:
            command = _last_command(node.child_by_field_name("body"))
            if command is None:
                self._line.doubt("words follow a redirection where the shell expects none")
            else:
                self._more_words[command.id] = more
        self._visit_children(node, depth)

    def _visit_file_redirect(self, node: Node, depth: int) -> None:
        operator, target, _ = _redirect(node)
        if target is not None:
            self._line.redirects.append(Redirect(operator, read_word(target), self._places))
        self._visit_children(node, depth)


def _redirect(node: Node) -> tuple[str, Node | None, list[Node]]:
    """The operator, the file, and the words after it."""
    operator = next((child.type for child in node.children if not child.is_named), "")
    targets = node.children_by_field_name("destination")
    if operator.endswith("-") or not targets:
        return operator, None, targets
    return operator, targets[0], targets[1:]


def _after_target(node: Node) -> list[Word]:
    if node.type == "file_redirect":
        return [read_word(word) for word in _redirect(node)[2]]
    if node.type == "heredoc_redirect":
        words = [read_word(word) for word in node.children_by_field_name("argument")]
        return words + [word for child in node.children for word in _after_target(child)]
    return []


def _last_command(node: Node | None) -> Node | None:
    while node is not None and node.type in ("list", "pipeline", "negated_command", "redirected_statement"):
        node = node.child_by_field_name("body") or (node.named_children[-1] if node.named_children else None)
    return node if node is not None and node.type == "command" else None


_RESERVED = frozenset(
    {"{", "}", "!", "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "for", "while", "until", "select"}
    | {"function", "in", "[[", "]]", "((", "))"}
)


def _reserved(words: list[Word]) -> bool:
    """Whether it is no simple command after all: the grammar does not know `time { …; }` or `coproc if …`."""
    sources = [word.source for word in words]
    if sources and sources[0] in ("time", "coproc"):
        return any(source in _RESERVED for source in sources)
    return bool(sources) and sources[0] in _RESERVED


def _assignment(node: Node) -> Assignment:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    label = re.sub(r"[^A-Za-z0-9_].*$", "", _text(name), flags=re.DOTALL) if name is not None else ""
    if value is None:
        return Assignment(label, Word.literal(""))
    return Assignment(label, None if value.type == "array" else read_word(value))


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
