from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from web_kit import WebKits


@pytest.fixture
async def kits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[WebKits]:
    async with WebKits(tmp_path, monkeypatch) as made:
        yield made
