"""What Cline's SDK makes of arguments that are not quite JSON, and where Joey answers otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from joey.protocols.json.repair import UnreadableError, read_arguments, read_json
from joey.schema.coerce import coerce
from vectors_data import cases

_OPEN = "what is not closed may have been cut: it never runs"
_GUESS = "words, keys and quotes that are not JSON's leave a guess; the model is asked again, as Roo does"
BETTER = {
    **dict.fromkeys((10, 13, 15, 29, 31), _OPEN),
    **dict.fromkeys((1, 8, 17, 38, 41, 43, 44, 45), _GUESS),
    25: "a code fence around the arguments is certain",
    26: "two objects are not one string",
}
BETTER_COERCED = {
    **dict.fromkeys((5, 6), "one value where a list is expected is a list of one"),
    10: "a string that the schema allows stays a string",
    12: "what the schema does not declare is read as what it is",
}


def number_of(row: Any) -> int:
    return int(row["id"].rpartition("-")[2])


@pytest.mark.parametrize("row", cases("cline/cline_sdk", set="parse_json_stream"), ids=number_of)
def test_arguments_are_repaired_as_cline_does_or_more_carefully(row: Any) -> None:
    (text,) = row["args"]
    try:
        found: Any = read_arguments(read_json(text))[0]
    except UnreadableError:
        found = text
    expected = {} if text == "" else row["expected"]
    assert (found == expected) is (number_of(row) not in BETTER)


@pytest.mark.parametrize("row", cases("cline/cline_sdk", set="normalize_for_schema"), ids=number_of)
def test_strings_are_coerced_as_cline_does_or_better(row: Any) -> None:
    value, schema = row["args"]
    assert (coerce(value, schema) == row["expected"]) is (number_of(row) not in BETTER_COERCED)
