"""Clients that others made, in front of `joey acp`: acpx, which `make test` fetches from npm (without it, its tests
skip), and the client of the Python SDK."""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from pathlib import Path
from typing import Any, cast

import pytest
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    ElicitationCapabilities,
    ElicitationFormCapabilities,
    RequestPermissionResponse,
)

import acp
from acp_kit import Desk, Desks
from joey.testing.script import Faults, reply
from joey_process import call

TESTS = Path(__file__).parents[1]
MODULES = TESTS / ".cache" / "acp-npm" / "node_modules"
needs_acpx = pytest.mark.skipif(not MODULES.is_dir(), reason="acpx is not installed; `make test` fetches it from npm")
EDIT = call("a", "write_to_file", path="x.txt", file_text="one\n")
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


class Acpx:
    """`acpx` with Joey as its agent."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        agent = f"{sys.executable} -m joey acp --base-url {desk.server.anthropic_url}"
        program = [str(MODULES / "node" / "bin" / "node"), str(MODULES / ".bin" / "acpx")]
        self._command = [*program, "--agent", agent, "--cwd", str(desk.workspace), "--format", "json", "--ttl", "60"]

    async def start(self, *args: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *self._command, *args, cwd=self._desk.workspace, env=self._desk.environment, stdin=-3, stdout=-1
        )

    async def __call__(self, *args: str) -> list[dict[str, Any]]:
        """What it printed: the messages of both sides, or what it did."""
        process = await self.start(*args)
        out, _ = await asyncio.wait_for(process.communicate(), 60)
        return [json.loads(line) for line in out.splitlines()]


def reason(messages: list[dict[str, Any]]) -> str:
    found = [each["result"]["stopReason"] for each in messages if "stopReason" in (each.get("result") or {})]
    return str(found[-1])


@needs_acpx
async def test_acpx_approves_and_hands_over_a_server(desks: Desks) -> None:
    add = call("m", "mcp--kit--add", a=2, b=40)
    desk = await desks.set_up(reply("I write.", EDIT), reply(add), reply("Done."))
    servers = desk.folder / "servers.json"
    kit = {"name": "kit", "command": sys.executable, "args": [str(TESTS / "mcp_kit_server.py")], "env": []}
    servers.write_text(json.dumps({"mcpServers": [kit]}))
    messages = await Acpx(desk)("--approve-all", "--mcp-config", str(servers), "exec", "Write it, then add")
    assert reason(messages) == "end_turn"
    assert (desk.workspace / "x.txt").read_text() == "one\n"
    assert "42" in json.dumps(desk.server.requests[-1].body)


@needs_acpx
async def test_acpx_keeps_a_session_between_processes_denies_changes_it_and_cancels(desks: Desks) -> None:
    slow = reply("Slowly, " * 400, faults=Faults(pause=0.05))
    desk = await desks.set_up(reply("I write.", EDIT), reply("As you wish."), slow)
    acpx = Acpx(desk)
    (made,) = await acpx("sessions", "new")
    first = await acpx("--deny-all", "prompt", "Write it")
    assert (reason(first), made["acpxSessionId"] in json.dumps(first)) == ("end_turn", True)
    assert not (desk.workspace / "x.txt").exists()
    assert (await acpx("set-mode", "ask"))[-1]["action"] == "mode_set"
    assert "error" not in (await acpx("set", "model", "anthropic/claude-sonnet-5-5"))[-1]
    running = await acpx.start("prompt", "Slowly please")
    assert running.stdout is not None
    out = b""
    while b"Slowly, " not in out:
        out += await asyncio.wait_for(running.stdout.readline(), 60)
    assert (await acpx("cancel"))[-1]["cancelled"] is True
    rest, _ = await asyncio.wait_for(running.communicate(), 60)
    assert b'"stopReason":"cancelled"' in rest
    assert desk.server.requests[-1].body["model"] == "claude-sonnet-5-5"
    assert (await acpx("sessions", "close"))[-1]["action"] == "session_closed"


class SdkClient:
    """The user of the SDK's client: allows everything once, and chooses the second of what is suggested."""

    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.forms: list[Any] = []

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update)

    async def request_permission(self, options: Any, session_id: str, tool_call: Any, **_: Any) -> Any:
        allowed = AllowedOutcome(option_id=options[0].option_id, outcome="selected")
        return RequestPermissionResponse(outcome=allowed)

    async def create_elicitation(self, message: str, mode: Any = None, **more: Any) -> Any:
        self.forms.append(message)
        return {"action": "accept", "content": {"choice": "Blue"}}

    def on_connect(self, conn: Any) -> None:
        pass

    def kinds(self) -> list[str]:
        return [each.session_update for each in self.updates]


async def test_the_client_of_the_python_sdk_sends_content_answers_a_form_and_loads(desks: Desks) -> None:
    question = call("q", "ask_followup_question", question="Colour?", follow_up=[{"text": "Red"}, {"text": "Blue"}])
    desk = await desks.set_up(reply("I write.", EDIT), reply(question), reply("Blue it is."))
    (desk.workspace / "notes.txt").write_text("linked words\n")
    options = ["-m", "joey", "acp", "--base-url", desk.server.anthropic_url]
    client = SdkClient()
    async with acp.spawn_agent_process(
        cast("acp.Client", client), sys.executable, *options, env=desk.environment, use_unstable_protocol=True
    ) as (conn, _):
        forms = ElicitationCapabilities(form=ElicitationFormCapabilities())
        await conn.initialize(protocol_version=1, client_capabilities=ClientCapabilities(elicitation=forms))
        session = (await conn.new_session(cwd=str(desk.workspace), mcp_servers=[])).session_id
        blocks: list[Any] = [
            acp.text_block("Look at "),
            acp.resource_link_block("notes.txt", (desk.workspace / "notes.txt").as_uri()),
            acp.resource_block(acp.embedded_text_resource("file:///elsewhere/buffer.txt", "unsaved words")),
            acp.image_block(base64.b64encode(PIXEL).decode(), "image/png"),
        ]
        answer = await conn.prompt(session_id=session, prompt=blocks)
        assert answer.stop_reason == "end_turn"
        sent = json.dumps(desk.server.requests[0].body)
        assert "linked words" in sent and "unsaved words" in sent and "image/png" in sent
        assert client.forms == ["Colour?"]
        assert "Blue" in json.dumps(desk.server.requests[-1].body)
        live, client.updates = client.kinds(), []
        listed = await conn.list_sessions(cwd=str(desk.workspace))
        assert [each.session_id for each in listed.sessions] == [session]
        await conn.load_session(session_id=session, cwd=str(desk.workspace), mcp_servers=[])
        assert client.kinds().count("tool_call") == live.count("tool_call")
        assert "user_message_chunk" in client.kinds()
