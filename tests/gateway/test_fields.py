"""The fields of a request: each is read, sent on, refused or ignored, on every wire that has it, none by accident."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from anthropic.types import message_create_params as messages_sdk
from anthropic.types.beta import message_count_tokens_params as counting_sdk
from anthropic.types.beta import message_create_params as messages_beta_sdk
from openai.types.chat import completion_create_params as chat_sdk
from openai.types.responses import response_create_params as responses_sdk

from gateway_kit import (
    PATHS,
    SCHEMA,
    call_text,
    client_of,
    events_of,
    recorded,
    request_body,
    requests_of,
    streamed,
    upstream,
    whole,
)
from joey.app.sources import settings_in_force
from joey.gateway.addressed import UpstreamChoice
from joey.gateway.opening import open_upstreams
from joey.gateway.stopping import StopSearch
from joey.gateway.wires.fields import ALL, FIELDS, KNOWN, RequestField
from joey.testing import Faults, LocalServer, reply
from joey.testing.streams import cuttings

WIRES = tuple(PATHS)
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "gateway.md"
API_NAMES = {"chat": "Chat", "responses": "Responses", "messages": "Messages"}


def of_use(use: str) -> list[tuple[str, str]]:
    return [(wire, name) for wire in ALL for name, field in KNOWN[wire].items() if field.use == use]


async def ask(wire: str, answer: str = "Done.", **fields: Any) -> tuple[httpx2.Response, Any]:
    """The answer, and the request that the model got; None if it got none."""
    model = upstream(answer, retries=0)
    async with client_of(model) as client:
        got = await client.post(PATHS[wire], json=request_body(wire, **fields))
    return got, next(iter(requests_of(model)), None)


def check_refusal(wire: str, got: httpx2.Response, name: str) -> None:
    body = got.json()
    assert got.status_code == 400, got.text
    assert (body.get("type") == "error") == (wire == "messages")
    assert body["error"]["type"] == "invalid_request_error" and name in body["error"]["message"]
    if wire != "messages":
        assert body["error"]["param"] == name


# The table


SDKS: list[tuple[str, Any]] = [
    ("chat", chat_sdk.CompletionCreateParamsBase),
    ("responses", responses_sdk.ResponseCreateParamsBase),
    ("messages", messages_sdk.MessageCreateParamsBase),
    ("messages", messages_beta_sdk.MessageCreateParamsBase),
    ("messages", counting_sdk.MessageCountTokensParams),
]


@pytest.mark.parametrize(("wire", "parameters"), SDKS)
def test_every_parameter_of_the_official_sdks_is_in_the_table(wire: str, parameters: Any) -> None:
    assert set(parameters.__annotations__) - set(KNOWN[wire]) == set()


@pytest.mark.parametrize("wire", WIRES)
def test_so_is_every_field_that_a_real_client_sent(wire: str) -> None:
    sent = {name for each in recorded() if each.body and PATHS[wire] in each.path for name in each.body}
    assert sent and sent - set(KNOWN[wire]) == set()


def test_no_field_is_listed_twice_for_a_wire() -> None:
    for wire in ALL:
        names = [name for field in FIELDS if wire in field.wires for name in field.names]
        assert sorted(names) == sorted(set(names))


def rows_of(fields: list[RequestField]) -> Iterator[str]:
    for field in fields:
        names = ", ".join(f"`{name}`" for name in field.names)
        apis = "all" if field.wires == ALL else ", ".join(API_NAMES[wire] for wire in field.wires)
        yield f"| {names} | {apis} | {field.note} |".replace("|  |", "| |")


def test_the_guide_has_the_table() -> None:
    """A failure shows the rows to write into the guide."""
    for use, fields in itertools.groupby(FIELDS, key=lambda field: field.use):
        written = GUIDE.read_text().partition(f"<!-- fields: {use} -->\n")[2].partition("<!-- end -->")[0]
        rows = written.strip().splitlines()[2:]
        assert rows == list(rows_of(list(fields))), f"the fields of a request that are {use}"


# Sent on


SENT: dict[str, Any] = {
    "top_p": 0.5,
    "top_k": 20,
    "min_p": 0.05,
    "seed": 7,
    "frequency_penalty": -0.5,
    "presence_penalty": 1.5,
    "repetition_penalty": 1.1,
    "repeat_penalty": 1.1,
    "chat_template_kwargs": {"enable_thinking": False},
    "logit_bias": {"42": -100},
}
WRONG: dict[str, list[Any]] = {
    "top_p": [2, "x", True],
    "top_k": [1.5, "x", -2],
    "min_p": [-1],
    "seed": ["x", 1.5, 2**70],
    "frequency_penalty": [3, []],
    "presence_penalty": [-3],
    "repetition_penalty": ["x"],
    "repeat_penalty": [-1],
    "chat_template_kwargs": ["x", [1]],
    "logit_bias": ["x", {"1": "a"}, {"1": 101}],
}


@asynccontextmanager
async def in_front_of(server: LocalServer, folder: Path, **fields: Any) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of a gateway whose upstream is a server by its address, as `--upstream` opens it."""
    chosen = UpstreamChoice("m", server.url, **fields)
    (model,) = await asyncio.to_thread(open_upstreams, chosen, settings_in_force(folder))
    async with client_of(model) as client:
        yield client
    await model.provider.close()


