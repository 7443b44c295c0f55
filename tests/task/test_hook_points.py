"""What hooks do to a task: with real commands, a scripted model and the real policy."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from joey.commands import Answer, Condense, Say
from joey.events import (
    ApprovalRequested,
    CompletionRequested,
    ContextKept,
    HookReported,
    Request,
    ToolRunFinished,
    TurnStarted,
)
from joey.hooks.hook import Hook, HookConsent, HookEvent, hook
from joey.journal.journal import read_journal
from joey.journal.records import HookRan
from joey.task.settings import HookSettings
from joey.testing.script import Scripted, reply
from task_kit import Kit, call, done, yes

LIST: list[Scripted] = [reply(call("c1", "execute_command", command="echo ran > made")), done()]


def script(folder: Path, body: str) -> str:
    """A command that runs a Python script, which has the input of the hook as `given`."""
    path = folder / f"hook_{len(list(folder.glob('hook_*')))}.py"
    path.write_text(f"import json, os, sys, time\ngiven = json.load(sys.stdin)\n{body}\n")
    return shlex.join([sys.executable, str(path)])


def printing(folder: Path, answer: Any) -> str:
    return script(folder, f"print({json.dumps(answer)!r})")


def deciding(folder: Path, decision: str, **more: Any) -> str:
    return printing(folder, {"hookSpecificOutput": {"permissionDecision": decision, **more}})


def kit_with(folder: Path, replies: list[Scripted], *hooks: Hook, **changes: Any) -> Kit:
    consent = HookConsent(folder / "accepted.json", folder / "project")
    return Kit(folder, replies, user_hooks=HookSettings(hooks, consent), **changes)


def outcomes(kit: Kit) -> list[str]:
    return [each.outcome for each in kit.of(HookReported)]


def result(kit: Kit, call_id: str = "c1") -> str:
    return str(next(each.result.text for each in kit.of(ToolRunFinished) if each.call_id == call_id))


# Before a tool


async def test_a_script_in_the_published_form_blocks_a_command(tmp_path: Path) -> None:
    body = """
if given["tool_name"] != "Bash": sys.exit(0)
if given["tool_input"]["command"].startswith("grep "):
    print("Use rg instead of grep", file=sys.stderr)
    sys.exit(2)
