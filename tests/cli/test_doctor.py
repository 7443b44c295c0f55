from __future__ import annotations

import json
from pathlib import Path

import pytest

from joey.cli import main
from joey.cli.doctor.models import answers as answers_at
from joey.providers import ENDPOINTS
from joey.providers.local.weights import CATALOGUE
from joey.testing.server import LocalServer

_DEAD = "http://127.0.0.1:9/v1"
"""Nothing listens on the discard port."""


class Here:
    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.workspace, self._capsys = folder, folder / "work", capsys

    def write(self, path: str, text: str) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def doctor(self, *args: str) -> tuple[int, str]:
        code = main(["doctor", *args])
        return code, self._capsys.readouterr().out

    def findings(self) -> dict[str, dict[str, str]]:
        return {each["subject"]: each for each in json.loads(self.doctor("--json")[1])}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("JOEY_MODELS", str(tmp_path / "models"))
    monkeypatch.delenv("JOEY_MODEL", raising=False)
    for endpoint in ENDPOINTS.values():
        monkeypatch.delenv(endpoint.key_variable, raising=False)
        if endpoint.base_url_variable and endpoint.base_url:
            monkeypatch.setenv(endpoint.base_url_variable, _DEAD)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return Here(tmp_path, capsys)


def test_a_machine_with_a_key_is_ready_and_the_key_is_not_shown(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "hunter2")
    code, out = here.doctor()
    assert code == 0 and "Nothing required is missing." in out
    assert "OPENAI_API_KEY is set in the environment" in out and "hunter2" not in out
    for subject in (
        "Python",
        "terminal",
        "git",
        "ripgrep",
        "shell",
        "codebase_search",
        "browser",
        "images",
        "settings folder",
        "state folder",
        "tasks",
    ):
        assert f"  {subject} " in out


def test_without_a_key_or_a_server_the_ways_forward_are_shown(here: Here) -> None:
    code, out = here.doctor()
    assert code == 1 and "Missing: a model." in out
    assert "ANTHROPIC_API_KEY" in out and "joey local install" in out and "joey demo" in out


