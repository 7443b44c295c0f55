"""What dialects promise beyond what was recorded: the end of a reply, ids, repairs, snapshots, prose."""

from __future__ import annotations

import re

import pytest

from dialect_fuzz import TOOLS, markers_of
from joey.chunks import StopChunk
from joey.errors import UsageError
from joey.events import ToolCallDelta, ToolCallMalformed
from joey.messages import TextBlock, ToolUseBlock
from joey.protocols import Reply, collect, get, parse
from joey.protocols.dialects import writer
from joey.protocols.dialects.protocol import DialectProtocol
from joey.protocols.dialects.table import DIALECTS
from joey.testing import read
from joey.toolspec import ToolSpec
from joey.wire import JsonObject

WRITE = ToolSpec("save", "", {"type": "object", "properties": {"path": {"type": "string"}, "text": {"type": "string"}}})


def dialect(name: str) -> DialectProtocol:
    protocol = get(name)
    assert isinstance(protocol, DialectProtocol)
    return protocol


def cut_reply(name: str, text: str) -> Reply:
    return collect(read(get(name).parser(TOOLS), [text, StopChunk("length")]))


@pytest.mark.parametrize("name", DIALECTS)
def test_a_value_of_nothing_but_markers_comes_back_equal(name: str) -> None:
    """Every marker alone on a line, all of them in a row, and a whole call with what closes it, quoted."""
    protocol, marks = dialect(name), markers_of(name)
    quoted = protocol.encode_calls([ToolUseBlock("c1", "save", {"path": "a", "text": "b"})], [WRITE]).text
    for text in ("\n".join(marks), "".join(marks), f"So:\n{quoted}\nThat is all.", quoted + quoted, f"{quoted}\r"):
        call = ToolUseBlock("c2", "save", {"path": text, "text": text})
        written = protocol.encode_calls([call, call], [WRITE]).text
        assert [each.arguments for each in parse(written, protocol=name, tools=[WRITE]).calls] == [call.arguments] * 2


@pytest.mark.parametrize("name", DIALECTS)
def test_arguments_may_have_any_name_that_a_schema_declares(name: str) -> None:
    """Tools of others call them as they like; only `<`, `>` and line breaks are no part of a name."""
    names = (
        "display name",
        "a.b",
        "$ref",
        "key[0]",
        "it's",
        'q"q',
        "a=b",
        "x/y",
        "n:1",
        "größe",
        "R&D",
        "&quot;",
        "name",
    )
    tool = ToolSpec("save", "", {"type": "object", "properties": {key: {"type": "string"} for key in names}})
    call = ToolUseBlock("call00001", "save", {key: f"{key}!" for key in names})
    text = dialect(name).encode_calls([call, call], [tool]).text
    for pieces in ([text], list(text)):
        calls = collect(read(get(name).parser([tool]), pieces)).calls
        assert [each.arguments for each in calls] == [call.arguments] * 2


@pytest.mark.parametrize(
    ("name", "text", "calls"),
    [
        ("qwen3_coder", "<tool_call><function=ping/></tool_call>", [("ping", {})]),
        ("minimax_m2", '<minimax:tool_call><invoke name="ping"/></minimax:tool_call>', [("ping", {})]),
        (
            "qwen3_coder",
            '<tool_call><function name="save"><parameter name="path">a</parameter></function></tool_call>',
            [("save", {"path": "a"})],
        ),
        (
            "qwen3_5",
            "<tool_call>\nfunction=save>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>",
            [("save", {"path": "a"})],
        ),
        (
            "qwen3_coder",
            "<tool_call>\n<function=save>\n<path>\na\n</path>\n<text>\n</text>\n<b>\n</text>\n</function>\n</tool_call>",
            [("save", {"path": "a", "text": "</text>\n<b>"})],
        ),
        (
            "lfm2",
            '<|tool_call_start|>[get_weather(city="Paris"); ping()]<|tool_call_end|>',
            [("get_weather", {"city": "Paris"}), ("ping", {})],
        ),
        (
            "step3",
            '<｜tool_call_begin｜><steptml:invoke name="save"></steptml:invoke><｜tool_call_end｜>',
            [("save", {})],
        ),
        (
            "apertus",
            '<|tools_prefix|>[{"name": "get_weather", "arguments": {"city": "Paris"}}]<|tools_suffix|>',
            [("get_weather", {"city": "Paris"})],
        ),
    ],
)
def test_forms_that_models_drift_to_are_read(name: str, text: str, calls: list[tuple[str, JsonObject]]) -> None:
    for pieces in ([text], list(text)):
        reply = collect(read(get(name).parser([WRITE, *TOOLS]), pieces))
        assert [(call.name, call.arguments) for call in reply.calls] == calls and not reply.text