"""
    guard = Hook("PreToolUse", script(tmp_path, body), "Bash")
    calls = (call("c1", "execute_command", command="grep x y"), call("c2", "execute_command", command="echo fine"))
    kit = kit_with(tmp_path, [reply(calls[0]), reply(calls[1]), done()], guard)
    assert (await kit.run()).outcome == "completed"
    assert "A hook does not allow this call: Use rg instead of grep" in result(kit)
    assert "fine" in result(kit, "c2") and outcomes(kit) == ["blocked"]
    (written,) = [each for each in read_journal(kit.store.journal_path(kit.task.id)) if isinstance(each, HookRan)]  # type: ignore[union-attr]
    assert (written.outcome, written.message) == ("blocked", "Use rg instead of grep")


async def test_a_hook_gets_what_a_script_reads(tmp_path: Path) -> None:
    log = tmp_path / "log.json"
    spy = script(
        tmp_path, f"json.dump([given, os.environ['CLAUDE_PROJECT_DIR'], os.getcwd()], open({str(log)!r}, 'w'))"
    )
    kit = kit_with(tmp_path, [reply(call("c1", "write_to_file", path="a.py", file_text="x")), done()],
                   Hook("PreToolUse", spy, "Edit|Write"), policy="edits")  # fmt: skip
    await kit.run()
    given, project, folder = json.loads(log.read_text())
    assert project == folder == str(kit.workspace) == given["cwd"]
    assert given["hook_event_name"] == "PreToolUse" and given["tool_name"] == "Write"
    assert given["tool_input"] == {"file_path": str(kit.workspace / "a.py"), "content": "x"}
    assert given["permission_mode"] == "acceptEdits" and given["transcript_path"].endswith(".jsonl")
    assert given["session_id"] == kit.task.id  # type: ignore[union-attr]


async def test_a_patch_cannot_hide_a_file_behind_another(tmp_path: Path) -> None:
    guard = script(tmp_path, "sys.exit(2 if given['tool_input']['file_path'].endswith('.env') else 0)")
    patch = "*** Begin Patch\n*** Add File: a.txt\n+x\n*** Add File: .env\n+y\n*** End Patch"
    kit = kit_with(tmp_path, [reply(call("c1", "apply_patch", patch=patch)), done()], Hook("PreToolUse", guard, "Edit"))
    kit.change(tools=_with_patch(kit))
    await kit.run()
    assert "A hook does not allow this call" in result(kit) and not (kit.workspace / "a.txt").exists()


def _with_patch(kit: Kit) -> Any:
    from joey.tools.builtin import builtin_tools
    from joey.tools.toolset import ToolChoices, build_toolset

    choices = ToolChoices(include=("apply_patch",))
    return lambda mode: build_toolset(mode, builtin_tools(), choices=choices)


async def test_a_changed_input_is_what_is_judged_and_run_and_the_model_is_told(tmp_path: Path) -> None:
    body = 'print(json.dumps({"hookSpecificOutput": {"updatedInput": {"command": "echo changed"}}}))'
    kit = kit_with(tmp_path, [LIST[0], done()], Hook("PreToolUse", script(tmp_path, body), "Bash"))
    await kit.run()
    assert "changed" in result(kit) and not (kit.workspace / "made").exists()
    assert 'A hook changed the arguments of this call; it was made with {"command": "echo changed"}' in result(kit)


async def test_a_changed_input_does_not_slip_past_the_policy(tmp_path: Path) -> None:
    body = 'print(json.dumps({"hookSpecificOutput": {"updatedInput": {"path": "../out", "file_text": "x"}}}))'
    kit = kit_with(tmp_path, [reply(call("c1", "write_to_file", path="a", file_text="x")), done()],
                   Hook("PreToolUse", script(tmp_path, body), "Write"), policy="edits", headless=True)  # fmt: skip
    await kit.run()
    assert "outside the workspace" in result(kit) and not (tmp_path / "out").exists()


async def test_a_changed_input_that_is_not_valid_does_not_run(tmp_path: Path) -> None:
    body = 'print(json.dumps({"hookSpecificOutput": {"updatedInput": {"commando": "echo changed"}}}))'
    kit = kit_with(tmp_path, LIST, Hook("PreToolUse", script(tmp_path, body)))
    await kit.run()
    assert '"command" is missing' in result(kit) and not (kit.workspace / "made").exists()


@pytest.mark.parametrize(
    ("policy", "decision", "headless", "requested", "ran"),
    [
        ("ask", "allow", False, False, True),
        ("ask", "allow", True, False, True),
        ("ask", "", True, False, False),
        ("read-only", "allow", False, False, False),
        ("all", "ask", False, True, True),
        ("all", "ask", True, False, False),
        ("all", "deny", False, False, False),
    ],
)
async def test_a_hook_may_allow_what_would_be_asked_and_ask_about_what_would_be_allowed(
    tmp_path: Path, policy: str, decision: str, headless: bool, requested: bool, ran: bool
) -> None:
    hooks = [Hook("PreToolUse", deciding(tmp_path, decision), "Bash")] if decision else []
    kit = kit_with(tmp_path, LIST, *hooks, policy=policy, headless=headless)
    await kit.run()
    assert bool(kit.of(ApprovalRequested)) is requested
    assert (kit.workspace / "made").exists() is ran


async def test_the_strictest_of_several_hooks_counts(tmp_path: Path) -> None:
    hooks = [Hook("PreToolUse", deciding(tmp_path, each)) for each in ("allow", "deny", "ask")]
    kit = kit_with(tmp_path, LIST, *hooks)
    await kit.run()
    assert not (kit.workspace / "made").exists() and sorted(outcomes(kit)) == ["allowed", "asks", "blocked"]


# A project's hooks


async def test_a_hook_of_a_project_is_shown_first_and_allows_nothing(tmp_path: Path) -> None:
    theirs = Hook("PreToolUse", 'echo \'{"decision": "approve"}\'', origin="project", where=".claude/settings.json")

    def for_the_project(request: Request) -> Answer:
        return replace(yes(request), always=True, scope="project")

    kit = kit_with(tmp_path, LIST, theirs, policy="ask", user=for_the_project)
    await kit.run()
    first, second, *_ = kit.of(ApprovalRequested)
    assert first.name == "project_hooks" and "approve" in first.shown[0].text
    assert second.name == "execute_command", "it ran, and the user is asked all the same"
    assert "a hook of a project cannot do" in kit.of(HookReported)[0].message
    kit = kit_with(tmp_path, LIST, theirs, policy="ask")
    await kit.run()
    assert [each.name for each in kit.of(ApprovalRequested)] == ["execute_command"], "once is enough"


@pytest.mark.parametrize("headless", [False, True])
async def test_a_hook_of_a_project_that_was_not_accepted_does_not_run(tmp_path: Path, headless: bool) -> None:
    def no_hooks(request: Request) -> Answer:
        yes_to_all = yes(request)
        refused = isinstance(request, ApprovalRequested) and request.name == "project_hooks"
        return Answer(request.request_id) if refused else yes_to_all

    theirs = Hook("SessionStart", f"touch {tmp_path}/project/planted", origin="project")
    kit = kit_with(tmp_path, [done()], theirs, user=no_hooks, headless=headless)
    assert (await kit.run()).outcome == "completed"
    assert not (kit.workspace / "planted").exists()
    assert "1 hook of this project does not run" in kit.of(HookReported)[0].message


async def test_a_hook_of_a_project_is_held_by_the_sandbox(tmp_path: Path) -> None:
    from sandbox_kit import need_bubblewrap

    need_bubblewrap()
    target = Path.home() / f".joey-hook-test-{os.getpid()}"
    theirs = Hook("SessionStart", f"echo inside; touch {target}; touch here", origin="project")
    kit = kit_with(tmp_path, [done()], theirs)
    await kit.run()
    assert (kit.workspace / "here").exists() and not target.exists()


# After a tool


async def test_what_a_hook_says_after_an_edit_goes_to_the_model_with_the_result(tmp_path: Path) -> None:
    body = """
