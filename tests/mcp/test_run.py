"""A whole task with a server, as people run it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from joey.messages import ToolUseBlock
from joey.testing.script import reply
from joey.testing.server import LocalServer
from joey.trust import TrustStore

SERVER = {"command": sys.executable, "args": [str(Path(__file__).parent / "raw_server.py"), "good"]}
CALL = ToolUseBlock("m", "use_mcp_tool", {"server_name": "it", "tool_name": "good", "arguments": {"x": 7}})
DONE = ToolUseBlock("d", "attempt_completion", {"result": "Done."})


async def run_task(folder: Path, *, trusted: bool) -> tuple[str, str, list[Any]]:
    """What was printed, what was warned of, and the requests the model got."""
    home, workspace = folder / "home", folder / "project"
    home.mkdir()
    workspace.mkdir()
    (workspace / ".mcp.json").write_text(json.dumps({"mcpServers": {"it": {**SERVER, "alwaysAllow": ["good"]}}}))
    if trusted:
        TrustStore(home / ".config" / "joey" / "trusted.json").trust(workspace)
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "ANTHROPIC_API_KEY": "k"}
    async with LocalServer([reply(CALL), reply(CALL), reply(DONE)]) as model:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "joey", "run", "go", "--model", "anthropic/scripted", "--base-url",
            model.anthropic_url, "--max-turns", "3",
            cwd=workspace, env=environment, stdin=asyncio.subprocess.DEVNULL, stdout=-1, stderr=-1,
        )  # fmt: skip
        out, err = await process.communicate()
        return out.decode(), err.decode(), [request.body for request in model.requests]


async def test_a_trusted_projects_server_is_called_even_while_it_starts(tmp_path: Path) -> None:
    out, err, requests = await run_task(tmp_path, trusted=True)
    assert out.strip() == "Done.", err
    assert "called with {'x': 7}" in json.dumps(requests[-1], ensure_ascii=False)
    assert "mcp--it--good" in [tool["name"] for tool in requests[-1]["tools"]]


async def test_a_server_of_a_project_nobody_trusts_is_not_started(tmp_path: Path) -> None:
    _, err, requests = await run_task(tmp_path, trusted=False)
    assert "MCP servers are not started (it): the workspace is not trusted" in err
    assert "called with" not in json.dumps(requests)
