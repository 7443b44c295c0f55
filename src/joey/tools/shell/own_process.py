"""Joey's own process, closed to the commands that it starts.

A command gets an environment without keys, but Joey's own has them, and Linux lets every process of the same user read
it (`/proc/PID/environ`) and the memory behind it. A process that is not dumpable is excepted from that. Root may read
it all the same: there only the sandbox helps, in which other processes are not seen.
"""

from __future__ import annotations

import contextlib
import sys
from functools import cache

_PR_SET_DUMPABLE = 4


@cache
def hide_own_process() -> None:
    """Let no other process of the user read our environment and memory. Programs that we start are as ever."""
    if sys.platform != "linux":
        return
    import ctypes  # noqa: PLC0415 - only who runs commands pays for it

    with contextlib.suppress(OSError, AttributeError):  # another C library: then it stays as it is
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
