"""`joey protocols`: the dialects, one of them, and which one a file shows."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from joey.cli import main

REPLY = 'I look.[TOOL_CALLS]read_file[ARGS]{"path": "a.py"}'


def test_the_list_names_every_dialect_and_its_models(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["protocols"]) == 0
    shown = capsys.readouterr().out
    assert "kimi_k2" in shown and "DeepSeek V3.2" in shown
    assert main(["protocols", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["dialects"]) >= 66


def test_one_dialect_is_shown_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["protocols", "show", "mistral_v11"]) == 0
    assert '[TOOL_CALLS]get_weather[ARGS]{"city": "Köln", "days": 2}' in capsys.readouterr().out


def test_a_dialect_is_shown_with_what_it_is_known_by(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["protocols", "show", "harmony", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert "to=functions." in shown["known by"] and shown["model names"] == "gpt.?oss"
    assert "<|call|>" in shown["ends a turn"]


@pytest.mark.parametrize(
    ("name", "content", "dialect"),
    [
        ("reply.txt", REPLY, "mistral_v11"),
        ("chat_template.jinja", "{{ '<arg_key>' + k + '</arg_key>\\n<arg_value>' }} <tool_call> </arg_value>", "glm45"),
        ("tokenizer_config.json", json.dumps({"chat_template": "{{ '<|tool_calls_section_begin|>' }}<|tool_call_begin|>"
         "<|tool_call_argument_begin|><|tool_call_end|><|tool_calls_section_end|>"}), "kimi_k2"),
        ("models.json", json.dumps({"data": [{"id": "openai/gpt-oss-20b"}]}), "harmony"),
    ],
)  # fmt: skip
def test_a_file_shows_its_dialect(
    name: str, content: str, dialect: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert main(["protocols", "detect", str(tmp_path / name), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["dialect"] == dialect


def test_what_shows_nothing_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "reply.txt").write_text("Hello.", encoding="utf-8")
    assert main(["protocols", "detect", str(tmp_path / "reply.txt")]) == 1
    assert "no dialect was recognized" in capsys.readouterr().err


def test_a_reply_is_parsed_in_the_dialect_that_could_have_written_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = {"id": 1, "protocol": "auto", "chunks": [REPLY]}
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(line).encode())))
    assert main(["parse", "--batch"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["protocol"] == "mistral_v11"
    assert [part["type"] for part in answer["content"]] == ["text", "tool_call"]


def test_reasoning_that_began_in_the_prompt_is_reasoning(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = {"id": 1, "protocol": "qwen3_5", "prompt_tail": "<think>\n", "chunks": ["Hm.\n</th", "ink>\n\nYes."]}
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(line).encode())))
    assert main(["parse", "--batch"]) == 0
    content = json.loads(capsys.readouterr().out)["content"]
    assert content == [{"type": "reasoning", "text": "Hm."}, {"type": "text", "text": "Yes."}]
