from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joey.schema.normalise import FORMATS, normalise
from vectors_data import cases

OTHERWISE = {
    "normalizeToolSchema-36": "all parts of allOf hold at once, so they are merged; recorded: all but one forgotten",
}

SCALARS = st.sampled_from(["string", "integer", "number", "boolean", "null"])
LEAVES = st.fixed_dictionaries(
    {"type": SCALARS | st.lists(SCALARS, min_size=1, max_size=3, unique=True)},
    optional={"format": st.sampled_from(["uri", "date", "regex"]), "description": st.text(max_size=5)},
)
NAMES = st.text(alphabet="abc", min_size=1, max_size=2)


def _nest(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    objects = st.fixed_dictionaries(
        {"type": st.just("object")},
        optional={
            "properties": st.dictionaries(NAMES, inner, max_size=3),
            "required": st.lists(NAMES, max_size=3, unique=True),
            "additionalProperties": st.booleans() | inner,
        },
    )
    arrays = st.fixed_dictionaries({"type": st.just("array")}, optional={"items": inner})
    either = st.builds(lambda variants: {"anyOf": variants}, st.lists(inner, min_size=1, max_size=3))
    return objects | arrays | either


SCHEMAS = st.recursive(LEAVES, _nest, max_leaves=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | NAMES,
    lambda inner: st.dictionaries(NAMES, inner, max_size=3) | st.lists(inner, max_size=3),
)


@pytest.mark.parametrize("case", cases("roo/native_loop", set="normalizeToolSchema"), ids=lambda c: c["id"])
def test_schemas_are_normalised_as_recorded(case: Any) -> None:
    found = normalise(*case["args"]).schema
    assert (found == case["expected"]) is (case["id"] not in OTHERWISE)


def test_all_parts_of_a_conjunction_are_kept() -> None:
    parts = [
        {"type": "object", "properties": {"base": {"type": "string"}}, "required": ["base"]},
        {"properties": {"extra": {"type": "number"}}, "required": ["base", "extra"]},
    ]
    merged = normalise({"allOf": parts, "description": "both"})
    assert merged.notes == ()
    assert merged.schema == {
        "type": "object",
        "description": "both",
        "properties": {"base": {"type": "string"}, "extra": {"type": "number"}},
        "required": ["base", "extra"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("schema", "note"),
    [
        ({"type": "object", "properties": {"a": {"type": "string", "format": "uri"}}}, "a: the format 'uri'"),
        ({"oneOf": [{"type": "object"}, {"type": "object"}]}, "the schema: oneOf at the top"),
        ({"anyOf": [{"type": "string"}]}, "it now takes no arguments"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "additionalProperties is not accepted"),
        ({"type": "object", "properties": {}, "required": ["b"]}, "required names unknown properties: 'b'"),
        ({"type": "object", "properties": {"a": {"type": "array", "items": [{}, {}]}}}, "a: items for each place"),
        ({"allOf": [{"$ref": "#/$defs/a"}]}, "a part of allOf at the top"),
    ],
)
def test_what_is_lost_is_noted(schema: Any, note: str) -> None:
    (found,) = normalise(schema).notes
    assert note in found


def test_a_schema_that_loses_nothing_has_no_notes() -> None:
    schema = {"type": "object", "properties": {"a": {"type": ["string", "null"]}}, "required": ["a"]}
    assert normalise(schema).notes == ()


def test_open_objects_stay_open_on_request() -> None:
    schema = {"type": "object", "properties": {}, "additionalProperties": {"type": "string"}}
    assert normalise(schema, close_objects=False).schema == schema
    assert normalise(schema, close_objects=False).notes == ()


def _walk(value: Any) -> Any:
    if isinstance(value, dict):
        yield value
        for each in value.values():
            yield from _walk(each)
    elif isinstance(value, list):
        for each in value:
            yield from _walk(each)


@pytest.mark.property
@given(SCHEMAS)
def test_a_normalised_schema_is_valid_and_stays_as_it_is(schema: Any) -> None:
    once = normalise(schema).schema
    jsonschema.Draft202012Validator.check_schema(once)
    assert normalise(once).schema == once
    assert normalise(once).notes == ()
    for node in _walk(once):
        assert not isinstance(node.get("type"), list)
        assert not isinstance(node.get("format"), str) or node["format"] in FORMATS


@pytest.mark.property
@given(SCHEMAS, VALUES)
def test_normalising_without_notes_keeps_the_meaning(schema: Any, value: Any) -> None:
    """Inside an object, an argument is valid before exactly when it is valid after."""
    whole = {"type": "object", "properties": {"x": schema}}
    found = normalise(whole, close_objects=False)
    if found.notes:
        return
    before, after = (jsonschema.Draft202012Validator(each) for each in (whole, found.schema))
    assert before.is_valid({"x": value}) == after.is_valid({"x": value})
