"""Hooks as data: how they are read, what their answers are, and how calls look to them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from joey.errors import UsageError
from joey.hooks.answers import MAX_CONTEXT, HookAnswer, answer_of_process, arguments_from, views_of
from joey.hooks.hook import Hook, HookConsent, hook, read_claude_files, read_event

PRE = Hook("PreToolUse", "check")


# Matchers


@pytest.mark.parametrize(
    ("matcher", "names", "matches"),
    [
        ("", ("Bash",), True),
        ("*", ("Bash",), True),
        ("Bash", ("Bash", "execute_command"), True),
        ("execute_command", ("Bash", "execute_command"), True),
        ("Bash", ("BashOutput",), False),
        ("bash", ("Bash",), False),
        ("Edit|Write", ("Write",), True),
        ("Edit, Write", ("Write",), True),
        ("Edit|Write", ("NotebookEdit",), False),
        ("Notebook.*", ("NotebookEdit",), True),
        ("mcp__git__.*", ("mcp__git__commit",), True),
        ("^Read$", ("Read",), True),
        ("(unclosed", ("Read",), True),
        ("(a+)+$", ("a" * 40 + "b",), True),
    ],
)
def test_a_matcher_is_a_list_of_names_or_an_expression(matcher: str, names: tuple[str, ...], matches: bool) -> None:
    assert Hook("PreToolUse", "x", matcher).matches(names) is matches


# Files


def claude_file(project: Path, settings: Any) -> Path:
    path = project / ".claude" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(settings if isinstance(settings, str) else json.dumps(settings))
    return path


def test_the_settings_of_claude_code_are_read(tmp_path: Path) -> None:
    entry = {"type": "command", "command": "./check.py", "timeout": 5}
    path = claude_file(tmp_path, {"model": "x", "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [entry]}]}})
    assert read_claude_files(tmp_path).hooks == (Hook("PreToolUse", "./check.py", "Bash", 5.0, "project", str(path)),)


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ({"type": "prompt", "prompt": "Is it fine?"}, "its type is 'prompt'"),
        ({"type": "command"}, "it has no command"),
        ({"type": "command", "command": "x", "timeout": "soon"}, "its timeout is no number"),
        ({"type": "command", "command": "x", "if": "Bash(rm *)"}, "does not know `if`"),
        ("x", "a list of commands"),
    ],
)
def test_a_hook_that_joey_cannot_run_is_named_and_left_out(entry: Any, complaint: str) -> None:
    found = read_event("Stop", [{"hooks": [entry]}], "file", "project")
    assert found.hooks == () and complaint in found.flaws[0]


@pytest.mark.parametrize(
    "settings", ["{", "[" * 5000, '{"hooks": 3}', {"hooks": {"Stop": 3}}, {"hooks": {"Elsewhere": [{"hooks": []}]}}]
)
def test_settings_of_another_shape_are_a_flaw(tmp_path: Path, settings: Any) -> None:
    claude_file(tmp_path, settings)
    found = read_claude_files(tmp_path)
    assert found.hooks == () and len(found.flaws) == 1


# Answers


def specific(**fields: Any) -> str:
    return json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", **fields}})


@pytest.mark.parametrize(
    ("code", "output", "errors", "answer"),
    [
        (0, "", "", {}),
        (0, "only words", "", {}),
        (2, "ignored", "no grep\n", {"decision": "deny", "reason": "no grep"}),
        (2, "", "", {"decision": "deny", "reason": "the hook gave no reason"}),
        (1, "", "boom\nmore", {"failures": ("exit code 1: boom",)}),
        (127, "", "", {"failures": ("exit code 127",)}),
        (
            0,
            specific(permissionDecision="deny", permissionDecisionReason="no"),
            "",
            {"decision": "deny", "reason": "no"},
        ),
        (0, specific(permissionDecision="ask"), "", {"decision": "ask"}),
        (0, specific(permissionDecision="allow"), "", {"decision": "allow"}),
        (0, specific(updatedInput={"command": "rg x"}), "", {"updated_input": {"command": "rg x"}}),
        (0, specific(additionalContext="look"), "", {"context": "look"}),
        (0, '{"decision": "block", "reason": "no"}', "", {"decision": "deny", "reason": "no"}),
        (0, '{"decision": "approve"}', "", {"decision": "allow"}),
        (0, '{"continue": false, "stopReason": "enough"}', "", {"stop": "enough"}),
        (0, '{"systemMessage": "hello"}', "", {"message": "hello"}),
    ],
)
def test_what_a_hook_answers(code: int, output: str, errors: str, answer: dict[str, Any]) -> None:
    assert answer_of_process(PRE, code, output, errors) == HookAnswer(PRE, **answer)


@pytest.mark.parametrize(
    "output",
    [
        "{garbage",
        "{" * 100_000,
        '{"continue": "no"}',
        '{"decision": ["block"]}',
        '{"hookSpecificOutput": 3}',
        '{"systemMessage": 3}',
        specific(updatedInput="rm"),
        specific(permissionDecision="perhaps"),
        '{"hookSpecificOutput": {"hookEventName": "Stop", "permissionDecision": "allow"}}',
    ],
)
def test_nonsense_is_a_failure_and_decides_nothing(output: str) -> None:
    answer = answer_of_process(PRE, 0, output, "")
    assert answer.failures and answer == HookAnswer(PRE, failures=answer.failures)


def test_the_words_of_some_hooks_are_context_and_cut() -> None:
    answer = answer_of_process(Hook("UserPromptSubmit", "x"), 0, "y" * (MAX_CONTEXT + 7), "")
    assert answer.context == "y" * MAX_CONTEXT + "\n[cut: 7 characters]"


# Calls


@pytest.mark.parametrize(
    ("tool", "arguments", "written", "name", "shown"),
    [
        ("execute_command", {"command": "ls"}, [], "Bash", {"command": "ls"}),
        ("read_file", {"path": "a.py"}, [], "Read", {"file_path": "/w/a.py"}),
        ("write_to_file", {"path": "a", "file_text": "x"}, ["a"], "Write", {"file_path": "/w/a", "content": "x"}),
        (
            "apply_diff",
            {"path": "../a", "diff": "d"},
            ["../a"],
            "Edit",
            {"file_path": "/a", "new_string": "d", "old_string": ""},
        ),
        ("search_files", {"path": "/x", "regex": "r"}, [], "Grep", {"path": "/x", "pattern": "r"}),
        ("mcp--git--commit", {"path": "a"}, [], "mcp__git__commit", {"path": "a"}),
        (
            "use_mcp_tool",
            {"server_name": "git", "tool_name": "log", "arguments": {"n": 1}},
            [],
            "mcp__git__log",
            {"n": 1},
        ),
        ("switch_mode", {"mode_slug": "ask"}, [], "switch_mode", {"mode_slug": "ask"}),
    ],
)
def test_a_call_has_the_names_that_published_scripts_know(
    tool: str, arguments: dict[str, Any], written: list[str], name: str, shown: dict[str, Any]
) -> None:
    (view,) = views_of(tool, arguments, written, "/w")
    assert view.names[0] == name and tool in view.names and view.input == shown
    assert arguments_from(tool, view, view.input, arguments) == arguments, "as it was shown, it comes back"


def test_a_call_that_changes_several_files_is_shown_once_for_each() -> None:
    views = views_of("apply_patch", {"patch": "p"}, ["a", "b/../c"], "/w")
    assert [view.input["file_path"] for view in views] == ["/w/a", "/w/c"]


def test_a_changed_input_is_in_our_fields() -> None:
    arguments = {"path": "a", "file_text": "x"}
    (view,) = views_of("write_to_file", arguments, ["a"], "/w")
    changed = arguments_from("write_to_file", view, {**view.input, "content": "y"}, arguments)
    assert changed == {"path": "a", "file_text": "y"}


# Consent


def test_a_hook_of_a_project_runs_once_it_was_accepted_and_not_after_it_changed(tmp_path: Path) -> None:
    ours, theirs = Hook("Stop", "a"), Hook("Stop", "a", origin="project")
    consent = HookConsent(tmp_path / "accepted.json", tmp_path / "project")
    assert consent.may_run(ours) and not consent.may_run(theirs)
    consent.accept([theirs])
    again = HookConsent(tmp_path / "accepted.json", tmp_path / "project")
    assert again.may_run(theirs) and not again.may_run(Hook("Stop", "b", origin="project"))
    assert not HookConsent(tmp_path / "accepted.json", tmp_path / "another").may_run(theirs)


@pytest.mark.parametrize("text", ["", "[]", '{"accepted": 3}', '{"accepted": {"x": 3}}'])
def test_a_list_that_cannot_be_read_accepts_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "accepted.json").write_text(text)
    assert not HookConsent(tmp_path / "accepted.json", tmp_path).may_run(Hook("Stop", "a", origin="project"))


def test_a_python_hook_needs_an_event_that_exists() -> None:
    with pytest.raises(UsageError, match="there is no hook event 'PreTool'"):
        hook("PreTool")
