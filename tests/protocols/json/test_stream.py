from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joey.protocols.json.partial import partial_value
from joey.protocols.json.stream import MAX_DEPTH, JsonReader, without_trailing_commas
from joey.testing import by_character, cut_at, cut_everywhere

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
CUTS = st.lists(st.integers(0, 400), max_size=12)
STYLE = st.sampled_from([{}, {"indent": 2}, {"ensure_ascii": False}, {"separators": (",", ":")}])


def read(pieces: list[str]) -> tuple[JsonReader, list[Any]]:
    reader = JsonReader()
    found = [answer for piece in pieces for answer in reader.feed(piece)]
    return reader, found + reader.finish()


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> dict[tuple[str | int, ...], Any]:
    """Every scalar in a value, by its path."""
    if isinstance(value, dict):
        return {place: leaf for key, item in value.items() for place, leaf in leaves(item, (*path, key)).items()}
    if isinstance(value, list):
        return {place: leaf for index, item in enumerate(value) for place, leaf in leaves(item, (*path, index)).items()}
    return {path: value}


def rebuild(found: list[Any]) -> dict[tuple[str | int, ...], Any]:
    """The scalars, put together again from the pieces alone."""
    scalars: dict[tuple[str | int, ...], Any] = {}
    for path, text, _raw, literal in found:
        if literal:
            scalars[path] = json.loads(text)
        elif path or text:
            scalars[path] = scalars.get(path, "") + text
    return scalars


@pytest.mark.property
@given(value=JSON, cuts=CUTS, style=STYLE)
def test_pieces_rebuild_every_scalar_and_the_value_equals_json_loads(value: Any, cuts: list[int], style: Any) -> None:
    text = json.dumps(value, **style)
    reader, found = read(cut_at(text, cuts))
    assert reader.complete
    assert reader.value() == json.loads(text)
    assert "".join(raw for _, _, raw, _ in found) == text
    if isinstance(value, (dict, list)):
        assert rebuild(found) == leaves(json.loads(text))


@pytest.mark.property
@given(value=JSON, cuts=CUTS, style=STYLE)
def test_every_snapshot_equals_that_of_the_uncut_prefix(value: Any, cuts: list[int], style: Any) -> None:
    text = json.dumps(value, **style)
    reader, fed = JsonReader(), ""
    for piece in cut_at(text, cuts):
        reader.feed(piece)
        fed += piece
        assert reader.snapshot() == partial_value(fed, None)
    assert reader.snapshot() == json.loads(text)


@pytest.mark.property
@given(text=st.text(alphabet='{}[]",:\\u0129abdDtrue nul-.e+\n\t', max_size=40), cuts=CUTS)
def test_any_text_gives_the_same_outcome_however_it_is_cut(text: str, cuts: list[int]) -> None:
    whole, _ = read([text])
    for pieces in (by_character(text), cut_at(text, cuts)):
        reader, found = read(pieces)
        assert (reader.complete, reader.fault, reader.lenient) == (whole.complete, whole.fault, whole.lenient)
        assert "".join(raw for _, _, raw, _ in found) == text
    if whole.complete and not whole.lenient:
        assert whole.value() == json.loads(text)


@pytest.mark.parametrize(
    "text",
    [
        r'{"a": "tab\tquote\"back\\slash\/ \b\f\n\r", "b": "é\u00e9\u4e2d"}',
        r'{"a": "\ud83d\ude00", "b": "\ud83d", "c": "\ud83dx", "d": "\ude00\ud83d\ud83d\ude00"}',
        r'{"a": "\\\\\\\\\\\\\\\\ud83d\ude00\\ud83d"}',
        '{"n": [0, -1, 12.5e-3, 1E+2, true, false, null], "e": {}, "f": [], "g": "", "": "empty key"}',
        '[[["deep"], 1], {"k\\ney": [{"x": "y"}]}]',
        "  \n 42 ",
        '"just a string"',
    ],
)
def test_every_single_cut_gives_the_same_value(text: str) -> None:
    for pieces in [by_character(text), *cut_everywhere(text)]:
        reader, found = read(pieces)
        assert reader.complete
        assert reader.value() == json.loads(text)
        if not isinstance(reader.value(), (int, str)):
            assert rebuild(found) == leaves(json.loads(text))


