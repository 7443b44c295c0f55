from __future__ import annotations

import os
from pathlib import Path

import pytest

from joey.system import machine


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


def test_two_threads_of_one_core_count_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    for cpu in range(4):
        write(tmp_path / f"cpu{cpu}" / "topology", thread_siblings_list=f"{cpu % 2},{cpu % 2 + 2}\n")
    assert machine.cores(tmp_path) == 2


def test_a_machine_that_does_not_tell_has_a_core_for_each_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 5}, raising=False)
    assert machine.cores(tmp_path) == 2


@pytest.mark.parametrize(
    ("limit", "used", "free"),
    [("max", "5", 2048), ("3000", "2000", 1000), ("9000", "1000", 2048), ("1000", "2000", 0)],
)
def test_memory_is_what_the_machine_and_the_container_allow(tmp_path: Path, limit: str, used: str, free: int) -> None:
    meminfo = write(tmp_path, meminfo="MemTotal:  9 kB\nMemAvailable:       2 kB\n") / "meminfo"
    group = write(tmp_path / "group", memory__max=limit, memory__current=used)
    assert machine.free_memory(meminfo, group) == free


def test_where_free_memory_is_unknown_all_of_it_is_assumed(tmp_path: Path) -> None:
    assert machine.free_memory(tmp_path / "none", tmp_path) == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
