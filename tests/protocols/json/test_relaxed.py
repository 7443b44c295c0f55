from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joey.protocols.json.relaxed import MAX_DEPTH, RelaxedJsonError, RelaxedReader, loads
from joey.testing.streams import cut_at, cut_everywhere
from vectors_data import cases

DECIDED_OTHERWISE = {
    "rjson/0493": "a // comment without an end of line is refused everywhere, not read as a word in some places",
}

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
_MARKS = ["{", "}", "[", "]", ",", ":", '"', "'", "\\", "\\u00", "\\ud83d", "\\ude00", "/*", "*/", "//", "\n", "/", "*"]
_WORDS = [" ", "a", "1", "-", "true", "null", "1e5", "0x", '"a"', "'b'", "\u2028", "é", "`", "\x01", "\\n", "\\'"]
RELAXED_TEXTS = st.lists(st.sampled_from(_MARKS + _WORDS), max_size=25).map("".join)


def answer(case: Any) -> Any:
    options = case.get("options", {})
    relaxed, duplicates = options.get("relaxed", True), options.get("duplicate", False)
    tolerant = options.get("tolerant", False) or options.get("warnings", False)
    try:
        return {"value": loads(case["input"], relaxed=relaxed, duplicates=duplicates, tolerant=tolerant)}
    except RelaxedJsonError:
        return {"error": "SyntaxError"}


def same(got: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict) and wanted.get("$number") == "Infinity":
        return bool(got == math.inf)
    if isinstance(wanted, list) and isinstance(got, list):
        return len(got) == len(wanted) and all(map(same, got, wanted))
    if isinstance(wanted, dict) and isinstance(got, dict):
        return got.keys() == wanted.keys() and all(same(got[key], wanted[key]) for key in wanted)
    return bool(got == wanted) and isinstance(got, bool) == isinstance(wanted, bool)


def agrees(case: Any) -> bool:
    got, wanted = answer(case), case["expected"]
    if "undefined" in wanted:
        return bool(got == {"value": None})
    if "value" in got and "value" in wanted:
        if case.get("js_number"):
            return bool(float(got["value"]) == wanted["value"])
        return same(got["value"], wanted["value"])
    return "error" in got and "error" in wanted


def in_pieces(pieces: list[str], *, repair: bool = False) -> RelaxedReader:
    reader = RelaxedReader(repair=repair)
    for piece in pieces:
        raws = "".join(each.raw for each in reader.read(piece)[0])
        assert raws == piece or reader.fault is not None
    reader.finish()
    return reader


def test_recorded_answers_are_ours() -> None:
    differing = {case["id"] for case in cases("ai-sdk-tool/rjson") if not agrees(case)}
    assert differing == DECIDED_OTHERWISE.keys()


def test_recorded_answers_do_not_depend_on_the_cut() -> None:
    for case in cases("ai-sdk-tool/rjson"):
        whole = in_pieces([case["input"]])
        for pieces in list(cut_everywhere(case["input"]))[:60]:
            reader = in_pieces(pieces)
            assert (reader.fault is None) == (whole.fault is None), pieces
            assert whole.fault is not None or repr(reader.value) == repr(whole.value), pieces


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"a": 1 "b": 2}', "expected ',' or a closing bracket at character 8, got '\"'"),
        ('{"a" 1}', "expected ':' at character 5, got '1'"),
        ('{"a": 1', "expected ',' or a closing bracket at character 7, got the end"),
        ('{"a": "b', "expected the end of a string at character 8, got the end"),
        ('{"a": 1} x', "expected nothing more at character 9, got 'x'"),
        ("[1b]", "expected a value or ']' at character 1, got '1b'"),
        ('{"a": 1, "a": 2}', "the key 'a' is given twice, again before character 12"),
        ("[1 /* c", "expected the end of a comment at character 7, got the end"),
        ("", "expected a value at character 0, got the end"),
        ('"\\u12G4"', "four hexadecimal digits are missing after '\\\\u' near character 3"),
        ('"a\nb"', "a control character in a string, which must be escaped, near character 5"),
        ('"\\x41"', "JSON has no escape '\\\\x' near character 6"),
        ("9" * 5000, "a number of 5000 digits is too long"),
    ],
)
def test_a_fault_says_where_it_is_what_was_expected_and_what_came(text: str, complaint: str) -> None:
    with pytest.raises(RelaxedJsonError) as error:
        loads(text)
    assert complaint in str(error.value)


