from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joey.chunks import ReasoningChunk
from joey.errors import UsageError
from joey.events import ToolCallDelta, ToolCallFinished, ToolCallMalformed, ToolCallStarted
from joey.messages import ImageBlock, TextBlock, ToolResultBlock, ToolUseBlock
from joey.protocols import ParseError, Reply, collect, get
from joey.protocols.json_mix.protocol import JsonMixProtocol
from joey.testing.streams import by_character, check_laws, cut_at, cut_everywhere, cuttings, read, whole
from joey.toolspec import ToolSpec
from vectors_data import ROOT, cases

DECIDED_OTHERWISE = {"json_mix/truncate/016": "a start tag at the very end is lost there; we lose no text"}

WRITE = '<tool_call>{"name": "write_to_file", "arguments": {"path": "a.py", "file_text": "x = 1\\n"}}</tool_call>'
END = "</tool_call>"
WEATHER = '<tool_call>{"name":"get_weather","arguments":{"city":"A"}}</tool_call>'

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
_FRAGMENTS = [
    *("<tool_call>", "</tool_call>", "<tool_", "call>", "</", "<", "{", "}", "[", "]", ",", ":", '"', "'", "\\"),
    *(
        "/*",
        "*/",
        "//",
        "\n",
        " ",
        "name",
        '"name"',
        '"arguments"',
        '"parameters":',
        '"x"',
        "1",
        "null",
        "`",
        "é",
        "\x00",
    ),
    *(
        '{"name":"f","arguments":{',
        '{"name":"f","arguments":{"a":"',
        '"}}',
        "}}",
        "\\n",
        "\\u00",
        "\\ud83d",
        "text",
        WEATHER,
    ),
]
STREAMS = st.lists(st.sampled_from(_FRAGMENTS) | st.text(max_size=3), max_size=20).map("".join)


def outcome(pieces: list[str], protocol: JsonMixProtocol | None = None) -> tuple[Reply, list[ParseError]]:
    errors: list[ParseError] = []
    events = read((protocol or JsonMixProtocol()).parser((), on_error=errors.append), pieces)
    check_laws(events, "".join(pieces))
    return collect(events), errors


def plain(reply: Reply) -> list[Any]:
    parts: Any = reply.content
    return [
        {"type": "text", "text": part.text}
        if isinstance(part, TextBlock)
        else {"type": "tool_call", "name": part.name, "input": part.arguments}
        for part in parts
    ]


def agrees(case: Any, pieces: list[str]) -> bool:
    options = case.get("protocol_options", {"toolCallStart": "<tool_call>", "toolCallEnd": "</tool_call>"})
    reply, errors = outcome(pieces, JsonMixProtocol(options["toolCallStart"], options["toolCallEnd"]))
    got = {"content": plain(reply), "errors": len(errors)}
    if case.get("js_number"):
        return str(got).replace("12345678901234567890", "12345678901234567000") == str(case["expected"])
    return bool(got == case["expected"])


def everywhere_the_same(text: str) -> Reply:
    """What the text gives, after making sure that no way of cutting it gives anything else."""
    reply, errors = outcome(whole(text))
    for pieces in [*cut_everywhere(text), *cuttings(text, seed=len(text))]:
        assert outcome(pieces) == (reply, errors)
    return reply


@pytest.mark.parametrize("how", ["whole", "by character", "as recorded"])
def test_recorded_answers_are_ours(how: str) -> None:
    differing = set()
    for case in cases("ai-sdk-tool/json_mix"):
        pieces = {"whole": whole(case["text"]), "by character": by_character(case["text"])}.get(how, case["chunks"])
        if not agrees(case, pieces):
            differing.add(case["id"])
    assert differing == DECIDED_OTHERWISE.keys()


def test_recorded_formats_are_ours() -> None:
    for case in cases("ai-sdk-tool/format_tool_call", protocol="json_mix"):
        block = JsonMixProtocol().encode_call(ToolUseBlock("", case["name"], case["input"]))
        assert block.text in case["by"].values()


def tokens_of(name: str) -> list[str]:
    """What a real model sent, token by token."""
    stream = json.loads((ROOT / "streams" / f"{name}.json").read_text(encoding="utf-8"))
    return [text for _, kind, text in stream["tokens"] if kind == "content"]


@pytest.mark.parametrize("model", ["qwen15", "smol135"])
@pytest.mark.parametrize("task", ["hello", "html", "module"])
def test_real_token_streams_become_one_call_that_grew_live(model: str, task: str) -> None:
    tokens = tokens_of(f"{model}-json-forced-{task}")
    events = read(JsonMixProtocol().parser(()), tokens)
    check_laws(events, "".join(tokens))
    (call,) = collect(events).calls
    grown = [event for event in events if isinstance(event, ToolCallDelta) and event.text]
    assert call.arguments == json.loads("".join(tokens).split("tool_call>")[1].removesuffix("</"))["arguments"]
    assert len(grown) > 1


