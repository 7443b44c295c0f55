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
        ("---\nname: ../../etc/passwd\n---\nx", "letters, digits and hyphens"),
        (f"---\nname: {'a' * 101}\n---\nx", "100 at most, got 'aaa"),
        ("---\nname: !!python/object/apply:os.system [x]\n---\nx", "letters, digits and hyphens"),
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


@pytest.mark.parametrize(
    ("front", "model"),
    [("model: sonnet", "sonnet"), ("model: ' openai/gpt-6 '", "openai/gpt-6"), ("model:", ""), ("name: a", "")],
)
def test_the_model_is_kept_as_it_is_written(tmp_path: Path, front: str, model: str) -> None:
    (mode,), problems = read_agent_file(write(tmp_path / "a.md", f"---\n{front}\n---\nWork."), "user")
    assert mode.model == model and problems == []


def test_a_model_is_found_in_front_matter_that_is_no_yaml(tmp_path: Path) -> None:
    text = "---\nname: a\ndescription: Use when: x: y\nmodel: opus\ncategory: dev\n---\nWork."
    (mode,), _ = read_agent_file(write(tmp_path / "a.md", text), "user")
    assert mode.model == "opus"


@pytest.mark.parametrize("front", ["model: [a, b]", "model: 5", f"model: {'x' * 201}", 'model: "a\\nb"', "mode: {}"])
def test_what_is_no_name_of_a_model_or_mode_is_reported(tmp_path: Path, front: str) -> None:
    modes, (problem,) = read_agent_file(write(tmp_path / "a.md", f"---\n{front}\n---\nWork."), "user")
    assert modes == [] and "are names" in str(problem)


def test_an_agent_keeps_within_the_mode_that_it_names(tmp_path: Path) -> None:
    write(tmp_path / ".joey/agents/a.md", "---\nmode: architect\ntools: Read, Edit, Bash\n---\nWork.")
    write(tmp_path / ".joey/agents/b.md", "---\nmode: subagent\ntools: Read\n---\nWork.")
    write(tmp_path / ".joey/agents/c.md", "---\nmode: nowhere\n---\nWork.")
    loaded = load_modes(tmp_path, tmp_path / "user", trusted=True)
    a, b = loaded.get("a"), loaded.get("b")
    assert a is not None and [rule.group for rule in a.groups] == ["read", "edit"]
    edit = a.rule("edit")
    assert edit is not None and edit.permits("x.md") and not edit.permits("x.py")
    assert b is not None and b.only_reads
    assert loaded.get("c") is None and "there is no mode 'nowhere'" in str(loaded.problems[0])


@pytest.mark.parametrize(
    ("tools", "groups"),
    [
        ("{write: false, edit: false, bash: false}", ["read", "browser", "mcp"]),
        ("{'*': false, read: true}", ["read"]),
        ("{'*': false}", []),
        ("{bash: true}", ["read", "edit", "command", "browser", "mcp"]),
        ("{bash: ask}", ["read", "edit", "browser", "mcp"]),
    ],
)
def test_tools_may_be_switched_as_in_opencode(tmp_path: Path, tools: str, groups: list[str]) -> None:
    (mode,), _ = read_agent_file(write(tmp_path / "a.md", f"---\ntools: {tools}\n---\nWork."), "user")
    assert [rule.group for rule in mode.groups] == groups


def test_front_matter_that_grows_without_end_is_read_within_bounds(tmp_path: Path) -> None:
    """Aliases of aliases, lists in lists, and one file that would hold more than is read."""
    grown = "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True))
    write(tmp_path / ".claude/agents/bomb.md", f"---\na: &a [x, x]\n{grown}name: *i\n---\nx")
    write(tmp_path / ".claude/agents/deep.md", f"---\nname: *i\ntools: {'[' * 5000}{']' * 5000}\n---\nx")
    write(tmp_path / ".claude/agents/huge.md", "---\nname: huge\n---\n" + "x" * 300_000)
    loaded = load_modes(tmp_path, tmp_path / "user", trusted=False)
    assert all(mode.origin == "built-in" for mode in loaded.modes) and len(loaded.problems) == 3
