from __future__ import annotations

from pathlib import Path

import pytest

from joey.tools.base import ToolContext


@pytest.fixture
def context(tmp_path: Path) -> ToolContext:
    """A task in an empty workspace."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    return ToolContext(workspace, tmp_path / "storage")