@pytest.mark.parametrize("model", ["qwen15", "smol135"])
def test_a_real_stream_cut_off_at_its_length_limit_runs_nothing(model: str) -> None:
    tokens = tokens_of(f"{model}-json-forced-cut")
    reply, _ = outcome(tokens)
    assert reply.calls == ()
    assert reply.text == "".join(tokens)


def test_thinking_in_the_middle_of_a_call_does_not_end_it() -> None:
    half = len(WRITE) // 2
    events = read(JsonMixProtocol().parser(()), [WRITE[:half], ReasoningChunk("hm"), WRITE[half:]])
    check_laws(events, WRITE)
    assert len(collect(events).calls) == 1


@pytest.mark.parametrize(
    ("body", "arguments"),
    [
        ('{"name": "f", "arguments": {"a": "x </tool_call> y"}}', {"a": "x </tool_call> y"}),
        ("{name: 'f', arguments: {a: 'x </tool_call> y'}}", {"a": "x </tool_call> y"}),
        ('{"name": "f", /* </tool_call> */ "arguments": {"a": 1}}', {"a": 1}),
        ('{"name": "f", // </tool_call>\n"arguments": {"a": 1}}', {"a": 1}),
        (
            '{"name": "f", "arguments": {"a": "</tool_call>", "b": "</tool_call>"}}',
            {"a": "</tool_call>", "b": "</tool_call>"},
        ),
        ('{"name": "f", "arguments": {"</tool_call>": 1}}', {"</tool_call>": 1}),
        (
            '{"name": "f", "arguments": {"a": "<tool_call>{}</tool_call>"}} /* </tool_call> */',
            {"a": "<tool_call>{}</tool_call>"},
        ),
        ('{"arguments": {"a": [1, {"b": null}]}, "name": "f"}', {"a": [1, {"b": None}]}),
        ('{"name": "f", "parameters": {"a": 1}}', {"a": 1}),
        ('{"name": "f", "arguments": "{\\"a\\": \\"b\\\\n\\"}"}', {"a": "b\n"}),
        ('{"name": "f", "arguments": ""}', {}),
        ('{"name": "f", "arguments": null}', {}),
        ('{"name": "f"}', {}),
        ('```json\n{"name": "f", "arguments": {"a": "line\none"}}\n```', {"a": "line\none"}),
        ('{"name": "f", "arguments": {"a": "\\ud83d\\ude00 caf\\u00e9 \\ud83d"}}', {"a": "\U0001f600 café \ud83d"}),
    ],
)
def test_a_call_is_read_however_it_is_written_and_cut(body: str, arguments: Any) -> None:
    reply = everywhere_the_same(f"before <tool_call>{body}</tool_call> after")
    assert plain(reply) == [
        {"type": "text", "text": "before "},
        {"type": "tool_call", "name": "f", "input": arguments},
        {"type": "text", "text": " after"},
    ]


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ('{"arguments": {}}', "the call has no name"),
        ('{"name": "", "arguments": {}}', "the call has no name"),
        ('{"name": 5, "arguments": {}}', "the call has no name"),
        ('{"name": "f", "arguments": 5}', "the arguments must be an object, got 5"),
        ('{"name": "f", "arguments": "no json"}', "the arguments are a string that holds no JSON"),
        ('{"name": "f", "arguments": {"a": 1e999}}', "the number '1e999' is too large"),
        ('{"name": "f", "arguments": {"a": 1, "a": 2}}', "the key 'a' is given twice"),
        ('{"name": "f", "arguments": {"a": "say "hi""}}', "expected ',' or a closing bracket at character 39, got 'h'"),
        ("[]", "expected a call, got an empty array"),
        ("[1]", 'expected an object with "name" and "arguments", got 1'),
        ("", "expected a value at character 0, got the end"),
        ("[" * 300, "nested deeper than 200 levels"),
    ],
)
def test_a_bad_call_stays_in_the_text_and_is_reported_once(body: str, complaint: str) -> None:
    text = f"a <tool_call>{body}</tool_call> b"
    reply = everywhere_the_same(text)
    assert reply.text == text
    assert reply.calls == ()
    _, errors = outcome([text])
    assert [error.segment for error in errors] == [f"<tool_call>{body}</tool_call>"]
    assert complaint in errors[0].message


