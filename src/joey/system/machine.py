"""What this machine has to run a model on: cores, how busy they are, memory. None where the system does not say."""

from __future__ import annotations

import os
import re
from pathlib import Path

_CPUS = Path("/sys/devices/system/cpu")
_MEMORY = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup")


def cores(cpus: Path = _CPUS) -> int:
    """Physical cores this process may use: two threads on one core get in each other's way when computing."""
    usable = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    siblings = {_text(cpus / f"cpu{cpu}" / "topology" / "thread_siblings_list") or str(cpu) for cpu in usable}
    return max(1, len(siblings))


def is_busy(usual: int) -> bool:
    """Whether others keep more than this many cores at work. An earlier run of ours, on as many, is no reason."""
    try:
        return os.getloadavg()[0] > usual
    except OSError:
        return False


def free_memory(meminfo: Path = _MEMORY, group: Path = _GROUP) -> int | None:
    """Bytes that programs can still have: of the machine, and of the container if that has a limit."""
    found = re.search(r"^MemAvailable:\s+(\d+) kB", _text(meminfo), re.MULTILINE)
    free = int(found[1]) * 1024 if found else _all_memory()
    limit, used = _text(group / "memory.max"), _text(group / "memory.current")
    if limit.isdigit() and used.isdigit():
        left = max(0, int(limit) - int(used))
        return left if free is None else min(free, left)
    return free


def _all_memory() -> int | None:
    """All there is, where the system does not say how much of it is free."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
