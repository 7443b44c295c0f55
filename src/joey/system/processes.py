"""Process groups that outlive whoever started them: found again later, and never mistaken for another.

The number of a group is used again once nothing of it is left. So a group is known by its number and by what marks its
leader: the boot of the machine, the space in which processes are counted, and the moment the leader started. While
anything of a group is left its number is taken, so where the leader is gone, its session still has the number.
Where there is no /proc the mark is empty, and a group of the same number counts.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class ProcessGroup:
    """A group that leads a session of its own. `mark` tells it from a later one with the same number."""

    number: int
    mark: str = ""


@dataclass(frozen=True, slots=True)
class _Process:
    pid: int
    group: int
    session: int
    mark: str


def group_led_by(pid: int) -> ProcessGroup:
    """The group of a process that was just started as its leader."""
    process = _look_at(pid)
    return ProcessGroup(pid, process.mark if process else "")


def still_running(groups: Collection[ProcessGroup]) -> set[ProcessGroup]:
    """Those of the groups in which something is left that runs."""
    if not groups:
        return set()
    if not (_PROC / "self" / "stat").exists():
        return {each for each in groups if _exists(each.number)}
    wanted = {each.number for each in groups}
    found = [process for process in _all() if process.group in wanted and process.session == process.group]
    marks = {process.pid: process.mark for process in found if process.pid == process.group}
    present = {process.group for process in found}
    return {each for each in groups if each.number in present and marks.get(each.number, each.mark) == each.mark}


def pid_outside(pids: Collection[int], inside: int) -> int | None:
    """Which of these processes counts as `inside` in the innermost space that it is in."""
    for pid in pids:
        with suppress(OSError, ValueError):
            status = (_PROC / str(pid) / "status").read_text("ascii", "replace")
            numbers = next(line for line in status.splitlines() if line.startswith("NSpid:")).split()[1:]
            if int(numbers[-1]) == inside:
                return pid
    return None


def _all() -> Iterator[_Process]:
    for name in os.listdir(_PROC):  # noqa: PTH208 - names only
        if name.isdigit() and (process := _look_at(int(name))) is not None:
            yield process


def _look_at(pid: int) -> _Process | None:
    """None for what has ended, also if nobody has asked how yet."""
    try:
        text = (_PROC / str(pid) / "stat").read_text("utf-8", "replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()  # the name before it may hold anything
    if fields[0] in ("Z", "X"):
        return None
    return _Process(pid, int(fields[2]), int(fields[3]), f"{_space()} {fields[19]}")


@cache
def _space() -> str:
    """The boot, and the space of process numbers: a container has one of its own."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text("ascii").strip()
        return f"{boot} {(_PROC / 'self/ns/pid').readlink()}"
    except OSError:
        return ""


def _exists(number: int) -> bool:
    try:
        os.killpg(number, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
