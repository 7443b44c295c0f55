from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from joey_process import JoeyProcess
from sandbox_kit import need_bubblewrap
from victim_kit import Victim, a_victim


@pytest.fixture
def joey(tmp_path: Path) -> JoeyProcess:
    return JoeyProcess(tmp_path)


@pytest.fixture
def victim() -> Iterator[Victim]:
    with a_victim() as made:
        yield made


@pytest.fixture(params=["ask", "read-only", "edits", "auto"])
def profile(request: pytest.FixtureRequest) -> str:
    """Every profile that promises something."""
    if request.param == "auto":
        need_bubblewrap()
    return str(request.param)