def test_a_model_in_this_process_is_enough_and_shows_size_memory_and_speed(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = here.findings()["local"]
    assert found["state"] == "note" and "memory free" in found["found"] and "joey local install" in found["advice"]
    weights = CATALOGUE["coder-1.5b"]
    here.write(f"models/{weights.file}", "")
    with (here.folder / "models" / weights.file).open("r+b") as file:
        file.truncate(weights.size)
    monkeypatch.setattr("joey.system.machine.free_memory", lambda: 8_000_000_000)
    code, out = here.doctor()
    assert code == 0 and "installed, 1.1 GB; runtime: xllamacpp" in out and "8.0 GB of memory free" in out
    assert "`joey local bench coder-1.5b` measures its speed" in out
    here.write(f"models/{weights.file}.speed.json", '{"prompt": 57.2, "generation": 23.4, "threads": 2}')
    assert "reads 57 and writes 23 tokens per second" in here.doctor()[1]


def test_a_model_that_is_too_large_for_the_memory_is_no_model(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = CATALOGUE["coder-1.5b"]
    here.write(f"models/{weights.file}", "")
    with (here.folder / "models" / weights.file).open("r+b") as file:
        file.truncate(weights.size)
    monkeypatch.setattr("joey.system.machine.free_memory", lambda: 1_000_000_000)
    found = here.findings()
    assert found["local/coder-1.5b"]["state"] == "note" and "1.9 GB of memory" in found["local/coder-1.5b"]["advice"]
    assert found["a model"]["state"] == "missing"


async def test_a_local_server_that_answers_is_enough(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    async with LocalServer([]) as server:
        monkeypatch.setenv("OLLAMA_BASE_URL", server.openai_url)
        code, out = await asyncio.to_thread(here.doctor)
    assert code == 0 and f"{server.openai_url} answers" in out


async def test_the_server_of_the_settings_is_enough(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    async with LocalServer([]) as server:
        upstreams = f'[upstreams.here]\nurl = "{server.openai_url}"\n[upstreams.gone]\nurl = "{_DEAD}"\n'
        here.write("config/joey/config.toml", f'base_url = "{server.openai_url}"\n{upstreams}')
        code, out = await asyncio.to_thread(here.doctor)
    assert code == 0 and f"base_url         {server.openai_url} answers" in out
    assert f"upstream here    {server.openai_url} answers" in out
    assert f"upstream gone    {_DEAD} does not answer" in out


def test_an_address_that_is_none_does_not_answer() -> None:
    assert not answers_at("http://127.0.0.1:notaport/v1") and not answers_at(_DEAD)


def test_servers_elsewhere_are_contacted_only_on_request(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    contacted: list[str] = []
    monkeypatch.setenv("OPENAI_API_KEY", "k")

    def answers(address: str) -> bool:
        contacted.append(address)
        return False

    monkeypatch.setattr("joey.cli.doctor.models.answers", answers)
    here.doctor()
    assert set(contacted) == {_DEAD}
    contacted.clear()
    assert "https://api.openai.com/v1 does not answer" in here.doctor("--online")[1]
    assert "https://api.anthropic.com" not in contacted


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("modle = 1", "unknown setting 'modle'"), ('model = "gpt"', "'gpt' is not of the form provider/model")],
)
def test_broken_settings_are_a_finding_not_a_crash(
    here: Here, monkeypatch: pytest.MonkeyPatch, text: str, complaint: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    here.write("config/joey/config.toml", text)
    assert here.doctor()[0] == 1
    found = here.findings()["settings"]
    assert found["state"] == "missing" and f"config.toml:1: {complaint}" in found["found"]


def test_a_task_that_cannot_be_read_is_reported(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    here.write("state/joey/tasks/one/journal.jsonl", "nonsense\n")
    found = here.findings()["tasks"]
    assert "1 damaged" in found["found"] and "joey tasks show one" in found["advice"]


def test_a_folder_that_cannot_be_written_is_missing(here: Here) -> None:
    here.write("state/joey", "a file where the folder should be")
    assert here.findings()["state folder"]["state"] == "missing"


def test_what_comes_from_roo_code_is_named_with_what_becomes_of_it(here: Here) -> None:
    here.write("work/.roomodes", "customModes:\n  - slug: poet\n    name: P\n    roleDefinition: r\n    groups: []\n")
    here.write("work/.roo/rules/a.md", "a")
    here.write("work/.roo/rules-code/a.md", "a")
    here.write("work/.joey/rules-code/a.md", "a")
    here.write("work/.roo/commands/review.md", "Review it.")
    here.write("work/.roo/mcp.json", "{}")
    here.write("work/.roo/skills/release/SKILL.md", "---\nname: release\ndescription: d\n---\nDo it.\n")
    here.write("work/.rooignore", "secret\n")
    here.write("work/AGENTS.md", "Hi")
    here.write("work/.clinerules", "c")
    found = here.findings()
    assert "poet" in found[".roomodes"]["found"]
    assert found[".roo/rules"]["state"] == "ok"
    assert "ignored because .joey/rules-code" in found[".roo/rules-code"]["found"]
    assert "/review" in found[".roo/commands"]["found"]
    assert found["this folder"]["state"] == "note", "its servers need trust"
    assert {".roo/skills", ".roo/mcp.json", ".rooignore", "AGENTS.md", ".clinerules"} <= set(found)


def test_a_mode_that_cannot_be_read_is_pointed_to(here: Here) -> None:
    here.write("work/.roomodes", "customModes:\n  - slug: poet\n")
    found = here.findings()[".roomodes"]
    assert found["state"] == "note" and ".roomodes" in found["advice"]


def test_a_folder_that_is_not_there_is_refused(here: Here, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--workspace", "nowhere"]) == 2
    assert "nowhere is not a folder" in capsys.readouterr().err
