"""Work on data that somebody else made, in a process of its own with limits on memory and time.

Libraries that read documents and images cannot be trusted to stop: they are large, and whoever makes a file knows
them better than we do. So they run in a child, which limits itself before it touches the file (`hold_limits`), reads it
from its standard input and writes its answer to its standard output. What the limits end is an error in words here; the
parent's memory holds neither the file nor what the library made of it.

The child is `python -m MODULE`, never with the current folder among the places that modules come from. Modules that run
so import little: starting is what it costs, some 30 ms and what the library takes to load.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Sequence

from joey.errors import JoeyError

MAX_MEMORY = 190 * 1024 * 1024
MAX_CPU_SECONDS = 15
_MAX_SECONDS = 60
"""Only for a child that does not even use time; on a busy machine the seconds of the processor take longer."""
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH")
"""Of the environment: what it takes to find Python and its packages, and nothing else."""


class LimitError(JoeyError):
    """The work was given up. The text says at which limit."""


def run_bounded(module: str, arguments: Sequence[str], file: int | bytes) -> bytes:
    """What the module prints about the file (a descriptor, or its content). Blocks.

    Raises LimitError if it ends in any way but well.
    """
    command = [sys.executable, "-P", "-m", module, *arguments]
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter, with arguments of ours
            command,
            stdin=file if isinstance(file, int) else None,
            input=None if isinstance(file, int) else file,
            capture_output=True,
            timeout=_MAX_SECONDS,
            env=environment,
            cwd="/",
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise LimitError(f"it took more than {_MAX_SECONDS} seconds") from None
    except OSError as error:
        raise LimitError(f"no process could be started to read it ({error.strerror})") from None
    if done.returncode == 0:
        return done.stdout
    if b"MemoryError" in done.stderr:
        raise LimitError(f"it takes more than {MAX_MEMORY // 1024**2} MB of memory")
    if done.returncode < 0:
        raise LimitError("it takes too many seconds, or breaks the library that reads it")
    last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
    raise LimitError(f"the library that reads it failed ({last[:200]})")


def hold_limits(seconds: int = MAX_CPU_SECONDS) -> None:
    """In the child, first of all: from here on it cannot have more."""
    _limit(resource.RLIMIT_CPU, seconds)
    _limit(resource.RLIMIT_DATA, MAX_MEMORY)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)


def _limit(what: int, limit: int) -> None:
    hard = resource.getrlimit(what)[1]
    resource.setrlimit(what, (limit, limit) if hard == resource.RLIM_INFINITY or hard > limit else (hard, hard))