JSON_CALL = '{"name": "get_weather", "arguments": {"city": "</tool_call>"}}'


@pytest.mark.parametrize(
    "text",
    [
        ("mistral_v11", "[TOOL_CALLS][{}]"),
        ("kimi_k2", "<|tool_calls_section_begin|><|tool_call_begin|>{}<|tool_call_end|><|tool_calls_section_end|>"),
        ("deepseek_v31", "<｜tool▁calls▁begin｜>{}<｜tool▁calls▁end｜>"),
        ("lfm2", "<|tool_call_start|>[{}]<|tool_call_end|>"),
        ("gemma4", "<|tool_call>{}<tool_call|>"),
        ("qwen3_coder", "<tool_call>\n{}\n</tool_call>"),
        ("hy_v3", "<tool_calls>\n<tool_call>{}</tool_call>\n</tool_calls>"),
    ],
)
def test_json_that_names_a_tool_is_read_between_the_markers_of_another_grammar(text: tuple[str, str]) -> None:
    name, around = text
    reply = parse(around.replace("{}", JSON_CALL), protocol=name, tools=TOOLS)
    assert [(call.name, call.arguments) for call in reply.calls] == [("get_weather", {"city": "</tool_call>"})]
    assert reply.calls[0].repairs == ("JSON in place of the dialect's own grammar",) and not reply.text


def test_a_prompt_of_python_is_no_opener_of_json() -> None:
    text = f"Try this:\n>>> {JSON_CALL}"
    assert parse(text, protocol="functionary_v32", tools=TOOLS) == Reply((TextBlock(text),))


@pytest.mark.parametrize(
    ("name", "around"),
    [
        ("qwen3_coder", ("<tool_call>\n<function=get_weather>\n", "\n</function>\n</tool_call>")),
        ("minimax_m2", ('<minimax:tool_call>\n<invoke name="get_weather">\n', "\n</invoke>\n</minimax:tool_call>")),
        ("glm45", ("<tool_call>get_weather\n", "\n</tool_call>")),
        ("beam", (" to=get_weather<|channel|>analysis <|constrain|>xml<|message|>", "<|call|>")),
    ],
)
def test_arguments_may_be_json_where_elements_should_be(name: str, around: tuple[str, str]) -> None:
    before, after = around
    inside = '{"city": "</function></invoke>", "days": 3}'
    (call,) = parse(before + inside + after, protocol=name, tools=TOOLS).calls
    assert call.arguments == {"city": "</function></invoke>", "days": 3} and call.repairs == ("the arguments as JSON",)
    for end in range(len(before) + 1, len(before + inside)):
        assert not parse((before + inside)[:end], protocol=name, tools=TOOLS).calls


