"""In which protocol a model is spoken to, and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from joey.app.dialects import ProtocolChoice, choose_protocol, look_again
from joey.app.opening import open_configured
from joey.app.sources import settings_in_force
from joey.cli import main
from joey.providers import Abilities
from joey.providers.templates import ServedModel, look_at_server
from joey.testing.script import reply
from joey.testing.server import LocalServer
from joey_process import JoeyProcess
from local_kit import MODELS, SMOL, needs_model
from models_kit import serving

HERMES = '{% for t in tools %}{{ t }}{% endfor %}<tool_call>\n{"name": n, "arguments": a}\n</tool_call>'
MISTRAL = "{{ bos }}[AVAILABLE_TOOLS]{{ tools }}[/AVAILABLE_TOOLS][TOOL_CALLS]{{ name }}[ARGS]{{ arguments }}"
PROPS = {"chat_template": HERMES, "model_path": "/models/some-7b.gguf"}


@pytest.fixture(autouse=True)
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "JOEY_PROTOCOL", "JOEY_MODEL"):
        monkeypatch.delenv(name, raising=False)


def chosen(label: str, folder: Path, tools: bool = True, **flags: Any) -> ProtocolChoice:
    config = settings_in_force(folder, flags)
    look_again(label, config)
    return choose_protocol(config, label, Abilities(tools=tools))


@pytest.mark.parametrize(
    ("provider", "pages", "wanted"),
    [
        ("llamacpp", {"/props": PROPS}, ("hermes", "llama.cpp")),
        ("llamacpp", {"/props": {"chat_template": "x", "chat_template_tool_use": HERMES}}, ("hermes", "llama.cpp")),
        ("llamacpp", {"/props": {"chat_template": MISTRAL}}, ("native", None)),
        ("llamacpp", {"/props": {"chat_template": "{{ messages }}"}}, ("native", None)),
        ("llamacpp", {"/props": ["no object"]}, ("native", None)),
        ("llamacpp", {}, ("native", None)),
        ("ollama", {"/api/show m": {"template": HERMES, "capabilities": ["completion", "tools"]}}, ("native", None)),
        ("ollama", {"/api/show m": {"template": HERMES, "capabilities": ["completion"]}}, ("hermes", None)),
        ("ollama", {"/api/show m": {"template": "{{ .Prompt }}", "capabilities": ["completion"]}}, ("xml", None)),
        ("vllm", {"/v1/models": {"data": [{"id": "m", "root": "Qwen/Qwen3-Coder-30B"}]}}, ("qwen3_coder", "vllm")),
        ("vllm", {"/v1/models": {"data": [{"id": "m", "root": "TEMPLATE"}]}}, ("hermes", "vllm")),
        ("vllm", {"/v1/models": {"data": [{"id": "other", "root": "TEMPLATE"}]}}, ("native", None)),
    ],
)  # fmt: skip
def test_a_server_is_spoken_to_in_the_dialect_of_its_model(
    tmp_path: Path, provider: str, pages: dict[str, Any], wanted: tuple[str, str | None]
) -> None:
    weights = tmp_path / "weights"
    weights.mkdir()
    (weights / "tokenizer_config.json").write_text(json.dumps({"chat_template": HERMES}))
    with serving(json.loads(json.dumps(pages).replace("TEMPLATE", str(weights)))) as url:
        choice = chosen(f"{provider}/m", tmp_path, base_url=url)
    assert (choice.name, choice.grammar) == wanted
    reasons = {"hermes": "its chat template has", "qwen3_coder": "its name has", "xml": "it takes no tools"}
    tokens = "the markers of its own dialect" if MISTRAL in str(pages) else "its server reads its calls"
    assert choice.why.startswith(reasons.get(choice.name, tokens))


def test_what_the_user_chose_counts_and_auto_takes_the_dialect_wherever_it_is_known(tmp_path: Path) -> None:
    with serving({"/props": PROPS}) as url:
        assert chosen("llamacpp/m", tmp_path, base_url=url, protocol="native").name == "native"
        assert chosen("llamacpp/m", tmp_path, base_url=url, protocol="xml").grammar is None
        assert chosen("llamacpp/m", tmp_path, base_url=url, protocol="glm45").grammar == "llama.cpp"
    with serving({"/props": {"chat_template": MISTRAL}}) as url:
        assert chosen("llamacpp/m", tmp_path, base_url=url, protocol="auto").name == "mistral_v11"
    assert chosen("openrouter/qwen/qwen3-coder", tmp_path).name == "native"
    assert chosen("openrouter/qwen/qwen3-coder", tmp_path, protocol="auto").name == "qwen3_coder"
    assert chosen("openai/unheard-of", tmp_path, tools=False).name == "xml"


def test_servers_of_others_are_not_asked_and_hostile_ones_say_nothing(tmp_path: Path) -> None:
    seen: list[tuple[str, dict[str, str]]] = []
    with serving({"/props": PROPS}, seen) as url:
        assert look_at_server("openai", url, "m") == ServedModel()
    assert seen == []
    strange: list[Any] = [302, 500, b"\xff", b"[" * 100_000, {"chat_template": {"a": 1}, "model_path": 7}]
    for answer in strange:
        with serving({"/props": answer}) as url:
            assert look_at_server("llamacpp", url, "m") == ServedModel()


@needs_model
def test_a_file_without_a_dialect_and_a_model_in_the_box_are_held_to_xml(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other.gguf").symlink_to(SMOL)
    other = chosen(f"local/{tmp_path}/other.gguf", tmp_path, tools=False)
    assert (other.name, other.grammar, other.why) == ("xml", "llama.cpp", "it shows no dialect of its own")
    monkeypatch.setenv("JOEY_MODELS", str(MODELS))
    for name in ("smol-135m", str(SMOL)):
        boxed = chosen(f"local/{name}", tmp_path, tools=False)
        assert (boxed.name, boxed.why) == ("xml", "measured to be best for it")


async def test_a_task_on_such_a_server_teaches_the_dialect_sends_its_grammar_and_reads_it(tmp_path: Path) -> None:
    joey = JoeyProcess(tmp_path)
    write = (
        '<tool_call>\n{"name": "write_to_file", "arguments": {"path": "x.txt", "file_text": "one\\n"}}\n</tool_call>'
    )
    script = [reply(f"I write.\n{write}"), reply("That was all.")]
    async with LocalServer(script, pages={"/props": PROPS}) as server:
        options = ("--model", "llamacpp/m", "--base-url", server.openai_url, "--approve", "edits")
        ran = await joey("run", *options, "--plain-answers", "finish", "Write it")
    assert ran.code == 0, ran.err
    assert (joey.workspace / "x.txt").read_text() == "one\n"
    body = server.requests[0].body
    assert "tools" not in body and "<tool_call>" in json.dumps(body["messages"])
    assert "tool_call" in body["grammar"]


def test_people_are_told_which_it_is_and_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with serving({"/props": PROPS, "/v1/models": {"data": [{"id": "m"}]}}) as url:
        monkeypatch.setenv("LLAMACPP_BASE_URL", url)
        monkeypatch.setenv("JOEY_MODEL", "llamacpp/m")
        why = 'hermes with a grammar (its chat template has `<tool_call> {"name":`)'
        assert main(["models", "llamacpp/m"]) == 0
        assert f"  calls    {why}" in capsys.readouterr().out
        main(["doctor"])
        assert f"llamacpp/m: {why}" in capsys.readouterr().out
    assert main(["models", "anthropic/claude-sonnet-5-5"]) == 0
    assert "  calls    native (its server reads its calls)" in capsys.readouterr().out


@pytest.mark.parametrize(("flags", "takes"), [({}, True), ({"api": "messages"}, False), ({"grammar": "off"}, False)])
def test_a_grammar_goes_where_it_is_taken(tmp_path: Path, flags: dict[str, Any], takes: bool) -> None:
    with serving({"/props": PROPS}) as url:
        provider, _ = open_configured("llamacpp/m", settings_in_force(tmp_path, {"base_url": url, **flags}))
        assert provider.takes_grammar is takes
