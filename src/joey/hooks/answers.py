"""What a hook sees of a call, and what it answers, read within bounds: an exit code, words, or JSON.

    exit 0    fine; JSON on standard output is an answer, and other words are context where the event takes some
    exit 2    no: standard error is the reason
    other     the hook failed, which is reported and changes nothing

Each field counts if it is what it must be. One that is not is a failure of the hook, reported like any other: nothing
that a hook prints can end a task by mistake.

Calls of tools are shown to hooks under Claude Code's names, with its fields and absolute paths (`views_of`). A hook
that guards files must see every file. So a call that changes several is shown once for each of them.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from joey.bounded.formats import FormatError
from joey.bounded.formats.json import read_json
from joey.hooks.hook import Hook
from joey.messages import CommandExit
from joey.wire import JsonObject

MAX_CONTEXT = 10_000
"""Characters of context and reasons; the model pays for each."""
_TAKE_WORDS = ("UserPromptSubmit", "SessionStart")
HookDecision: TypeAlias = Literal["", "allow", "ask", "deny"]
_DECISIONS: dict[Any, HookDecision] = {
    "allow": "allow",
    "approve": "allow",
    "ask": "ask",
    "deny": "deny",
    "block": "deny",
}


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """What one hook wants. Empty: it has nothing to add."""

    hook: Hook
    decision: HookDecision = ""
    reason: str = ""
    context: str = ""
    updated_input: JsonObject | None = None
    stop: str | None = None
    """Why the task must end here, if it must."""
    message: str = ""
    """For the user."""
    failures: tuple[str, ...] = field(default=())


def _ending(code: int) -> str:
    """How a process ended, as a shell counts."""
    if code >= 0:
        return str(CommandExit(code))
    known = {each.value: each.name for each in signal.Signals}
    return str(CommandExit(128 - code, known.get(-code, str(-code))))


def answer_of_process(hook: Hook, code: int, output: str, errors: str) -> HookAnswer:
    """The answer of a command that has ended."""
    if code == 2:
        return HookAnswer(hook, "deny", cut((errors or output).strip()) or "the hook gave no reason")
    if code != 0:
        detail = (errors or output).strip().partition("\n")[0]
        return failed_hook(hook, f"{_ending(code)}{f': {detail[:300]}' if detail else ''}")
    words = output.strip()
    if not words.startswith("{"):
        return answer_of_reply(hook, words if hook.event in _TAKE_WORDS else None)
    try:
        return answer_of_reply(hook, read_json(words))
    except FormatError as error:
        return failed_hook(hook, f"it printed JSON that cannot be read: {error}")


def answer_of_reply(hook: Hook, reply: object) -> HookAnswer:
    """The answer in the words or the object of a hook."""
    if isinstance(reply, Mapping):
        return _Fields(hook, reply).answer()
    if reply is None or isinstance(reply, str):
        return HookAnswer(hook, context=cut(reply or ""))
    return failed_hook(hook, "its answer is neither an object nor text")


def failed_hook(hook: Hook, why: str) -> HookAnswer:
    return HookAnswer(hook, failures=(why,))


def cut(text: str) -> str:
    """Words of a hook, in a size that a conversation can take."""
    return text if len(text) <= MAX_CONTEXT else f"{text[:MAX_CONTEXT]}\n[cut: {len(text) - MAX_CONTEXT:,} characters]"


class _Fields:
    """The fields of one answer, each taken if it has the right kind."""

    def __init__(self, hook: Hook, reply: Mapping[str, Any]) -> None:
        self._hook = hook
        self._reply = reply
        self._failures: list[str] = []

    def answer(self) -> HookAnswer:
        own = self._own()
        answer = HookAnswer(
            self._hook,
            self._decision(self._reply.get("decision"), "decision"),
            self._text(self._reply, "reason"),
            self._text(own, "additionalContext") or self._text(self._reply, "additionalContext"),
            self._object(own, "updatedInput"),
            self._stop(),
            self._text(self._reply, "systemMessage"),
        )
        if decision := self._decision(own.get("permissionDecision"), "permissionDecision"):
            answer = replace(answer, decision=decision, reason=self._text(own, "permissionDecisionReason"))
        return replace(answer, failures=tuple(self._failures))

    def _own(self) -> Mapping[str, Any]:
        own = self._object(self._reply, "hookSpecificOutput") or {}
        event = own.get("hookEventName", self._hook.event)
        if event != self._hook.event:
            self._failures.append(f"it answered for the event {event!r}")
            return {}
        return own

    def _decision(self, value: Any, name: str) -> HookDecision:
        if value is None:
            return ""
        decision = _DECISIONS.get(value) if isinstance(value, str) else None
        if decision is None:
            self._failures.append(f"`{name}` is {str(value)[:80]!r}")
        return decision or ""

    def _stop(self) -> str | None:
        return None if self._goes_on() else self._text(self._reply, "stopReason") or "no reason was given"

    def _goes_on(self) -> bool:
        value = self._reply.get("continue", True)
        if not isinstance(value, bool):
            self._failures.append("`continue` is neither true nor false")
            return True
        return value

    def _text(self, where: Mapping[str, Any], name: str) -> str:
        value = where.get(name) or ""
        if isinstance(value, str):
            return cut(value)
        self._failures.append(f"`{name}` is no text")
        return ""

    def _object(self, where: Mapping[str, Any], name: str) -> JsonObject | None:
        value = where.get(name)
        if value is None or isinstance(value, dict):
            return value
        self._failures.append(f"`{name}` is no object")
        return None


@dataclass(frozen=True, slots=True)
class _Row:
    """A tool elsewhere: its name, what else it is called, and the names of fields that differ, ours first."""

    name: str
    fields: Mapping[str, str] = field(default_factory=dict)
    also: tuple[str, ...] = ()
    added: Mapping[str, str] = field(default_factory=dict)
    """Fields that a script may expect, and our tool does not have."""


_EDIT_OF_TEXT = {"old_string": ""}
_ROWS: dict[str, _Row] = {
    "execute_command": _Row("Bash"),
    "read_file": _Row("Read", {"path": "file_path"}),
    "write_to_file": _Row("Write", {"path": "file_path", "file_text": "content"}),
    "apply_diff": _Row("Edit", {"path": "file_path", "diff": "new_string"}, ("MultiEdit",), _EDIT_OF_TEXT),
    "apply_patch": _Row("Edit", {"patch": "new_string"}, ("MultiEdit",), _EDIT_OF_TEXT),
    "edit_file": _Row("Edit", also=("MultiEdit",)),
    "search_and_replace": _Row("Edit", also=("MultiEdit",)),
    "search_replace": _Row("Edit", also=("MultiEdit",)),
    "search_files": _Row("Grep", {"regex": "pattern", "file_pattern": "glob"}),
    "list_files": _Row("LS"),
    "new_task": _Row("Task", {"mode": "subagent_type", "message": "prompt"}, ("Agent",)),
    "update_todo_list": _Row("TodoWrite"),
    "ask_followup_question": _Row("AskUserQuestion"),
    "skill": _Row("Skill"),
    "web_fetch": _Row("WebFetch"),
    "web_search": _Row("WebSearch"),
}
_PATHS = ("file_path", "path")


@dataclass(frozen=True, slots=True)
class ToolView:
    """A call as a hook sees it. `names` are all that a matcher may name it by, the one that is sent first."""

    names: tuple[str, ...]
    input: JsonObject


def views_of(tool: str, arguments: JsonObject, written: Sequence[str], workspace: str) -> list[ToolView]:
    """The call of one of our tools, once for each file that it writes."""
    if tool == "use_mcp_tool":
        server, name, given = (arguments.get(each) for each in ("server_name", "tool_name", "arguments"))
        return [ToolView((f"mcp__{server}__{name}", tool), given if isinstance(given, dict) else {})]
    row = _ROWS.get(tool) or _Row(tool.replace("--", "__") if tool.startswith("mcp--") else tool)
    shown = {row.fields.get(key, key): value for key, value in arguments.items()} | dict(row.added)
    names = tuple(dict.fromkeys((row.name, *row.also, tool)))
    if row.name in ("Edit", "Write") and written:
        paths = [_absolute(path, workspace) for path in dict.fromkeys(written)]
        return [ToolView(names, {**shown, "file_path": path}) for path in paths]
    located = {key: _absolute(shown[key], workspace) for key in _PATHS if isinstance(shown.get(key), str)}
    return [ToolView(names, shown | located if tool in _ROWS else shown)]


def arguments_from(tool: str, view: ToolView, changed: JsonObject, arguments: JsonObject) -> JsonObject:
    """The arguments of our tool, after a hook replaced the input that it saw. A path that is as it was stays as the
    model wrote it."""
    if tool == "use_mcp_tool":
        return {**arguments, "arguments": changed}
    row = _ROWS.get(tool) or _Row(tool)
    ours = {theirs: own for own, theirs in row.fields.items()}
    kept: dict[str, Any] = {}
    for key, value in changed.items():
        own = ours.get(key, key)
        if key in row.added or (own not in arguments and key in view.input):
            continue  # ours alone, made for the hook
        kept[own] = arguments[own] if own in arguments and value == view.input.get(key) else value
    return kept


def _absolute(path: str, workspace: str) -> str:
    return os.path.normpath(os.path.join(workspace, path))  # noqa: PTH118 - a path that need not exist
