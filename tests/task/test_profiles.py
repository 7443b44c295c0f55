"""What a profile decides, and how its supervisor watches a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from joey import protocols
from joey.actions import Action, ReadPath, RunCommand, WritePath
from joey.messages import Message, TextBlock, ToolResult, ToolResultBlock, ToolUseBlock
from joey.modes.builtin import BUILTIN_MODES, CODE
from joey.policy.paths import Workspace
from joey.prompts.library import Skill
from joey.task.profiles import FULL, choose_profile
from joey.task.profiles.base import Objection, Profile, Supervisor
from joey.task.profiles.small import Small
from joey.task.prompt import PromptContext
from joey.task.settings import Replies, TaskLimits
from joey.tools.base import Plan, ToolContext, failed, ok
from joey.tools.builtin import builtin_tools
from joey.tools.options import BuiltinOptions
from joey.tools.toolset import ToolChoices, build_toolset
from joey.toolspec import ToolSpec

SMALL: Profile = Small(8192)
XML = protocols.get("xml")
TOOLS = tuple(map(ToolSpec, ("read_file", "write_to_file", "execute_command", "attempt_completion")))
READ = {"path": "a.txt"}


def supervisor(folder: Path, profile: Profile, request: str = "Be brief.") -> Supervisor:
    made = profile.supervisor(folder, Workspace.of(folder), TaskLimits())
    made.new_request(request)
    return made


async def _unreached() -> ToolResult:
    raise AssertionError("a plan that refuses is not carried out")


def refuse(watching: Supervisor, tool: str, *suggested: str) -> str:
    plan = Plan((), _unreached, refusal=failed("It cannot work."), suggested=suggested)
    return watching.on_refusal(tool, tool, {}, plan, failed("It cannot work.")).text


def names(tools: Sequence[ToolSpec]) -> list[str]:
    return [tool.name for tool in tools]


# What a profile decides


def test_the_full_profile_changes_nothing(tmp_path: Path) -> None:
    replies, long = Replies(max_tokens=5, context_window=4096), ok("x" * 100_000)
    assert FULL.replies(replies) is replies and FULL.limited(long) is long and FULL.summary([]) is None
    assert FULL.reminder(XML, TOOLS) == XML.reminder(TOOLS)
    assert [tool.name for tool in FULL.tools(BuiltinOptions())] == [tool.name for tool in builtin_tools()]
    assert choose_profile("auto", 200_000) is FULL


@pytest.mark.parametrize("profile", [FULL, SMALL], ids=lambda profile: profile.name)
def test_every_profile_says_who_the_model_is_how_tools_are_called_and_what_there_is(
    profile: Profile, tmp_path: Path
) -> None:
    (tmp_path / "notes.md").write_text("x")
    choices = profile.choices(ToolChoices(), "anthropic/claude")
    specs = build_toolset(CODE, profile.tools(BuiltinOptions()), choices=choices).specs
    prompt = profile.system_prompt(CODE, BUILTIN_MODES, XML, specs, PromptContext("/w", instructions="Speak French."))
    assert "Speak French." in prompt and "<execute_command>" in prompt and "attempt_completion" in prompt
    details = profile.opening_details(ToolContext(tmp_path, tmp_path), datetime(2026, 1, 1, tzinfo=UTC), ())
    assert "notes.md" in details
    assert ("2026-01-01" in details) is (profile is FULL), "a small model needs no clock"


def test_small_models_get_a_list_of_calls_in_place_of_a_summary() -> None:
    calls = Message("assistant", (ToolUseBlock("1", "read_file", READ), ToolUseBlock("2", "list_files", {})))
    answers = Message("user", (ToolResultBlock("1", (TextBlock("no"),), is_error=True), ToolResultBlock("2", ())))
    assert SMALL.summary([calls, answers]) == "- read_file a.txt (failed)\n- list_files "


# The supervisor


@pytest.mark.parametrize(("profile", "times"), [(FULL, 3), (SMALL, 1)], ids=["full", "small"])
def test_the_same_call_with_the_same_result_is_refused(profile: Profile, times: int, tmp_path: Path) -> None:
    watching = supervisor(tmp_path, profile)
    for _ in range(times):
        assert watching.before("read_file", "read_file", READ) is None
        watching.after("read_file", READ, [ReadPath("a.txt")], ok("x"))
    assert watching.before("read_file", "read_file", READ) is not None
    assert "read_file" not in names(watching.callable_tools(TOOLS)), "a constrained reply cannot even call it"
    watching.after("execute_command", {}, [RunCommand("ls")], ok("y"))
    assert names(watching.callable_tools(TOOLS)) == names(TOOLS), "until a call succeeds"


def test_after_a_refusal_a_small_model_is_held_to_what_can_help(tmp_path: Path) -> None:
    watching = supervisor(tmp_path, SMALL)
    assert refuse(watching, "write_to_file", "read_file") == "It cannot work."
    assert names(watching.callable_tools(TOOLS)) == ["read_file"]
    assert refuse(watching, "write_to_file", "write_to_file").endswith("It is still to be done: Be brief.")


def test_after_a_refusal_a_model_with_room_may_call_what_it_wants(tmp_path: Path) -> None:
    watching = supervisor(tmp_path, FULL)
    assert refuse(watching, "write_to_file", "write_to_file", "read_file") == "It cannot work."
    assert names(watching.callable_tools(TOOLS)) == names(TOOLS)


def test_a_small_model_that_was_asked_a_question_gets_to_answer(tmp_path: Path) -> None:
    watching = supervisor(tmp_path, SMALL, "Which is the longest?")
    refuse(watching, "read_file")
    assert names(watching.callable_tools(TOOLS)) == ["attempt_completion"]
    watching.new_message()
    watching.after("read_file", READ, [ReadPath("a.txt")], ok("x"))
    refuse(watching, "read_file")
    assert names(watching.callable_tools(TOOLS)) == names(TOOLS)[1:], "what the user adds may be more than a question"


def test_if_nothing_is_left_to_call_everything_is(tmp_path: Path) -> None:
    watching = supervisor(tmp_path, SMALL)
    refuse(watching, "write_to_file", "read_file")
    refuse(watching, "read_file", "write_to_file")
    assert names(watching.callable_tools(TOOLS)) == names(TOOLS)


DONE = [([], True), ([RunCommand("ls")], False), ([WritePath("a.txt"), ReadPath("a.txt")], False)]


@pytest.mark.parametrize(("actions", "objects"), DONE, ids=["nothing", "run", "written and read"])
def test_a_claim_is_held_against_what_was_done(actions: list[Action], objects: bool, tmp_path: Path) -> None:
    watching = supervisor(tmp_path, SMALL, "Do it.")
    watching.after("tool", {}, actions, ok("fine"))
    assert isinstance(watching.completion("I changed it."), Objection) is objects
    assert supervisor(tmp_path, FULL, "Do it.").completion("I changed it.") == "I changed it."


def test_what_was_done_before_an_interruption_is_not_known_and_not_doubted(tmp_path: Path) -> None:
    watching = supervisor(tmp_path, SMALL)
    watching.new_request("Do it.", underway=True)
    assert watching.completion("I changed it.") == "I changed it."


def test_a_long_list_of_agents_or_skills_takes_no_more_than_its_share_of_the_prompt() -> None:
    """A folder that nobody trusts may bring hundreds of agents, with pages of words about each."""
    many = [replace(CODE, slug=f"agent-{at}", when_to_use="words " * 40_000) for at in range(500)]
    skills = {"code": tuple(Skill(f"skill-{at}", "words " * 1_000, "", "project", Path("/s")) for at in range(300))}
    specs = [each.spec for each in builtin_tools() if each.name == "skill"]
    few = FULL.system_prompt(CODE, BUILTIN_MODES, XML, specs, PromptContext("/w"))
    prompt = FULL.system_prompt(CODE, (*BUILTIN_MODES, *many), XML, specs, PromptContext("/w", skills_in=skills))
    assert len(prompt) < len(few) + 45_000
    assert "- agent-0: words" in prompt and "- agent-499: words" in prompt
    named = [replace(each, slug=f"{'a' * 90}-{at}") for at, each in enumerate(many)]
    prompt = FULL.system_prompt(CODE, (*BUILTIN_MODES, *named), XML, specs, PromptContext("/w"))
    assert len(prompt) < len(few) + 21_000 and "more, which are not listed" in prompt and "- code: " in prompt
    twenty = [replace(CODE, slug=f"agent-{at}", when_to_use="words " * 30) for at in range(20)]
    assert f"- agent-19: {'words ' * 30}" in FULL.system_prompt(CODE, twenty, XML, specs, PromptContext("/w"))
