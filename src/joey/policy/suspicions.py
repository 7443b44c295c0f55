"""Where the grammar may have read a line otherwise than the shell will.

The grammar is generous: it makes a tree of anything, and where it guesses it does not say so. Each function here looks
at one kind of node and yields what is doubtful about it. They were found by running what was judged harmless in a real
shell and looking what ran.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from tree_sitter import Node

_STATEMENTS = frozenset(
    {"program", "do_group", "else_clause", "elif_clause", "if_statement", "case_item", "case_statement", "subshell"}
    | {"compound_statement", "while_statement", "for_statement", "c_style_for_statement", "list", "pipeline"}
    | {"redirected_statement", "negated_command", "test_command", "declaration_command", "unset_command", "command"}
    | {"variable_assignment", "variable_assignments", "function_definition", "command_substitution"}
    | {"process_substitution", "file_redirect", "heredoc_redirect", "herestring_redirect", "heredoc_body"}
)
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
_KNOWN = _STATEMENTS | _ARITHMETIC | _WORDS | _LEAVES
_PLAIN = (_WORDS - {"raw_string", "ansi_c_string"}) | {"string_content", "heredoc_content", "variable_name"}

_TOUCHABLE = _WORDS | {"command_substitution", "process_substitution", "arithmetic_expansion"}

_SUBSTITUTION = re.compile(r"(?<!\\)(?:\\\\)*(?:\$[({\[]|`)")
_OPERATOR = re.compile(r"(?<!\\)(?:\\\\)*[;|&<>()\n'\"`]")
_HIDING_ESCAPE = re.compile(r"\\(?:[0-7]{1,3}|x[0-9A-Fa-f]|[uU][0-9A-Fa-f])")
_CODE_OPERATORS = frozenset("PQEAakKUuL")
_BEFORE_COMMENT = (b"", b" ", b"\t", b"\n", b";", b"&", b"|", b"(", b")")


def doubts(node: Node, source: bytes) -> Iterator[str]:
    """What is doubtful about one node of the tree of a line."""
    kind = node.type
    if kind == "ERROR" or node.is_missing:
        yield "it is not a complete shell command line"
    elif node.is_named and kind not in _KNOWN:
        yield f"it has a part that is not understood ({kind})"
    elif kind == "comment" and source[: node.start_byte][-1:] not in _BEFORE_COMMENT:
        yield "it is not clear where a comment begins"
    elif kind in _CHECKS:
        yield from _CHECKS[kind](node)
    if kind in _PLAIN and not node.named_child_count:
        yield from _plain_text(node)
    if kind not in ("concatenation", "string", "expansion") and _touching(node):
        yield "it is not clear where a word ends"


def _touching(node: Node) -> bool:
    """Whether two words follow each other without a space: to the shell they are one."""
    words = [child for child in node.children if child.type in _TOUCHABLE]
    return any(first.end_byte == second.start_byte for first, second in pairwise(words))


def _expansion(node: Node) -> Iterator[str]:
    kinds = [child.type for child in node.children]
    if "!" in kinds:
        yield "it expands a variable that is named by another one"
    if any(kind == "@" and set(kinds[at + 1]) <= _CODE_OPERATORS for at, kind in enumerate(kinds[:-1])):
        yield "it expands a variable as a prompt or as code"
    if _HIDING_ESCAPE.search(_text(node)):
        yield "it hides characters behind escapes in an expansion"


def _raw_string(node: Node) -> Iterator[str]:
    """Single quotes do not quote inside arithmetic, nor inside an expansion that is in double quotes."""
    if not _SUBSTITUTION.search(_text(node)):
        return
    parent = node.parent
    while parent is not None and parent.type in ("concatenation", "command_name"):
        parent = parent.parent
    if parent is None or parent.type not in ("command", "file_redirect", "herestring_redirect"):
        yield "quoted text holds a substitution which the shell may run"


def _plain_text(node: Node) -> Iterator[str]:
    text = _text(node)
    if _SUBSTITUTION.search(text) and text != "`":
        yield "plain text seems to hold a substitution"
    if node.type in ("word", "variable_name") and _OPERATOR.search(text):
        yield "a word seems to hold an operator"
    if node.type == "word" and re.match(r"=[^=~]", text):
        yield "a word that begins with `=` names a program in some shells"


def _command_substitution(node: Node) -> Iterator[str]:
    text = _text(node)
    if text.startswith("`") and "\\" in text:
        yield "backslashes inside backquotes are read twice"


def _herestring(node: Node) -> Iterator[str]:
    if node.named_children and node.named_children[-1].type == "command_substitution":
        yield "what a command prints is fed to another one as it is"


def _heredoc(node: Node) -> Iterator[str]:
    """The document must end where the shell ends it, and what it expands must be in the tree."""
    parts = {child.type: child for child in node.children}
    start, body, end = (parts.get(f"heredoc_{name}") for name in ("start", "body", "end"))
    if start is None or end is None:
        yield "a here-document does not end"
        return
    quoted = bool(re.search(r"['\"\\]", _text(start)))
    delimiter = re.sub(r"['\"\\]", "", _text(start))
    lines = _text(body).split("\n") if body is not None else []
    ends = [line.lstrip("\t") if "<<-" in parts else line for line in lines]
    if delimiter in ends or not re.fullmatch(r"[\w.!-]+", delimiter) or _text(end).strip("\t") != delimiter:
        yield "it is not clear where a here-document ends"
    if not quoted and body is not None and _SUBSTITUTION.search(_outside_children(body)):
        yield "a here-document seems to hold a substitution"


def _outside_children(node: Node) -> str:
    """The text of a node that no child accounts for, and that of its plain children."""
    source, at, kept = node.text or b"", 0, b""
    for child in node.named_children:
        begin, end = child.start_byte - node.start_byte, child.end_byte - node.start_byte
        kept += source[at:begin] + (source[begin:end] if child.type == "heredoc_content" else b" ")
        at = end
    return (kept + source[at:]).decode("utf-8", "replace")


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


_CHECKS = {
    "expansion": _expansion,
    "raw_string": _raw_string,
    "command_substitution": _command_substitution,
    "herestring_redirect": _herestring,
    "heredoc_redirect": _heredoc,
}