def test_calls_of_an_array_are_calls_of_their_own() -> None:
    text = '<tool_call>[{"name":"a","arguments":{"x":1}}, {"arguments":{"x":2},"name":"b"}]</tool_call>!'
    reply = everywhere_the_same(text)
    assert [(call.name, call.arguments) for call in reply.calls] == [("a", {"x": 1}), ("b", {"x": 2})]
    assert reply.text == "!"


def test_a_nameless_call_in_an_array_does_not_stop_the_others() -> None:
    reply = everywhere_the_same('<tool_call>[{"x":1},{"name":"b"},{"y":2}]</tool_call>')
    assert [call.name for call in reply.calls] == ["b"]
    assert len(reply.malformed) == 2


def test_a_string_that_was_never_closed_does_not_swallow_the_next_call() -> None:
    reply = everywhere_the_same(f'<tool_call>{{"name":"a","arguments":{{"x":"y}}}}</tool_call> then {WEATHER} end')
    assert [call.name for call in reply.calls] == ["get_weather"]
    assert reply.text == '<tool_call>{"name":"a","arguments":{"x":"y}}</tool_call> then  end'


def test_a_forgotten_end_tag_costs_one_call_and_not_the_next() -> None:
    reply = everywhere_the_same(f'<tool_call>{{"name":"a","arguments":{{}}}}\n{WEATHER}')
    assert [call.name for call in reply.calls] == ["get_weather"]
    assert reply.malformed[0].message == "<tool_call> came before </tool_call>: the end of this call is missing"


def test_a_call_without_its_end_tag_is_never_run() -> None:
    for end in range(1, len(WRITE)):
        reply = everywhere_the_same(WRITE[:end]) if end % 10 == 0 else outcome([WRITE[:end]])[0]
        assert reply.calls == ()
        assert reply.text == WRITE[:end]


def test_nothing_is_leaked_that_may_be_a_tag_and_it_is_released_when_it_is_none() -> None:
    parser = JsonMixProtocol().parser(())
    assert [event.text for event in parser.feed("a <tool") if hasattr(event, "text")] == ["a "]
    assert [event.text for event in parser.feed("box>") if hasattr(event, "text")] == ["<toolbox>"]


def test_a_call_starts_with_its_name_and_its_arguments_grow_live() -> None:
    parser = JsonMixProtocol().parser(())
    seen: dict[str, int] = {}
    grown = ""
    for index, char in enumerate(WRITE):
        for event in parser.feed(char):
            seen.setdefault(type(event).__name__, index)
            if isinstance(event, ToolCallDelta) and event.path == ("file_text",):
                grown += event.text
                assert parser.arguments(event.call_id)["file_text"] == grown
    assert seen["ToolCallStarted"] == WRITE.index('", "arguments')
    assert seen["ToolCallFinished"] == len(WRITE) - 1
    assert grown == "x = 1\n"
    assert parser.arguments("call_1") == {"path": "a.py", "file_text": "x = 1\n"}


def test_arguments_before_the_name_wait_for_it() -> None:
    events = read(
        JsonMixProtocol().parser(()), by_character('<tool_call>{"arguments":{"a":"bc"},"name":"f"}</tool_call>')
    )
    assert isinstance(events[0], ToolCallStarted)
    assert "".join(event.text for event in events if isinstance(event, ToolCallDelta)) == "bc"


def test_arguments_in_a_string_grow_live_too() -> None:
    parser = JsonMixProtocol().parser(())
    events = read(
        parser, by_character('<tool_call>{"name":"f","arguments":"{\\"a\\": \\"b\\\\nc\\", \\"n\\": 12}"}</tool_call>')
    )
    deltas = [
        (event.path, event.text, event.literal) for event in events if isinstance(event, ToolCallDelta) and event.text
    ]
    assert deltas == [(("a",), "b", False), (("a",), "\n", False), (("a",), "c", False), (("n",), "12", True)]


def test_the_arguments_of_a_call_that_is_not_there_are_refused() -> None:
    with pytest.raises(UsageError, match="no call 'call_7'"):
        JsonMixProtocol().parser(()).arguments("call_7")


def test_repaired_arguments_are_marked() -> None:
    (call,) = outcome(['<tool_call>{"name":"f","arguments":{"a":"1\n2"}}</tool_call>'])[0].calls
    assert (call.call_id, call.name, call.arguments) == ("call_1", "f", {"a": "1\n2"})
    assert call.repairs == ("control characters in a string",)


def test_other_tags_can_be_chosen_and_empty_ones_are_refused() -> None:
    protocol = JsonMixProtocol("```tool_call\n", "\n```")
    text = 'a\n```tool_call\n{"name":"f","arguments":{}}\n``` b'
    for pieces in cut_everywhere(text):
        reply, _ = outcome(pieces, protocol)
        assert reply.content == (TextBlock("a\n"), ToolUseBlock("call_1", "f", {}), TextBlock(" b"))
    with pytest.raises(UsageError, match="two different tags"):
        JsonMixProtocol("<a>", "")