@pytest.mark.parametrize(("wire", "name"), of_use("sent on"))
async def test_what_a_server_takes_is_sent_to_it(wire: str, name: str, tmp_path: Path) -> None:
    async with LocalServer([reply("Hi."), reply("Hi.")]) as server, in_front_of(server, tmp_path) as client:
        for given in (SENT[name], None):
            field: dict[str, Any] = {name: given}
            got = await client.post(PATHS[wire], json=request_body(wire, **field))
            assert whole(wire, got.json()).text == "Hi."
    sent, without = (each.body for each in server.requests if each.path == PATHS["chat"])
    assert sent == {**without, name: SENT[name]} and name not in without


@pytest.mark.parametrize(("wire", "name"), of_use("sent on"))
async def test_a_value_that_is_none_of_its_field_is_refused(wire: str, name: str) -> None:
    for value in WRONG[name]:
        got, seen = await ask(wire, **{name: value})
        check_refusal(wire, got, name)
        assert seen is None


READ_WRONG = [
    ("chat", "parallel_tool_calls", "no"),
    ("chat", "stream_options", True),
    ("responses", "parallel_tool_calls", 0),
    ("responses", "store", "no"),
    ("responses", "text", "json"),
    ("responses", "reasoning", "high"),
    ("messages", "thinking", True),
]


@pytest.mark.parametrize(("wire", "name", "value"), READ_WRONG)
async def test_a_field_that_is_read_is_not_taken_for_another_value(wire: str, name: str, value: Any) -> None:
    got, seen = await ask(wire, **{name: value})
    check_refusal(wire, got, name)
    assert seen is None


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
async def test_no_limit_may_be_written_as_local_servers_have_it(name: str) -> None:
    field: dict[str, Any] = {name: -1}
    assert (await ask("chat", **field))[1] == (await ask("chat"))[1]
    assert (await ask("chat", max_completion_tokens=-1, max_tokens=7))[1].max_tokens == 7
    check_refusal("messages", (await ask("messages", max_tokens=-1))[0], "max_tokens")


@pytest.mark.parametrize(("wire", "name"), of_use("sent on"))
async def test_a_server_that_takes_it_from_nobody_samples_as_it_is_set(wire: str, name: str) -> None:
    got, seen = await ask(wire, **{name: SENT[name]})
    if name == "logit_bias":  # it forbids words, or allows no others: an answer without it would be another answer
        check_refusal(wire, got, name)
    else:
        assert got.status_code == 200 and seen == (await ask(wire))[1]
    assert (await ask("chat", logit_bias={}))[0].status_code == 200


# Refused


REFUSED: dict[str, list[Any]] = {
    "n": [2, 0, "x", True],
    "logprobs": [True, 1],
    "top_logprobs": [1, 20],
    "modalities": [["text", "audio"], "x"],
    "audio": [{"voice": "alloy", "format": "wav"}],
    "background": [True],
    "conversation": ["conv_1", {"id": "conv_1"}],
    "prompt": [{"id": "pmpt_1"}],
    "thread": [{"type": "create"}],
    "compaction": [{"type": "compaction_20260801"}],
}
UNWANTED: dict[str, list[Any]] = {
    "n": [1, None],
    "logprobs": [False, None],
    "top_logprobs": [0, None],
    "modalities": [["text"], None],
    "background": [False, None],
}


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(("wire", "name"), of_use("refused"))
async def test_what_would_change_the_answer_and_cannot_be_kept_is_refused(wire: str, name: str, stream: bool) -> None:
    for value in REFUSED[name]:
        got, seen = await ask(wire, stream=stream, **{name: value})
        check_refusal(wire, got, name)
        assert seen is None
    for value in UNWANTED.get(name, [None]):
        assert (await ask(wire, stream=stream, **{name: value}))[0].status_code == 200


