from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from acp_kit import Desks


@pytest.fixture
async def desks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desks]:
    found = Desks(tmp_path, monkeypatch)
    yield found
    await found.close()
