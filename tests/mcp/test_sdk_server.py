"""A server made with the official SDK, run as a program. It takes a while to start, so the tests share it."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from joey.actions import CallServer
from joey.mcp.offer import offers
from joey.mcp.resources import ServerResources
from joey.mcp.servers import McpServers
from joey.messages import TextBlock
from joey.policy import Workspace
from joey.prompts import Library, expand_input
from joey.task.mentions import WorkspaceSources
from joey.tools.base import ToolContext
from joey.tools.forms import Form, FormValues
from mcp_kit import call, kit_config, running, until

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def servers() -> AsyncIterator[McpServers]:
    os.environ["KEY_OF_OURS"] = "secret"
    try:
        async with running(kit_config(env=(("GIVEN", "yes"),))) as started:
            yield started
    finally:
        del os.environ["KEY_OF_OURS"]


async def test_its_tools_can_be_called(servers: McpServers, context: ToolContext) -> None:
    assert (await call(servers, "kit", "add", context, a=1, b="2")).text == "3"
    long = await call(servers, "kit", "long_text", context, size=200_000)
    assert "was kept whole" in long.text and len(long.text) < 50_000


async def test_it_gets_the_environment_it_was_given_and_nothing_of_ours(
    servers: McpServers, context: ToolContext
) -> None:
    assert (await call(servers, "kit", "environment", context, name="GIVEN")).text == "yes"
    hidden = await call(servers, "kit", "environment", context, name="KEY_OF_OURS")
    assert hidden.text == "(not set)", "our keys are none of a server's business"


async def test_it_shows_progress_and_hears_that_a_call_was_cancelled(
    servers: McpServers, context: ToolContext, tmp_path: Path
) -> None:
    seen, shown, marker = asyncio.Event(), list[str](), tmp_path / "marker"

    def show(text: str) -> None:
        shown.append(text)
        seen.set()

    calling = asyncio.create_task(call(servers, "kit", "slow", replace(context, progress=show), marker=str(marker)))
    await seen.wait()
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    await until(marker.exists, what="the server hears that the call was cancelled")
    assert shown == ["half of it (1/2)\n"]


async def test_a_tool_it_adds_can_be_called(servers: McpServers, context: ToolContext) -> None:
    before = servers.version
    assert (await call(servers, "kit", "grow", context)).text == "there is one more"
    await until(lambda: servers.version > before, what="the list is read again")
    assert (await call(servers, "kit", "grown", context)).text == "grown"


async def test_its_resources_are_read(servers: McpServers, context: ToolContext) -> None:
    offer = offers(servers, in_text=False)
    first = offer()
    assert first.has_resources and offer() is first, "the same object as long as nothing changed"
    servers.servers[0]._become("ready", "")
    assert offer() is not first
    resource, *_ = offer().builtin
    assert "- kit: kit://notes/first" in resource.description
    params = resource.params(server_name="kit", uri="kit://notes/first")
    assert (await resource.run(params, context)).text == "the first note"
    assert resource.actions(params, context) == (CallServer("kit"),)
    missing = await resource.run(resource.params(server_name="kit", uri="kit://nothing"), context)
    assert missing.is_error and "the server answered with error" in missing.text
    nobody = await resource.run(resource.params(server_name="who", uri="x"), context)
    assert json.loads(nobody.text)["type"] == "unknown_server"


async def test_it_asks_the_user_in_the_middle_of_a_call(servers: McpServers, context: ToolContext) -> None:
    forms: list[Form] = []

    async def ask(form: Form) -> FormValues | None:
        forms.append(form)
        return {"guests": 3, "seat": "bar"} if len(forms) == 1 else None

    booked = await call(servers, "kit", "book", replace(context, ask_form=ask))
    declined = await call(servers, "kit", "book", replace(context, ask_form=ask))
    assert booked.text == 'accept: {"guests":3,"terrace":false,"seat":"bar"}' and declined.text == "decline: "
    assert [each.kind for each in forms[0].fields] == ["whole", "yes or no", "one of"]
    assert (await call(servers, "kit", "book", context)).text == "decline: ", "with nobody there"


async def test_its_resources_can_be_mentioned(servers: McpServers, tmp_path: Path) -> None:
    resources = ServerResources(servers)
    sources = WorkspaceSources(Workspace.of(tmp_path), resources=resources)
    library = Library(tmp_path, tmp_path, tmp_path)
    request = await expand_input("Summarize @kit:kit://notes/first, and @kit:kit://nothing", library, sources)
    found, missing = request.attached
    assert found == TextBlock('<mentioned name="@kit:kit://notes/first">\nthe first note\n</mentioned>')
    assert "did not give this resource" in str(missing)
    assert [*resources.offered()] == ["kit:kit://notes/first"]
    assert await resources.read("other:kit://x") is None and await resources.read("kit:") is None


async def test_a_call_of_a_server_that_is_switched_off_says_so_in_words_for_people(
    context: ToolContext, tmp_path: Path
) -> None:
    async with running(kit_config()) as own:
        seen: list[str] = []
        marker, show = str(tmp_path / "marker"), seen.append
        calling = asyncio.create_task(call(own, "kit", "slow", replace(context, progress=show), marker=marker))
        await until(lambda: bool(seen), what="the call is under way")
        own.switch("kit", on=False)
        result = await asyncio.wait_for(calling, 20)
    assert result.is_error and "unless the user switched it off" in result.text
    assert "async context manager" not in result.text
