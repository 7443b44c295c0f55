"""Regular expressions and JSON Schemas of somebody else's that would take forever: each is given up, and said to be."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bounds_kit import refused
from joey.bounded.regexes import PatternError, SlowPatternError, compile_pattern, finds, is_cheap
from joey.mcp.checking import SchemaChecker, UnusableSchemaError

SLOW = [
    "(a+)+$",
    "(a|a)*$",
    "a*" * 20 + "b",
    "(?:a|a)" * 30 + "b",
    "(a{0,1000}){0,1000}b",
    r"(?:a?){60}a{60}b",
    "(?#[)(a+)+$(?#])",
    "(?x) # [\n (a+)+$ # ]",
    r"(?=(a+)+$)x",
    r"[\]](a+)+$|(a+)+$",
]
MODE = "customModes:\n- slug: slow\n  name: S\n  roleDefinition: r\n  groups:\n  - - edit\n    - fileRegex: {}\n"


@pytest.mark.parametrize("pattern", SLOW)
def test_a_mode_whose_pattern_takes_forever_permits_nothing_and_says_why(pattern: str, tmp_path: Path) -> None:
    (tmp_path / ".roomodes").write_text(MODE.format(json.dumps(pattern)))
    refused("mode pattern", tmp_path, "takes too long; use a simpler one")


def test_a_pattern_that_is_too_long_is_reported_with_its_mode(tmp_path: Path) -> None:
    (tmp_path / ".roomodes").write_text(MODE.format("a" * 100_000))
    refused("mode pattern", tmp_path, "the fileRegex of 'edit' is no regular expression")


@pytest.mark.parametrize(
    "pattern",
    [r"\.md$", r"\.(js|jsx|ts|tsx|md|mdx)$", r"^docs/.*\.(md|txt)$", r"^(?!.*test).*\.py$", r"(^|/)src/.*\.(c|h)$"],
)
def test_what_people_write_needs_no_other_process(pattern: str) -> None:
    assert is_cheap(pattern, 60)


def test_what_needs_another_process_is_found_there() -> None:
    pattern = r"^(src|tests)/(?:[^/]+/)*[^/]+\.py$"
    assert not is_cheap(pattern, 10)
    assert finds(pattern, "src/a/b/c.py")
    assert not finds(pattern, "docs/a/b/c.py")
    with pytest.raises(PatternError, match="no regular expression"):
        finds("(", "a")
    with pytest.raises(SlowPatternError):
        finds("a", "a" * 2_000_000)


@pytest.mark.property
@given(st.text("ab*+?{}()[]|\\^$.,1x#: =!<P", max_size=14), st.text("ab", max_size=12))
def test_a_cheap_pattern_is_found_where_python_finds_it(pattern: str, text: str) -> None:
    compiled = compile_pattern(pattern)
    if compiled is not None and is_cheap(pattern, len(text)):
        assert finds(pattern, text) == (re.search(pattern, text) is not None)


# Schemas


def doubling(key: str, levels: int = 60) -> dict[str, Any]:
    """References to references: every level stands for twice the one below."""

    def pair(level: int) -> Any:
        reference = {"$ref": f"#/$defs/d{level}"}
        return (
            {"type": "object", key: {"x": reference, "y": reference}} if key == "properties" else {key: [reference] * 2}
        )

    steps = {f"d{level}": pair(level + 1) for level in range(levels)}
    return {"type": "object", "properties": {"v": pair(0)}, "$defs": {**steps, f"d{levels}": {"type": "integer"}}}


def everything_in_everything(count: int = 12) -> dict[str, Any]:
    every = {f"p{n}": {"$ref": f"#/$defs/d{n}"} for n in range(count)}
    return {"type": "object", "properties": every, "$defs": {f"d{n}": {"properties": every} for n in range(count)}}


NESTED: dict[str, Any] = {}
for _ in range(40):
    NESTED = {"x": NESTED, "y": NESTED} if len(json.dumps(NESTED)) < 10_000 else {"x": NESTED}
OF_V = {"type": "object", "properties": {"v": {}}}
WIDE = {"items": {"anyOf": [{"const": n} for n in range(900)]}}
NAMES: dict[str, Any] = {"patternProperties": {"(a+)+$": {}}}
HOSTILE: list[tuple[str, Any, Any, str]] = [
    ("unions of unions", doubling("anyOf"), {"v": "x"}, "more than 1,000 alternatives"),
    ("all of all", doubling("allOf"), {"v": "x"}, "usable"),
    ("objects of objects", doubling("properties"), {"v": NESTED}, "usable"),
    ("everything in everything", everything_in_everything(), {"p0": NESTED}, "usable"),
    ("a union of itself", {"anyOf": [{"$ref": "#"}, {"type": "object"}]}, {"v": 1}, "hold themselves"),
    ("a reference to itself", {**OF_V, "$ref": "#"}, {"v": 1}, "usable"),
    ("a tree", {**OF_V, "properties": {"v": {"$ref": "#"}}}, NESTED, "usable"),
    ("many parts", {"properties": {f"p{n}": {} for n in range(9_000)}}, {}, "more than 5,000 parts"),
    ("long words", {"description": "x" * 500_000}, {}, "more than 256 KB"),
    ("many items", {"type": "object", "properties": {"v": {"minItems": 10**9, "type": "array"}}}, {"v": []}, "usable"),
    ("many values", {"type": "object", "properties": {"v": WIDE}}, {"v": [-1] * 1_000}, "usable"),
    ("unique items", {"properties": {"v": {"uniqueItems": True}}}, {"v": [{"a": n} for n in range(20_000)]}, "usable"),
    (
        "messages that repeat the value",
        {"properties": {"v": {"allOf": [{"maxLength": n} for n in range(2_000)]}}},
        {"v": "x" * 1_000_000},
        "usable",
    ),
    *[
        (f"the pattern {each}", {"properties": {"v": {"pattern": each}}}, {"v": "a" * 60 + "c"}, "usable")
        for each in SLOW
    ],
    ("names", {"patternProperties": {"(a+)+$": {}}, "additionalProperties": False}, {"a" * 60 + "c": 1}, "usable"),
    (
        "other names",
        {"patternProperties": {"(a+)+$": {}}, "unevaluatedProperties": False},
        {"a" * 60 + "c": 1},
        "usable",
    ),
    (
        "another dialect",
        {"properties": {"v": {"$schema": "http://json-schema.org/draft-07/schema#", "pattern": "(a+)+$"}}},
        {"v": "a" * 60 + "c"},
        "usable",
    ),
]


@pytest.mark.parametrize(("schema", "value", "words"), [pytest.param(*rest, id=name) for name, *rest in HOSTILE])
def test_a_hostile_schema_is_refused_or_its_check_given_up(schema: Any, value: Any, words: str, tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text(json.dumps({"type": "object", **schema}))
    (tmp_path / "value.json").write_text(json.dumps(value))
    refused("schema", tmp_path, words)


def test_everyday_schemas_are_still_checked() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"id": {"type": "string", "pattern": "^[a-z]+-[0-9]+$"}, "$schema": {"type": "string"}},
        "patternProperties": {"^x-": {"type": "integer"}},
        "additionalProperties": False,
    }
    checker = SchemaChecker(schema)
    assert checker.problems({"id": "ab-12", "$schema": "s", "x-a": 1}) == []
    assert checker.problems({"id": "12"}) == ["\"id\": '12' does not match '^[a-z]+-[0-9]+$'"]
    assert checker.problems({"x-a": "1"}) == ["\"x-a\": '1' is not of type 'integer'"]
    assert checker.problems({"y": 1, "z": 2}) == ["Additional properties are not allowed ('y', 'z' were unexpected)"]
    union = {"$defs": {"n": {"anyOf": [{"type": "integer"}, {"items": {"$ref": "#/$defs/n"}, "type": "array"}]}}}
    recursive = SchemaChecker({**union, "properties": {"v": {"$ref": "#/$defs/n"}}})
    assert recursive.problems({"v": [1, [2, [3]]]}) == []
    assert recursive.problems({"v": [1, ["x"]]})


def test_a_schema_that_is_wrong_is_reported() -> None:
    with pytest.raises(UnusableSchemaError, match=r"properties\.v\.type"):
        SchemaChecker({"properties": {"v": {"type": 5}}})


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ("[" + "[]," * 3_000_000 + "[]]", "more than 500,000 values was left out"),
        ("[" + '"ab",' * 3_000_000 + "1]", "more than 500,000 values was left out"),
        ("[" * 1_000_000, "its answer cannot be read"),
        ('{"text": "' + "a,b[c{" * 200_000 + '"}', "JSONRPCResponse"),
    ],
)
def test_a_message_with_more_values_than_memory_is_left_out(result: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "message.json").write_text('{"jsonrpc": "2.0", "id": 7, "result": ' + result + "}")
    refused("message", tmp_path, words)
