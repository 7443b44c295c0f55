"""The terminal lives on after an error that nobody expected, so a test has to look into the log to see that one was."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def nothing_unexpected(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[None]:
    yield
    if request.node.get_closest_marker("expects_errors") is None:
        logs = [path.read_text(encoding="utf-8") for path in tmp_path.rglob("errors.log")]
        assert not logs, "\n".join(logs)
