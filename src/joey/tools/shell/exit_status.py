"""How a process ended, in words that are true.

A shell reports a program that a signal ended as 128 plus the signal's number. A program may also end with such a code
by itself, so the words give both the code and what it usually means.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass

_DUMPS_CORE = {
    signal.SIGQUIT, signal.SIGILL, signal.SIGTRAP, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGSEGV,
    signal.SIGSYS, signal.SIGXCPU, signal.SIGXFSZ,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ExitStatus:
    """An exit code as a shell counts, and the signal behind it, if any."""

    code: int
    signal: int | None = None

    @classmethod
    def of(cls, code: int) -> ExitStatus:
        """From what the system or the shell reported: negative for a signal, above 128 for a signal of a child."""
        if code < 0:
            return cls(128 - code, -code)
        return cls(code, code - 128 if code > 128 else None)

    def __str__(self) -> str:
        """`exit code 2`, or `terminated by signal SIGKILL (exit code 137)`."""
        if not self.is_known_signal:
            return f"exit code {self.code}"
        core = ", core dump possible" if self.may_dump_core else ""
        return f"terminated by signal {self.signal_name} (exit code {self.code}{core})"

    @property
    def signal_name(self) -> str | None:
        if self.signal is None:
            return None
        try:
            return signal.Signals(self.signal).name
        except ValueError:
            return f"Unknown Signal ({self.signal})"

    @property
    def may_dump_core(self) -> bool:
        return self.signal in _DUMPS_CORE

    @property
    def is_known_signal(self) -> bool:
        return self.signal in set(signal.Signals)


def describe_status(status: ExitStatus | None, *, is_running: bool) -> str:
    """Where a job stands: `running`, or how it ended and whether it left something behind."""
    if status is None:
        return "running"
    return f"{status}; processes it left behind still run" if is_running else str(status)
