"""/mcp: what it shows of servers that run, and of those that lie about themselves."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from joey.app.services import Services
from joey.app.tasks import Given, TaskOptions
from joey.errors import JoeyError
from joey.mcp.config import ServerConfig
from joey.mcp.servers import McpServers
from joey.task.task import TaskHandle
from joey.terminal.mcp_view import mcp_command
from joey.terminal.session import Session
from mcp_kit import HERE, kit_config, until


def evil() -> ServerConfig:
    arguments = (str(HERE / "hostile_server.py"),)
    return ServerConfig("evil", "stdio", Path("mcp.json"), "user", command=sys.executable, args=arguments)


REMOTE = ServerConfig("docs", "streamable-http", Path("mcp.json"), "user", url="https://docs.example/mcp")


class Sitting:
    """A terminal with servers that run."""

    def __init__(self, folder: Path, *configs: ServerConfig) -> None:
        services = Services(TaskOptions(folder), given=Given(servers=configs))
        self.session, self.shown = Session(services), list[str]()
        self.running = McpServers(configs, first_pause=0.05)
        self.session.task = cast("TaskHandle", SimpleNamespace(config=SimpleNamespace(servers=self.running)))

    def type(self, rest: str = "") -> str:
        return mcp_command(self.session, rest, self.shown.append)


@pytest.fixture
async def sitting(tmp_path: Path) -> AsyncIterator[Sitting]:
    made = Sitting(tmp_path, kit_config(), evil())
    made.running.start()
    await made.running.settled()
    yield made
    await made.running.close()


async def test_servers_are_listed_with_their_state_and_one_with_all_that_it_offers(sitting: Sitting) -> None:
    assert "kit                ready, 6 tools" in sitting.type()
    details = sitting.type("kit")
    assert "add                      Add two numbers." in details
    assert "@kit:kit://notes/first" in details and "review" in details
    assert "There is no MCP server 'kitt'" in sitting.type("kitt")
    assert "needs the name of a server: kit, evil" in sitting.type("off")


async def test_a_server_is_switched_off_and_on(sitting: Sitting) -> None:
    [kit, _] = sitting.running.servers
    assert "is off" in sitting.type("off kit")
    assert "kit                off" in sitting.type() and kit.listing.tools == ()
    later = McpServers([kit_config()], off=sitting.session.services.servers_off)
    later.start()
    await later.settled()
    assert later.servers[0].state == "stopped", "also in the next task"
    await later.close()
    assert sitting.type("on kit") == "kit is on."
    await until(lambda: kit.state == "ready" and bool(kit.listing.tools), what="it runs again")


async def test_a_server_that_lies_cannot_write_lines_of_ours(sitting: Sitting) -> None:
    lines = sitting.type("evil").splitlines()
    assert lines[0].startswith("evil: ready")
    assert all(line.startswith("  ") for line in lines[1:])
    assert "\x1b" not in "".join(lines) and max(map(len, lines)) < 400


async def test_only_a_server_at_an_address_has_a_sign_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sitting = Sitting(tmp_path, kit_config(), REMOTE)
    services = sitting.session.services
    assert "only servers at an address" in sitting.type("login kit")
    assert "There is no sign-in for docs" in sitting.type("logout docs")

    async def sign_in(server: ServerConfig, show: object) -> int:
        raise JoeyError("the sign-in failed: nobody is there")

    monkeypatch.setattr(services, "sign_in", sign_in)
    assert sitting.type("login docs") == "Signing in to docs …"
    await until(lambda: sitting.shown == ["docs: the sign-in failed: nobody is there"], what="it is reported")


async def test_signing_in_opens_the_browser_and_a_second_attempt_takes_the_place_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(f'#!/bin/sh\necho "$1" >> {opened}\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", str(browser))
    sitting, left = Sitting(tmp_path, REMOTE), list[str]()

    async def sign_in(server: ServerConfig, show: Callable[[str], None]) -> int:
        show("http://127.0.0.1:9/authorize?state=x")
        try:
            await asyncio.Event().wait()
        finally:
            left.append(server.name)
        return 0

    monkeypatch.setattr(sitting.session.services, "sign_in", sign_in)
    sitting.type("login docs")
    await until(opened.exists, what="the browser is started")
    assert opened.read_text() == "http://127.0.0.1:9/authorize?state=x\n"
    assert "http://127.0.0.1:9/authorize?state=x" in sitting.shown[0]
    sitting.type("login docs")
    await until(lambda: left == ["docs"], what="the first one is given up")


def test_without_servers_it_says_how_to_add_one(tmp_path: Path) -> None:
    assert "joey mcp add" in mcp_command(Session(Services(TaskOptions(tmp_path))), "", print)


def test_what_a_file_disables_is_not_switched_on_here(tmp_path: Path) -> None:
    sitting = Sitting(tmp_path, replace(kit_config(), disabled=True))
    assert "disabled in its file" in sitting.type()
    assert "take `disabled` out there" in sitting.type("on kit")
