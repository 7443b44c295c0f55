"""The tools that need no disk and no network: what they check, and what they want of the task."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from joey.effects import (
    CompletionProposed,
    Effect,
    ModeSwitched,
    QuestionAsked,
    SubtaskStarted,
    Suggestion,
    Todo,
    TodosUpdated,
)
from joey.messages import TOOL_RESULTS, ToolResult, ToolUseBlock
from joey.modes import BUILTIN_MODES
from joey.tools.base import ToolContext
from joey.tools.builtin import builtin_tools
from joey.tools.options import BuiltinOptions
from joey.tools.registry import Registry, ResolvedCall
from joey.tools.todos import parse_checklist, render_checklist
from joey.tools.toolset import build_toolset
from joey.wire import encode
from vectors_data import cases

CODE = BUILTIN_MODES[1]


def context(tmp_path: Path, **more: Any) -> ToolContext:
    return ToolContext(tmp_path, tmp_path, modes=tuple(mode.slug for mode in BUILTIN_MODES), **more)


async def call(name: str, arguments: Any, context: ToolContext, options: BuiltinOptions | None = None) -> ToolResult:
    resolved = Registry(build_toolset(CODE, builtin_tools(options))).resolve(ToolUseBlock("c", name, arguments))
    if not isinstance(resolved, ResolvedCall):
        return resolved.result
    plan = await resolved.tool.plan(resolved.params, context)
    return plan.refusal or await plan.execute()


async def test_a_question_reaches_the_task_with_its_suggestions(tmp_path: Path) -> None:
    follow_up = [{"text": "Yes"}, {"text": "Plan first", "mode": "architect"}]
    result = await call("ask_followup_question", {"question": "Go?", "follow_up": follow_up}, context(tmp_path))
    assert result.effect == QuestionAsked("Go?", (Suggestion("Yes"), Suggestion("Plan first", "architect")))


async def test_suggestions_may_come_as_a_string_of_json(tmp_path: Path) -> None:
    result = await call(
        "ask_followup_question", {"question": "Go?", "follow_up": '[{"text": "Yes"}]'}, context(tmp_path)
    )
    assert result.effect == QuestionAsked("Go?", (Suggestion("Yes"),))


@pytest.mark.parametrize(
    "follow_up",
    [
        ["Yes", {"text": "No", "mode": "ask"}],
        "<suggest>Yes</suggest>\n<suggest mode='ask'>\nNo\n</suggest>",
        '["Yes", {"text": "No", "mode": "ask"}]',
    ],
)
async def test_suggestions_are_understood_in_the_shapes_models_know(tmp_path: Path, follow_up: Any) -> None:
    result = await call("ask_followup_question", {"question": "Go?", "follow_up": follow_up}, context(tmp_path))
    assert result.effect == QuestionAsked("Go?", (Suggestion("Yes"), Suggestion("No", "ask")))


async def test_a_suggestion_cannot_lead_to_a_mode_that_does_not_exist(tmp_path: Path) -> None:
    follow_up = [{"text": "Yes", "mode": "nope"}]
    result = await call("ask_followup_question", {"question": "Go?", "follow_up": follow_up}, context(tmp_path))
    assert result.is_error and "There is no mode 'nope'" in result.text


async def test_a_completion_is_proposed(tmp_path: Path) -> None:
    result = await call("attempt_completion", {"result": "Done."}, context(tmp_path))
    assert result.effect == CompletionProposed("Done.") and not result.is_error


async def test_a_completion_needs_a_result(tmp_path: Path) -> None:
    result = await call("attempt_completion", {}, context(tmp_path))
    assert result.is_error and '"result"' in result.text


async def test_the_todo_list_is_replaced(tmp_path: Path) -> None:
    task = context(tmp_path)
    result = await call("update_todo_list", {"todos": "- [x] one\nnoise\n[ ] two"}, task)
    assert isinstance(result.effect, TodosUpdated)
    assert [(todo.content, todo.status) for todo in result.effect.todos] == [("one", "completed"), ("two", "pending")]
    assert "noise" in result.text
    emptied = await call("update_todo_list", {"todos": ""}, task)
    assert emptied.effect == TodosUpdated(())


async def test_a_todo_list_without_items_is_an_error_and_changes_nothing(tmp_path: Path) -> None:
    result = await call("update_todo_list", {"todos": "do it all"}, context(tmp_path))
    assert result.is_error and result.effect is None


async def test_switching_modes_names_both_and_the_reason(tmp_path: Path) -> None:
    result = await call("switch_mode", {"mode_slug": "debug", "reason": "it crashes"}, context(tmp_path))
    assert result.effect == ModeSwitched("debug", "it crashes")
    assert result.text == "Switched from code mode to debug mode because: it crashes"


@pytest.mark.parametrize(("slug", "words"), [("nope", "Invalid mode: nope. Modes: "), ("code", "Already in")])
async def test_a_switch_to_nowhere_is_refused(tmp_path: Path, slug: str, words: str) -> None:
    result = await call("switch_mode", {"mode_slug": slug, "reason": "r"}, context(tmp_path))
    assert result.is_error and words in result.text


async def test_a_subtask_carries_its_message_and_todos(tmp_path: Path) -> None:
    arguments = {"mode": "ask", "message": "Explain.", "todos": "[ ] read"}
    result = await call("new_task", arguments, context(tmp_path))
    assert result.effect == SubtaskStarted("ask", "Explain.", parse_checklist("[ ] read"))


async def test_a_subtask_needs_todos_only_if_the_setting_says_so(tmp_path: Path) -> None:
    arguments = {"mode": "ask", "message": "Explain.", "todos": None}
    assert not (await call("new_task", arguments, context(tmp_path))).is_error
    strict = BuiltinOptions(subtask_needs_todos=True)
    assert '"todos" must be a string' in (await call("new_task", arguments, context(tmp_path), strict)).text


async def test_a_subtask_in_a_mode_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    result = await call("new_task", {"mode": "x", "message": "m"}, context(tmp_path))
    assert result.is_error and result.text.startswith("Invalid mode: x")


@pytest.mark.parametrize("task", ["create_mode", "create_mcp_server"])
async def test_instructions_are_fetched_by_name(tmp_path: Path, task: str) -> None:
    assert (await call("fetch_instructions", {"task": task}, context(tmp_path))).text.startswith("# Make a")


def test_results_with_effects_come_back_from_json_as_they_were() -> None:
    effects: list[Effect | None] = [
        QuestionAsked("q", (Suggestion("a", "code"), Suggestion("b"))),
        CompletionProposed("r"),
        ModeSwitched("code", "r"),
        SubtaskStarted("code", "m", (Todo("1", "t", "completed"),)),
        TodosUpdated((Todo("1", "t"),)),
        None,
    ]
    for effect in effects:
        result = ToolResult((), effect=effect)
        assert TOOL_RESULTS.decode(json.loads(json.dumps(encode(result)))) == result


@pytest.mark.parametrize("case", cases("roo/functions", fn="parseMarkdownChecklist"), ids=lambda case: case["test"])
def test_checklists_are_read_as_the_real_system_reads_them(case: Any) -> None:
    """All but the ids: there they change with the status and collide for equal words; here they do not."""
    text = case["args"][0]
    todos = parse_checklist(text) if isinstance(text, str) else ()
    expected = [(each["content"], each["status"]) for each in case["out"]]
    assert [(todo.content, todo.status) for todo in todos] == expected


def test_an_item_keeps_its_id_when_it_is_ticked_off_and_equal_items_have_two() -> None:
    before, after = parse_checklist("[ ] same\n[ ] same"), parse_checklist("[x] same\n- [ ] same")
    assert [todo.id for todo in before] == [todo.id for todo in after]
    assert before[0].id != before[1].id
    assert parse_checklist(render_checklist(after)) == after
