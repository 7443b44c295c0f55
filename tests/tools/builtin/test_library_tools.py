"""The tools run_slash_command and skill."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from joey import actions
from joey.effects import ModeSwitched
from joey.prompts import Library
from joey.tools.base import ToolContext
from joey.tools.builtin.run_slash_command import RunSlashCommand, RunSlashCommandParams
from joey.tools.builtin.skill import LoadSkill, SkillParams


@pytest.fixture
def library(context: ToolContext, tmp_path: Path) -> Library:
    commands = context.workspace / ".joey/commands"
    commands.mkdir(parents=True)
    (commands / "review.md").write_text("---\ndescription: Look\nargument-hint: FILE\nmode: ask\n---\nReview $1.")
    (commands / "lost.md").write_text("---\nmode: nowhere\n---\nx")
    skill = context.workspace / ".agents/skills/release-notes"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: release-notes\ndescription: Notes\nmode: code\n---\nWrite them.")
    return Library(context.workspace, tmp_path / "user", tmp_path / "home")


async def test_a_command_is_answered_with_its_words_and_its_mode(library: Library, context: ToolContext) -> None:
    params = RunSlashCommandParams(command="/review", args="a.py b.py")
    result = await RunSlashCommand(library).run(params, context)
    assert result.text.splitlines() == [
        "Command: /review", "Description: Look", "Argument hint: FILE", "Mode: ask", "Provided arguments: a.py b.py",
        "Source: project", "", "--- Command Content ---", "", "Review a.py.",
    ]  # fmt: skip
    assert result.effect == ModeSwitched("ask", "/review asks for it")


async def test_going_into_the_commands_mode_needs_approval(library: Library, context: ToolContext) -> None:
    tool, params = RunSlashCommand(library), RunSlashCommandParams(command="review")
    assert tool.actions(params, context) == (actions.SwitchMode("ask"),)
    there = replace(context, mode="ask")
    assert tool.actions(params, there) == ()
    assert (await tool.run(params, there)).effect is None


async def test_an_unknown_command_or_mode_is_an_error_that_helps(library: Library, context: ToolContext) -> None:
    unknown = await RunSlashCommand(library).run(RunSlashCommandParams(command="nope"), context)
    assert unknown.is_error
    assert unknown.text == "There is no slash command 'nope'. Commands: commit, init, lost, review."
    lost = await RunSlashCommand(library).run(
        RunSlashCommandParams(command="lost"), replace(context, modes=("code", "ask"))
    )
    assert lost.is_error and lost.effect is None


async def test_a_skill_is_loaded_by_name_or_like_a_command(library: Library, context: ToolContext) -> None:
    loaded = await LoadSkill(library).run(SkillParams(skill="release-notes", args="1.0"), context)
    assert loaded.text.startswith("Skill: release-notes\nDescription: Notes\nProvided arguments: 1.0\nSource: project")
    assert loaded.text.endswith("--- Skill Instructions ---\n\nWrite them.")
    called = await RunSlashCommand(library).run(RunSlashCommandParams(command="release-notes", args="1.0"), context)
    assert called == loaded


async def test_a_skill_of_another_mode_is_not_there(library: Library, context: ToolContext) -> None:
    missing = await LoadSkill(library).run(SkillParams(skill="release-notes"), replace(context, mode="ask"))
    assert missing.is_error and "none in this mode" in missing.text
