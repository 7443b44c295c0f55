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
    functions: set[str] = field(default_factory=set)
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
_ARITHMETIC = frozenset(
    {"arithmetic_expansion", "binary_expression", "unary_expression", "postfix_expression", "ternary_expression"}
    | {"parenthesized_expression", "subscript"}
)
_WORDS = frozenset(
    {"word", "string", "raw_string", "ansi_c_string", "translated_string", "concatenation", "number", "expansion"}
    | {"simple_expansion", "brace_expression", "regex", "extglob_pattern", "test_operator", "array", "command_name"}
)
_LEAVES = frozenset(
    {"variable_name", "special_variable_name", "file_descriptor", "string_content", "heredoc_start", "heredoc_end"}
    | {"heredoc_content", "comment"}
)
_KNOWN = (
    _BRANCHES
    | _APART
    | _ARITHMETIC
    | _WORDS
    | _LEAVES
    | {"list", "pipeline", "redirected_statement", "negated_command", "test_command", "declaration_command"}
    | {"unset_command", "command", "variable_assignment", "variable_assignments", "function_definition"}
    | {"file_redirect", "heredoc_redirect", "herestring_redirect", "heredoc_body"}
)
_PLAIN = _WORDS | {"string_content", "heredoc_content", "variable_name"}
_SUBSTITUTION = re.compile(r"(?<!\\)(?:\\\\)*(?:\$[({\[]|`)")
_OPERATOR = re.compile(r"(?<!\\)(?:\\\\)*[;|&<>()\n'\"`]")
_PROMPT_OPERATORS = frozenset("PQEAakKUuL")


class _Walk:
    def __init__(self, line: Line, source: bytes) -> None:
        self._line = line
        self._source = source
        self._places: Places = HERE
        self._reached: Places = frozenset()

    def run(self) -> None:
        root = _parser().parse(self._source).root_node
        if root.has_error:
            self._line.doubt("it is not a complete shell command line")
        self._visit(root, 0)

    def _visit(self, node: Node, depth: int) -> None:
        if depth > _DEEPEST:
            self._line.doubt("it is nested too deeply")
            return
        self._check(node)
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
        self._visit_children(node, depth)
        self._found(Simple(tuple(words), tuple(assignments), self._places, _text(node)))

    def _found(self, command: Simple) -> None:
        self._line.commands.append(command)
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
        if name is not None:
            self._line.functions.add(_text(name))
        before = self._places
        self._visit_children(node, depth)
        # It runs when it is called, wherever that is.
        self._places = before | (NOWHERE_KNOWN if self._places != before else frozenset())

    # Files that are opened, text that is fed

    def _visit_file_redirect(self, node: Node, depth: int) -> None:
        operator = next((child.type for child in node.children if not child.is_named), "")
        for target in node.children_by_field_name("destination"):
            self._line.redirects.append(Redirect(operator, read_word(target), self._places))
        self._visit_children(node, depth)

    def _visit_heredoc_redirect(self, node: Node, depth: int) -> None:
        _check_heredoc(node, self._line)
        self._visit_children(node, depth)

    def _visit_herestring_redirect(self, node: Node, depth: int) -> None:
        if node.named_children and node.named_children[-1].type == "command_substitution":
            self._line.doubt("what a command prints is fed to another one as it is")
        self._visit_children(node, depth)

    # What the grammar may have got wrong

    def _check(self, node: Node) -> None:
        kind = node.type
        if kind == "ERROR" or node.is_missing:
            self._line.doubt("it is not a complete shell command line")
        elif node.is_named and kind not in _KNOWN:
            self._line.doubt(f"it has a part that is not understood ({kind})")
        elif kind == "expansion":
            self._check_expansion(node)
        elif kind == "comment":
            before = self._source[: node.start_byte][-1:]
            if before not in (b"", b" ", b"\t", b"\n", b";", b"&", b"|", b"(", b")"):
                self._line.doubt("it is not clear where a comment begins")
        elif kind == "raw_string":
            self._check_raw(node)
        elif kind == "command_substitution" and _text(node).startswith("`") and "\\" in _text(node):
            self._line.doubt("backslashes inside backquotes are read twice")
        elif not node.named_child_count and kind in _PLAIN:
            self._check_leaf(node)
        if kind == "word" and re.match(r"=[^=~]", _text(node)):
            self._line.doubt("a word that begins with `=` names a program in some shells")

    def _check_expansion(self, node: Node) -> None:
        kinds = [child.type for child in node.children]
        if "!" in kinds:
            self._line.doubt("it expands a variable that is named by another one")
        if any(kind == "@" and set(kinds[at + 1]) <= _PROMPT_OPERATORS for at, kind in enumerate(kinds[:-1])):
            self._line.doubt("it expands a variable as a prompt or as code")
        if re.search(r"\\(?:[0-7]{1,3}|x[0-9A-Fa-f]|[uU][0-9A-Fa-f])", _text(node)):
            self._line.doubt("it hides characters behind escapes in an expansion")

    def _check_raw(self, node: Node) -> None:
        """Single quotes do not quote inside arithmetic, nor inside an expansion that is in double quotes."""
        if not _SUBSTITUTION.search(_text(node)):
            return
        parent = node.parent
        while parent is not None and parent.type in ("concatenation", "command_name"):
            parent = parent.parent
        if parent is None or parent.type not in ("command", "file_redirect", "herestring_redirect"):
            self._line.doubt("quoted text holds a substitution which the shell may run")

    def _check_leaf(self, node: Node) -> None:
        text = _text(node)
        if node.type == "ansi_c_string":
            return
        if _SUBSTITUTION.search(text) and text != "`":
            self._line.doubt("plain text seems to hold a substitution")
        if node.type in ("word", "variable_name") and _OPERATOR.search(text):
            self._line.doubt("a word seems to hold an operator")


def _assignment(node: Node) -> Assignment:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    label = re.sub(r"[^A-Za-z0-9_].*$", "", _text(name), flags=re.DOTALL) if name is not None else ""
    if value is None:
        return Assignment(label, Word.literal(""))
    return Assignment(label, None if value.type == "array" else read_word(value))


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _check_heredoc(node: Node, line: Line) -> None:
    """The document must end where the shell ends it, and what it expands must be in the tree."""
    operator = next((child.type for child in node.children if child.type.startswith("<<")), "<<")
    start = next((child for child in node.children if child.type == "heredoc_start"), None)
    body = next((child for child in node.children if child.type == "heredoc_body"), None)
    end = next((child for child in node.children if child.type == "heredoc_end"), None)
    if start is None or end is None:
        line.doubt("a here-document does not end")
        return
    quoted = bool(re.search(r"['\"\\]", _text(start)))
    delimiter = re.sub(r"['\"\\]", "", _text(start))
    content = _text(body) if body is not None else ""
    lines = [each.lstrip("\t") if operator == "<<-" else each for each in content.split("\n")]
    if delimiter in lines or not re.fullmatch(r"[\w.!-]+", delimiter) or _text(end).strip("\t") != delimiter:
        line.doubt("it is not clear where a here-document ends")
    if not quoted and body is not None and _SUBSTITUTION.search(_outside_children(body)):
        line.doubt("a here-document seems to hold a substitution")


def _outside_children(node: Node) -> str:
    """The text of a node that no child accounts for, and that of its plain children."""
    source, at, kept = node.text or b"", 0, b""
    for child in node.named_children:
        begin, end = child.start_byte - node.start_byte, child.end_byte - node.start_byte
        kept += source[at:begin] + (source[begin:end] if child.type == "heredoc_content" else b" ")
        at = end
    return (kept + source[at:]).decode("utf-8", "replace")
