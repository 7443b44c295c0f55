from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from joey.cli import main


def joey(*args: str, stdin: str | bytes = "") -> subprocess.CompletedProcess[bytes]:
    data = stdin.encode() if isinstance(stdin, str) else stdin
    return subprocess.run([sys.executable, "-m", "joey", *args], input=data, capture_output=True, check=False)


def lines(run: subprocess.CompletedProcess[bytes]) -> list[Any]:
    return [json.loads(line) for line in run.stdout.splitlines()]


CALL = [{"index": 0, "id": "t1", "name": "read_file", "arguments": '{"pa'}, {"index": 0, "arguments": 'th": "a"}'}]


def test_chunks_from_a_pipe_become_content() -> None:
    run = joey("parse", stdin="\n".join([json.dumps("Reading. "), *map(json.dumps, CALL)]))
    assert run.returncode == 0
    assert json.loads(run.stdout) == {
        "content": [
            {"type": "text", "text": "Reading. "},
            {"type": "tool_call", "name": "read_file", "input": {"path": "a"}, "id": "t1"},
        ],
        "errors": [],
    }


def test_events_come_one_a_line() -> None:
    run = joey("parse", "--events", stdin="\n".join(map(json.dumps, CALL)))
    kinds = [event["type"] for event in lines(run)]
    assert kinds == [
        "tool_call_started",
        "tool_call_delta",
        "tool_call_delta",
        "tool_call_finished",
        "stream_finished",
    ]


def test_a_file_is_read_as_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.jsonl").write_text("\n".join(map(json.dumps, CALL)))
    assert main(["parse", str(tmp_path / "s.jsonl")]) == 0
    assert json.loads(capsys.readouterr().out)["content"][0]["input"] == {"path": "a"}


def test_a_call_that_is_not_found_for_want_of_tools_is_pointed_out(tmp_path: Path) -> None:
    text = "<read_file><path>a</path></read_file>"
    run = joey("parse", "--protocol", "xml", stdin=text)
    assert run.returncode == 0 and b"no call was found; name the tools that were offered with --tools" in run.stderr
    (tmp_path / "tools.json").write_text('[{"name": "read_file", "schema": {"properties": {"path": {}}}}]')
    assert joey("parse", "--protocol", "xml", "--tools", str(tmp_path / "tools.json"), stdin=text).stderr == b""


def test_batch_answers_every_line_and_goes_on_after_a_bad_one() -> None:
    requests = [
        json.dumps({"id": 1, "protocol": "native", "tools": [{"name": "read_file", "schema": {}}], "chunks": CALL}),
        "not json",
        json.dumps({"id": 3, "protocol": "nativ", "chunks": []}),
        json.dumps({"id": 4, "protocol": "native", "chunks": "x"}),
        json.dumps({"id": 5, "protocol": "native", "chunks": [{"index": "0"}]}),
        "[1]",
        json.dumps({"id": 7, "protocol": "native", "chunks": ["just text"]}),
    ]
    run = joey("parse", "--batch", stdin="\n".join(requests))
    answers = lines(run)
    assert run.returncode == 1
    assert [answer["id"] for answer in answers] == [1, None, 3, 4, 5, None, 7]
    assert answers[0]["content"][0]["input"] == {"path": "a"}
    complaints = [answer["errors"][0]["message"] for answer in answers[1:6]]
    assert complaints[0] == "line 2: expected a JSON object, got 'not json'"
    assert complaints[1].startswith("line 3: there is no protocol 'nativ'; did you mean 'native'?")
    assert complaints[2] == 'line 4: expected "chunks": a JSON array of strings or call pieces'
    assert complaints[3].startswith("line 5: tool_call_chunk.index: expected an integer or null, got a string ('0')")
    assert complaints[4] == "line 6: expected a JSON object, got '[1]'"
    assert answers[6]["content"] == [{"type": "text", "text": "just text"}]


@pytest.mark.parametrize(
    ("args", "stdin", "complaint"),
    [
        (["parse", "nowhere.txt"], "", "cannot read nowhere.txt: No such file or directory"),
        (["parse", "--protocol", "nope"], "", "there is no protocol 'nope'"),
        (["parse"], '"ok"\n{broken\n', "line 2: expected one JSON value, got '{broken'"),
        (["parse"], '{"type": "text"}\n', "line 1: unknown type 'text'; known: prompt_chunk, reasoning_chunk"),
        (["parse"], '{"foo": 1}\n', 'line 1: expected at least one of "index"'),
        (["pares"], "", "unknown command 'pares'; did you mean `joey parse`?"),
    ],
)
def test_a_mistake_is_named_without_a_traceback(args: list[str], stdin: str, complaint: str) -> None:
    run = joey(*args, stdin=stdin)
    assert run.returncode == 2
    assert complaint in run.stderr.decode()
    assert b"Traceback" not in run.stderr


def test_a_malformed_call_is_reported_by_the_exit_code() -> None:
    run = joey("parse", stdin=json.dumps({"index": 0, "name": "f", "arguments": '{"a'}))
    assert run.returncode == 1
    assert "not closed" in json.loads(run.stdout)["errors"][0]["message"]


