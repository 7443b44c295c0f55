from __future__ import annotations

from pathlib import Path

import pytest

from joey_process import JoeyProcess


@pytest.fixture
def joey(tmp_path: Path) -> JoeyProcess:
    return JoeyProcess(tmp_path)
