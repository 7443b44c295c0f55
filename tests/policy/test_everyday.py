"""Lines people run all day: under sensible rules they need no approval, unless they are not plain."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hostile_workspace import settings_of
from joey.policy import Settings, Workspace
from joey.policy.shell.lines import judge_line
from joey.policy.verdict import Verdict, combine
from policy.everyday_lines import EVERYDAY, NOT_PLAIN

TOOLS = ("tsc", "eslint", "vitest", "jest", "prettier", "vite", "playwright", "next", "mocha", "tsx", "webpack")

NEED_APPROVAL: dict[str, str] = {
    **dict.fromkeys(
        [
            "find . -type f -name '*.py' | xargs wc -l",
        ],
        "which files it reads is only known when it runs",
    ),
    **dict.fromkeys(
        [
            "golangci-lint run",
            "clang-format -i src/main.cpp",
            "clang-format --dry-run --Werror src/main.cpp",
            "mix test",
            "mix format --check-formatted",
            "zig build test",
            "stack test",
            "sbt test",
            "dart analyze",
            "flutter test",
            "flutter pub get",
            "deno test",
            "deno fmt --check",
        ],
        "there is no table for the program, so a rule must spell out the arguments, or end in `*`",
    ),
    **dict.fromkeys(
        [
            "uv run pytest -q",
            "poetry run pytest",
            "bundle exec rspec",
            "bundle exec rspec spec/models/user_spec.rb:42",
            "bundle exec rubocop -a",
        ],
        "the rule names what runs the program, not the program",
    ),
    **dict.fromkeys(
        [
            "yarn workspace api test",
            "docker compose exec db psql -U postgres -c 'select 1'",
            "docker compose run --rm api pytest -q",
            "curl -s -X POST -H 'Content-Type: application/json' -d '{\"name\": \"test\"}' http://localhost:8000/api/users",
        ],
        "it runs or sends something that the rule's words do not show",
    ),
}
"""Everyday lines that need approval all the same, and why."""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """An ordinary project: a repository with a remote, some sources, tools in node_modules."""
    root = tmp_path_factory.mktemp("project")
    for name in (
        "src/a.py",
        "tests/test_a.py",
        "package.json",
        "README.md",
        *(f"node_modules/.bin/{x}" for x in TOOLS),
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x\n")
    (root / "tsconfig.build.json").write_text('{"compilerOptions": {"outDir": "dist"}}')
    git = root / ".git"
    for folder in ("objects", "refs", "hooks"):
        (git / folder).mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "config").write_text('[core]\n\tbare = false\n[remote "origin"]\n\turl = https://example.com/x.git\n')
    return replace(Workspace.of(root), home=str(Path(root).parent / "home"))


def verdict(line: str, settings: Settings, workspace: Workspace) -> Verdict:
    return combine(judge_line(line, settings, workspace, workspace.root))


def test_everyday_lines_need_no_approval(workspace: Workspace) -> None:
    verdicts = {line: verdict(line, settings_of(rules), workspace) for line, rules in EVERYDAY}
    refused = {line: answer.reason for line, answer in verdicts.items() if not answer.allowed}
    assert refused.keys() == NEED_APPROVAL.keys(), refused.keys() ^ NEED_APPROVAL.keys()
    assert len(refused) < len(verdicts) * 0.07


def test_lines_that_are_not_plain_need_approval(workspace: Workspace) -> None:
    for line, rules, construct in NOT_PLAIN:
        answer = verdict(line, settings_of(rules), workspace)
        assert answer.decision == "ask", (construct, line, answer.reason)


def test_without_rules_every_line_needs_approval(workspace: Workspace) -> None:
    assert [line for line, _ in EVERYDAY if verdict(line, Settings(), workspace).allowed] == []


def test_nothing_needs_approval_when_everything_is_allowed(workspace: Workspace) -> None:
    everything = Settings.for_profile("all")
    lines = [*(line for line, _ in EVERYDAY), *(line for line, _, _ in NOT_PLAIN)]
    assert [line for line in lines if not verdict(line, everything, workspace).allowed] == []


def test_what_is_confined_needs_no_rule(workspace: Workspace) -> None:
    confined = Settings(reads="allow", writes="allow", confined=True)
    lines = [*(line for line, _ in EVERYDAY), *(line for line, _, _ in NOT_PLAIN)]
    assert [line for line in lines if not verdict(line, confined, workspace).allowed] == []
    denied = replace(confined, deny=("rm",))
    assert verdict("rm x", denied, workspace).decision == "deny"
    assert verdict("$x y", denied, workspace).decision == "ask"
    assert verdict("frobnicate", denied, workspace).decision == "ask"
    assert verdict("ls | head", denied, workspace).allowed
