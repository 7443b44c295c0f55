"""Calls of tools as hooks see them: under Claude Code's names, with its fields and absolute paths; and the way back.

A hook that guards files must see every file. So a call that changes several is shown once for each of them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from joey.wire import JsonObject


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