MATCHES = "matches this JSON Schema"
FORMATS: dict[str, tuple[str, Callable[[Any], dict[str, Any]]]] = {
    "chat": ("response_format", lambda form: {"response_format": form}),
    "responses": ("text.format", lambda form: {"text": {"format": form}}),
    "messages": ("output_config.format", lambda form: {"output_config": {"format": form}}),
}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "form",
    [
        {"type": "grammar", "grammar": "start: x"},
        {"type": "python"},
        {"type": "regex", "pattern": "a+"},
        {"type": None},
        {},
        "json",
        [],
        {"type": "json_schema", "schema": "x", "json_schema": {"name": "n", "schema": "x"}},
    ],
    ids=str,
)
async def test_a_format_that_nobody_can_keep_is_refused(wire: str, form: Any) -> None:
    name, place = FORMATS[wire]
    got, seen = await ask(wire, **place(form))
    check_refusal(wire, got, name)
    assert seen is None


@pytest.mark.parametrize("wire", WIRES)
async def test_a_format_that_is_known_is_kept(wire: str) -> None:
    _, place = FORMATS[wire]
    form: Any
    for form in (None, {"type": "text"}):
        got, seen = await ask(wire, "Plain.", **place(form))
        assert whole(wire, got.json()).text == "Plain." and MATCHES not in seen.system
    for form in ({"type": "json_object"}, {"type": "json_schema", "name": "n"}):
        got, seen = await ask(wire, '{"a": 1}', **place(form))
        assert whole(wire, got.json()).text == '{"a": 1}' and f'{MATCHES}: {{"type":"object"}}' in seen.system
    for form in (
        {"type": "json_object", "schema": SCHEMA},
        {"type": "json_schema", "name": "n", "schema": SCHEMA},
        {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}},
    ):
        assert '"edits"' in (await ask(wire, '{"path": "a"}', **place(form)))[1].system.rpartition(MATCHES)[2]


async def test_log_probabilities_are_no_item_that_can_be_included() -> None:
    for value, status in (
        (["message.output_text.logprobs"], 400),
        ("reasoning.encrypted_content", 400),
        (["web_search_call.results", "reasoning.encrypted_content"], 200),
        ([], 200),
    ):
        assert (await ask("responses", include=value))[0].status_code == status


@pytest.mark.parametrize("wire", WIRES)
async def test_whether_to_stream_is_a_yes_or_a_no(wire: str) -> None:
    for value in list[Any](("true", 1, {})):
        check_refusal(wire, (await ask(wire, stream=value))[0], "stream")


async def test_to_count_tokens_what_would_be_compacted_is_counted_as_it_is() -> None:
    body = request_body("messages", compaction={"type": "compaction_20260801"})
    async with client_of(upstream()) as client:
        assert (await client.post("/v1/messages/count_tokens", json=body)).status_code == 200


# Ignored


@pytest.mark.parametrize(("wire", "name"), of_use("ignored"))
async def test_what_nothing_depends_on_changes_nothing(wire: str, name: str) -> None:
    plain = (await ask(wire))[1]
    for value in list[Any](("auto", True, 3, {"a": "b"}, ["x"], None)):
        got, seen = await ask(wire, **{name: value})
        assert got.status_code == 200 and seen == plain
        assert whole(wire, got.json()).text == "Done."


@pytest.mark.parametrize("wire", WIRES)
async def test_so_does_what_nobody_knows(wire: str) -> None:
    got, seen = await ask(wire, x_new_field={"n": 2}, extra_body=[1])
    assert got.status_code == 200 and seen == (await ask(wire))[1]


# Stop sequences


STOPS = {"chat": "stop", "messages": "stop_sequences"}
WORDS = {"chat": "stop", "messages": "stop_sequence"}


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("wire", STOPS)
async def test_a_text_ends_at_a_stop_sequence_however_it_is_cut(wire: str, stream: bool) -> None:
    text = "One. Obs. Two.\nObservation: three. END"
    for pieces in cuttings(text, seed=5, count=6):
        got, seen = await ask_cut(wire, pieces, stream=stream, **{STOPS[wire]: ["END", "\nObservation:"]})
        found = streamed(wire, got.content) if stream else whole(wire, got.json())
        assert (found.text, found.stop) == ("One. Obs. Two.", WORDS[wire])
        assert seen.stop_sequences == (), "the model's server would cut calls as well"
        if wire == "messages":
            ends = [data["delta"] for name, data in events_of(got.content) if name == "message_delta"] if stream else []
            assert [each["stop_sequence"] for each in ends or [got.json()]] == ["\nObservation:"]


