"""Grammars of replies: their notation, what a schema becomes, and the traps."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbnf import Grammar
from joey.errors import UsageError
from joey.messages import TextBlock, ToolUseBlock
from joey.protocols import get, parse, text_names
from joey.protocols.grammar.gbnf import GrammarRules, literal, matcher, moves, none_of, one_of
from joey.protocols.grammar.json_values import JsonRules
from joey.protocols.json_mix.protocol import JsonMixProtocol
from joey.protocols.morph_xml.protocol import MorphXmlProtocol
from joey.toolspec import ToolChoice, ToolSpec

REQUIRED = ToolChoice("required", parallel=False)
PROTOCOLS = [name for name in text_names() if get(name).grammar(()) is not None]


def tool(name: str, required: list[str] | None = None, **properties: Any) -> ToolSpec:
    needed = list(properties) if required is None else required
    return ToolSpec(name, "", {"type": "object", "properties": properties, "required": needed})


TEXT = {"type": "string"}
READ = tool("read", path=TEXT)
READ_FILE = tool("read_file", path=TEXT, limit={"type": "integer"}, required=["path"])
WRITE = tool("write", path=TEXT, content=TEXT)


def grammar(protocol: str, *tools: ToolSpec, choice: ToolChoice = REQUIRED) -> Grammar:
    text = get(protocol).grammar(tools, choice)
    assert text is not None
    return Grammar(text)


def encoded(protocol: str, spec: ToolSpec, arguments: dict[str, Any]) -> str:
    block = get(protocol).encode_call(ToolUseBlock("", spec.name, arguments), [spec])
    assert isinstance(block, TextBlock)
    return block.text


def values(schema: Any) -> Grammar:
    """The grammar of JSON values of a schema."""
    rules = GrammarRules()
    return Grammar(rules.text(JsonRules(rules, schema if isinstance(schema, dict) else {}).value(schema)))


# Notation


def test_an_automaton_has_a_rule_for_each_state() -> None:
    rules, step = GrammarRules(), matcher(["</a>"])

    def ways(state: str) -> list[tuple[str, str | None]]:
        found = moves("</a>", lambda char: step(state, char))
        return [(read, None if after == "</a>" else after) for read, after in found]

    assert rules.text(rules.automaton("value", "", ways)) == (
        "root ::= value\n"
        'value ::= [^<] value | "<" value-1\n'
        'value-1 ::= [^/<] value | "/" value-2 | "<" value-1\n'
        'value-2 ::= [^<a] value | "<" value-1 | "a" value-3\n'
        'value-3 ::= [^<>] value | "<" value-1 | ">"\n'
    )


def test_characters_are_written_as_every_reader_of_grammars_takes_them() -> None:
    assert literal('a"\\\n\x00é\u2028Ж😀\U000e0001') == r'"a\"\\\n\x00\xE9\u2028Ж😀\U000E0001"'
    assert literal("\x01a\u2028b") == r'"\x01" "a\u2028" "b"'
    assert one_of("]^-x") == r"[x\]\x2D\x5E]"
    assert none_of("abcd z\x1f\xa0") == r"[^ a-dz\x1F\xA0]"


@pytest.mark.property
@given(st.text(min_size=1, max_size=8), st.text(max_size=3))
def test_a_literal_admits_itself_alone(text: str, other: str) -> None:
    read = Grammar(f"root ::= {literal(text)}\n")
    assert read.admits(text) and read.admits(other) is (other == text)


@pytest.mark.property
@given(st.sets(st.characters(), min_size=1, max_size=8), st.characters())
def test_a_class_admits_its_own(chars: set[str], char: str) -> None:
    inside, outside = one_of("".join(chars)), none_of("".join(chars))
    assert Grammar(f"root ::= {inside}\n").admits(char) is (char in chars)
    assert Grammar(f"root ::= {outside}\n").admits(char) is (char not in chars)


# Choices


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_required_is_one_call_and_nothing_else(protocol: str) -> None:
    call = encoded(protocol, READ, {"path": "a.py"})
    required = grammar(protocol, READ, WRITE)
    assert required.admits(call)
    assert not required.admits("") and not required.admits(f"Sure. {call}") and not required.admits(call + call)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_required_is_one_call_or_more_where_calls_may_be_parallel(protocol: str) -> None:
    read, write = encoded(protocol, READ, {"path": "a.py"}), encoded(protocol, WRITE, {"path": "b", "content": "x"})
    required = grammar(protocol, READ, WRITE, choice=ToolChoice("required"))
    assert required.admits(read) and required.admits(read + write) and required.admits(f"{read}\n{write}\n{read}")
    assert not required.admits("") and not required.admits(f"{read}and{write}")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_named_tool_is_the_only_one(protocol: str) -> None:
    one = grammar(protocol, READ, WRITE, choice=ToolChoice("one", "read"))
    assert one.admits(encoded(protocol, READ, {"path": "a.py"}))
    assert not one.admits(encoded(protocol, WRITE, {"path": "a.py", "content": ""}))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_auto_is_text_and_calls_as_many_as_may_be(protocol: str) -> None:
    call = encoded(protocol, READ, {"path": "a.py"})
    auto = grammar(protocol, READ, choice=ToolChoice())
    for text in ("", "Hello.", call, f"Look:\n{call}", f"{call}\nand\n{call}\n"):
        assert not auto.refusal(text)
    one = grammar(protocol, READ, choice=ToolChoice(parallel=False))
    assert one.admits(f"Look:\n{call}") and not one.admits(call + call)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_none_is_text_without_calls(protocol: str) -> None:
    none = grammar(protocol, READ, choice=ToolChoice("none"))
    assert none.admits("Nothing to <do> here.") and not none.admits(encoded(protocol, READ, {"path": "a"}))


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("mode", ["auto", "required", "none"])
def test_without_tools_any_text_will_do(protocol: str, mode: Any) -> None:
    if protocol == "json_mix" and mode != "none":
        assert not grammar(protocol, choice=ToolChoice(mode)).admits("<tool_call>")
    assert grammar(protocol, choice=ToolChoice(mode)).admits("Just <b>words</b> & `code`.")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_requiring_a_tool_that_is_not_offered_is_refused(protocol: str) -> None:
    with pytest.raises(UsageError, match=r"'write' cannot be required: it is not offered\. Offered: read"):
        get(protocol).grammar([READ], ToolChoice("one", "write"))


def test_native_calls_have_no_grammar() -> None:
    assert get("native").grammar([READ]) is None


def test_a_forced_call_is_a_json_object_without_tags() -> None:
    assert grammar("tool_choice", READ).admits('{"name":"read","arguments":{"path":"a"}}')
    assert not grammar("tool_choice", READ).admits('{"name":"write","arguments":{"path":"a"}}')
    assert get("tool_choice").grammar([]) is None


# Schemas


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "integer"}, ["0", "-7", "9007199254740993"], ["007", "1.0", "1e3", "+1", "-", '"1"']),
        ({"type": "number"}, ["0", "-0.5", "1e-9", "9.99e307", "1E+5"], [".5", "1.", "1e309", "10e307", "NaN", "01"]),
        ({"type": "number", "exclusiveMinimum": 0}, ["0.001", "12", "1e-5"], ["0", "0.0", "-1", "0e5"]),
        ({"type": "number", "minimum": 0}, ["0", "2.5"], ["-1"]),
        ({"type": "boolean"}, ["true", "false"], ["True", "1", "null"]),
        ({"type": ["integer", "null"]}, ["3", "null"], ["true", '""']),
        ({"enum": ["a", 3, None]}, ['"a"', "3", "null"], ['"b"', "4"]),
        ({"type": "string", "enum": ["a", 3]}, ['"a"'], ["3"]),
        ({"const": {"a": [1, "é"]}}, ['{"a":[1,"é"]}', '{"a": [1, "é"]}'], ['{"a":[1]}', "{}"]),
        ({"type": "string"}, ['""', '"\\n\\u00e9"', '"\\ud83d\\ude00"'], ['"\n"', '"\\ud83d"', '"\\ude00"', '"\\x"']),
        ({"type": "string", "minLength": 1}, ['"a"', '"\\n"'], ['""']),
        ({"type": "array", "items": {"type": "integer"}}, ["[]", "[1]", "[1, 2,3]"], ["[1,]", "[true]", "[1 ,2]"]),
        ({"items": {"type": "null"}, "minItems": 1, "maxItems": 2}, ["[null]"], ["[]", "[null,null,null]"]),
        ({"type": "array", "prefixItems": [{"type": "integer"}], "items": False}, ["[]", "[1]"], ["[1,2]", "[true]"]),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, ["{}", '{"a":1, "b":2}'], ['{"a":"b"}']),
        ({"type": "object", "additionalProperties": False}, ["{}"], ['{"a":1}']),
        ({"type": "file"}, ["{}", "1"], [""]),
        ({"type": 3, "items": {"type": []}, "required": "x", "anyOf": {}}, ["[1]"], [""]),
        ({}, ["null", '{"a":[1,{}]}', '"x"', "[[]]"], ["", "{a:1}", "nul"]),
        (
            {"properties": {"a": {"const": 1}, "b": {"const": 2}, "c": {"const": 3}}, "required": ["b"]},
            ['{"b":2}', '{"a":1,"b":2,"c":3}', '{"b": 2, "c": 3}'],
            ["{}", '{"a":1}', '{"b":2,"a":1}', '{"b":2,}', '{"b":2,"b":2}'],
        ),
        ({"required": ["x"]}, ['{"x":[1]}'], ["{}"]),
        ({"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "string"}}]}, ["1", '["a"]'], ['"a"']),
        ({"allOf": [{"properties": {"a": {"const": 1}}}, {"required": ["a"]}]}, ['{"a":1}'], ["{}"]),
        (
            {"properties": {"b": {"const": 2}}, "anyOf": [{"required": ["b"]}, {"properties": {"a": {"const": 1}}}]},
            ['{"b":2}', '{"a":1}', '{"b":2,"a":1}'],
            ['{"b":1}'],
        ),
    ],
    ids=json.dumps,
)  # fmt: skip
def test_a_schema_says_which_values_are_legal(schema: Any, good: list[str], bad: list[str]) -> None:
    legal = values(schema)
    assert [text for text in good if not legal.admits(text)] == []
    assert [text for text in bad if legal.admits(text)] == []


def test_schemas_may_refer_to_themselves() -> None:
    tree = {
        "$defs": {
            "tree": {
                "type": "object",
                "properties": {"name": TEXT, "in": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
                "required": ["name"],
            },
            "loop": {"anyOf": [{"$ref": "#/$defs/loop"}, {"type": "integer"}]},
        },
        "anyOf": [{"$ref": "#/$defs/tree"}, {"$ref": "#/$defs/loop"}],
    }
    legal = values(tree)
    assert legal.admits('{"name": "a", "in": [{"name": "b", "in": []}, {"name": "c"}]}') and legal.admits("7")
    assert not legal.admits('{"name": "a", "in": [{}]}')


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_schemas_that_come_back_to_themselves_in_many_ways_end(protocol: str) -> None:
    twice = {"$ref": "#/$defs/many"}
    schema = {
        "type": "object",
        "properties": {"list": {"$ref": "#/$defs/list"}, "many": twice, "all": {"$ref": "#/$defs/all"}},
        "$defs": {
            "list": {"type": "array", "items": {"$ref": "#/$defs/list"}},
            "many": {"minimum": 0, "anyOf": [twice, {"oneOf": [twice, twice]}, twice, {"type": "integer"}]},
            "all": {"allOf": [{"$ref": "#/$defs/all"}, {"type": "array", "items": {"$ref": "#/$defs/all"}}]},
        },
    }
    odd = ToolSpec("run", "", schema)
    calls: list[dict[str, Any]] = [{"list": [[], [[]]]}, {"many": 3}, {"all": [[]]}]
    for arguments in calls:
        assert not grammar(protocol, odd).refusal(encoded(protocol, odd, arguments))


bounds = st.integers(-1200, 1200) | st.integers(-(10**12), 10**12)


@pytest.mark.property
@given(bounds, bounds, st.lists(bounds, max_size=5))
def test_integers_keep_to_their_bounds(one: int, other: int, tried: list[int]) -> None:
    low, high = sorted((one, other))
    legal = values({"type": "integer", "minimum": low, "maximum": high})
    for number in {*tried, low, high, low - 1, high + 1, (low + high) // 2, 0}:
        assert legal.admits(str(number)) is (low <= number <= high)
    above = values({"type": "integer", "exclusiveMinimum": low})
    assert above.admits(str(low + 1)) and not above.admits(str(low)) and above.admits(str(10**17))


# Names


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_tool_whose_name_begins_another_s_is_told_apart(protocol: str) -> None:
    for choice in (REQUIRED, ToolChoice()):
        both = grammar(protocol, READ, READ_FILE, choice=choice)
        assert both.admits(encoded(protocol, READ, {"path": "a"}))
        assert both.admits(encoded(protocol, READ_FILE, {"path": "a", "limit": 3}))
        assert not both.admits(encoded(protocol, READ, {"path": "a", "limit": 3}))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_parameter_may_have_the_name_of_its_tool_or_of_another(protocol: str) -> None:
    odd = tool("read", read=TEXT, write=TEXT, content=TEXT)
    arguments = {"read": "</read", "write": "<read_file>", "content": "</read>\n</write>"}
    text = encoded(protocol, odd, arguments)
    assert not grammar(protocol, odd, WRITE).refusal(text)
    [call] = parse(text, protocol=protocol, tools=[odd, WRITE]).calls
    assert call.arguments == arguments


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", ["with space", 'quo"te', "back\\slash", "näme", "x-1.y", "0", "😀", "]", "a=b"])
@pytest.mark.parametrize("schema", [TEXT, {"type": "array", "items": TEXT}, {"type": "integer"}], ids=json.dumps)
def test_parameters_may_have_any_name(protocol: str, name: str, schema: Any) -> None:
    odd = tool("run", **{name: schema})
    value: Any = {"string": "x", "array": ["</x", '"'], "integer": 3}[schema["type"]]
    assert not grammar(protocol, odd).refusal(encoded(protocol, odd, {name: value}))


def test_json_mix_takes_other_tags() -> None:
    protocol = JsonMixProtocol("[[CALL", "CALL]]")
    read = Grammar(protocol.grammar([READ]))
    call = '[[CALL{"name": "read", "arguments": {"path": "CALL]]"}}CALL]]'
    assert read.admits(f"[ [[ [[[CAL{call}") and not read.admits("[[[CALL")
    assert [each.arguments for each in parse(call, protocol=protocol, tools=[READ]).calls] == [{"path": "CALL]]"}]


def test_morph_xml_reads_by_the_original_schemas_and_so_does_its_grammar() -> None:
    protocol = MorphXmlProtocol({"read": {"type": "object", "properties": {"n": {"type": "integer"}}}})
    read = Grammar(protocol.grammar([READ], REQUIRED))
    assert read.admits("<read>\n  <n>3</n>\n</read>") and not read.admits("<read>\n<path>x</path>\n</read>")


# Content


def test_content_may_hold_anything_but_its_end() -> None:
    xml = grammar("xml", WRITE)
    call = "<write>\n<path>a</path>\n<content>\n{}\n</content>\n</write>"
    for good in ('print("</content>")', "<content>", "a</write>", "</content", "< / content >", "\x00\ud7ff", "&lt;"):
        assert xml.admits(call.replace("{}", good))
    for bad in ("</content>", "a</content>\n<more>", "</content></p>"):
        assert not xml.admits(call.replace("{}", bad))


def test_the_closing_tag_of_the_last_value_may_be_forgotten_where_the_reply_ends() -> None:
    page = "<write>\n<path>a</path>\n<content>\n<html>\n</html>\n"
    assert grammar("xml", WRITE).admits(f"{page}</write>")
    (call,) = parse(f"{page}</write>", protocol="xml", tools=[WRITE]).calls
    assert call.arguments == {"path": "a", "content": "<html>\n</html>"}
    assert not grammar("xml", WRITE).admits(f"{page}a</write>")
    assert not grammar("xml", WRITE).admits(f"{page}</write>\nmore\n</content>\n</write>")
    assert not grammar("xml", WRITE).admits("<write>\n<path>a\n</write>")
    assert not grammar("xml", WRITE, choice=ToolChoice()).admits(f"{page}</write>")


def test_what_the_plain_form_cannot_carry_is_written_as_json() -> None:
    xml = grammar("xml", WRITE)
    for text in ("</content>\n<path>x</path>", "a</content>", "</html>\n</write>\nmore"):
        call = encoded("xml", WRITE, {"path": " spaced ", "content": text})
        assert '<json_parameter name="content">' in call and '<json_parameter name="path">' in call
        assert not xml.refusal(call)


def test_a_string_that_may_not_be_empty_is_more_than_what_is_trimmed() -> None:
    filled = tool("run", command={"type": "string", "minLength": 1}, content={"type": "string", "minLength": 1})
    call = "<run>\n<command>{}</command>\n<content>{}</content>\n</run>"
    xml = grammar("xml", filled)
    assert xml.admits(call.format("\n ls\n", "\n \n"))
    for command, content in (("", "x"), ("\n \ufeff\n", "x"), ("ls", ""), ("ls", "\n\n")):
        assert not xml.admits(call.format(command, content))


@pytest.mark.parametrize(
    ("text", "legal"),
    [
        ("Use `<read>` for it.", False),
        ("Use `<rea` for it.\n<read>\n<path>a</path>\n</read>", True),
        ("`x` <read>\n<path>a</path>\n</read>", False),
        ("Use `x` <read>\n<path>a</path>\n</read>", False),
        ("```xml\n<read>\n```\n<read>\n<path>a</path>\n</read>", True),
        ("```xml\n<read>\n``` \n  > ~~~~\n<read>\n~~~\n~~~~~\t\nok", True),
        ("``` `a\n<read>\n<path>a</path>\n</read>", True),
        ("```\n<read>\n<path>a</path>\n</read>", True),
        ("a <b> < <re> <reader> <read", False),
        ("a <b> < <re> <reader> <re", True),
        ("``````\n", False),
    ],
)
def test_calls_stand_outside_code_in_xml(text: str, legal: bool) -> None:
    auto = grammar("xml", READ, choice=ToolChoice())
    assert auto.admits(text) is legal
    if legal:
        assert parse(text, protocol="xml", tools=[READ]).malformed == ()


def test_a_string_in_morph_xml_holds_no_tag_that_would_end_it() -> None:
    morph = grammar("morph_xml", WRITE, READ)
    call = "<write>\n  <path>a</path>\n  <content>{}</content>\n</write>"
    for good in ("a < b", "<contents>", "<p>\n</p>", "</writer>", "<read>", "&lt;/content>", "</content", "]]>"):
        text = call.replace("{}", good)
        assert not morph.refusal(text)
        assert parse(text, protocol="morph_xml", tools=[WRITE, READ]).malformed == ()
    for bad in ("<content>", "<content a=1>", "</content >", "</ content>", "</write>", "</write\n>", "<content/>"):
        assert not morph.admits(call.replace("{}", bad))


def test_lists_and_objects_in_morph_xml_are_elements_or_json() -> None:
    options = {"type": "object", "properties": {"a": TEXT, "b": {"type": "integer"}}}
    odd = tool("run", options=options, names={"type": "array", "items": TEXT, "maxItems": 3})
    morph = grammar("morph_xml", odd)
    names = ("<names>[]</names>", "<names>\n<item>x</item>\n</names>", "<names>x</names>\n<names>y</names>")
    for inside in ("{}", '{"a": "x", "b": 3}', "\n<a>x</a>\n", "\n    <a>&lt;</a>\n    <b>3</b>\n  "):
        for listed in names:
            assert not morph.refusal(f"<run>\n  <options>{inside}</options>\n  {listed}\n</run>")
    for inside, listed in (
        ("\n", names[0]),
        ("\n<b>x</b>\n", names[0]),
        ("\n<a><</a>\n", names[0]),
        ("\n<a>x</a>\n", "<names>x</names>"),
        ("\n<a>x</a>\n", "<names>x</names>\n<names>y</names>\n<names>y</names>\n<names>y</names>"),
    ):
        assert not morph.admits(f"<run>\n  <options>{inside}</options>\n  {listed}\n</run>")
