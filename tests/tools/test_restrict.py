from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from joey.actions import ReadPath, RunCommand, WritePath
from joey.messages import ToolUseBlock
from joey.modes import BUILTIN_MODES
from joey.tools.registry import Registry, RejectedCall, ResolvedCall
from joey.tools.restrict import file_refusal
from joey.tools.toolset import ToolChoices, build_toolset
from tools.test_toolset import FEATURES, Named, mode_of, roo_tools
from vectors_data import cases

ARCHITECT = BUILTIN_MODES[0]


def refusal(workspace: Path, *actions: Any) -> str | None:
    return file_refusal("write_to_file", "edit", ARCHITECT, actions, workspace)


def test_the_error_has_the_words_of_the_real_system(tmp_path: Path) -> None:
    assert refusal(tmp_path, WritePath("src/a.ts")) == (
        "Tool 'write_to_file' in mode '🏗️ Architect' can only edit files matching pattern: \\.md$ "
        "(Markdown files only). Got: src/a.ts"
    )


def test_a_path_that_no_file_can_have_is_judged_as_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert 'Got: "a\\000.ts"' in str(refusal(tmp_path, WritePath("a\0.ts")))
    assert "Got: loop" in str(refusal(tmp_path, WritePath("loop")))
    assert refusal(tmp_path, WritePath("a\0.md")) is None


def test_only_changes_are_restricted(tmp_path: Path) -> None:
    assert refusal(tmp_path, WritePath("a.md"), ReadPath("a.ts"), RunCommand("touch a.ts")) is None


@pytest.mark.parametrize("path", ["x.md/../a.ts", "docs.md/../../a.ts", "a.md/.", "a.ts\n.md\n", "a.md\n", "A.MD"])
def test_tricks_with_the_path_do_not_help(tmp_path: Path, path: str) -> None:
    actual = refusal(tmp_path, WritePath(path))
    assert (actual is None) == (path == "a.md/.")


def test_every_file_of_a_call_is_checked(tmp_path: Path) -> None:
    assert "Got: b.ts" in str(refusal(tmp_path, WritePath("a.md"), WritePath("b.ts", "create")))


def test_a_link_to_a_file_that_may_not_be_changed_does_not_help(tmp_path: Path) -> None:
    (tmp_path / "a.ts").write_text("x")
    (tmp_path / "notes.md").symlink_to("a.ts")
    (tmp_path / "real.md").write_text("x")
    (tmp_path / "link.md").symlink_to("real.md")
    assert "Got: notes.md" in str(refusal(tmp_path, WritePath("notes.md")))
    assert refusal(tmp_path, WritePath("link.md")) is None


def test_absolute_paths_inside_the_workspace_are_judged_like_relative_ones(tmp_path: Path) -> None:
    only_plans = mode_of("p", [{"slug": "p", "name": "P", "groups": [["edit", {"fileRegex": "^plans/"}]]}])
    actions = [WritePath(str(tmp_path / "plans" / "a.txt"))]
    assert file_refusal("t", "edit", only_plans, actions, tmp_path) is None
    assert file_refusal("t", "edit", only_plans, [WritePath("../plans/a.txt")], tmp_path) is not None
    assert file_refusal("t", "edit", only_plans, [WritePath("src/../plans/a.txt")], tmp_path) is None


def test_a_server_s_tool_that_writes_files_keeps_to_the_edit_rule_too(tmp_path: Path) -> None:
    message = file_refusal("mcp--fs--write", "mcp", ARCHITECT, [WritePath("a.ts")], tmp_path)
    assert message is not None and message.startswith("Tool 'mcp--fs--write' in mode")


EDITING_PARAMETERS = ("diff", "content", "operations", "search", "replace", "args", "line", "patch", "old_string")


def written_paths(tool: str, params: Any) -> list[str]:
    """What a call of the vectors would change. A call without content is one that is still streaming there."""
    if tool == "read_file" or not any(params.get(key) for key in (*EDITING_PARAMETERS, "new_string")):
        return []
    path = params.get("path") or params.get("file_path")
    patched = re.findall(r"\*\*\* (?:Add|Delete|Update) File: (.+)", params.get("patch") or "")
    return [path] if path else patched if tool == "apply_patch" else []


OTHERWISE: dict[str, str] = {
    **dict.fromkeys(
        ("mode-374", "mode-377", "mode-378", "mode-379", "mode-380", "mode-381"),
        "its validation does not know the names its own parser makes (mcp--server--tool); here a server's tool is one "
        "by what it is, not by its name",
    ),
    "mode-851": "disabling a tool by its alias disables it here, as the real system's own filter does",
}


def allowed(case: Any, workspace: Path) -> Any:
    name, mode = case["tool"], mode_of(case["mode"], case["custom_modes"])
    servers = [Named(name, "mcp")] if name.startswith("mcp") else []
    off = [tool for tool, on in (case["requirements"] or {}).items() if on is False]
    chosen = ToolChoices(frozenset(FEATURES.values()), tuple(case["included_tools"] or ()), (), tuple(off))
    toolset = build_toolset(mode, roo_tools(), mcp=servers, choices=chosen)
    found = [each for each in toolset.offered if name in (each.tool.name, *each.tool.aliases)]
    if not found:
        return {"allowed": False}
    actions = [WritePath(path) for path in written_paths(name, case["params"] or {})]
    message = file_refusal(name, found[0].tool.group, mode, actions, workspace)
    return {"error": "FileRestrictionError", "message": message} if message else {"allowed": True}


@pytest.mark.parametrize("case", cases("roo/modes", set="allowed"), ids=lambda case: case["id"])
def test_a_call_is_allowed_where_the_real_system_allows_it(case: Any, tmp_path: Path) -> None:
    actual = allowed(case, tmp_path)
    expected = {key: case["expected"][key] for key in ("error", "message", "allowed") if key in case["expected"]}
    assert (actual == expected) != (case["id"] in OTHERWISE), actual


@pytest.mark.parametrize("case", cases("roo/modes", set="validate"), ids=lambda case: case["id"])
def test_a_tool_that_is_not_allowed_is_refused_in_the_words_of_the_real_system(case: Any) -> None:
    name, slug, custom, requirements = (*case["args"], None)[:4]
    off = tuple(tool for tool, on in (requirements or {}).items() if on is False)
    toolset = build_toolset(mode_of(slug, custom), roo_tools(), choices=ToolChoices(disabled=off))
    call = Registry(toolset).resolve(ToolUseBlock("c", name, {}))
    if case["expected"].get("ok"):
        assert isinstance(call, ResolvedCall)
    else:
        assert isinstance(call, RejectedCall)
        assert call.message.startswith(case["expected"]["message"])
