"""What comes before a session: the answer to `initialize`, keys, `joey acp --check`, and the entry in the registry."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from acp_kit import Desks
from joey import __version__
from joey.acp.check import check
from joey.acp.serve import KEY_VARIABLES, answer_to_initialize
from joey.errors import JoeyError
from joey.providers import ENDPOINTS

ENTRY = Path(__file__).parents[2] / "docs" / "registry" / "joey" / "agent.json"
TERMINAL = {"clientCapabilities": {"auth": {"terminal": True}}}


def test_the_variables_of_keys_are_those_of_the_providers() -> None:
    wanted = {each.key_variable for each in ENDPOINTS.values() if each.needs_key or each.base_url is None}
    assert set(KEY_VARIABLES) == wanted


@pytest.mark.parametrize(
    ("params", "kind"), [(TERMINAL, "terminal"), ({}, None), ({"clientCapabilities": 3}, None)], ids=str
)
def test_without_a_model_one_way_to_sign_in_is_offered(tmp_path: Path, params: Any, kind: str | None) -> None:
    here = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    (method,) = answer_to_initialize(params, here)["authMethods"]
    assert (method["id"], method.get("type")) == ("login", kind)


def test_with_a_key_a_setting_or_a_model_on_this_machine_none_is_needed(tmp_path: Path) -> None:
    here = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert answer_to_initialize({}, here, chosen=True)["authMethods"] == []
    assert answer_to_initialize({}, {**here, "MISTRAL_API_KEY": "k"})["authMethods"] == []
    models, settings = tmp_path / "cache" / "joey" / "models", tmp_path / "config" / "joey"
    models.mkdir(parents=True)
    (models / "x.gguf").touch()
    assert answer_to_initialize({}, here)["authMethods"] == []
    (models / "x.gguf").unlink()
    settings.mkdir(parents=True)
    (settings / "config.toml").write_text('mode = "ask"\n')
    assert answer_to_initialize({}, here)["authMethods"]
    (settings / "config.toml").write_text('model = "ollama/qwen3"\n')
    assert answer_to_initialize({}, here)["authMethods"] == []


FIRST = """
import sys
before = set(sys.modules)
from joey.cli import main
from joey.acp.serve import serve
from joey.acp.serve import answer_to_initialize
answer_to_initialize({}, {"HOME": "/nowhere", "XDG_CONFIG_HOME": "/nowhere"})
print(*sorted({each.partition(".")[0] for each in set(sys.modules) - before}))
"""


def test_before_the_answer_to_initialize_nothing_large_is_loaded() -> None:
    ran = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, check=True)
    small = {"__future__", "_json", "importlib", "joey", "json", "re", "enum", "types", "operator", "functools",
             "collections", "copyreg", "keyword", "reprlib", "itertools", "warnings"}  # fmt: skip
    assert {each for each in ran.stdout.split() if not each.startswith("_")} <= small


async def test_a_missing_key_is_what_the_protocol_has_a_code_for(desks: Desks, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = await desks.set_up()
    monkeypatch.setenv("JOEY_MODEL", "openai/gpt-x")
    editor = desk.open(base_url=None)
    refused = await editor.request("session/new", cwd=str(desk.workspace), mcpServers=[])
    assert refused["error"]["code"] == -32000
    assert "OPENAI_API_KEY" in refused["error"]["message"]
    assert (await editor.request("authenticate", methodId="login"))["error"]["code"] == -32000
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert await editor.request("authenticate", methodId="login") == {}
    await editor.close()


async def test_check_shows_what_an_editor_sees(desks: Desks) -> None:
    desk = await desks.set_up()
    lines = [*check(desk.workspace, ["--approve", "edits"])]
    assert any(line.startswith("approvals   edits (of ") for line in lines)
    assert "/compact" in "\n".join(lines)
    assert lines[-1] == "end         clean, when the editor leaves"
    assert not [*(desk.home / ".local/state/joey/tasks").glob("2*")], "the session that was tried is left behind"
    with pytest.raises(JoeyError, match="the agent ended without an answer to initialize"):
        [*check(desk.workspace, ["--no-such-option"])]


def test_the_entry_in_the_registry_is_this_version() -> None:
    entry = json.loads(ENTRY.read_text())
    assert entry["version"] == __version__
    assert entry["distribution"] == {"uvx": {"package": f"joey=={__version__}", "args": ["acp"]}}
    assert {"id", "name", "description", "license"} <= set(entry)
    assert (ENTRY.parent / "icon.svg").read_text().startswith("<svg")
