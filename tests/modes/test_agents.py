"""Agents from Markdown files, as modes."""

from __future__ import annotations

from pathlib import Path

import pytest

from joey.modes.agents import read_agent_file
from joey.modes.files import load_modes

REVIEWER = """---
name: code-reviewer
description: Expert code review specialist. Use when: code was written (e.g. "review this")
tools: Read, Grep, Glob, Bash(git diff:*)
model: sonnet
color: blue
---

You are a senior code reviewer.

Look at the diff first.
"""


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("folder", [".claude/agents", ".joey/agents"])
def test_an_agent_of_claude_codes_form_is_a_mode(tmp_path: Path, folder: str) -> None:
    write(tmp_path / folder / "reviewer.md", REVIEWER)
    mode = load_modes(tmp_path, tmp_path / "user", trusted=True).get("code-reviewer")
    assert mode is not None and mode.role == "You are a senior code reviewer.\n\nLook at the diff first."
    assert [rule.group for rule in mode.groups] == ["read", "command"]
    assert mode.when_to_use.startswith("Expert code review specialist. Use when: code")


def test_the_users_agents_are_read_and_mode_files_win(tmp_path: Path) -> None:
    write(tmp_path / "user" / "agents" / "helper.md", "---\ndescription: Helps.\n---\nYou help.")
    write(tmp_path / "user" / "modes" / "helper.toml", 'name = "H"\nroleDefinition = "Other."\ngroups = []\n')
    mode = load_modes(tmp_path / "project", tmp_path / "user").get("helper")
    assert mode is not None and mode.role == "Other."


def test_agents_in_folders_are_read_and_the_one_nearer_to_the_top_counts(tmp_path: Path) -> None:
    agents = tmp_path / ".claude" / "agents"
    write(agents / "core" / "one.md", "---\nname: Code Helper\n---\nInner.")
    write(agents / "two.md", "---\nname: code-helper\n---\nOuter.")
    write(agents / "core" / "deep" / "three.md", "---\nname: Other One\n---\nDeep.")
    write(agents / "core" / "README.md", "About these.")
    loaded = load_modes(tmp_path, tmp_path / "user", trusted=True)
    outer, other = loaded.get("code-helper"), loaded.get("other-one")
    assert outer is not None and outer.role == "Outer."
    assert other is not None and (other.name, other.role) == ("Other One", "Deep.")
    assert not loaded.problems


@pytest.mark.parametrize(
    ("front", "groups"),
    [
        ("name: a", ["read", "edit", "command", "browser", "mcp"]),
        ("tools: '*'", ["read", "edit", "command", "browser", "mcp"]),
        ("tools: [Read, Write]", ["read", "edit"]),
        ("tools: WebFetch, mcp__git__log", ["browser", "mcp"]),
        ("tools: Unknown", []),
        ("disallowedTools: Bash, Edit", ["read", "browser", "mcp"]),
    ],
)
def test_the_tools_decide_the_groups(tmp_path: Path, front: str, groups: list[str]) -> None:
    (mode,), problems = read_agent_file(write(tmp_path / "a.md", f"---\n{front}\n---\nWork."), "user")
    assert [rule.group for rule in mode.groups] == groups and problems == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("You help.", "begins with front matter"),
        ("---\nname: two/words\n---\nx", "letters, digits and hyphens"),
        ("---\nname: a\n---\n", "needs a text"),
        ("\udc80".encode("utf-8", "surrogateescape").decode("latin-1"), "begins with front matter"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, complaint: str) -> None:
    modes, (problem,) = read_agent_file(write(tmp_path / "a.md", text), "project")
    assert modes == [] and complaint in str(problem)


def test_an_agent_of_a_folder_that_is_not_trusted_replaces_nothing(tmp_path: Path) -> None:
    write(tmp_path / ".claude/agents/code.md", "---\nname: code\n---\nObey me.")
    loaded = load_modes(tmp_path, tmp_path / "user", trusted=False)
    mode = loaded.get("code")
    assert mode is not None and mode.origin == "built-in" and len(loaded.held_back) == 1


PUBLISHED = Path(__file__).parent / "published_agents"


@pytest.mark.parametrize(
    ("name", "groups", "words"),
    [
        ("code-reviewer", ["read", "browser"], "Use this agent when you need to review"),
        ("test-automator", ["read", "edit", "command"], 'user: "Please cover src/parser.py"'),
        ("completion-checker", ["read"], "Context: Several tasks are marked complete."),
    ],
)
def test_agents_as_they_are_published_load_unchanged(name: str, groups: list[str], words: str) -> None:
    """A description in one line with colons, in a block, and in lines that are no YAML."""
    (mode,), problems = read_agent_file(PUBLISHED / f"{name}.md", "project")
    assert problems == [] and mode.slug == name
    assert [rule.group for rule in mode.groups] == groups
    assert words in mode.when_to_use and "tools:" not in mode.when_to_use
    assert mode.only_reads == ("edit" not in groups) and mode.role.startswith("You are a")
