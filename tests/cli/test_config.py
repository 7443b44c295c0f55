from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from joey.cli import main
from joey.config.edit import with_value
from joey.system.keyring import find_key, keyring_program
from joey.system.trust import TrustStore


class Here:
    """A workspace and a user, both of the test's."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.workspace, self.file, self._capsys = folder / "work", folder / "config" / "joey" / "config.toml", capsys

    def joey(self, *args: str) -> tuple[int, str, str]:
        code = main(["config", *args])
        out = self._capsys.readouterr()
        return code, out.out, out.err

    def shown(self) -> dict[str, tuple[Any, str]]:
        rows = json.loads(self.joey("--json")[1])["settings"]
        return {row["name"]: (row["value"], row["where"]) for row in rows}

    def user(self, text: str) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(text)

    def project(self, text: str) -> Path:
        (self.workspace / ".joey").mkdir(exist_ok=True)
        (self.workspace / ".joey" / "config.toml").write_text(text)
        return self.workspace / ".joey" / "config.toml"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("MODEL", "BASE_URL", "PROTOCOL", "MODE", "APPROVE"):
        monkeypatch.delenv(f"JOEY_{name}", raising=False)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return Here(tmp_path, capsys)


def test_every_value_says_where_it_came_from(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    here.user('model = "ollama/qwen3"\n\n[approvals]\nprofile = "edits"\nreads_outside = "allow"\n')
    project = here.project('mode = "architect"\n')
    TrustStore().trust(here.workspace)
    monkeypatch.setenv("JOEY_PROTOCOL", "xml")
    shown = here.shown()
    assert shown["model"] == ("ollama/qwen3", f"{here.file}:1")
    assert shown["mode"] == ("architect", f"{project}:1")
    assert shown["protocol"] == ("xml", "$JOEY_PROTOCOL")
    assert shown["approvals.writes"] == ("allow", f"{here.file}:4")
    assert shown["approvals.reads_outside"] == ("allow", f"{here.file}:5")
    assert shown["approvals.browser"] == ("ask", "default")
    assert shown["limits.max_turns"] == (None, "default")


def test_the_plain_list_has_a_line_for_each(here: Here) -> None:
    here.user('[tools]\ndisabled = ["new_task"]\n[prices.mine]\ninput = 1\noutput = 2\n')
    code, out, _ = here.joey()
    assert code == 0
    lines = {line.split()[0]: line for line in out.splitlines() if line.strip()}
    assert "new_task" in lines["tools.disabled"] and f"{here.file}:2" in lines["tools.disabled"]
    assert '"input": 1' in lines["prices.mine"]
    assert lines["approvals.profile"].split() == ["approvals.profile", "ask", "default"]


def test_keys_are_reported_as_set_and_never_shown(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "hunter2")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for args in ((), ("--json",)):
        out = here.joey(*args)[1]
        assert "hunter2" not in out and "set in the environment" in out and "not set" in out


@pytest.mark.parametrize(
    ("model", "complaint"), [("gpt", "not of the form provider/model"), ("antropic/x", "did you mean 'anthropic'?")]
)
def test_a_model_that_no_task_would_take_is_not_set(here: Here, model: str, complaint: str) -> None:
    code, _, err = here.joey("set", "model", model)
    assert code == 2 and complaint in err and not here.file.exists()


def test_what_an_untrusted_project_may_not_set_is_reported(here: Here) -> None:
    here.project('model = "x/y"\n')
    out = here.joey()[1]
    assert "sets model: not used" in out
    (here.workspace / ".roomodes").write_text(
        "customModes:\n- slug: ask\n  name: A\n  roleDefinition: r\n  groups: [command]\n"
    )
    assert ".roomodes:2: the mode 'ask' would replace another; not used" in here.joey()[1]
    here.project('[approvals]\nprofile = "all"\nwrites = "deny"\n')
    assert "sets approvals.profile: not used" in here.joey()[1] and here.shown()["approvals.writes"][0] == "deny"
    here.project('model = "x/y"\n')
    TrustStore().trust(here.workspace)
    assert "not used" not in here.joey()[1] and here.shown()["model"][0] == "x/y"


def test_a_mistake_in_a_file_stops_with_its_place(here: Here) -> None:
    here.user("\nmodle = 1\n")
    code, _, err = here.joey()
    assert code == 2 and f"{here.file}:2: unknown setting 'modle'; did you mean 'model'?" in err


def test_path_names_both_files(here: Here) -> None:
    here.user("")
    out = here.joey("path")[1]
    assert f"user     {here.file}\n" in out and ".joey/config.toml  (does not exist)" in out
    assert json.loads(here.joey("path", "--json")[1])["user"] == {"path": str(here.file), "exists": True}


def test_get_prints_one_value(here: Here) -> None:
    here.user('[approvals]\nallow = ["ls"]\n[task]\ncondense_at = 0.5\n[prices.mine]\ninput = 1\noutput = 2\n')
    values = {name: here.joey("get", name)[1].strip() for name in ("mode", "approvals.allow", "task.condense_at")}
    assert values == {"mode": "code", "approvals.allow": "ls", "task.condense_at": "0.5"}
    assert here.joey("get", "approvals.allow", "--json")[1] == '["ls"]\n'
    assert json.loads(here.joey("get", "prices.mine")[1]) == {"input": 1, "output": 2}
    assert "prices.other is not set" in here.joey("get", "prices.other")[2]
    assert "did you mean 'mode'?" in here.joey("get", "moed")[2]


def test_set_makes_the_file_and_then_changes_it(here: Here) -> None:
    assert here.joey("set", "mode", "architect")[0] == 0
    assert here.joey("set", "limits.max_turns", "20")[0] == 0
    assert here.joey("set", "approvals.allow", '["pytest", "npm test"]')[0] == 0
    assert here.joey("set", "mode", "ask")[0] == 0
    assert tomllib.loads(here.file.read_text()) == {
        "mode": "ask",
        "limits": {"max_turns": 20},
        "approvals": {"allow": ["pytest", "npm test"]},
    }


def test_unset_removes_a_value_and_nothing_else(here: Here) -> None:
    here.user('# mine\nmode = "ask"\n\n[task]\ncondense_at = 0.5\n[approvals]\nallow = [\n  "ls",\n]\n')
    assert here.joey("unset", "mode")[0] == 0
    assert here.joey("unset", "task.compact_at")[0] == 0, "by its old name, too"
    assert here.file.read_text() == '# mine\n\n[task]\n[approvals]\nallow = [\n  "ls",\n]\n'
    assert "does not set mode" in here.joey("unset", "mode")[1]
    assert here.joey("unset", "approvals.allow")[0] == 0 and here.file.read_text() == "# mine\n\n[task]\n[approvals]\n"
    here.user('approvals = { allow = ["ls"] }\n')
    assert "cannot be edited safely" in here.joey("unset", "approvals.allow")[2]
    assert "did you mean 'mode'?" in here.joey("unset", "moed")[2]


def test_set_keeps_the_rest_of_the_file(here: Here) -> None:
    text = '# mine\nmode = "ask"\n\n[limits] # be careful\nmax_cost = 1.5\n\n# rules\n[approvals]\nprofile = "edits"\n'
    here.user(text)
    assert here.joey("set", "limits.max_turns", "9")[0] == 0
    assert here.file.read_text() == text.replace("max_cost = 1.5\n", "max_cost = 1.5\nmax_turns = 9\n")


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (("set", "limits.max_turn", "1"), "did you mean 'limits.max_turns'?"),
        (("set", "limits.max_turns", "many"), "must be a whole number of 1 or more, got 'many'"),
        (("set", "model", "sk-ant-api03-abcdefghijklmnop"), "looks like a secret"),
        (("set", "mode"), "joey config [list | path | get KEY | set KEY VALUE | unset KEY]"),
        (("path", "mode"), "joey config [list | path | get KEY | set KEY VALUE | unset KEY]"),
        (("--workspace", "nowhere"), "nowhere is not a folder"),
    ],
)
def test_wrong_usage_names_what_would_be_right(here: Here, args: tuple[str, ...], complaint: str) -> None:
    code, _, err = here.joey(*args)
    assert code == 2 and complaint in err and "abcdef" not in err
    assert not here.file.exists()


@pytest.mark.parametrize(
    "text",
    ["limits = { max_turns = 3 }\n", '[approvals]\nallow = [\n  "a",\n]\n'],
    ids=["inline table", "list over lines"],
)
def test_what_cannot_be_edited_with_certainty_is_left_alone(here: Here, text: str) -> None:
    here.user(text)
    name, value = ("approvals.allow", '["b"]') if "allow" in text else ("limits.max_turns", "5")
    code, _, err = here.joey("set", name, value)
    assert code == 2 and "change it in an editor" in err
    assert here.file.read_text() == text


def test_a_dotted_key_is_changed_where_it_is(here: Here) -> None:
    here.user("# mine\nlimits.max_turns = 3\n")
    assert here.joey("set", "limits.max_turns", "5")[0] == 0
    assert here.file.read_text() == "# mine\nlimits.max_turns = 5\n"


def test_a_setting_with_its_old_name_is_changed_where_it_is(here: Here) -> None:
    here.user("[task]\ncondense_at = 0.5\n")
    assert here.joey("set", "task.compact_at", "0.6")[0] == 0
    assert here.joey("set", "task.condense_at", "0.7")[0] == 0
    assert here.file.read_text() == "[task]\ncondense_at = 0.7\n"


def test_strings_are_written_so_that_toml_reads_them_back() -> None:
    for value in ('a "b" \\ c', "tab\tnew\nline", "ünï \x7f\x01"):
        assert tomllib.loads(with_value("", "mode", value))["mode"] == value


# Keys in the keyring


@pytest.mark.skipif(sys.platform == "darwin", reason="the program has another name there")
def test_a_key_may_be_in_the_system_s_keyring(tmp_path: Path) -> None:
    program = tmp_path / "secret-tool"
    program.write_text('#!/bin/sh\n[ "$*" = "lookup service joey key OPENAI_API_KEY" ] && echo hunter2\n')
    program.chmod(0o755)
    environment = {"PATH": str(tmp_path)}
    assert keyring_program(environment) == str(program)
    found = find_key("OPENAI_API_KEY", environment)
    assert found is not None and found.value == "hunter2" and found.where == "the keyring"
    assert "hunter2" not in repr(found)
    assert find_key("MISTRAL_API_KEY", environment) is None
    own = find_key("OPENAI_API_KEY", {**environment, "OPENAI_API_KEY": "mine"})
    assert own is not None and own.value == "mine"


# The settings at work


def test_tools_and_approvals_follow_the_settings(here: Here, capsys: pytest.CaptureFixture[str]) -> None:
    here.user('[tools]\ndisabled = ["read_file"]\n[approvals]\nallow = ["make"]\ndeny = ["git log"]\n')
    main(["tools", "--json"])
    tools = {tool["name"]: tool for tool in json.loads(capsys.readouterr().out)["tools"]}
    assert tools["read_file"]["reason"] == "The settings disable it."
    for command, verdict in (("make", "allow"), ("git log", "deny"), ("git diff", "ask")):
        main(["approvals", "explain", command, "--json"])
        assert json.loads(capsys.readouterr().out)["verdict"] == verdict


def test_trying_a_tool_keeps_to_what_the_settings_deny(here: Here, capsys: pytest.CaptureFixture[str]) -> None:
    (here.workspace / "a.txt").write_text("hello")
    assert main(["tools", "--try", "read_file", '{"path": "a.txt"}']) == 0
    here.user('[approvals]\nreads = "deny"\n')
    assert main(["tools", "--try", "read_file", '{"path": "a.txt"}']) == 1
    capsys.readouterr()


def test_showing_the_version_reads_no_settings(here: Here) -> None:
    here.user("nonsense")
    done = subprocess.run([sys.executable, "-m", "joey", "--version"], capture_output=True, text=True)
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("mode", "zzz", "unknown mode 'zzz'; available modes: "),
        ("mode", "architekt", "did you mean 'architect'?"),
        ("protocol", "morph-xml", "did you mean 'morph_xml'?"),
        ("approvals.profile", "edit", "did you mean 'edits'?"),
        ("terminal.theme", "drak", "did you mean 'dark'?"),
    ],
)
def test_a_value_that_nothing_could_be_done_with_is_refused_at_once(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    value: str,
    complaint: str,
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert main(["config", "set", name, value]) == 2
    assert complaint in capsys.readouterr().err
    assert not (tmp_path / "joey" / "config.toml").exists()