@pytest.mark.parametrize("key", ["args", "input", "params"])
def test_arguments_under_another_key_are_not_lost(key: str) -> None:
    text = f'<tool_call>\n{{"name": "get_weather", "{key}": {{"city": "Paris"}}}}\n</tool_call>'
    (call,) = parse(text, protocol="hermes", tools=TOOLS).calls
    assert call.arguments == {"city": "Paris"} and call.repairs == (f"the arguments stand under {key!r}",)
    deltas = [event for event in read(get("hermes").parser(TOOLS), [text]) if isinstance(event, ToolCallDelta)]
    assert "".join(delta.text for delta in deltas if delta.path == ("city",)) == "Paris"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("hermes", '<tool_call>\n{"name": "get_weather", "city": "Paris"}\n</tool_call>'),
        ("llama3_json", '{"name": "get_weather", "city": "Paris"}'),
        ("hermes", '<tool_call>\n{"name": "unheard_of", "x": 1}\n</tool_call>'),
        ("apertus", '<|tools_prefix|>[{"get_weather": {"city": "Paris"}, "ping": {}}]<|tools_suffix|>'),
    ],
)
def test_a_call_with_something_else_than_arguments_does_not_run_without_it(name: str, text: str) -> None:
    reply = parse(text, protocol=name, tools=TOOLS)
    assert not reply.calls and "expected a name and its arguments" in reply.malformed[0].message


def test_a_call_without_arguments_may_have_an_id_and_a_type() -> None:
    text = '<tool_calls>[{"name": "ping", "type": "function", "id": "x1"}, {"name": "ping", "note": 1}]</tool_calls>'
    assert [call.arguments for call in parse(text, protocol="jamba", tools=TOOLS).calls] == [{}, {}]


@pytest.mark.parametrize(
    ("text", "finished"),
    [
        ("[ping() for city in cities]", 0),
        ("[get_weather(city) for city in cities]", 0),
        ('[ping(), get_weather(city="Paris") if late else ping()]', 1),
        ('[get_weather(city="Paris")', 1),
    ],
)
def test_a_list_that_continues_with_something_else_is_no_list_of_calls(text: str, finished: int) -> None:
    for pieces in ([text], list(text)):
        assert len(collect(read(get("pythonic").parser(TOOLS), pieces)).calls) == finished


@pytest.mark.parametrize("json", ["{'city': 'Paris'}", '{city: "Paris"}', '{"city": Paris}', '{"city": "Paris",}'])
def test_what_is_not_quite_json_is_read_and_noted(json: str) -> None:
    hermes = f'<tool_call>\n{{"name": "get_weather", "arguments": {json}}}\n</tool_call>'
    kimi = f"<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{json}<|tool_call_end|>"
    for name, text in (("hermes", hermes), ("kimi_k2", kimi)):
        (call,) = parse(text, protocol=name, tools=TOOLS).calls
        assert call.arguments == {"city": "Paris"} and call.repairs


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("hermes", '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n'),
        ("kimi_k2", '<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Paris"}'),
        ("deepseek_v31", '<｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city": "Paris"}'),
    ],
)
def test_complete_json_without_its_closer_is_a_call_unless_the_reply_was_cut(name: str, text: str) -> None:
    (call,) = parse(text, protocol=name, tools=TOOLS).calls
    assert call.arguments == {"city": "Paris"} and call.repairs == ("the closing marker is missing",)
    cut = cut_reply(name, text)
    assert not cut.calls and cut.malformed[0].name == "get_weather" and cut.malformed[0].source == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("qwen3_coder", "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n"),
        ("glm47", "<tool_call>get_weather<arg_key>city</arg_key><arg_value>Paris</arg_value>"),
        ("minimax_m2", '<minimax:tool_call>\n<invoke name="get_weather">\n<parameter name="city">Pa'),
        ("gemma4", '<|tool_call>call:get_weather{city:<|"|>Pa'),
    ],
)
def test_a_call_that_was_cut_is_never_finished(name: str, text: str) -> None:
    reply = parse(text, protocol=name, tools=TOOLS)
    assert not reply.calls and reply.malformed[0].name == "get_weather"


def test_arguments_can_be_looked_at_while_they_grow() -> None:
    parser = get("qwen3_coder").parser(TOOLS)
    events = parser.feed("<tool_call>\n<function=get_weather>\n<parameter=city>\nPar")
    assert isinstance(delta := events[-1], ToolCallDelta) and (delta.path, delta.text) == (("city",), "Par")
    assert parser.arguments(delta.call_id) == {"city": "Par"}
    with pytest.raises(UsageError, match="there is no call"):
        parser.arguments("another")