assert given["tool_response"]["success"]
print(json.dumps({"decision": "block", "reason": "line 1 is too long in " + given["tool_input"]["file_path"]}))
"""
    write = reply(call("c1", "write_to_file", path="a.py", file_text="x"))
    kit = kit_with(tmp_path, [write, done()], Hook("PostToolUse", script(tmp_path, body), "Edit|Write"))
    await kit.run()
    assert f"A hook adds:\nline 1 is too long in {kit.workspace}/a.py" in result(kit)
    assert (kit.workspace / "a.py").read_text() == "x"


# Messages


async def test_a_message_may_be_kept_from_the_model(tmp_path: Path) -> None:
    guard = Hook("UserPromptSubmit", script(tmp_path, "sys.exit(2 if 'secret' in given['prompt'] else 0)"))
    kit = kit_with(tmp_path, [done()], guard)
    finished = await kit.run("the secret is plover")
    assert finished.outcome == "refused" and kit.provider.requests == []
    finished = await kit.resume(kit.task.id, [done()], "something else")  # type: ignore[union-attr]
    assert finished.outcome == "completed" and "plover" not in str(kit.provider.requests[0].messages)
    finished = await kit.resume(kit.task.id, [done("d2")], "the secret is xyzzy")  # type: ignore[union-attr]
    assert finished.outcome == "refused" and kit.provider.requests == []
    finished = await kit.resume(kit.task.id, [done("d3")], "and more")  # type: ignore[union-attr]
    assert finished.outcome == "completed" and "xyzzy" not in str(kit.sent) and "and more" in str(kit.sent)


async def test_what_a_hook_prints_for_a_message_is_context(tmp_path: Path) -> None:
    begins = Hook("SessionStart", "echo the branch is main", "startup"), Hook("SessionStart", "false", "resume")
    kit = kit_with(tmp_path, [done()], Hook("UserPromptSubmit", "echo it is Monday"), *begins)
    await kit.run()
    first = str(kit.provider.requests[0].messages[0])
    assert "A hook adds:\\nit is Monday" in first and "A hook adds:\\nthe branch is main" in first
    assert outcomes(kit) == ["context", "context"]


async def test_a_message_that_waits_is_checked_as_well(tmp_path: Path) -> None:
    guard = Hook("UserPromptSubmit", script(tmp_path, "sys.exit(2 if 'secret' in given['prompt'] else 0)"))
    kit = kit_with(tmp_path, LIST, guard)

    def say(request: Request) -> Answer:
        kit.task.send(Say("the secret is plover"))  # type: ignore[union-attr]
        return yes(request)

    kit.user = say
    kit.change(approvals=kit.config.profiles("ask"))
    await kit.run()
    assert "plover" not in str(kit.sent) and "blocked" in outcomes(kit)


async def test_the_next_message_is_checked_and_asked_for_again(tmp_path: Path) -> None:
    guard = Hook("UserPromptSubmit", script(tmp_path, "sys.exit(2 if 'secret' in given['prompt'] else 0)"))
    answers = iter(["the secret is plover", "carry on"])

    def user(request: Request) -> Answer:
        text = next(answers, "") if isinstance(request, CompletionRequested) else ""
        return Answer(request.request_id, yes=not text, text=text)

    kit = kit_with(tmp_path, [done("d1"), done("d2")], guard, user=user)
    assert (await kit.run()).outcome == "completed"
    assert "carry on" in str(kit.sent) and "plover" not in str(kit.sent)


# The end of a turn


async def test_the_end_of_a_turn_is_held_up_until_the_hook_is_content(tmp_path: Path) -> None:
    body = """
