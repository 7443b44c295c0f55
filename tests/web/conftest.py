from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from joey.tools.browser.chromium import find_chromium
from web_kit import WebKits


@pytest.fixture
async def kits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[WebKits]:
    async with WebKits(tmp_path, monkeypatch) as made:
        yield made


@pytest.fixture
async def browser() -> AsyncIterator[Any]:
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        opened = await playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        yield opened
        await opened.close()