def test_what_was_repaired_is_reported() -> None:
    text = '<|tool_call_begin|>functions_get_weather_1<|tool_call_argument_begin|>{"city": "Paris"}}<|tool_call_end|>'
    (call,) = parse(text, protocol="kimi_k2", tools=TOOLS).calls
    assert call.name == "get_weather"
    assert call.repairs == ("the name was written in another form", "an extra closing bracket")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("qwen3_coder", "One writes <function=NAME> and then </function>, in <tool_call>."),
        ("kimi_k2", "The token <|tool_call_begin|> begins a call."),
        ("minimax_m2", 'It is <invoke name="x"> in <minimax:tool_call>.'),
        ("llama3_json", 'The answer is {"name": "Bob", "age": 3}, or [{"name": 1}].'),
        ("qwen3_coder", "First <function=get_weather> and then the rest."),
        ("pythonic", "See [1] and [f(x)]."),
        ("pythonic", "[line.strip() for line in lines]"),
        ("pythonic", "[a.b.ping()]"),
    ],
)
def test_markers_that_are_mentioned_in_prose_are_text(name: str, text: str) -> None:
    assert parse(text, protocol=name, tools=TOOLS) == Reply((TextBlock(text),))


def test_an_element_may_have_the_name_of_the_argument_it_stands_in() -> None:
    tool = ToolSpec("save", "", {"type": "object", "properties": {"tags": {"type": "array"}}})
    call = ToolUseBlock("c1", "save", {"tags": [{"tags": [{"tags": "a"}]}, {"b": 1}]})
    text = dialect("minimax_m3").encode_calls([call], [tool]).text
    assert "CDATA" not in text
    assert [each.arguments for each in parse(list(text), protocol="minimax_m3", tools=[tool]).calls] == [call.arguments]


def test_what_no_schema_describes_is_written_as_the_template_writes_it() -> None:
    text = dialect("qwen3_coder").encode_call(ToolUseBlock("c1", "other", {"a": None, "b": [1]})).text
    assert "<parameter=a>\nNone\n</parameter>\n<parameter=b>\n[1]\n</parameter>" in text


@pytest.mark.parametrize("name", DIALECTS)
def test_tools_are_declared_in_the_letters_they_are_described_in(name: str) -> None:
    tool = ToolSpec("save", "Speichert in Köln, 日本", {"type": "object", "properties": {"path": {"type": "string"}}})
    assert "Speichert in Köln, 日本" in dialect(name).describe([tool])


def test_ids_are_written_as_the_dialect_wants_them() -> None:
    call = ToolUseBlock("call_7", "ping", {})
    assert '"id": "0000call7"' in dialect("mistral_v3").encode_calls([call]).text
    assert "functions.ping:7<|" in dialect("kimi_k2").encode_calls([call]).text
    assert '"tool_call_id": "0"' in dialect("cohere_command3").encode_calls([call]).text


def test_a_broken_call_ends_with_its_closer_and_the_next_is_read() -> None:
    text = (
        '<tool_call>\n{"name": "ping", "arguments": {"a" 1}}\n</tool_call><tool_call>\n{"name": "ping"}\n</tool_call>'
    )
    events = read(get("hermes").parser(TOOLS), list(text))
    reply = collect(events)
    assert [call.name for call in reply.calls] == ["ping"]
    (broken,) = [event for event in events if isinstance(event, ToolCallMalformed)]
    assert broken.source.endswith("</tool_call>") and "cannot be read" in broken.message


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("apertus", '<|tools_prefix|>[{"": {"city": "Paris"}}]<|tools_suffix|>'),
        ("jamba", '<tool_calls>[{"name": "", "arguments": {}}]</tool_calls>'),
        ("deepseek_v3", "<｜tool▁call▁begin｜>function<｜tool▁sep｜>\n```json\n{}\n```<｜tool▁call▁end｜>"),
    ],
)
def test_a_call_without_a_name_is_one_malformed_call(name: str, text: str) -> None:
    reply = parse(text, protocol=name, tools=TOOLS)
    assert reply.calls == () and [call.message for call in reply.malformed] == ["the call has no name"]