if given["stop_hook_active"]: sys.exit(0)
print("the tests have not run", file=sys.stderr); sys.exit(2)
"""
    kit = kit_with(tmp_path, [done("d1"), done("d2")], Hook("Stop", script(tmp_path, body)))
    assert (await kit.run()).outcome == "completed"
    assert "A hook does not let the task end yet: the tests have not run" in str(kit.sent)


async def test_a_hook_that_never_lets_the_turn_end_does_not_hold_it_for_ever(tmp_path: Path) -> None:
    kit = kit_with(tmp_path, [done(f"d{n}") for n in range(20)], Hook("Stop", "exit 2"))
    assert (await kit.run()).outcome == "completed"
    assert len(kit.provider.requests) == 9 and "it blocked the end 8 times" in kit.of(HookReported)[-1].message


async def test_a_subtask_ends_with_its_own_event(tmp_path: Path) -> None:
    log = tmp_path / "log"
    note = f"cat >> {log}; echo >> {log}"
    script_ = [reply(call("c1", "new_task", mode="ask", message="Look.")), done("d1"), done("d2")]
    hooks = (Hook("Stop", note), Hook("SubagentStop", note), Hook("SessionEnd", note), Hook("UserPromptSubmit", note))
    kit = kit_with(tmp_path, script_, *hooks)
    await kit.run()
    seen = [json.loads(line) for line in log.read_text().splitlines() if line]
    assert [each["hook_event_name"] for each in seen] == ["UserPromptSubmit", "SubagentStop", "Stop", "SessionEnd"]
    assert seen[1]["agent_type"] == "ask" and seen[-1]["outcome"] == "completed"


async def test_a_hook_may_end_the_task(tmp_path: Path) -> None:
    stop = Hook("PostToolUse", printing(tmp_path, {"continue": False, "stopReason": "budget"}))
    kit = kit_with(tmp_path, [LIST[0], done()], stop)
    finished = await kit.run()
    assert (finished.outcome, finished.message) == ("refused", "a hook stopped the task: budget")
    finished = await kit.resume(kit.task.id, [done()], "go on")  # type: ignore[union-attr]
    assert finished.outcome == "completed" and "ran" not in str(kit.of(TurnStarted))


# Compaction, notifications


async def test_a_hook_may_keep_the_conversation_as_it_is(tmp_path: Path) -> None:
    script_ = [*(reply(call(f"c{n}", "list_files", path=".")) for n in range(4)), done()]
    kit = kit_with(tmp_path, script_, Hook("PreCompact", "echo not now >&2; exit 2", "manual"))

    def compact_at_turn_four(_task_id: str, event: Any) -> None:
        kit.watch(_task_id, event)
        if isinstance(event, TurnStarted) and event.number == 4:
            kit.task.send(Condense())  # type: ignore[union-attr]

    kit.change(watch=compact_at_turn_four)
    await kit.run()
    assert [each.reason for each in kit.of(ContextKept)] == ["a hook prevents it: not now"]


async def test_a_notification_does_not_hold_up_the_task(tmp_path: Path) -> None:
    log = tmp_path / "log"
    kit = kit_with(tmp_path, LIST, Hook("Notification", f"cat >> {log}", "permission_prompt"), policy="ask")
    await kit.run()
    assert json.loads(log.read_text())["message"] == "Joey needs your permission to use execute_command"


# Hooks that misbehave


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("sleep 60", "it took longer than 0.3 s"),
        ("sleep 60 & echo hi", None),
        ("(trap '' TERM; sleep 60) & wait", "it took longer than 0.3 s"),
        ("yes | head -c 3000000", "it printed more than a hook may"),
        ("echo '{broken'", "it printed JSON that cannot be read"),
        (r"printf '\377\376{}'", None),
        ("exit 1", "exit code 1"),
        ("/no/such/program", "exit code 127"),
        ("kill -9 $$", "signal SIGKILL (exit code 137)"),
    ],
)
async def test_a_hook_that_fails_is_visible_and_harmless(tmp_path: Path, command: str, complaint: str | None) -> None:
    timeout = 0.3 if complaint and "longer" in complaint else 5.0
    kit = kit_with(tmp_path, LIST, Hook("PreToolUse", command, timeout=timeout))
    assert (await kit.run()).outcome == "completed" and (kit.workspace / "made").exists()
    reports = kit.of(HookReported)
    assert [each.outcome for each in reports] == (["failed"] if complaint else [])
    assert complaint is None or complaint in reports[0].message


async def test_nothing_of_a_hook_that_hangs_is_left(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    hang = f"sleep 300 & echo $! > {pid}; wait"
    kit = kit_with(tmp_path, LIST, Hook("PreToolUse", hang, "Bash", timeout=0.5))
    await kit.run()
    for _ in range(100):
        try:
            os.kill(int(pid.read_text()), 0)
        except ProcessLookupError:
            return
        await asyncio.sleep(0.05)
    raise AssertionError("the child still runs")


# In Python


async def test_a_python_function_is_a_hook(tmp_path: Path) -> None:
    @hook("PreToolUse", matcher="Bash")
    def no_made(event: dict[str, Any]) -> dict[str, Any] | None:
        return {"decision": "block", "reason": "no"} if "made" in event["tool_input"]["command"] else None

    @hook("UserPromptSubmit")
    async def add(event: dict[str, Any]) -> str:
        return f"{len(event['prompt'])} characters"

    @hook("SessionStart")
    def breaks(_event: dict[str, Any]) -> None:
        raise ValueError("boom")

    kit = kit_with(tmp_path, LIST, no_made, add, breaks)
    await kit.run("Do it.")
    assert not (kit.workspace / "made").exists() and "6 characters" in str(kit.provider.requests[0].messages)
    assert kit.of(HookReported)[0].message == "ValueError: boom"


@pytest.mark.parametrize("event", ["Stop", "SessionStart", "SessionEnd", "PostToolUse", "UserPromptSubmit"])
async def test_a_python_hook_that_hangs_is_harmless(tmp_path: Path, event: HookEvent) -> None:
    @hook(event, timeout=0.1)
    async def hangs(_event: dict[str, Any]) -> None:
        await asyncio.sleep(60)

    kit = kit_with(tmp_path, LIST, hangs)
    assert (await kit.run()).outcome == "completed" and "took longer" in kit.of(HookReported)[0].message
