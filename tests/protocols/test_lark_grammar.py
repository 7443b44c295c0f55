"""The grammars of custom tools, while a model writes their input inside a JSON string."""

from __future__ import annotations

import json

import pytest

from gbnf import Grammar
from joey.protocols import get
from joey.protocols.grammar.gbnf import GrammarRules
from joey.protocols.grammar.lark import custom_text
from joey.toolspec import CustomForm, ToolChoice, ToolSpec

PATCH = r"""start: begin_patch hunk+ end_patch
begin_patch: "*** Begin Patch" LF
end_patch: "*** End Patch" LF?

hunk: add_hunk | delete_hunk | update_hunk
add_hunk: "*** Add File: " filename LF add_line+
delete_hunk: "*** Delete File: " filename LF
update_hunk: "*** Update File: " filename LF change_move? change?

filename: /(.+)/
add_line: "+" /(.*)/ LF -> line

change_move: "*** Move to: " filename LF
change: (change_context | change_line)+ eof_line?
change_context: ("@@" | "@@ " /(.+)/) LF
change_line: ("+" | "-" | " ") /(.*)/ LF
eof_line: "*** End of File" LF

%import common.LF
"""
EXEC = r"""
start: pragma_source | plain_source
pragma_source: PRAGMA_LINE NEWLINE SOURCE
plain_source: SOURCE

PRAGMA_LINE: /[ \t]*\/\/ @exec:[^\r\n]*/
NEWLINE: /\r?\n/
SOURCE: /[\s\S]+/
"""


def grammar_of(definition: str, syntax: str = "lark") -> Grammar:
    rules = GrammarRules()
    found = custom_text(CustomForm("input", definition, syntax), rules, "tool")  # type: ignore[arg-type]
    assert found is not None
    return Grammar(rules.text(found))


ADD = '*** Begin Patch\n*** Add File: a b.txt\n+he said "hi"\\ \n+\n*** End Patch\n'
EDIT = "*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n@@ def f\n-x = 'é'\n+y\n z\n*** End Patch"


@pytest.mark.parametrize(
    ("definition", "text", "admitted"),
    [
        (PATCH, ADD, True),
        (PATCH, EDIT, True),
        (PATCH, ADD + EDIT, False),
        (PATCH, ADD.replace("+he", "he"), False),
        (PATCH, ADD.replace("*** End Patch\n", ""), False),
        (PATCH, "*** Begin Patch\n*** End Patch", False),
        (EXEC, '// @exec: {"x": 1}\nawait run("a\\n");', True),
        (EXEC, "text(1)\n\t// done", True),
        (EXEC, "", False),
        ("start: /.+/", "one line", True),
        ("start: /.+/", "two\nlines", False),
        ('start: "a" ["b"] ("c" | "d")* // letters\n', "abcd", True),
        ('start: "(" start? ")"', "(())", True),
        ('start: "(" start? ")"', "(()", False),
        ('start: INT ("," INT)*\n%import common.INT', "1,22,3", True),
    ],
)
def test_a_text_is_admitted_if_it_follows_the_grammar(definition: str, text: str, admitted: bool) -> None:
    assert grammar_of(definition).admits(json.dumps(text, ensure_ascii=False)) is admitted


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        (r"\d{4}-\d\d", "2026-11", "26-11"),
        (r"^(?:a|bc)+?$", "abca", "abd"),
        (r"[^\s]+", "word", "two words"),
        (r"[\w.-]{1,3}", "a.b", "abcd"),
        (r"\"x\\", '"x\\', "x"),
        (r"[a-f\]]*", "ab]", "g"),
    ],
)
def test_a_regular_expression_is_a_grammar_of_its_own(pattern: str, yes: str, no: str) -> None:
    grammar = grammar_of(pattern, "regex")
    assert grammar.admits(json.dumps(yes)) and not grammar.admits(json.dumps(no))


@pytest.mark.parametrize(
    "definition",
    [
        "start: start \"a\" | \"b\"",
        "start: /(?=x)y/",
        'start: "a"i',
        "start: missing",
        "start: /a/\n%ignore WS",
        "nonsense",
        "start: (\"a\"",
        "start: /(a/",
        "",
    ],
)  # fmt: skip
def test_what_cannot_be_translated_is_left_to_json(definition: str) -> None:
    assert custom_text(CustomForm("input", definition), GrammarRules(), "tool") is None


@pytest.mark.parametrize("protocol", ["json_mix", "hermes", "tool_choice"])
def test_a_call_of_a_custom_tool_is_held_to_its_grammar(protocol: str) -> None:
    schema = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
    tool = ToolSpec("apply_patch", "", schema, custom=CustomForm("input", PATCH))
    made = get(protocol).grammar([tool], ToolChoice("required"))
    assert made is not None
    grammar = Grammar(made)
    for text, admitted in ((ADD, True), ("just text", False)):
        call = json.dumps({"name": "apply_patch", "arguments": {"input": text}}, ensure_ascii=False)
        written = {"json_mix": f"<tool_call>{call}</tool_call>", "hermes": f"<tool_call>\n{call}\n</tool_call>"}
        assert grammar.admits(written.get(protocol, call)) is admitted