def test_of_two_names_the_first_counts_however_the_reply_is_cut() -> None:
    text = '<tool_call>{"name": "get_weather", "name": "ping", "arguments": {}}</tool_call>'
    for pieces in ([text], list(text)):
        assert [call.name for call in collect(read(get("hermes").parser(TOOLS), pieces)).calls] == ["get_weather"]


def test_a_number_that_python_does_not_read_is_malformed() -> None:
    reply = collect(read(get("lfm2").parser(TOOLS), ["<|tool_call_start|>[ping(a=1_)]<|tool_call_end|>"]))
    assert reply.calls == () and len(reply.malformed) == 1


def test_a_value_that_was_not_closed_ends_before_the_line_of_the_calls_close() -> None:
    text = "<tool_call>\n<function=save>\n<parameter=text>\nA\n</function>\n</tool_call>"
    calls = collect(read(get("qwen3_coder").parser([WRITE]), list(text))).calls
    assert [(call.arguments, bool(call.repairs)) for call in calls] == [({"text": "A"}, True)]


@pytest.mark.parametrize(
    ("name", "start", "rest"),
    [
        ("qwen3_coder", "<tool_call>\n<function=save>\n<parameter=text>\nA\n</function>", "\n</tool_call>"),
        ("dots", '<dots_function_call><invoke name="save"><parameter name="text">A</invoke>', "</dots_function_call>"),
        ("glm47", "<tool_call>save<arg_key>text</arg_key><arg_value>A</tool_call>", StopChunk("tool_calls")),
    ],
)
def test_a_value_that_was_not_closed_needs_more_than_a_close_tag_at_a_cut(
    name: str, start: str, rest: str | StopChunk
) -> None:
    """A text that quotes the close tag and is cut there looks the same."""
    assert collect(read(get(name).parser([WRITE]), [start])).calls == ()
    assert collect(read(get(name).parser([WRITE]), [start, rest])).calls[0].arguments == {"text": "A"}
    whole = start + (rest if isinstance(rest, str) else "")
    assert collect(read(get(name).parser([WRITE]), [whole, StopChunk("length")])).calls == ()


@pytest.mark.parametrize("name", DIALECTS)
def test_a_call_that_is_quoted_as_the_template_writes_it_is_text_and_a_cut_in_it_runs_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Templates escape nothing: here the writer does not either."""
    inner = dialect(name).encode_calls([ToolUseBlock("c1", "ping", {"city": "Paris"})], TOOLS).text
    monkeypatch.setattr(writer, "_wrapped", lambda text: text)
    call = ToolUseBlock("c2", "save", {"path": "a.md", "text": f"So:\n{inner}\nThat is all."})
    text = dialect(name).encode_calls([call], [WRITE]).text
    assert [each.arguments for each in parse(text, protocol=name, tools=[WRITE]).calls] == [call.arguments]
    for end in (place.end() for place in re.finditer(r"[>\])}]\n?", text[: text.index("That is all.")])):
        assert not parse(text[:end], protocol=name, tools=[WRITE]).calls, text[:end]


@pytest.mark.parametrize("name", ["hermes", "jamba", "kimi_k2", "mistral_v11", "harmony", "llama3_json", "xlam"])
def test_constants_are_read_as_python_writes_them(name: str) -> None:
    call = ToolUseBlock("call00001", "ping", {"on": True, "off": False, "rest": None})
    text = dialect(name).encode_calls([call], TOOLS).text
    text = text.replace("true", "True").replace("false", "False").replace("null", "None")
    (made,) = collect(read(get(name).parser(TOOLS), list(text))).calls
    assert made.arguments == call.arguments and made.repairs


def test_a_message_to_a_tool_may_leave_out_its_section() -> None:
    text = dialect("muse_glimmer").encode_calls([ToolUseBlock("c1", "get_weather", {"city": "Paris"})], TOOLS).text
    text = text.replace("<atem:function_calls>\n", "").replace("</atem:function_calls>", "")
    assert [call.arguments for call in collect(read(get("muse_glimmer").parser(TOOLS), list(text))).calls] == [
        {"city": "Paris"}
    ]