async def ask_cut(wire: str, pieces: list[str], **fields: Any) -> tuple[httpx2.Response, Any]:
    model = upstream(reply(*pieces))
    async with client_of(model) as client:
        got = await client.post(PATHS[wire], json=request_body(wire, **fields))
    return got, requests_of(model)[0]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("wire", STOPS)
async def test_a_stop_sequence_within_a_call_does_not_cut_it(wire: str, stream: bool) -> None:
    text = "I write.\n" + call_text("write_file", path="a}", text="}\n}")
    got, _ = await ask(wire, text, stream=stream, **{STOPS[wire]: ["}", "END"]})
    found = streamed(wire, got.content) if stream else whole(wire, got.json())
    assert found.calls == [("write_file", {"path": "a}", "text": "}\n}"})]
    assert found.stop in ("tool_calls", "tool_use") and found.text == "I write.\n"


@pytest.mark.parametrize("wire", STOPS)
async def test_a_stop_sequence_within_reasoning_does_not_count(wire: str) -> None:
    got, _ = await ask(wire, "<think>END?</think>No END here", **{STOPS[wire]: ["END"]})
    found = whole(wire, got.json())
    assert (found.reasoning, found.text) == ("END?", "No ")


@pytest.mark.parametrize("wire", STOPS)
async def test_stop_sequences_are_strings(wire: str) -> None:
    for value in list[Any]((3, [1], [None], {"a": 1})):
        check_refusal(wire, (await ask(wire, **{STOPS[wire]: value}))[0], STOPS[wire])
    for value in list[Any]((None, [], "", [""])):
        assert (await ask(wire, **{STOPS[wire]: value}))[0].status_code == 200


async def test_the_model_is_not_heard_behind_a_stop_sequence() -> None:
    model = upstream(reply("One END", "x" * 60, faults=Faults(silent_after=3)))
    async with client_of(model) as client:
        got = await client.post(PATHS["chat"], json=request_body("chat", stop="END"))
        metrics = (await client.get("/metrics")).text
    assert whole("chat", got.json()).text == "One " and got.json()["usage"]["completion_tokens"] > 0
    assert not re.search(r'tokens_total\{kind="output"\} 0$', metrics, re.MULTILINE)


@pytest.mark.parametrize("text", ["aab", "aaab", "abab", "xaabaab", "aa", "", "aaaaaaab", "abaaaba"])
def test_the_search_finds_what_a_plain_one_finds(text: str) -> None:
    sequences = ["aab", "bab", "aaba"]
    for pieces in cuttings(text, seed=1, count=8):
        search, shown = StopSearch(sequences), ""
        for piece in pieces:
            shown += search.feed(piece)
            if search.found:
                break
        shown += search.finish()
        places = [text.index(each) for each in sequences if each in text]
        assert shown == text[: min(places, default=len(text))]
        assert bool(search.found) == bool(places)


# Formats beside tools


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("wire", WIRES)
async def test_with_tools_and_a_grammar_a_reply_that_is_no_call_is_still_in_its_format(wire: str, stream: bool) -> None:
    form = {"type": "json_schema", "name": "n", "schema": SCHEMA}
    body = request_body(wire, stream=stream, **FORMATS[wire][1](form))
    model = upstream("Of course! The file is a.py.", '```json\n{"path": "a.py"}\n```', grammar=True)
    async with client_of(model) as client:
        got = await client.post(PATHS[wire], json=body)
    found = streamed(wire, got.content) if stream else whole(wire, got.json())
    assert (found.text, found.calls) == ('{"path": "a.py"}', [])
    first, second = requests_of(model)
    assert first.grammar != second.grammar and "tool_call" in first.grammar and "tool_call" not in second.grammar


@pytest.mark.parametrize("wire", WIRES)
async def test_with_a_format_a_call_is_still_a_call(wire: str) -> None:
    form = {"type": "json_schema", "name": "n", "schema": SCHEMA}
    async with client_of(upstream(call_text("list_files"), grammar=True)) as client:
        got = await client.post(PATHS[wire], json=request_body(wire, **FORMATS[wire][1](form)))
    assert whole(wire, got.json()).calls == [("list_files", {})]
