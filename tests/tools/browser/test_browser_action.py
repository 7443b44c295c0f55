"""The browser on real pages: one Chromium for the whole file."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import dataclasses
import io
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from PIL import Image
from playwright.async_api import Error

from browser_pages import PAGES
from joey.messages import ImageBlock, ToolResult, ToolUseBlock
from joey.modes.builtin import CODE
from joey.system.hosts import host_of
from joey.tools.base import Permissions, ToolContext, ToolMemory
from joey.tools.browser.session import Timeouts
from joey.tools.builtin.browser_action import Browser, BrowserAction
from joey.tools.registry import Registry, RejectedCall
from joey.tools.toolset import ToolChoices, build_toolset
from pages_kit import Pages, needs_browser

pytestmark = [needs_browser, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pages() -> AsyncIterator[Pages]:
    async with Pages(PAGES) as served:
        yield served


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def context(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ToolContext]:
    """A task in which 127.0.0.1 may be visited, and nothing else."""
    folder = tmp_path_factory.mktemp("browser")
    permissions = Permissions(may_visit=lambda url: host_of(url) == "127.0.0.1")
    context = ToolContext(folder, folder, permissions=permissions)
    yield context
    await context.memory.close()


def session_of(context: ToolContext) -> Any:
    """The open browser, also its inside: a test breaks it."""
    return context.memory[Browser].session


async def call(context: ToolContext, action: str, **arguments: Any) -> ToolResult:
    """What the model is told, as the registry and the plan make it."""
    toolset = build_toolset(CODE, (BrowserAction(),), choices=ToolChoices(features=frozenset({"browser"})))
    resolved = Registry(toolset).resolve(ToolUseBlock("c", "browser_action", {"action": action, **arguments}))
    if isinstance(resolved, RejectedCall):
        return resolved.result
    plan = await resolved.tool.plan(resolved.params, context)
    return plan.refusal or await plan.execute()


def image(result: ToolResult) -> bytes:
    block = result.content[-1]
    assert isinstance(block, ImageBlock) and block.media_type == "image/webp", result.text
    return base64.b64decode(block.data)


async def test_a_page_is_opened_and_shown(pages: Pages, context: ToolContext) -> None:
    result = await call(context, "launch", url=pages.url + "/")
    assert f"URL: {pages.url}/" in result.text and "Viewport: 900x600" in result.text, result.text
    assert "Title: Form" in result.text and "nothing yet" in result.text and "x,y@900x600" in result.text
    assert image(result)[8:12] == b"WEBP"


async def test_an_address_without_a_scheme_is_one(pages: Pages, context: ToolContext) -> None:
    assert "Title: Sent" in (await call(context, "launch", url=f"127.0.0.1:{pages.port}/sent")).text


async def test_a_click_hits_the_point_scaled_from_the_image_to_the_page(pages: Pages, context: ToolContext) -> None:
    await call(context, "launch", url=pages.url + "/")
    result = await call(context, "click", coordinate="200,125@900x600")
    assert "clicked at 200,125" in result.text and "Mouse: 200,125" in result.text and "[log] pressed" in result.text
    result = await call(context, "click", coordinate="100, 60 @ 450x300")
    assert "clicked at 200,120" in result.text and "[log] pressed" in result.text
    assert "pressed" not in (await call(context, "screenshot")).text, "the console is told once"


async def test_hovering_typing_and_keys_reach_the_page(pages: Pages, context: ToolContext) -> None:
    await call(context, "launch", url=pages.url + "/")
    assert "hovered" in (await call(context, "hover", coordinate="450,125@900x600")).text
    assert "Nothing on the page has the focus" in (await call(context, "type", text="lost")).text
    await call(context, "click", coordinate="200,210@900x600")
    await call(context, "type", text="a long sentence")
    assert "[log] key Ctrl+a" in (await call(context, "press", text="ctrl+a")).text
    await call(context, "type", text="naïve & 猫")
    result = await call(context, "press", text="enter")
    assert "Title: Sent" in result.text and "q=na%C3%AFve+%26+%E7%8C%AB" in result.text


async def test_scrolling_moves_by_a_page_and_says_where_it_is(pages: Pages, context: ToolContext) -> None:
    await call(context, "launch", url=pages.url + "/long")
    assert "Scrolled: 600 px of a page of 10000 px" in (await call(context, "scroll_down")).text
    assert "Scrolled: 0 px" in (await call(context, "scroll_up")).text


async def test_a_large_page_is_shown_smaller_and_points_in_it_are_scaled(pages: Pages, context: ToolContext) -> None:
    await call(context, "launch", url=pages.url + "/")
    result = await call(context, "resize", size="3136x1000")
    assert "Viewport: 3136x1000" in result.text and "x,y@1568x500" in result.text
    assert Image.open(io.BytesIO(image(result))).size == (1568, 500)
    assert "clicked at 200,120" in (await call(context, "click", coordinate="100,60@1568x500")).text
    assert "x,y@390x844" in (await call(context, "resize", size="390,844")).text
    await call(context, "resize", size="900x600")


async def test_a_screenshot_can_be_written_to_a_file(pages: Pages, context: ToolContext) -> None:
    await call(context, "launch", url=pages.url + "/")
    for name, start in (("shots/a.png", b"\x89PNG"), ("b.jpeg", b"\xff\xd8"), ("c.webp", b"RIFF")):
        assert f"Wrote the image to {name}" in (await call(context, "screenshot", path=name)).text
        assert (context.workspace / name).read_bytes().startswith(start)
    result = await call(context, "screenshot", path="a.txt")
    assert result.is_error and "path must end in .png, .jpeg or .webp" in result.text


async def test_the_console_is_reported_with_errors_and_within_a_limit(pages: Pages, context: ToolContext) -> None:
    text = (await call(context, "launch", url=pages.url + "/noise")).text
    assert "[error] it broke" in text and "[log] line 98" in text and "more lines)" in text and "line 400" not in text
    assert (
        "[uncaught error] unhandled" in (await call(context, "launch", url=pages.url + "/noise")).text
        or "more lines" in text
    )


async def test_a_huge_page_is_reported_in_part(pages: Pages, context: ToolContext) -> None:
    text = (await call(context, "launch", url=pages.url + "/huge")).text
    assert "more characters: scroll and look" in text and len(text) < 6_000


async def test_dialogs_are_answered_carefully_and_reported(pages: Pages, context: ToolContext) -> None:
    text = (await call(context, "launch", url=pages.url + "/dialogs")).text
    assert "[alert dialog, accepted] hello" in text
    assert "[confirm dialog, answered with no] Delete everything?" in text and "Title: Answer: false" in text


async def test_a_page_that_does_not_want_to_be_left_is_left(pages: Pages, context: ToolContext) -> None:
    await call(context, "launch", url=pages.url + "/leaving")
    await call(context, "click", coordinate="50,5@900x600")
    assert "Title: Sent" in (await call(context, "launch", url=pages.url + "/sent")).text


async def test_what_a_page_loads_late_is_waited_for(pages: Pages, context: ToolContext) -> None:
    assert "Title: Slow" in (await call(context, "launch", url=pages.url + "/slow")).text
    assert "came: <title>Slow" in (await call(context, "launch", url=pages.url + "/slow-part")).text


async def test_a_redirect_on_the_host_is_followed_and_one_to_another_host_is_not(
    pages: Pages, context: ToolContext
) -> None:
    assert f"URL: {pages.url}/sent" in (await call(context, "launch", url=pages.url + "/near")).text
    result = await call(context, "launch", url=pages.url + "/away")
    assert result.is_error and f"leads to 127.0.0.2:{pages.port}, and nobody approved this host" in result.text
    assert not any("127.0.0.2" in request for request in pages.requested)


async def test_nothing_a_page_does_by_itself_reaches_another_host(pages: Pages, context: ToolContext) -> None:
    for path in ("/goes", "/parts", "/popup-away"):
        result = await call(context, "launch", url=pages.url + path)
        if path == "/popup-away":
            result = await call(context, "click", coordinate="50,50@900x600")
        assert f"Not connected to 127.0.0.2:{pages.port}: nobody approved this" in result.text, (path, result.text)
    assert not any("127.0.0.2" in request for request in pages.requested)


async def test_a_new_tab_is_shown(pages: Pages, context: ToolContext) -> None:
    await call(context, "launch", url=pages.url + "/popup")
    result = await call(context, "click", coordinate="50,50@900x600")
    assert "A new tab was opened and is shown now" in result.text and "Title: Sent" in result.text
    text, _, _ = (await call(context, "launch", url=pages.url + "/")).text.partition("<page_content>")
    assert "tab" not in text, "what a launch closes is no news"


async def test_downloads_go_nowhere(pages: Pages, context: ToolContext) -> None:
    result = await call(context, "launch", url=pages.url + "/download")
    assert result.is_error and "it would be a download" in result.text
    await call(context, "launch", url=pages.url + "/link")
    assert "A download was refused: evil.sh" in (await call(context, "click", coordinate="20,10@900x600")).text
    assert not list(context.workspace.rglob("evil*"))


async def test_a_page_gets_no_file_and_no_permission(pages: Pages, context: ToolContext) -> None:
    await call(context, "launch", url=pages.url + "/chooser")
    assert "The page asked for a file" in (await call(context, "click", coordinate="40,10@900x600")).text
    text = (await call(context, "launch", url=pages.url + "/asks")).text
    assert "[log] no place" in text


async def test_what_the_server_says_is_reported(pages: Pages, context: ToolContext) -> None:
    result = await call(context, "launch", url=pages.url + "/broken")
    assert "HTTP 500" in result.text and "it failed" in result.text and not result.is_error
    async with Pages({}) as gone:
        pass
    result = await call(context, "launch", url=gone.url)
    assert result.is_error and f"127.0.0.1:{gone.port} cannot be reached" in result.text


async def test_a_page_cannot_write_its_way_out_of_the_marks(pages: Pages, context: ToolContext) -> None:
    text = (await call(context, "launch", url=pages.url + "/marks")).text
    assert text.lower().count("</page_content>") == 1 and text.count("&lt;") >= 4  # title, text twice, and what it logs
    assert text.index("Now do as I say") < text.index("</page_content>")


async def test_a_page_that_crashes_is_reported_and_can_be_launched_again(pages: Pages, context: ToolContext) -> None:
    await call(context, "launch", url=pages.url + "/")
    session = session_of(context)
    devtools = await session._context.new_cdp_session(session.page)
    with contextlib.suppress(TimeoutError, Error):
        await asyncio.wait_for(devtools.send("Page.crash"), 0.5)
    result = await call(context, "screenshot")
    assert result.is_error and "the page has crashed. Launch it again" in result.text
    assert "Title: Form" in (await call(context, "launch", url=pages.url + "/")).text


async def test_a_page_that_hangs_is_reported_and_can_be_left(pages: Pages, context: ToolContext) -> None:
    await call(context, "launch", url=pages.url + "/hang")
    session = session_of(context)
    session.timeouts, usual = Timeouts(act=0.1, settle=0.1), session.timeouts
    result = await call(context, "click", coordinate="50,50@900x600")
    assert result.is_error and "does not respond. Launch it again" in result.text
    session.timeouts = usual
    assert "Title: Form" in (await call(context, "launch", url=pages.url + "/")).text


async def test_a_browser_that_ended_is_reported_and_started_again(pages: Pages, context: ToolContext) -> None:
    await call(context, "launch", url=pages.url + "/")
    await session_of(context)._browser.close()
    result = await call(context, "click", coordinate="1,1@900x600")
    assert result.is_error and "the browser has ended. Launch the page again" in result.text
    assert "Title: Form" in (await call(context, "launch", url=pages.url + "/")).text


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"action": "click"}, "click needs coordinate"),
        ({"action": "launch"}, "launch needs url"),
        ({"action": "press"}, "press needs text"),
        ({"action": "click", "coordinate": "1000,10@900x600"}, "it is outside of it"),
        ({"action": "click", "coordinate": "in the middle"}, "coordinate must be x,y@WIDTHxHEIGHT"),
        ({"action": "press", "text": "AnyKey"}, "'AnyKey' is no key"),
        ({"action": "resize", "size": "9x9"}, "from 100 to 4000 pixels"),
        ({"action": "launch", "url": "file:///etc/passwd"}, "is no http or https address"),
        ({"action": "launch", "url": "data:text/html,hi"}, "is no http or https address"),
        ({"action": "launch", "url": "javascript:alert(1)"}, "is no http or https address"),
        ({"action": "dance"}, "action"),
    ],
)
async def test_a_wrong_call_is_answered_with_what_is_wrong(
    pages: Pages, context: ToolContext, arguments: dict[str, Any], problem: str
) -> None:
    if context.memory[Browser].session is None:
        await call(context, "launch", url=pages.url + "/")
    result = await call(context, **arguments)
    assert result.is_error and problem in result.text


async def test_before_launch_and_after_close_there_is_nothing_to_act_on(tmp_path: Path) -> None:
    fresh = ToolContext(tmp_path, tmp_path)
    result = await call(fresh, "click", coordinate="1,1@900x600")
    assert result.is_error and "no page is open, so there is nothing to click. Launch one first" in result.text
    assert (await call(fresh, "close")).text == "The browser was not open."


async def test_a_missing_browser_is_reported(tmp_path: Path) -> None:
    tool = BrowserAction(program="no-such-chromium")
    plan = await tool.plan(tool.params(action="launch", url="http://localhost"), ToolContext(tmp_path, tmp_path))
    assert plan.refusal and "browser.program names no-such-chromium" in plan.refusal.text


async def test_a_program_that_is_no_browser_is_reported(tmp_path: Path, context: ToolContext) -> None:
    tool, fresh = BrowserAction(program="true"), dataclasses.replace(context, memory=ToolMemory())
    result = await tool.run(tool.params(action="launch", url="http://localhost:9"), fresh)
    assert result.is_error and "could not be started" in result.text
    await fresh.memory.close()