def test_a_string_is_reported_while_it_grows() -> None:
    reader = JsonReader()
    assert reader.feed('{"path": "he') == [(("path",), "he", '{"path": "he', False)]
    assert reader.feed("llo") == [(("path",), "llo", "llo", False)]
    assert reader.feed('.txt", "n": 5') == [(("path",), ".txt", '.txt", "n": 5', False)]
    assert reader.feed("1}") == [(("n",), "51", "1}", True)]
    assert reader.complete


def test_a_surrogate_pair_cut_in_two_is_one_character() -> None:
    reader = JsonReader()
    assert reader.feed('"\\ud83d') == [((), "", '"\\ud83d', False)]
    assert reader.feed("\\ude0") == [((), "", "\\ude0", False)]
    assert reader.feed('0"') == [((), "\N{GRINNING FACE}", '0"', False)]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{'a': 1}", "expected a key in double quotes or '}' at character 1, got \"'\""),
        ('{"a" 1}', "expected ':' at character 5, got '1'"),
        ('{"a": 1} x', "expected nothing more at character 9, got 'x'"),
        ('{"a": 1]', "expected ',' or a closing bracket at character 7, got ']'"),
        ('{"a": nul}', "expected a value, got 'nul'"),
        ('{"a": "\\x41"}', "expected a known escape at character 7, got '\\\\x'"),
        ('{"a": NaN}', "NaN is not JSON"),
        ('{"a": 1e999}', "the number 1e999 is too large"),
        ("[" * (MAX_DEPTH + 1), f"it is nested deeper than {MAX_DEPTH} levels"),
        ("[" + "9" * 5000 + "]", "a number of 5000 digits is too long"),
    ],
)
def test_what_is_not_json_is_reported_with_its_place(text: str, fault: str) -> None:
    for pieces in ([text], by_character(text)):
        reader, _ = read(pieces)
        assert not reader.complete
        assert reader.fault == fault


def test_control_characters_and_trailing_commas_are_read_and_noted() -> None:
    reader, found = read(['{"a": "one\ntwo\t", "b": [1, 2, ], }'])
    assert reader.complete
    assert reader.value() == {"a": "one\ntwo\t", "b": [1, 2]}
    assert reader.lenient == ("control characters in a string", "a comma before a closing bracket")
    assert rebuild(found) == {("a",): "one\ntwo\t", ("b", 0): 1, ("b", 1): 2}


def test_control_characters_are_noted_wherever_the_text_is_cut() -> None:
    text = '{"a": "one\ntwo\tthree"}'
    for pieces in [by_character(text), *cut_everywhere(text), cut_at(text, [8, 12])]:
        reader, _ = read(pieces)
        assert reader.lenient == ("control characters in a string",)
        assert reader.value() == {"a": "one\ntwo\tthree"}


def test_the_last_of_two_equal_keys_wins_as_in_json_loads() -> None:
    reader, _ = read(['{"a": "first", "a": "last"}'])
    assert reader.value() == {"a": "last"}


def test_a_byte_order_mark_is_ignored() -> None:
    reader, _ = read(['\ufeff{"a": 1}'])
    assert reader.value() == {"a": 1}


def test_commas_in_strings_are_left_alone() -> None:
    assert without_trailing_commas('{"a": ",]", "b": [1,\n ],}') == '{"a": ",]", "b": [1\n ]}'


def test_an_unclosed_value_is_not_complete() -> None:
    for text in ('{"a": 1', '{"a": "b', "[1, 2", '{"a"', "{", "", '"x'):
        reader, _ = read([text])
        assert not reader.complete
        assert reader.fault is None
