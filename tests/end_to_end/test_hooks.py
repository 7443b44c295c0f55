"""Hooks as people have them: in their settings, in a project's, and in those of another agent."""

from __future__ import annotations

import json

from joey.testing.script import reply
from joey_process import JoeyProcess, call, done

GUARD = """#!/usr/bin/env python3
import json, sys
given = json.load(sys.stdin)
if given["tool_name"] == "Bash" and given["tool_input"]["command"].startswith("grep "):
    print("Use rg instead of grep", file=sys.stderr)
    sys.exit(2)
"""
SCRIPT = [reply(call("1", "execute_command", command="grep x y")), done()]


def add_hooks(joey: JoeyProcess) -> None:
    joey.write(".claude/hooks/guard.py", GUARD)
    command = {"type": "command", "command": 'python3 "$CLAUDE_PROJECT_DIR"/.claude/hooks/guard.py'}
    settings = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [command]}], "Unknown": []}}
    joey.write(".claude/settings.json", json.dumps(settings))
    joey.write(".joey/config.toml", '[[hooks.SessionStart]]\nhooks = [{ command = "touch planted" }]\n')
    joey.write(
        "~/.config/joey/config.toml",
        '[[hooks.UserPromptSubmit]]\nhooks = [{ type = "command", command = "echo THE USER IS ANN" }]\n',
    )


async def test_a_project_brings_hooks_and_the_user_decides_twice(joey: JoeyProcess) -> None:
    add_hooks(joey)
    ran = await joey.run(SCRIPT, "go", "--approve", "all")
    assert ran.code == 0 and "Use rg" not in ran.result("1"), "the folder is not trusted"
    assert "THE USER IS ANN" in ran.sent(0) and not (joey.workspace / "planted").exists()
    assert "hooks.SessionStart: not used because this folder is not trusted" in ran.err

    await joey("tools", "--trust")
    ran = await joey.run(SCRIPT, "go", "--approve", "all")
    assert ran.code == 0 and "Use rg" not in ran.result("1"), "trusted, and not shown yet"
    assert "2 hooks of this project do not run" in ran.err and not (joey.workspace / "planted").exists()

    listed = await joey("hooks")
    assert listed.out.count("not accepted yet") == 2 and "Joey has no event 'Unknown'" in listed.out
    assert (await joey("hooks", "--accept")).out.count("accepted: ") == 2
    ran = await joey.run(SCRIPT, "go", "--approve", "all")
    assert "A hook does not allow this call: Use rg instead of grep" in ran.result("1"), ran.err
    assert "Hook PreToolUse" in ran.err and (joey.workspace / "planted").exists()
