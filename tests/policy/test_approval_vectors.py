"""What Roo decided about tools, servers, modes and questions, with Joey's settings in the place of Roo's switches."""

from __future__ import annotations

import json
from typing import Any

from joey.actions import Action, CallServer, ReadPath, RunCommand, StartSubtask, SwitchMode, WritePath
from joey.policy import Settings, Workspace, judge
from joey.policy.verdict import Decision
from vectors_data import cases

WORKSPACE = Workspace("/nonexistent/ws", home="/nonexistent/home")

READS = {"readFile", "listFiles", "listFilesTopLevel", "listFilesRecursive", "searchFiles", "codebaseSearch"} | {
    "runSlashCommand"
}
WRITES = {"editedExistingFile", "appliedDiff", "newFileCreated", "generateImage"}


def decision(allowed: object) -> Decision:
    return "allow" if allowed else "ask"


def settings(state: Any) -> Settings:
    if not state.get("autoApprovalEnabled"):
        return Settings(allow=())
    servers = state.get("mcpServers") or []
    tools = [f"{s['name']}/{t['name']}" for s in servers for t in s.get("tools", ()) if t.get("alwaysAllow")]
    mcp = state.get("alwaysAllowMcp")
    execute = state.get("alwaysAllowExecute")
    timeout = state.get("followupAutoApproveTimeoutMs", 0) / 1000
    return Settings().changed(
        reads=decision(state.get("alwaysAllowReadOnly")),
        reads_outside=decision(state.get("alwaysAllowReadOnly") and state.get("alwaysAllowReadOnlyOutsideWorkspace")),
        writes=decision(state.get("alwaysAllowWrite")),
        writes_outside=decision(state.get("alwaysAllowWrite") and state.get("alwaysAllowWriteOutsideWorkspace")),
        writes_protected=decision(state.get("alwaysAllowWriteProtected")),
        allow=tuple(state.get("allowedCommands") or ()) if execute else (),
        deny=tuple(state.get("deniedCommands") or ()) if execute else (),
        mcp_allow=tuple(tools) if mcp else (),
        mcp_resources=decision(mcp),
        mode_switches=decision(state.get("alwaysAllowModeSwitch")),
        subtasks=decision(state.get("alwaysAllowSubtasks")),
        followup_timeout=timeout if state.get("alwaysAllowFollowupQuestions") else None,
    )


def action(ask: str, text: str, *, protected: bool) -> Action | None:
    """The action in Joey that stands for a question in Roo; None where there is none."""
    if ask == "command":
        return RunCommand(text) if text.strip() else None
    try:
        data = json.loads(text)
    except ValueError:
        return None
    if not isinstance(data, dict):
        return None
    if ask == "use_mcp_server":
        return CallServer(data["serverName"], data.get("toolName")) if data.get("serverName") else None
    folder = "/elsewhere/" if data.get("isOutsideWorkspace") else ""
    name = ".roomodes" if protected else "a.txt"
    tool = data.get("tool")
    if tool in READS:
        return ReadPath(folder + name)
    if tool in WRITES:
        return WritePath(folder + name)
    others: dict[object, Action] = {"switchMode": SwitchMode("ask"), "newTask": StartSubtask("code")}
    return others.get(tool)


def action_of(case: Any) -> Action | None:
    given = case["input"]
    if given["ask"] not in ("tool", "command", "use_mcp_server"):
        return None
    return action(given["ask"], given.get("text") or "", protected=bool(given.get("isProtected")))


ALL = cases("roo/command_approval", set="auto_approval")


def test_actions_are_decided_alike() -> None:
    names = {"allow": "approve", "ask": "ask", "deny": "deny"}
    judged = 0
    for case in ALL:
        wanted = action_of(case)
        if wanted is None:
            continue
        judged += 1
        verdict = judge([wanted], settings(case["input"].get("state") or {}), WORKSPACE)
        assert names[verdict.decision] == case["expected"]["decision"], case
    assert judged > 150


def test_questions_are_answered_after_the_same_time() -> None:
    questions = [case for case in ALL if case["input"]["ask"] == "followup"]
    for case in questions:
        try:
            suggestions = len(json.loads(case["input"]["text"]).get("suggest") or ())
        except (ValueError, TypeError, AttributeError):
            suggestions = 0
        seconds = settings(case["input"].get("state") or {}).answer_after(suggestions)
        assert (seconds * 1000 if seconds else None) == case["expected"].get("timeout"), case
    assert questions
