from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joey.protocols.xml import relaxed as rxml
from joey.schema.coerce import NO_SCHEMA
from vectors_data import cases, same_to_javascript

FILE = {"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}}

_SAME_TAG = "facts 11: a tag of the same name inside a string is text of it, not a second argument"
DECIDED_OTHERWISE = {
    "rxml/0946": _SAME_TAG,
    "rxml/0948": _SAME_TAG,
    "rxml/1007": "facts 11: the real one keeps only the text of mixed content and loses the elements",
}


def _answer(case: Any) -> Any:
    options = case.get("options") or {}
    try:
        return {
            "value": rxml.loads(
                case["input"],
                case["schema"],
                text_key=options.get("textNodeName", "#text"),
                first_of_duplicates=options.get("throwOnDuplicateStringTags") is False,
                strict=not options.get("repair"),
            )
        }
    except rxml.RxmlError:
        return {"error": True}


def _agrees(got: Any, case: Any) -> bool:
    if "error" in case["expected"]:
        return "error" in got
    return same_to_javascript(got, case["expected"])


def test_every_recorded_text_is_read_the_same() -> None:
    wrong = []
    for case in cases("ai-sdk-tool/rxml"):
        got = _answer(case)
        if _agrees(got, case) == (case["id"] in DECIDED_OTHERWISE):
            wrong.append((case["id"], got, case["expected"]))
    assert not wrong


@pytest.mark.parametrize("function", ["parseXml", "parseXmlForDiff"])
def test_plain_reading_does_what_the_other_agents_helpers_do(function: str) -> None:
    for case in cases("roo/protocol_and_xml_helpers", fn=function):
        text, *rest = case["args"]
        options = rest[1] if len(rest) > 1 else {}
        entities = function == "parseXml" and options.get("processEntities", True)
        assert rxml.read(text, entities=entities) == case["out"], case["test"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<content>a </content> b</content><path>p</path>", {"content": "a </content> b", "path": "p"}),
        ("<path>p</path><content>a </content> b</content>", {"content": "a </content> b", "path": "p"}),
        ("<content>a</content> stray words", {"content": "a"}),
        ("<content><content>x</content></content>", {"content": "<content>x</content>"}),
        ("<content>one <content> more</content>", {"content": "one <content> more"}),
        ("<content><path>q</path></content><path>p</path>", {"content": "<path>q</path>", "path": "p"}),
        ("<content>\n<![CDATA[a </content> &amp;]]>\n</content>", {"content": "\n<![CDATA[a </content> &]]>\n"}),
        ("<content><![CDATA[never closed</content><path>p</path>", {"content": "<![CDATA[never closed", "path": "p"}),
        ("<content>&lt;a&gt; &#39;&#x41;&nbsp;&#0;</content>", {"content": "<a> 'A&nbsp;&#0;"}),
        ("<path xsi:nil='true'/><content/>", {"path": None, "content": ""}),
        ("<args><content> a < b </content></args>", {"content": " a < b "}),
    ],
)
def test_a_string_ends_where_its_call_goes_on(text: str, expected: Any) -> None:
    assert rxml.loads(text, FILE) == expected


def test_optional_strings_and_models_behind_references_are_read_by_their_schema() -> None:
    schema = {
        "$defs": {"Spot": {"type": "object", "properties": {"note": {"type": "string"}, "line": {"type": "integer"}}}},
        "type": "object",
        "properties": {
            "text": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "spot": {"anyOf": [{"$ref": "#/$defs/Spot"}, {"type": "null"}]},
            "spots": {"type": "array", "items": {"$ref": "#/$defs/Spot"}},
        },
    }
    text = "<text><b>x</text><spot><note>a < b</note><line>3</line></spot><spots><note> y </note><line>4</line></spots>"
    assert rxml.loads(text, schema) == {
        "text": "<b>x",
        "spot": {"note": "a < b", "line": 3},
        "spots": [{"note": " y ", "line": 4}],
    }


@pytest.mark.parametrize(
    ("text", "strictly"),
    [
        ("<content>if a < b: pass</content>", "is never ended by a '>'"),
        ("<content>a <</content>", "is never ended by a '>'"),
        ("<content>a < 'it</content>", "is never ended by a '>'"),
        ("<content>a </content> b</content>", "closes nothing here"),
        ("<content><content/></content>", "stands in itself"),
        ("<content>x < 3 and x > 1, '<a b=\">\">'</content>", ""),
    ],
)
def test_strict_reading_refuses_what_only_a_model_means(text: str, strictly: str) -> None:
    assert list(rxml.loads(text, FILE)) == ["content"]
    if strictly:
        with pytest.raises(rxml.RxmlError, match=strictly):
            rxml.loads(text, FILE, strict=True)
    else:
        assert rxml.loads(text, FILE, strict=True) == rxml.loads(text, FILE)


def test_a_string_given_twice_is_an_error_that_names_it() -> None:
    with pytest.raises(rxml.DuplicateStringError, match="<path> was given twice"):
        rxml.loads("<path>a</path><path>b</path>", FILE)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<path>a", "<path> is never closed"),
        ("<x><y></x>", "expected </y>"),
        ("</path>", "closes nothing here"),
        ("<x>1 < 2</x>", "bare '<'"),
        ("<x a='", "<x is never finished"),
        ("<a>" * 1000, "nested more than"),
    ],
)
def test_what_cannot_be_read_says_why(text: str, message: str) -> None:
    with pytest.raises(rxml.RxmlError, match=message):
        rxml.loads(text, FILE)


_MARKUP = (
    "< > / <path> </path> <content> </content> <x_a=' <x/> <!-- --> ]]> &lt; &#1; <![CDATA[ <item> </item> <0> </0>"
)
_PIECES = st.sampled_from([*_MARKUP.split(), "<!DOCTYPE x [", "<?pi?>", " ", "\n", "a", "5", "=", "'", "<script>"])


@pytest.mark.property
@given(st.lists(_PIECES | st.text(max_size=3), max_size=25).map("".join), st.sampled_from([FILE, NO_SCHEMA, {}, True]))
def test_random_markup_is_read_or_refused_but_never_breaks(text: str, schema: Any) -> None:
    with contextlib.suppress(rxml.RxmlError):
        rxml.loads(text, schema)
        rxml.read(text)
    with contextlib.suppress(rxml.RxmlError):
        rxml.loads(text, schema, strict=True)


@pytest.mark.property
@given(st.dictionaries(st.sampled_from(["path", "content"]), st.text()))
def test_escaped_strings_come_back_as_they_were(arguments: dict[str, str]) -> None:
    escaped = {key: value.replace("&", "&amp;").replace("<", "&lt;") for key, value in arguments.items()}
    assert rxml.loads("".join(f"<{key}>{value}</{key}>" for key, value in escaped.items()), FILE) == arguments