def test_results_go_back_in_tags_and_images_as_they_are() -> None:
    image = ImageBlock("image/png", "AA==")
    results = [
        ToolResultBlock("1", (TextBlock("done"), image)),
        ToolResultBlock("2", (TextBlock("no such file"),), is_error=True),
    ]
    assert JsonMixProtocol().encode_results(results, [ToolUseBlock("2", "read_file", {})]) == (
        TextBlock('<tool_response>{"result": "done"}</tool_response>'),
        image,
        TextBlock('<tool_response>{"name": "read_file", "error": "no such file"}</tool_response>'),
    )


def test_every_example_in_the_description_is_a_call_that_we_can_read() -> None:
    schema = {
        "type": "object",
        "properties": {"path": {"type": "string"}, "n": {"type": "integer"}},
        "required": ["path", "n"],
    }
    tools = [ToolSpec("read_file", "Read a file.", schema), ToolSpec("noop")]
    protocol = get("json_mix")
    description = protocol.describe(tools)
    calls = outcome([description])[0].calls
    assert [call.name for call in calls] == ["the tool's name", "read_file", "noop"]
    assert calls[1].arguments.keys() == {"path", "n"}
    assert "Read a file." in description
    assert protocol.describe([]) == ""
    assert "read_file, noop" in protocol.reminder(tools)
    assert len(outcome([protocol.reminder(tools)])[0].calls) == 1


@pytest.mark.parametrize(
    "repeated",
    [
        "plain text without any tag, ",
        "<tool_ <tool_cal ",
        WEATHER + "\n",
        '<tool_call>["</tool_call>',
        "<tool_call>['</tool_call><tool_call>[\"</tool_call><tool_call>[/*</tool_call> // ",
        '<tool_call>{"a": "</tool_call>", "b": ',
        '<tool_call>["</tool_call><tool_call>[',
    ],
)
@pytest.mark.parametrize("size", [4, 100_000])
def test_work_doubles_when_the_text_doubles(repeated: str, size: int) -> None:
    def work(times: int) -> int:
        parser = JsonMixProtocol().parser(())
        text = repeated * times
        read(parser, cut_at(text, range(0, len(text), size)))
        return parser.scanned

    assert work(400) <= 2 * work(200) + 1000
    assert work(400) <= 8 * 400 * len(repeated)


def test_a_long_argument_is_looked_at_once() -> None:
    body = json.dumps({"name": "f", "arguments": {"a": "def f():\n    return '<b>'\n" * 2000}})
    text = f"<tool_call>{body}</tool_call>"
    parser = JsonMixProtocol().parser(())
    read(parser, cut_at(text, range(0, len(text), 4)))
    assert parser.scanned <= len(text) * 1.5


@pytest.mark.property
@given(STREAMS, st.lists(st.integers(0, 300), max_size=10))
def test_no_stream_raises_loses_a_character_or_depends_on_the_cut(text: str, cuts: list[int]) -> None:
    expected = outcome([text])
    assert outcome(cut_at(text, cuts)) == expected
    assert outcome(by_character(text)) == expected


@pytest.mark.property
@given(
    st.text(min_size=1), st.dictionaries(st.text(), JSON_VALUES, max_size=4), st.lists(st.integers(0, 300), max_size=6)
)
def test_an_encoded_call_comes_back_equal(name: str, arguments: dict[str, Any], cuts: list[int]) -> None:
    text = JsonMixProtocol().encode_call(ToolUseBlock("", name, arguments)).text
    reply, errors = outcome(cut_at(f"x{text}y", cuts))
    assert reply.content == (TextBlock("x"), ToolUseBlock("call_1", name, arguments), TextBlock("y"))
    assert errors == []


@pytest.mark.property
@given(STREAMS, st.lists(st.integers(0, 300), max_size=10))
def test_what_grew_live_is_what_the_call_finished_with(text: str, cuts: list[int]) -> None:
    events = read(JsonMixProtocol().parser(()), cut_at(text, cuts))
    grown: dict[tuple[str, Any], str] = {}
    for event in events:
        if isinstance(event, ToolCallDelta) and event.path:
            key = (event.call_id, event.path)
            grown[key] = event.text if event.literal else grown.get(key, "") + event.text
        if isinstance(event, ToolCallFinished):
            for (call_id, path), written in grown.items():
                if call_id == event.call_id and '"parameters"' not in event.source:
                    value = event.arguments
                    for step in path:
                        value = value[step]
                    assert value == written or value == json.loads(written)
        if isinstance(event, ToolCallMalformed):
            assert event.message
