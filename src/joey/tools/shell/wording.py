"""What a command did, in the words of its result."""

from __future__ import annotations

from joey.tools.shell.exit_status import ExitStatus


def ending(status: ExitStatus) -> str:
    """How the command ended: `exit code 2`, `terminated by signal SIGKILL (exit code 137)`."""
    if not status.is_known_signal:
        return f"exit code {status.code}"
    core = ", core dump possible" if status.may_dump_core else ""
    return f"terminated by signal {status.signal_name} (exit code {status.code}{core})"


def size(count: int) -> str:
    if count < 1024:
        return f"{count} bytes"
    return f"{count / 1024:.1f} KB" if count < 1024**2 else f"{count / 1024**2:.1f} MB"


def status_of(status: ExitStatus | None, *, is_running: bool) -> str:
    """Where a job stands: `running`, or how it ended and whether it left something behind."""
    if status is None:
        return "running"
    return f"{ending(status)}; processes it left behind still run" if is_running else ending(status)
