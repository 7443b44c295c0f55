"""Grammars of replies: their notation, and the automata in them."""

from __future__ import annotations

from joey.protocols import get
from joey.protocols.grammar import Rules, literal
from joey.toolspec import ToolSpec


def test_a_rule_for_text_up_to_a_tag_has_a_state_for_each_character_of_the_tag() -> None:
    rules = Rules()
    rules.until("value", "</a>")
    assert rules.text("value") == (
        "root ::= value\n"
        'value ::= [^<] value | "<" value-1\n'
        'value-1 ::= [^/<] value | "/" value-2 | "<" value-1\n'
        'value-2 ::= [^<a] value | "<" value-1 | "a" value-3\n'
        'value-3 ::= [^<>] value | "<" value-1 | ">"\n'
    )


def test_literals_are_written_in_plain_ascii() -> None:
    assert literal('a"\\\n\x00é😀') == r'"a\x22\x5C\n\x00\u00E9\U0001F600"'


def test_native_calls_have_no_grammar() -> None:
    assert get("native").grammar([ToolSpec("read_file")]) is None
