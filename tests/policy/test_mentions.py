"""Texts in the arguments of somebody else's tools: which of them are paths, and where they lead."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from joey.actions import CallServer
from joey.policy import Settings, Workspace
from joey.policy.judge import judge
from joey.policy.verdict import Verdict
from joey.tools.restrict import mentioned_paths, path_actions

ALLOWED = Settings(reads="allow", writes="allow").changed(mcp_allow=("s/*",))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("secret")
    folder = tmp_path / "ws"
    (folder / "priv").mkdir(parents=True)
    (folder / "priv" / "key.pem").write_text("secret")
    (folder / "a.txt").write_text("a")
    (folder / "lnk").symlink_to("../outside")
    (folder / ".joeyignore").write_text("priv/\n")
    (folder / ".envrc").write_text("")
    return folder


def called(arguments: Any, root: Path, group: str = "mcp", rules: Settings = ALLOWED) -> Verdict:
    actions = (CallServer("s", "t"), *path_actions(group, arguments), *mentioned_paths(group, arguments))  # type: ignore[arg-type]
    return judge(actions, rules, replace(Workspace.of(root), home=str(root.parent / "home")))


def shapes(path: str) -> list[Any]:
    return [
        {"query": path}, {"x": {"y": [{"z": path}]}}, {" path ": path}, {"a": [path, "b"]}, {path: 1},
        {"q": f"  {path}\t"},
        {"q": json.dumps({"deep": [path]})}, {"q": json.dumps(path)}, {"args": ["--file=" + path]}, {"q": f"@{path}"},
        {"q": f"a.txt:{path}"}, {"q": f"a.txt,{path}"},
    ]  # fmt: skip


@pytest.mark.parametrize("at", range(12))
def test_a_path_that_leads_out_asks_under_any_name_and_in_any_shape(root: Path, at: int) -> None:
    for path in (
        f"{root.parent}/outside/secret.txt",
        "../outside/secret.txt",
        "~/x",
        "src/../../outside/new",
        "/etc/passwd",
    ):
        assert called(shapes(path)[at], root).decision == "ask", path


@pytest.mark.parametrize(
    "text",
    ["lnk/secret.txt", "lnk", "..\\outside", "%2e%2e/outside", "/proc/self/cwd/a.txt", "~root/x", ".envrc", ".."],
)
def test_so_does_what_is_there_and_leads_somewhere_else(root: Path, text: str) -> None:
    assert called({"query": text}, root).decision == "ask"


@pytest.mark.parametrize(
    "arguments",
    [
        {"q": json.dumps({"uri": "file:///etc/passwd"})}, {"file:///etc/passwd": 1}, {"q": "file:///etc/pass\nwd"},
        {"q": "/etc/a b c d e f.conf"}, {"q": "../../x/a b c d e f"}, {"q": "~/a b c d e f"},
        {"q": "--file /etc/passwd"}, {"q": "'/etc/passwd'"}, {"q": "(/etc/passwd)"}, {"q": "cat /etc/passwd"},
        {"q": "cat ~/x"},
        {"q": "tar -c -f x.tar one two three four '/etc/passwd'"}, {"q": "open file:///etc/passwd"},
        {"q": json.dumps(json.dumps({"p": "/etc/passwd"}))}, {"q": "a.txt", "z": ["file:/etc/passwd"]},
        {"uri": "file:%2f%2f/etc/passwd"}, {"uri": "file:\\\\\\etc\\passwd"},
    ],
)  # fmt: skip
def test_so_does_a_path_in_other_clothes(root: Path, arguments: Any) -> None:
    assert called(arguments, root).decision == "ask"


def test_however_deep_the_arguments_are_they_are_looked_at(root: Path) -> None:
    for levels in (50, 500, 1_200, 100_000):
        text = "[" * levels + '"/etc/passwd"' + "]" * levels
        assert called({"q": text}, root).decision == "ask", levels
    deep: Any = "/etc/passwd"
    for _ in range(5_000):
        deep = [deep]
    assert called({"q": deep}, root).decision == called({"path": deep}, root).decision == "ask"


@pytest.mark.parametrize("text", ["priv/key.pem", "priv", "./priv/../priv/key.pem", "PRIV/key.pem", "a.txt/../priv"])
def test_what_is_hidden_is_denied(root: Path, text: str) -> None:
    assert called({"query": text}, root).decision == "deny" or not (root / text).exists()
    assert called({"query": f"{root}/priv/key.pem"}, root).decision == "deny"


@pytest.mark.parametrize(
    "text",
    [
        "a.txt", "src/new.py", "hello", "fix the bug in /etc/passwd handling, please do it now", "/api/v1/users",
        "1..5",
        "https://example.com/../etc/passwd", "http://127.0.0.1:8000/etc", "and/or", "~5 minutes", "2 / 3", "x" * 9000,
        "first line\n/etc/passwd\n../outside", "a@example.com", "12:30", "{not json", '{"a": "b"}', "SELECT * FROM a",
        "",
        "...", "git@github.com:me/project.git", "feat: add ../x to the long list of words that nobody reads",
    ],
)  # fmt: skip
def test_ordinary_text_does_not_ask(root: Path, text: str) -> None:
    verdict = called({"query": text, "items": [text]}, root)
    assert verdict.allowed, verdict.reason


def test_a_tool_that_reads_may_read_what_is_protected_and_nothing_outside(root: Path) -> None:
    assert called({"query": ".envrc"}, root, "read").allowed
    assert called({"query": "../outside"}, root, "read").decision == "ask"
    assert called({"query": "../outside"}, root, "read", ALLOWED.changed(reads_outside="allow")).allowed


def test_more_texts_than_are_looked_at_ask(root: Path) -> None:
    assert called({"items": [f"word{count}" for count in range(3000)]}, root).decision == "ask"


@pytest.fixture
def hiding(root: Path) -> Path:
    (root / ".joeyignore").write_text("s.key\n/conf/deep.txt\nsecrets\nsecrets/\nvault\n")
    for name in ("s.key", "conf/deep.txt", "vault", "src/app.py", "sub/x"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("secret")
    return root


@pytest.mark.parametrize("group", ["mcp", "read", "command"])
@pytest.mark.parametrize(
    "arguments",
    [
        {"q": "cat s.key"}, {"target": "s.key"}, {"s.key": "new text"}, {"files": {"s.key": "x"}}, {"q": "cat<s.key"},
        {"src": "secrets/x"}, {"target": "secrets/new.txt"}, {"q": "cat vault"}, {"a": ["cat", "vault"]},
        {"q": "vault"},
        {"q": "python run.py one two three four five six seven s.key"}, {"q": "ls\ncat s.key\n"}, {"q": "cat 's.key'"},
        {"in": "conf", "show": "deep.txt"}, {"q": "cd conf && cat deep.txt"}, {"in": "conf", "show": "./deep.txt"},
        {"q": "cat s.*"}, {"q": "cat ./s.ke?"}, {"q": "cat conf/d*"}, {"q": "s%2ekey"}, {"q": "please read s.key."},
        {"q": "cat src/../s.key"}, {"q": json.dumps({"deep": "cat s.key"})},
        {"q": "a=$(cat s.key)"},
    ],
)  # fmt: skip
def test_what_is_hidden_is_found_under_any_name_and_among_other_words(hiding: Path, arguments: Any, group: str) -> None:
    verdict = called(arguments, hiding, group)
    assert not verdict.allowed and not judge_headless(arguments, hiding)
    assert ".joeyignore" in verdict.reason, verdict.reason


def judge_headless(arguments: Any, root: Path) -> bool:
    actions = (CallServer("s", "t"), *path_actions("mcp", arguments), *mentioned_paths("mcp", arguments))
    return judge(actions, ALLOWED, Workspace.of(root), headless=True).allowed


@pytest.mark.parametrize(
    "text",
    [
        "cat src/app.py", "key", "the secrets of good prose are many, and no vault keeps them all", "deep.txt",
        "sub/deep.txt",
        "https://example.com/s.key", "feature/new", "a.txt", "conf", "import os.path", "*.py", "**bold** words",
        "s.keys",
        "Fix the parser. It fails on v1.2.3, e.g. in app.py.", "/api/secrets", "SELECT a.b FROM t", "x" * 9000, "...",
        "*", "vaults and keys", "me@example.com", "1.5", "src/*.py", "sub", "{}", "[ ]",
    ],
)  # fmt: skip
def test_words_that_hide_nothing_do_not_ask(hiding: Path, text: str) -> None:
    verdict = called({"query": text, "items": [text, "app.py"], "kind": "plain"}, hiding)
    assert verdict.allowed, verdict.reason


def test_more_words_and_folders_than_are_looked_at_ask(hiding: Path) -> None:
    assert called({"items": [f"a.{count} b.{count} c.{count}" for count in range(1_900)]}, hiding).decision == "ask"
    for count in range(30):
        (hiding / f"folder{count}").mkdir()
    assert called({"items": [f"folder{count}" for count in range(30)]}, hiding).decision == "ask"
    (hiding / ".joeyignore").unlink()
    assert called({"items": [f"folder{count}" for count in range(30)]}, hiding).allowed