def test_a_tolerant_reading_takes_the_first_scalar_and_no_more() -> None:
    assert loads("yes, it is", tolerant=True) == "yes"
    for text in ("yes, it is", "{} {}", '"open'):
        with pytest.raises(RelaxedJsonError):
            loads(text, tolerant=text != "yes, it is")


def test_deep_nesting_is_refused_and_does_not_overflow() -> None:
    assert loads("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    with pytest.raises(RelaxedJsonError, match="nested deeper than 200 levels"):
        loads("[" * 100_000)


def test_repairing_reads_on_and_reports_it() -> None:
    reader = in_pieces(['```json\n{"a": "x\ny \\d \\', "u00", 'zz"}\n```'], repair=True)
    assert reader.fault is None
    assert reader.value == {"a": "x\ny d u00zz"}
    assert reader.repairs == [
        "a code fence around the JSON",
        "control characters in a string",
        "an escape that JSON does not know",
    ]


def test_strings_grow_and_scalars_come_whole() -> None:
    reader = RelaxedReader()
    pieces = [
        piece for text in ('{"a": ["x', "y\\", 'n", 1', "2, tr", 'ue], b: "z"}') for piece in reader.read(text)[0]
    ]
    assert [(piece.path, piece.text, piece.literal) for piece in pieces if piece.path] == [
        (("a", 0), "x", False),
        (("a", 0), "y", False),
        (("a", 0), "\n", False),
        (("a", 1), "12", True),
        (("a", 2), "true", True),
        (("b",), "z", False),
    ]


def test_a_snapshot_shows_what_has_come_so_far_and_disturbs_nothing() -> None:
    reader = RelaxedReader()
    reader.read('{"a": [1, "tw')
    assert reader.snapshot() == {"a": [1, "tw"]}
    reader.read('o"], "b": "x')
    assert reader.snapshot() == {"a": [1, "two"], "b": "x"}
    reader.read('y"}')
    assert reader.value == reader.snapshot() == {"a": [1, "two"], "b": "xy"}


def test_work_doubles_when_the_text_doubles() -> None:
    def work(size: int) -> int:
        reader = RelaxedReader()
        for piece in cut_at('{"a": "' + "x\\n" * size + '"}', range(0, 3 * size, 4)):
            reader.read(piece)
        return reader.scanned

    assert work(20_000) <= 2 * work(10_000) + 100


@pytest.mark.property
@given(JSON_VALUES, st.booleans(), st.lists(st.integers(0, 200), max_size=6))
def test_whatever_json_writes_is_read_back_however_it_is_cut(value: Any, ascii_only: bool, cuts: list[int]) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert loads(text) == value
    assert loads(text, relaxed=False) == value
    assert in_pieces(cut_at(text, cuts)).value == value


@pytest.mark.property
@given(RELAXED_TEXTS | st.text(), st.lists(st.integers(0, 60), max_size=6), st.booleans())
def test_the_outcome_does_not_depend_on_the_cut(text: str, cuts: list[int], repair: bool) -> None:
    whole, cut = in_pieces([text], repair=repair), in_pieces(cut_at(text, cuts), repair=repair)
    assert (whole.fault is None) == (cut.fault is None)
    if whole.fault is None:
        assert repr(whole.value) == repr(cut.value)
        assert whole.repairs == cut.repairs
