"""The page at `/`, in a real browser: a request as it streams, and nothing of it as markup."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from gateway_kit import PATHS, call_text, request_body, served
from joey.testing import Faults, reply
from joey.tools.browser.chromium import find_chromium
from pages_kit import needs_browser

WRITTEN = "Well <i>done</i> \u202eexe.txt\u200b " + "word " * 20 + "\n" + call_text("list_files")


@pytest.fixture
async def browser() -> AsyncIterator[Any]:
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        opened = await playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        yield opened
        await opened.close()


@needs_browser
async def test_a_request_is_shown_while_it_streams(browser: Any) -> None:
    async with served(reply(WRITTEN, faults=Faults(pause=0.5))) as port, httpx2.AsyncClient(trust_env=False) as client:
        address = f"http://127.0.0.1:{port}"
        problems: list[str] = []
        page = await browser.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        await page.goto(address)
        await page.wait_for_selector("text=No requests yet.")
        body = request_body("chat", words="<b>List</b> them", stream=True)
        posting = asyncio.create_task(client.post(f"{address}{PATHS['chat']}", json=body, timeout=60))
        await page.locator("tbody tr").focus()
        await page.keyboard.press("Enter")
        await page.locator("#wrote", has_text="Well <i>done</i>").wait_for()
        assert not posting.done(), "it is shown only when it is complete"
        assert await page.inner_text("#wanted") == "<b>List</b> them"
        await posting
        await page.locator("#made", has_text="[call list_files] {}").wait_for()
        await page.wait_for_selector("tr.done >> text=done")
        assert "\u2039U+202E\u203aexe.txt\u2039U+200B\u203a" in await page.inner_text("#wrote")
        assert await page.evaluate("document.activeElement.dataset.number") == "1", "the keyboard lost its place"
        assert f"{address}/requests/1/replay" in await page.inner_text("#replay")
        assert await page.locator("#wanted b, #wrote i").count() == 0 and problems == []


@needs_browser
async def test_the_page_is_as_wide_as_a_telephone(browser: Any) -> None:
    async with served(reply("Hello.")) as port, httpx2.AsyncClient(trust_env=False) as client:
        address = f"http://127.0.0.1:{port}"
        await client.post(f"{address}{PATHS['chat']}", json=request_body("chat", tools=[]))
        page = await browser.new_page(viewport={"width": 400, "height": 800})
        await page.goto(address)
        await page.wait_for_selector("text=1 recent request")
        await page.locator("tbody tr").click()
        await page.locator("#facts", has_text="0 tools;").wait_for()
        width = await page.evaluate("document.documentElement.scrollWidth")
    assert width <= 400
