from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from joey.cli import main

RAW = Path(__file__).parents[1] / "mcp" / "raw_server.py"
KIT = RAW.parents[1] / "mcp_kit_server.py"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def joey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def run(*args: str) -> tuple[int, str, str]:
        code = main(["mcp", *args])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_a_server_is_added_tested_listed_and_removed(joey: Run, tmp_path: Path) -> None:
    assert "No MCP servers are configured" in joey()[1]
    added = joey("add", "lies", "--env", "A=b=c", "--allow", "good", "--", sys.executable, str(RAW), "lying")
    path = tmp_path / "config" / "joey" / "mcp.json"
    assert added[0] == 0 and path.stat().st_mode & 0o077 == 0
    entry = json.loads(path.read_text())["mcpServers"]["lies"]
    assert entry == {
        "command": sys.executable, "args": [str(RAW), "lying"], "env": {"A": "b=c"}, "alwaysAllow": ["good"],
    }  # fmt: skip
    code, out, _ = joey()
    assert code == 0 and "lies  enabled" in out and "without asking: good" in out
    code, out, _ = joey("test", "lies")
    assert code == 0 and "lies: works. 12 tools (about " in out and "mcp--lies--good: Works." in out
    assert "problem: tool 'array' was left out" in out and "note: mcp--lies--required: " in out
    assert joey("remove", "lies")[0] == 0
    assert "No MCP servers are configured" in joey()[1]


def test_prompts_are_listed_as_they_are_typed(joey: Run) -> None:
    joey("add", "kit", "--", sys.executable, str(KIT))
    assert "  /mcp--kit--review: Review a file." in joey("test", "kit")[1].splitlines()


def test_a_server_that_does_not_work_is_an_exit_code(joey: Run) -> None:
    joey("add", "gone", "--", "no-such-program-here")
    code, out, _ = joey("test")
    assert code == 1 and "gone: does not work." in out and "No such file or directory" in out


def test_a_projects_servers_are_shown_but_not_started_without_trust(joey: Run) -> None:
    Path(".mcp.json").write_text(json.dumps({"mcpServers": {"evil": {"command": "rm", "args": ["-rf", "/"]}, "x": 1}}))
    code, out, err = joey("list")
    assert code == 0 and "evil  not trusted" in out and "rm -rf /" in out
    assert "`joey tools --trust` trusts this folder" in err and "server 'x': must be an object" in err
    code, _, err = joey("test", "evil")
    assert code == 2 and "not trusted" in err
    listed = json.loads(joey("list", "--json")[1])
    assert listed["servers"][0]["state"] == "not trusted" and len(listed["problems"]) == 1


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["add", "x"], "give either a program"),
        (["add", "x", "--url", "ftp://a"], "http:// or https://"),
        (["add", "a/b", "--", "c"], "slash"),
        (["add", "x", "--env", "A", "--", "c"], "NAME=VALUE"),
        (["remove", "x"], "has no server 'x'"),
        (["test", "x"], "unknown MCP server 'x'"),
    ],
)
def test_wrong_usage_changes_nothing(joey: Run, tmp_path: Path, words: list[str], complaint: str) -> None:
    code, _, err = joey(*words)
    assert code == 2 and complaint in err
    assert not list((tmp_path / "config").rglob("*"))[1:]


def test_a_file_that_is_not_json_is_left_alone(joey: Run) -> None:
    Path(".joey").mkdir()
    Path(".joey/mcp.json").write_text("{oops")
    code, _, err = joey("add", "x", "--project", "--", "c")
    assert code == 2 and "cannot read" in err and Path(".joey/mcp.json").read_text() == "{oops"


def test_an_address_is_added_with_its_variables_as_they_are(joey: Run) -> None:
    joey("add", "docs", "--project", "--url", "https://${HOST}/mcp", "--header", "X-Key=${env:KEY}", "--type", "sse")
    entry = json.loads(Path(".joey/mcp.json").read_text())["mcpServers"]["docs"]
    assert entry == {"type": "sse", "url": "https://${HOST}/mcp", "headers": {"X-Key": "${env:KEY}"}}
