from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from joey.mcp.config import LoadedServers, load_servers


def load(tmp_path: Path, files: dict[str, Any], *, trusted: bool = True, **environment: str) -> LoadedServers:
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1), encoding="utf-8")
    return load_servers(tmp_path / "work", tmp_path / "user", trusted=trusted, environment=environment)


def one(entry: Any) -> dict[str, Any]:
    return {"user/mcp.json": {"mcpServers": {"it": entry}}}


def test_a_program_and_an_address_are_both_servers(tmp_path: Path) -> None:
    entries = {
        "git": {"command": "uvx", "args": ["mcp-server-git"], "timeout": 5, "alwaysAllow": ["git_log", "git_diff"]},
        "docs": {"type": "streamable-http", "url": "https://example.com/mcp", "headers": {"X-Key": "k"}},
        "old": {"type": "sse", "url": "http://127.0.0.1:1/sse", "disabled": True, "disabledTools": ["rm"]},
        "claude": {"type": "http", "url": "https://example.com/mcp", "unknown field": 1},
    }
    loaded = load(tmp_path, {"user/mcp.json": {"mcpServers": entries}})
    git, docs, old, claude = loaded.servers
    assert loaded.problems == ()
    assert (git.transport, git.target, git.timeout) == ("stdio", "uvx mcp-server-git", 5)
    assert git.cwd == str(tmp_path / "work")
    assert (docs.transport, docs.headers, docs.timeout) == ("streamable-http", (("X-Key", "k"),), 60)
    assert (old.transport, old.disabled, old.disabled_tools) == ("sse", True, ("rm",))
    assert claude.transport == "streamable-http"
    assert loaded.allowed == ("git/git_log", "git/git_diff")
    assert old not in loaded.enabled


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ({"command": "x", "url": "http://a"}, "'command' is for stdio, 'url' for HTTP"),
        ({"type": "sse", "url": "http://a", "env": {}}, "'env' is for stdio, 'url' for HTTP"),
        ({"url": "http://a"}, 'needs a "type": streamable-http or sse'),
        ({"type": "stdio", "url": "http://a"}, "'url' is not a field of that type"),
        ({"type": "sse", "command": "x"}, "'command' is not a field of that type"),
        ({"type": "websocket", "url": "http://a"}, "stdio, streamable-http or sse, got 'websocket'"),
        ({}, 'needs a "command"'),
        ("npx", "must be an object"),
        ({"command": ""}, "not empty"),
        ({"command": "x", "args": "a b"}, '"args" must be a list of strings'),
        ({"command": "x", "env": {"A": 1}}, "values are strings"),
        ({"command": "x", "timeout": 0}, "from 1 to 3600, got 0"),
        ({"command": "x", "timeout": True}, "from 1 to 3600, got True"),
        ({"command": "x", "disabled": "yes"}, "true or false"),
        ({"type": "sse", "url": "file:///etc/passwd"}, "http:// or https://"),
        ({"command": "x", "args": ["${env:NOPE}"]}, "the environment variable NOPE is not set"),
    ],
)
def test_a_bad_entry_is_named_and_the_rest_counts(tmp_path: Path, entry: Any, complaint: str) -> None:
    loaded = load(tmp_path, {"user/mcp.json": {"mcpServers": {"fine": {"command": "ok"}, "it": entry}}})
    assert [server.name for server in loaded.servers] == ["fine"]
    (problem,) = loaded.problems
    assert complaint in problem.message and problem.message.startswith("server 'it': ")
    assert problem.file.endswith("user/mcp.json") and problem.line == 6


def test_a_name_with_a_slash_is_refused_because_rules_are_written_with_one(tmp_path: Path) -> None:
    loaded = load(tmp_path, {"user/mcp.json": {"mcpServers": {"a/b": {"command": "x"}}}})
    assert loaded.servers == () and "slash" in loaded.problems[0].message


def test_variables_are_filled_in_once(tmp_path: Path) -> None:
    entry = {
        "command": "${workspaceFolder}/run",
        "args": ["${env:A}", "${B:-other}", "$C", "${workspaceFolder}"],
        "env": {"KEY": "${A}"},
        "cwd": "sub",
    }
    (server,) = load(tmp_path, one(entry), A="${env:B}").servers
    work = str(tmp_path / "work")
    assert (server.command, server.cwd) == (f"{work}/run", f"{work}/sub")
    assert server.args == ("${env:B}", "other", "$C", work)
    assert server.env == (("KEY", "${env:B}"),)


def test_a_disabled_server_needs_no_variables(tmp_path: Path) -> None:
    loaded = load(tmp_path, one({"command": "x", "args": ["${env:NOPE}"], "disabled": True}))
    assert loaded.problems == () and loaded.servers[0].disabled


def test_the_project_beats_the_user_and_joeys_file_the_others(tmp_path: Path) -> None:
    files = {
        "work/.joey/mcp.json": {"mcpServers": {"a": {"command": "joey"}}},
        "work/.roo/mcp.json": {"mcpServers": {"a": {"command": "roo"}, "b": {"command": "roo"}}},
        "work/.mcp.json": {"mcpServers": {"b": {"command": "claude"}, "c": {"command": "claude"}}},
        "user/mcp.json": {"mcpServers": {"a": {"command": "user", "alwaysAllow": ["*"]}, "d": {"command": "user"}}},
    }
    loaded = load(tmp_path, files)
    commands = {server.name: server.command for server in loaded.servers}
    assert commands == {"a": "joey", "b": "roo", "c": "claude", "d": "user"}
    assert loaded.allowed == (), "leave for the user's server must not pass to a project's of the same name"


def test_what_a_project_sets_up_counts_only_where_it_is_trusted(tmp_path: Path) -> None:
    files = {
        "work/.mcp.json": {"mcpServers": {"a": {"command": "evil", "alwaysAllow": ["*"]}}},
        "user/mcp.json": {"mcpServers": {"a": {"command": "mine"}}},
    }
    loaded = load(tmp_path, files, trusted=False)
    assert [server.command for server in loaded.servers] == ["mine"]
    assert [server.command for server in loaded.untrusted] == ["evil"]
    assert loaded.allowed == ()
    assert load(tmp_path, {}, trusted=True).allowed == ("a/*",)


@pytest.mark.parametrize(
    ("text", "complaint", "line"),
    [
        ('{"mcpServers":\n {,}}', "is not JSON", 2),
        ("[]", "must hold an object", 1),
        ('{"mcpServers": []}', '"mcpServers" must be an object', 1),
    ],
)
def test_a_file_that_cannot_be_read_is_named_and_the_other_files_count(
    tmp_path: Path, text: str, complaint: str, line: int
) -> None:
    files: dict[str, Any] = {"work/.mcp.json": text, **one({"command": "x"})}
    loaded = load(tmp_path, files)
    assert len(loaded.servers) == 1
    assert complaint in loaded.problems[0].message and loaded.problems[0].line == line
