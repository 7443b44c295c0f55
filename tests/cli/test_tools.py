from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from joey.cli import main

TOOL = '''
import joey
from pathlib import Path

@joey.tool(group="edit")
def stamp(path: str, text: str = "ok") -> str:
    """Write a word to a file.

    Args:
        path: The file.
        text: The word.
    """
    Path(path).write_text(text)
    return f"stamped {path}"
'''


RAW = Path(__file__).parents[1] / "mcp" / "raw_server.py"


class Here:
    """A workspace, with everything of the user's in a folder of the test's."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capsys = folder, capsys

    def joey(self, *args: str) -> tuple[int, str, str]:
        code = main(args)
        out = self._capsys.readouterr()
        return code, out.out, out.err

    def json(self, *args: str) -> Any:
        return json.loads(self.joey(*args, "--json")[1])

    def add_tool(self) -> None:
        (self.folder / ".joey" / "tools").mkdir(parents=True)
        (self.folder / ".joey" / "tools" / "stamp.py").write_text(TOOL)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return Here(tmp_path / "work", capsys)


def test_every_tool_is_listed_with_its_group_and_origin(here: Here) -> None:
    code, out, _ = here.joey("tools")
    assert code == 0 and out.startswith("tools in code mode\n")
    assert any(line.split() == ["switch_mode", "modes", "built-in"] for line in out.splitlines())


def test_json_tells_what_is_not_available_and_why(here: Here) -> None:
    listed = {tool["name"]: tool for tool in here.json("tools", "--mode", "orchestrator")["tools"]}
    assert listed["attempt_completion"]["available"] is True
    assert listed["fetch_instructions"]["available"] is False
    assert "'read'" in listed["fetch_instructions"]["reason"]


def test_one_tool_is_shown_as_the_model_gets_it(here: Here) -> None:
    code, out, _ = here.joey("tools", "switch_mode")
    assert code == 0 and "Continue this task in another mode" in out and '"mode_slug"' in out
    assert here.json("tools", "switch_mode")["function"]["parameters"]["additionalProperties"] is False


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["tools", "switch_mod"], "unknown tool 'switch_mod'; did you mean 'switch_mode'?"),
        (["tools", "--mode", "cod"], "unknown mode 'cod'; did you mean 'code'?"),
        (["tools", "--try", "switch_mode", "{x"], "the arguments are not valid JSON"),
        (["modes", "cod"], "unknown mode 'cod'"),
        (["tools", "--workspace", "/nowhere"], "/nowhere is not a folder"),
    ],
)
def test_a_wrong_question_is_answered_with_the_nearest_right_one(here: Here, args: list[str], complaint: str) -> None:
    code, _, err = here.joey(*args)
    assert code == 2 and complaint in err


def test_a_tool_is_tried_by_hand(here: Here) -> None:
    assert here.joey("tools", "--try", "attempt_completion", '{"result": "Done."}')[:2] == (0, "Done.\n")
    result = here.json("tools", "--try", "attempt_completion", '{"result": "Done."}')
    assert result["content"] == [{"type": "text", "text": "Done."}]
    assert (result["shown"], result["is_error"]) == ([], False)


def test_a_bad_call_prints_what_the_model_would_read_and_fails(here: Here) -> None:
    code, out, _ = here.joey("tools", "--try", "attempt_completion", "{}")
    assert code == 1 and '"result" is missing' in out
    assert here.joey("tools", "--try", "no_such_tool", "{}")[0] == 1
    assert here.joey("tools", "--try", "fetch_instructions", '{"task": "create_mode"}', "--mode", "orchestrator")[
        1
    ] == (
        'Tool "fetch_instructions" is not allowed in orchestrator mode. '
        "It is in the group 'read', which this mode does not have.\n"
    )


def test_without_a_terminal_what_needs_approval_is_refused_with_the_reason(here: Here) -> None:
    arguments = '{"mode_slug": "debug", "reason": "r"}'
    code, out, _ = here.joey("tools", "--try", "switch_mode", arguments)
    assert code == 1 and out.startswith("This call was denied: ") and "debug" in out
    assert here.joey("tools", "--try", "switch_mode", arguments, "--approve", "all")[0] == 0


def test_a_project_s_tools_run_only_when_it_is_trusted_and_with_approval(here: Here) -> None:
    here.add_tool()
    code, out, err = here.joey("tools")
    assert "stamp" not in out and "not loaded: this workspace is not trusted" in err
    code, out, _ = here.joey("tools", "--trust")
    assert code == 0 and "stamp" in out
    assert 'A valid call of stamp: {"path": ' in here.joey("tools", "--try", "stamp", "{}")[1]
    call = ["tools", "--try", "stamp", '{"path": "a.txt"}']
    assert here.joey(*call)[0] == 1 and not (here.folder / "a.txt").exists()
    assert here.joey(*call, "--approve", "edits")[0] == 1 and not (here.folder / "a.txt").exists()
    assert here.joey(*call, "--approve", "all")[:2] == (0, "stamped a.txt\n")
    assert (here.folder / "a.txt").read_text() == "ok"
    here.joey("tools", "--distrust")
    assert "stamp" not in here.joey("tools")[1]


def test_a_mode_s_file_rule_holds_for_custom_tools_and_tricky_paths(here: Here) -> None:
    here.add_tool()
    here.joey("tools", "--trust")
    for path in ("a.txt", "x.md/../a.txt"):
        call = ["tools", "--try", "stamp", json.dumps({"path": path}), "--mode", "architect", "--approve", "all"]
        code, out, _ = here.joey(*call)
        assert code == 1 and out == (
            "Tool 'stamp' in mode '🏗️ Architect' can only edit files matching pattern: \\.md$ (Markdown files only). "
            f"Got: {path}\n"
        )
    assert not (here.folder / "a.txt").exists()


def test_ignored_files_are_refused_whatever_is_approved(here: Here) -> None:
    here.add_tool()
    here.joey("tools", "--trust")
    (here.folder / ".joeyignore").write_text("secret*\n")
    code, out, _ = here.joey("tools", "--try", "stamp", '{"path": "secret.txt"}', "--approve", "all")
    assert code == 1 and ".joeyignore" in out and not (here.folder / "secret.txt").exists()


@pytest.mark.parametrize("command", ["modes", "tools"])
def test_another_folder_can_be_looked_at(here: Here, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    (here.folder / ".roomodes").write_text("customModes:\n- {slug: bad}\n")
    monkeypatch.chdir("/")
    assert f"{here.folder / '.roomodes'}:2: a mode needs 'name'" in here.joey(command, "-w", str(here.folder))[2]


def test_modes_are_listed_with_where_they_came_from(here: Here) -> None:
    (here.folder / ".roomodes").write_text(
        "customModes:\n- {slug: docs, name: Docs, roleDefinition: r, groups: [read]}\n- {slug: bad}\n"
    )
    code, out, err = here.joey("modes")
    assert code == 0 and "may: read, edit (files matching \\.md$: Markdown files only), browser, mcp" in out
    assert f"from: {here.folder / '.roomodes'} (project)" in out
    assert f"{here.folder / '.roomodes'}:3: a mode needs 'name'" in err
    data = here.json("modes")
    assert [mode["slug"] for mode in data["modes"]] == ["architect", "code", "ask", "debug", "orchestrator", "docs"]
    assert data["problems"][0]["line"] == 3
    assert "Docs (docs)" in here.joey("modes", "docs")[1]


@pytest.mark.parametrize(("answer", "code"), [(b"y\n", 0), (b"n\n", 1), (b"\n", 1)])
def test_in_a_terminal_the_user_decides(here: Here, answer: bytes, code: int) -> None:
    arguments = '{"mode_slug": "debug", "reason": "r"}'
    ours, theirs = pty.openpty()
    os.write(ours, answer)
    try:
        run = subprocess.run(
            [sys.executable, "-m", "joey", "tools", "--try", "switch_mode", arguments],
            stdin=theirs,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert (run.returncode, "Allow it? [y/N]" in run.stderr) == (code, True)
    assert ("Switched from code mode" in run.stdout) == (code == 0)


def test_a_file_is_written_by_hand_with_the_diff_for_the_user(here: Here) -> None:
    call = ["tools", "--try", "write_to_file", '{"path": "new/a.txt", "content": "hi\\n"}']
    assert here.joey(*call)[0] == 1 and list(here.folder.iterdir()) == []
    code, out, err = here.joey(*call, "--approve", "edits")
    assert code == 0 and "new/a.txt" in out and "+hi" in err
    assert (here.folder / "new" / "a.txt").read_text() == "hi\n"
    again = here.json("tools", "--try", "write_to_file", '{"path": "b.txt", "file_text": "x"}', "--approve", "edits")
    assert again["shown"][0]["path"] == "b.txt" and again["is_error"] is False


@pytest.mark.parametrize(
    "body", ["*** Update File: a.md\n*** Move to: a.py\n@@\n-old\n+new", "*** Add File: a.py\n+new"]
)
def test_a_mode_s_file_rule_holds_for_every_file_of_a_patch(here: Here, body: str) -> None:
    (here.folder / "a.md").write_text("old\n")
    patch = json.dumps({"patch": f"*** Begin Patch\n{body}\n*** End Patch"})
    code, out, _ = here.joey("tools", "--try", "apply_patch", patch, "--mode", "architect", "--approve", "all")
    assert code == 1 and out.startswith("Tool 'apply_patch' in mode") and out.endswith("Got: a.py\n")
    assert [path.name for path in here.folder.iterdir()] == ["a.md"] and (here.folder / "a.md").read_text() == "old\n"


def test_what_a_custom_tool_prints_is_not_mixed_into_its_answer(here: Here) -> None:
    here.add_tool()
    file = here.folder / ".joey" / "tools" / "loud.py"
    file.write_text(
        'import joey\n\n@joey.tool\ndef loud() -> str:\n    """Shout."""\n    print("HA")\n    return "ok"\n'
    )
    here.joey("tools", "--trust")
    code, out, err = here.joey("tools", "--try", "loud", "{}", "--approve", "all")
    assert (code, out) == (0, "ok\n") and "HA" in err


def test_a_command_left_running_is_ended_and_named(here: Here) -> None:
    call = json.dumps({"command": "printf started; sleep 600", "timeout": 0.5})
    code, out, err = here.joey("tools", "--try", "execute_command", call, "--approve", "all")
    assert code == 0 and "still running" in out
    assert err.splitlines() == ["started", "note: stopped 1 running command(s), as at the end of a task"]


def test_a_path_with_a_nul_is_refused_in_words(here: Here) -> None:
    call = json.dumps({"path": "a\0.txt", "content": "x"})
    code, out, _ = here.joey("tools", "--try", "write_to_file", call, "--approve", "all")
    assert code == 1 and ("NUL" in out or "is no path" in out)


def test_a_refusal_says_what_is_missing(here: Here) -> None:
    call = json.dumps({"path": "a.txt", "content": "x"})
    _, out, _ = here.joey("tools", "--try", "write_to_file", call)
    assert "`a.txt`: changing files of the workspace requires approval" in out
    _, out, _ = here.joey("tools", "--try", "write_to_file", call, "--approve", "read-only")
    assert "`a.txt`: changing files of the workspace is not allowed" in out


def test_a_command_that_fails_is_an_exit_code(here: Here) -> None:
    code, out, _ = here.joey("tools", "--try", "execute_command", '{"command": "exit 3"}', "--approve", "all")
    assert code == 1 and "failed: exit code 3" in out
    assert here.joey("tools", "--try", "execute_command", '{"command": "true"}', "--approve", "all")[0] == 0


def test_tools_of_mcp_servers_are_listed_shown_and_tried(here: Here, tmp_path: Path) -> None:
    server = {"command": sys.executable, "args": [str(RAW), "lying"], "alwaysAllow": ["good"]}
    (tmp_path / "config/joey").mkdir(parents=True)
    entries = {"mcpServers": {"it": server, "gone": {"command": "no-such-program-here"}}}
    (tmp_path / "config/joey/mcp.json").write_text(json.dumps(entries))
    code, out, err = here.joey("tools")
    assert code == 0 and re.search(r"mcp--it--good +mcp +mcp \(it\)\n", out)
    assert "'gone' is not available: it cannot be run" in err and "'it': tool 'array' was left out" in err
    assert '"x"' in here.joey("tools", "mcp--it--good")[1]
    tried = here.joey("tools", "--try", "mcp--it--good", '{"x": "7"}')
    assert tried[:2] == (0, "called with {'x': 7}\n"), tried
    code, out, _ = here.joey("tools", "--try", "use_mcp_tool", '{"server_name": "it", "tool_name": "far"}')
    assert code == 1 and "no user is there to approve" in out
    listed = here.joey("tools", "--no-mcp")
    assert "mcp--" not in listed[1] and not listed[2]


def test_servers_of_a_project_nobody_trusts_are_named_not_started(here: Here) -> None:
    (here.folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"evil": {"command": "touch", "args": ["ran"]}}}))
    code, _, err = here.joey("tools")
    assert code == 0 and "not started (evil)" in err and not (here.folder / "ran").exists()
