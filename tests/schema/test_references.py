from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joey.schema.example import example_arguments
from joey.schema.kinds import kinds_of, type_of
from joey.schema.references import MAX_PARTS, follow, resolve
from joey.schema.repair import ArgumentRepair, expected

ROOT: dict[str, Any] = {
    "$defs": {
        "A": {"type": "integer", "description": "inner"},
        "B": {"$ref": "#/$defs/A"},
        "loop": {"$ref": "#/$defs/pool"},
        "pool": {"$ref": "#/$defs/loop"},
        "itself": {"allOf": [{"$ref": "#/$defs/itself"}, {"type": "string"}]},
        "a/b~c": {"type": "null"},
    }
}


@pytest.mark.parametrize(
    ("schema", "means"),
    [
        ({"type": "string"}, {"type": "string"}),
        ({"$ref": "#/$defs/A"}, ROOT["$defs"]["A"]),
        ({"$ref": "#/$defs/B"}, ROOT["$defs"]["A"]),
        ({"$ref": "#/$defs/A", "description": "outer"}, {"type": "integer", "description": "outer"}),
        ({"$ref": "#/$defs/a~1b~0c"}, {"type": "null"}),
        ({"$ref": "#/$defs/loop"}, {}),
        ({"$ref": "#/$defs/itself"}, {"type": "string"}),
        ({"$ref": "#/nowhere"}, {}),
        ({"$ref": "https://elsewhere/schema", "type": "string"}, {"type": "string"}),
        ({"allOf": [{"$ref": "#/$defs/A"}, {"minimum": 1}]}, {"type": "integer", "description": "inner", "minimum": 1}),
        ({"allOf": [{"type": ["string", "integer"]}, {"type": "number"}]}, {"type": "integer"}),
        ({"allOf": [{"type": "string"}, {"type": "null"}]}, {"type": "null"}),
        ({"allOf": [True, {"type": "string"}]}, {"type": "string"}),
        ({"allOf": [{"type": "string"}, False]}, False),
        (
            {
                "allOf": [
                    {"properties": {"a": {}}, "required": ["a"]},
                    {"properties": {"b": {}}, "required": ["a", "b"]},
                ]
            },
            {"properties": {"a": {}, "b": {}}, "required": ["a", "b"]},
        ),
        ({"jsonSchema": {"$ref": "#/own", "own": {"type": "array"}}}, {"own": {"type": "array"}, "type": "array"}),
        (True, True),
    ],
)
def test_a_schema_comes_down_to_what_it_says(schema: Any, means: Any) -> None:
    assert resolve(schema, ROOT) == means


def test_a_schema_without_wrapping_is_itself() -> None:
    assert resolve(ROOT["$defs"]["A"], ROOT) is ROOT["$defs"]["A"]
    assert resolve({"$ref": "#/$defs/B"}, ROOT) is ROOT["$defs"]["A"]


@pytest.mark.parametrize(
    ("schema", "kinds"),
    [
        ({"type": ["string", "null"]}, ("string", "null")),
        ({"anyOf": [{"$ref": "#/$defs/A"}, {"enum": ["a", None]}]}, ("integer", "string", "null")),
        ({"oneOf": [{"type": "string"}, {}]}, ()),
        ({"const": 1.5}, ("number",)),
        ({"properties": {}}, ("object",)),
        ({"prefixItems": []}, ("array",)),
        ({"additionalProperties": False}, ()),
        (False, ()),
    ],
)
def test_the_kinds_of_a_schema_are_those_it_allows(schema: Any, kinds: tuple[str, ...]) -> None:
    assert kinds_of(schema, ROOT) == kinds


def test_parts_of_parts_are_joined_once_each() -> None:
    """Two references to two references to …: two to the fortieth, if each were followed."""
    doubling = {f"{n}": {"allOf": [{"$ref": f"#/{n + 1}"}, {"$ref": f"#/{n + 1}"}]} for n in range(40)}
    root = {**doubling, "40": {"type": "integer"}}
    assert type_of(resolve({"$ref": "#/0"}, root)) == "integer"
    assert ArgumentRepair({"properties": {"n": {"$ref": "#/0"}}, **root}).arguments({"n": "5"}) == {"n": 5}


def test_a_chain_that_is_too_long_says_nothing() -> None:
    chain = {str(n): {"$ref": f"#/{n + 1}"} for n in range(MAX_PARTS + 1)}
    assert resolve({"$ref": "#/0"}, {**chain, str(MAX_PARTS + 1): {"type": "integer"}}) == {}


def test_no_chain_needs_a_deep_stack() -> None:
    deep: Any = {"type": "integer"}
    for _ in range(MAX_PARTS // 2):
        deep = {"allOf": [deep]}
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(150)
    try:
        assert resolve(deep, {}) == {"type": "integer"}
    finally:
        sys.setrecursionlimit(limit)


_KEYWORDS = ("type", "items", "properties", "anyOf", "oneOf", "$ref", "enum", "const", "required", "allOf")
_WORDS = st.sampled_from([*_KEYWORDS, "additionalProperties", "jsonSchema"])
_LEAVES = st.sampled_from(["string", "object", "array", "#", "#/items", "#/allOf/0", "integer", None, True, False, 3])
ANY_SCHEMA = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.property
@given(ANY_SCHEMA, st.dictionaries(_WORDS, ANY_SCHEMA, max_size=4), st.sampled_from(["5", 5, None, [], {"items": "5"}]))
def test_whatever_stands_in_a_schema_it_can_be_read(schema: Any, root: Any, value: Any) -> None:
    for reader in (resolve, kinds_of, expected):
        reader(schema, root)
    follow("#/allOf/0", root)
    example_arguments({**root, "properties": {"items": schema}})
    ArgumentRepair({**root, "properties": {"items": schema}}).arguments({"items": value})
