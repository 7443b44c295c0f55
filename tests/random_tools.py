"""Tools with random JSON Schemas and arguments that fit them, for the round trips of the protocols."""

from __future__ import annotations

from typing import Any, TypeAlias

from hypothesis import strategies as st

from joey.toolspec import ToolSpec

Typed: TypeAlias = st.SearchStrategy[tuple[Any, Any]]
"""A schema and a value that fits it."""

TRICKY = (
    "</path>",
    "</content>",
    "</content>\n<path>",
    "</content>\n</tool>",
    "<tool>",
    "</tool>",
    "<tool_call>",
    "</tool_call>",
    "<![CDATA[",
    "]]>",
    "&amp;",
    "&",
    "```\n",
    "`",
    "\n",
    "\r\n",
    " ",
    "\ufeff",
    '"',
    "'",
    "\\",
    "null",
    "007",
    "true",
    "{",
    "[1",
    "<json_parameter name=",
    "</json_parameter>",
)
texts = st.lists(st.sampled_from(TRICKY) | st.text(max_size=8), max_size=6).map("".join) | st.text(max_size=30)
names = st.sampled_from(
    ("path", "content", "file_text", "diff", "a", "b", "item", "args", "tool", "mode", "text", "line_count")
) | st.text(min_size=1, max_size=6)
numbers = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)


def _of(schema: Any, values: st.SearchStrategy[Any]) -> Typed:
    return values.map(lambda value: (schema, value))


def _array(item: Typed) -> Typed:
    """Arrays whose items all have one schema: the first item's, with the same value repeated."""
    return st.tuples(item, st.integers(0, 3)).map(
        lambda drawn: ({"type": "array", "items": drawn[0][0]}, [drawn[0][1]] * drawn[1])
    )


def _object(item: Typed) -> Typed:
    return st.dictionaries(names, item, max_size=4).map(
        lambda drawn: (
            {
                "type": "object",
                "properties": {key: schema for key, (schema, _) in drawn.items()},
                "required": list(drawn),
                "additionalProperties": False,
            },
            {key: value for key, (_, value) in drawn.items()},
        )
    )


def _union(item: Typed) -> Typed:
    """A value of one schema, under a union with another."""
    return st.tuples(item, item, st.sampled_from(("anyOf", "oneOf"))).map(
        lambda drawn: ({drawn[2]: [drawn[0][0], drawn[1][0]]}, drawn[1][1])
    )


scalars: Typed = (
    _of({"type": "string"}, texts)
    | _of({"type": "integer"}, st.integers(-(2**53), 2**53))
    | _of({"type": "number"}, numbers)
    | _of({"type": "boolean"}, st.booleans())
    | _of({"type": ["string", "null"]}, texts | st.none())
    | _of({"type": "null"}, st.none())
    | _of({"enum": ["fast", "slow", 3, None]}, st.sampled_from(("fast", "slow", 3, None)))
    | _of({}, texts | numbers | st.booleans() | st.none())
)
typed: Typed = st.recursive(scalars, lambda inner: _array(inner) | _object(inner) | _union(inner), max_leaves=8)


@st.composite
def calls(draw: st.DrawFn, name: str = "tool") -> tuple[ToolSpec, dict[str, Any]]:
    """A tool and the arguments of a call of it; some optional arguments are left out."""
    drawn = draw(st.dictionaries(names, typed, max_size=5))
    given = {key: value for key, (_, value) in drawn.items() if draw(st.integers(0, 4))}
    properties = {key: schema for key, (schema, _) in drawn.items()}
    return ToolSpec(name, "", {"type": "object", "properties": properties, "required": list(given)}), given