def test_lone_surrogates_survive() -> None:
    run = joey("parse", stdin=json.dumps({"index": 0, "name": "f", "arguments": '{"a": "\\ud83d"}'}))
    assert run.returncode == 0
    assert json.loads(run.stdout)["content"][0]["input"] == {"a": "\ud83d"}


def test_a_reader_that_goes_away_is_no_error() -> None:
    request = json.dumps({"id": 1, "protocol": "native", "chunks": ["x" * 1000]}) + "\n"
    command = f"{sys.executable} -m joey parse --batch | head -c 10"
    run = subprocess.run(["sh", "-c", command], input=(request * 300).encode(), capture_output=True, check=False)
    assert run.stderr == b""


def test_a_byte_order_mark_is_the_files_and_not_the_models(tmp_path: Path) -> None:
    (tmp_path / "reply.txt").write_text('{"name": "f", "parameters": {}}', encoding="utf-8-sig")
    run = joey("parse", "-p", "auto", str(tmp_path / "reply.txt"))
    assert [part["type"] for part in json.loads(run.stdout)["content"]] == ["tool_call"]
    assert run.stderr.decode() == "note: read as llama3_json\n"
    found = joey("protocols", "detect", str(tmp_path / "reply.txt"))
    assert found.stdout.decode().startswith("llama3_json ")


def test_auto_says_if_it_recognized_no_dialect() -> None:
    run = joey("parse", "-p", "auto", stdin="Just prose.")
    assert json.loads(run.stdout)["content"] == [{"type": "text", "text": "Just prose."}]
    assert run.stderr.decode().startswith("note: no dialect was recognized; read as hermes\n")


def test_a_call_that_a_dialect_cannot_read_is_an_error_and_text_or_a_part_of_its_own() -> None:
    text = '<tool_call>{"name": "f",'
    requests = [{"id": name, "protocol": name, "text": text} for name in ("hermes", "ernie45")]
    left, typed = lines(joey("parse", "--batch", stdin="\n".join(map(json.dumps, requests))))
    assert left["content"] == [{"type": "text", "text": text}]
    assert [(part["type"], part["name"], part["source"]) for part in typed["content"]] == [
        ("malformed_call", "f", text)
    ]
    assert left["errors"] == typed["errors"] and left["errors"][0]["segment"] == text


def test_debug_shows_on_stderr_how_a_reply_is_read() -> None:
    text = '<tool_call>{"name": "f"}</tool_call>'
    run = joey("parse", "-p", "json_mix", "--debug", stdin=text)
    assert json.loads(run.stdout)["content"] == [{"type": "tool_call", "name": "f", "input": {}, "id": "call_1"}]
    assert run.stderr.decode().startswith('raw   {"type": "text_chunk"')
    assert f"\x1b[30;43m{text}\x1b[0m" in run.stderr.decode()


def test_batch_errors_are_those_of_the_error_callback() -> None:
    chunks = [["<tool_call>{bad}</tool_call>"], ['<tool_call>{"name": "f"']]
    requests = [{"id": number, "protocol": "json_mix", "chunks": each} for number, each in enumerate(chunks)]
    broken, cut_off = lines(joey("parse", "--batch", stdin="\n".join(map(json.dumps, requests))))
    assert [error["segment"] for error in broken["errors"]] == chunks[0]
    assert cut_off == {"id": 1, "content": [{"type": "text", "text": chunks[1][0]}], "errors": []}


def test_batch_lines_may_set_options_of_their_protocol() -> None:
    text = '<tool>{"name": "a", "arguments": {}}</tool>'
    tags = {"start": "<tool>", "end": "</tool>"}
    replies: list[Any] = [
        {"protocol": "json_mix", "chunks": [text], "options": tags},
        {"protocol": "json_mix", "chunks": [text]},
        {"protocol": "json_mix", "chunks": [], "options": {"begin": "x"}},
        {"protocol": "json_mix", "chunks": [], "options": {"start": 7}},
        {"protocol": "xml", "chunks": [], "options": {"self": "x"}},
        {"protocol": "xml", "chunks": [], "options": ["x"]},
        {"protocol": ["xml"], "chunks": []},
    ]
    called, plain, *wrong = lines(joey("parse", "--batch", stdin="\n".join(map(json.dumps, replies))))
    assert [part["type"] for part in called["content"]] == ["tool_call"]
    assert plain["content"] == [{"type": "text", "text": text}]
    assert [reply["errors"][0]["message"] for reply in wrong] == [
        "line 3: the protocol json_mix has no option 'begin'; it takes: start, end",
        "line 4: the option 'start' of json_mix must be a string, got 7",
        "line 5: the protocol xml has no option 'self'; it takes none",
        'line 6: expected "options": a JSON object of the protocol\'s options',
        'line 7: expected "protocol": one of native, xml, json_mix, morph_xml, tool_choice',
    ]


@pytest.mark.parametrize("size", ["0", "-1", "x"])
def test_pieces_of_no_size_are_refused(size: str) -> None:
    ran = joey("parse", "--protocol", "xml", f"--cut={size}")
    assert ran.returncode == 2
    assert f"argument --cut: must be a whole number of 1 or more, got '{size}'" in ran.stderr.decode()
