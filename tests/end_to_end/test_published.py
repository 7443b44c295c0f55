"""What people publish for Claude Code, unchanged: a hook with its status line, and a collection of agents."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from joey.modes.files import load_modes
from joey.testing.script import reply
from joey_process import JoeyProcess, call, done

PUBLISHED = Path(__file__).parents[1] / ".cache" / "published-npm"
NODES = Path(__file__).parents[1] / ".cache" / "acp-npm" / "node_modules" / "node" / "bin" / "node"
NODE = str(NODES) if NODES.exists() else shutil.which("node")
AGENTS = PUBLISHED / "claude-flow" / "package" / ".claude" / "agents"
pytestmark = pytest.mark.skipif(not PUBLISHED.is_dir(), reason="`make test` fetches them from npm; npm is needed")


@pytest.mark.skipif(NODE is None, reason="the hook needs Node")
async def test_a_published_hook_denies_what_destroys_and_lets_the_rest_run(joey: JoeyProcess) -> None:
    assert NODE is not None
    guard = shlex.join(
        [NODE, str(PUBLISHED / "cc-safety-net/package/dist/bin/cc-safety-net.js"), "hook", "--claude-code"]
    )
    joey.write(
        "~/.config/joey/config.toml",
        f"[[hooks.PreToolUse]]\nmatcher = \"Bash\"\nhooks = [{{ type = \"command\", command = '''{guard}''' }}]\n",
    )
    script = [
        reply(call("1", "execute_command", command="git reset --hard")),
        reply(call("2", "execute_command", command="echo still here")),
        done(),
    ]
    ran = await joey.run(script, "go", "--approve", "all")
    assert ran.code == 0, ran.err
    assert "BLOCKED by CC Safety Net" in ran.result("1") and "git stash" in ran.result("1")
    assert "still here" in ran.result("2")


def test_a_published_collection_of_agents_is_read_as_it_is(tmp_path: Path) -> None:
    shutil.copytree(AGENTS, tmp_path / ".claude" / "agents")
    loaded = load_modes(tmp_path, tmp_path / "user", trusted=True)
    assert not loaded.problems
    agents = [mode for mode in loaded.modes if mode.origin == "project"]
    assert len(agents) > 80 and all(mode.role and mode.groups for mode in agents)
    suite = loaded.get("benchmark-suite")
    assert suite is not None and suite.name == "Benchmark Suite"


async def test_a_published_agent_does_a_subtask(joey: JoeyProcess) -> None:
    joey.write(".claude/agents/core/reviewer.md", (AGENTS / "core" / "reviewer.md").read_text("utf-8"))
    await joey("tools", "--trust")
    script = [
        reply(call("1", "new_task", mode="reviewer", message="Look at a.py.")),
        done("Nothing is wrong with it."),
        done(),
    ]
    ran = await joey.run(script, "go", "--approve", "all")
    assert ran.code == 0, ran.err
    assert "You are a senior code reviewer" in ran.sent(1) and "Nothing is wrong" in ran.result("1")
