"""Slash commands and skills as files."""

from __future__ import annotations

from pathlib import Path

import pytest

from joey.prompts import Library, SlashCommand
from joey.prompts.library import UnusableFileError, parse_document


@pytest.fixture
def library(tmp_path: Path) -> Library:
    for name in ("project", "user", "home"):
        (tmp_path / name).mkdir()
    return Library(tmp_path / "project", tmp_path / "user", tmp_path / "home")


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def skill(folder: Path, description: str = "For this.", **more: str) -> Path:
    front = "".join(f"{key}: {value}\n" for key, value in {"description": description, **more}.items())
    return write(folder / "SKILL.md", f"---\n{front}---\nDo {folder.parent.parent.parent.name} {folder.parent.name}.\n")


def test_a_command_has_what_its_front_matter_says(library: Library) -> None:
    text = "---\ndescription: Look at changes\nargument-hint: FILE\nmode: ask\n---\n\nReview $1 well.\n"
    write(library.workspace / ".joey/commands/review.md", text)
    command = library.commands()["review"]
    assert (command.description, command.argument_hint, command.mode) == ("Look at changes", "FILE", "ask")
    assert (command.body, command.origin) == ("Review $1 well.", "project")


def test_the_project_wins_over_the_user_and_the_user_over_what_is_built_in(library: Library) -> None:
    assert library.commands()["init"].origin == "built-in"
    places = [
        library.home / ".roo/commands", library.user / "commands",
        library.workspace / ".roo/commands", library.workspace / ".joey/commands",
    ]  # fmt: skip
    for place in places:
        write(place / "init.md", f"From {place}.")
        assert library.commands()["init"].body == f"From {place}."


@pytest.mark.parametrize(
    ("body", "arguments", "filled"),
    [
        ("All: $ARGUMENTS.", "a b", "All: a b."),
        ("$1, then $2, then <$3>", "'a b' c", "a b, then c, then <>"),
        ("$1 and $10 and \\$1", "x", "x and $10 and $1"),
        ("$ARGUMENTS", "$1 $ARGUMENTS", "$1 $ARGUMENTS"),
        ("${ARGUMENTS}!", "x", "x!"),
        ("$ARGUMENTSX $PATH $1", "it's", "$ARGUMENTSX $PATH it's"),
        ("none", "x", "none"),
    ],
)
def test_arguments_are_filled_in_once(body: str, arguments: str, filled: str) -> None:
    assert SlashCommand("x", body, "user", Path("x.md")).filled(arguments) == filled


def test_what_cannot_be_used_is_named_and_the_rest_loads(library: Library, tmp_path: Path) -> None:
    commands = library.workspace / ".joey/commands"
    write(commands / "good.md", "Fine.")
    empty = write(commands / "empty.md", "---\ndescription: x\n---\n")
    odd = write(commands / "two words.md", "x")
    latin = commands / "latin.md"
    latin.write_bytes(b"caf\xe9")
    large = write(commands / "large.md", "x" * 300_000)
    (commands / "leak.md").symlink_to(write(tmp_path / "secret.md", "key"))
    assert [name for name, command in library.commands().items() if command.origin == "project"] == ["good"]
    assert {path.name for path in library.flaws()} == {
        empty.name, odd.name, latin.name, large.name, "leak.md",
    }  # fmt: skip
    assert "leads out of" in library.flaws()[commands / "leak.md"]


def test_the_users_own_commands_may_be_links(library: Library, tmp_path: Path) -> None:
    (library.user / "commands").mkdir()
    (library.user / "commands/linked.md").symlink_to(write(tmp_path / "dotfiles.md", "Mine."))
    assert library.commands()["linked"].body == "Mine."


def test_skills_of_the_project_and_of_a_mode_are_stronger(library: Library) -> None:
    skill(library.home / ".agents/skills/deploy")
    assert library.skills("code")["deploy"].origin == "user"
    skill(library.workspace / ".roo/skills/deploy")
    assert library.skills("code")["deploy"].origin == "project"
    skill(library.workspace / ".joey/skills-code/deploy", "For code.")
    assert library.skills("code")["deploy"].description == "For code."
    assert library.skills("ask")["deploy"].description == "For this."
    skill(library.user / "skills-ask/other")
    assert "other" in library.skills("ask") and "other" not in library.skills("code")


def test_a_skill_may_name_its_modes(library: Library) -> None:
    skill(library.user / "skills/one", modeSlugs="[code, debug]")
    skill(library.user / "skills/two", mode="ask")
    assert list(library.skills("debug")) == ["one"]
    assert list(library.skills("ask")) == ["two"]
    assert list(library.skills()) == ["one", "two"]


@pytest.mark.parametrize(
    ("folder", "front", "why"),
    [
        ("Upper", "description: x", "small letters"),
        ("a--b", "description: x", "small letters"),
        ("mine", "name: yours\ndescription: x", "must be that of its folder"),
        ("silent", "name: silent", "needs a description"),
        ("long", f"description: {'x' * 1025}", "needs a description"),
        ("listy", "- a\n- b", "`key: value`"),
    ],
)
def test_a_skill_that_breaks_the_rules_is_named(library: Library, folder: str, front: str, why: str) -> None:
    path = write(library.user / "skills" / folder / "SKILL.md", f"---\n{front}\n---\nText.")
    assert library.skills() == {}
    assert why in library.flaws()[path]


def test_front_matter_is_read_in_the_ways_people_write_it() -> None:
    assert parse_document("no front matter").text == "no front matter"
    assert parse_document("---\r\na: 1\r\n---\r\nbody\r\n").about == {"a": 1}
    assert parse_document("---\n---\nbody").text == "body"
    assert parse_document("text\n---\na: 1\n---\n").about == {}
    assert parse_document("---\ndescription: Use when: testing\n---\nx").about == {"description": "Use when: testing"}
    with pytest.raises(UnusableFileError, match="not YAML"):
        parse_document("---\n[: {\n---\nx")
