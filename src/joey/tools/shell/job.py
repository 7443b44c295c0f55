"""One running command: a process group of its own, its output, and how it ended.

States: running -> ended (the shell has exited) -> closed (nothing can print any more).
A command may leave processes behind that hold its output open (`server &`). Then the shell has exited and yet the
output has not ended: after a short grace the job counts as ended but not closed, and output goes on to be kept. Killing
a job kills its whole process group, those left behind included; a process that made a session of its own is not in it.

Output is read by the event loop as it comes, whether or not anybody waits for the job, so a job goes on after the call
that started it has returned.

How a process ended is told in words that are true. A shell reports a program that a signal ended as 128 plus the
signal's number. A program may also end with such a code by itself, so the words give both the code and what it usually
means.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import pty
import shutil
import signal
import struct
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from joey.bounded.folders import open_folder
from joey.sandbox import Sandbox
from joey.system.processes import ProcessGroup, group_led_by
from joey.tools.shell.artifacts import CommandRecord, write_record
from joey.tools.shell.environment import command_environment
from joey.tools.shell.output import CommandOutput, LiveText

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


CLOSING_GRACE = 1.0
"""How long to wait, after the shell has exited, for the output to end."""
_KILL_GRACE = 0.5
_CHUNK = 64 * 1024
_LIVE_INTERVAL = 0.1
_ROWS, _COLUMNS = 50, 120
_ENVIRONMENT = {"PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}
"""Nobody is there to page, or to type a password."""


class Process(Protocol):
    """A process that leads a group of its own, in a sandbox or not."""

    @property
    def pid(self) -> int:
        """As the commands of the same sandbox know it."""

    @property
    def group(self) -> ProcessGroup | None:
        """Its process group as everybody else knows it; None if that is gone already."""

    async def wait(self) -> int:
        """How it ended: the exit code, or the signal, negative."""

    def signal_group(self, number: signal.Signals) -> None:
        """To everything of its group that is still there."""


@dataclass(frozen=True, slots=True)
class BareProcess:
    """A process that nothing confines."""

    process: asyncio.subprocess.Process

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def group(self) -> ProcessGroup:
        return group_led_by(self.process.pid)

    async def wait(self) -> int:
        return await self.process.wait()

    def signal_group(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)


@dataclass(eq=False)
class Job:
    """A command that runs, or has run."""

    command: str
    cwd: Path
    process: Process
    output: CommandOutput
    live: LiveText
    sandbox: Sandbox | None = None
    """What it runs in; None where nothing confines it."""
    started: float = field(default_factory=time.monotonic)
    began: float = field(default_factory=time.time)
    """The same by the clock on the wall, which files are dated by."""
    exit: ExitStatus | None = None
    is_detached: bool = False
    """Whether nobody waits for it: it runs in the background."""
    _closed: asyncio.Event = field(default_factory=asyncio.Event)
    _ended: asyncio.Event = field(default_factory=asyncio.Event)
    _fd: int = -1
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    @property
    def id(self) -> str:
        """The id under which its output is kept; empty if it is not kept."""
        return self.output.artifact.name if self.output.artifact else ""

    @property
    def is_running(self) -> bool:
        """Whether something of it is still there: the shell, or what it left behind."""
        return not (self._ended.is_set() and self._closed.is_set())

    async def ended(self) -> None:
        """Wait until the shell has exited and the output has ended, or is held open by something left behind."""
        await self._ended.wait()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSING_GRACE):
                await self._closed.wait()
        self.live.flush()

    async def kill(self) -> None:
        """End the whole process group: first asked to, then made to. Returns when the shell is gone."""
        try:
            self._signal(signal.SIGTERM)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_KILL_GRACE):
                    await self._ended.wait()
                    await self._closed.wait()
        finally:  # whatever happens to us meanwhile
            self._signal(signal.SIGKILL)
        await self.ended()

    def kill_now(self) -> None:
        """End the whole process group at once, without waiting for it: for a process that is about to end itself."""
        self._signal(signal.SIGKILL)

    def kill_in(self, seconds: float) -> None:
        """End it later, if it still runs then."""
        self._tasks.append(asyncio.create_task(self._kill_after(seconds)))

    async def _kill_after(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, seconds)):
                await self._ended.wait()
                await self._closed.wait()
        if self.is_running:
            await self.kill()

    def detach(self) -> None:
        """It goes on in the background: its output is kept from now on, and no longer shown live."""
        self.is_detached = True
        self.live.stop()
        self.output.keep()

    def _signal(self, number: signal.Signals) -> None:
        self.process.signal_group(number)

    def watch(self, fd: int) -> None:
        """Begin to read the output from this descriptor, which is ours from now on."""
        self._fd = fd
        os.set_blocking(fd, False)
        asyncio.get_running_loop().add_reader(fd, self._read)
        self._tasks = [asyncio.create_task(self._await_exit()), asyncio.create_task(self._show_live())]

    async def _await_exit(self) -> None:
        self.exit = ExitStatus.of(await self.process.wait())
        self._ended.set()
        if self.output.artifact is not None:
            with contextlib.suppress(OSError):
                write_record(self.output.artifact, CommandRecord(self.command, str(self.cwd), self.exit.code))

    async def _show_live(self) -> None:
        while not self._closed.is_set():
            await asyncio.sleep(_LIVE_INTERVAL)
            self.live.flush()

    def _read(self) -> None:
        try:
            data = os.read(self._fd, _CHUNK)
        except BlockingIOError:
            return
        except OSError:  # how a pseudo-terminal says that nobody is left at its other end
            data = b""
        if data:
            self.live.add(self.output.feed(data))
        else:
            self._close()

    def _close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._fd)
        os.close(self._fd)
        self.output.finish()
        self._closed.set()


async def start(
    command: str,
    cwd: Path,
    output: CommandOutput,
    show: Callable[[str], None],
    *,
    terminal: bool = False,
    environment: Mapping[str, str] | None = None,
    sandbox: Sandbox | None = None,
) -> Job:
    """Run a command line in the shell, by default in the environment that commands get, inside a sandbox if there is
    one. Raises OSError if that is not possible."""
    variables = command_environment(os.environ).variables if environment is None else environment
    began = time.time()
    ours, theirs = _open_terminal() if terminal else os.pipe()
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        variables = {**variables, **_ENVIRONMENT, **({"TERM": "xterm-256color"} if terminal else {})}
        argv, descriptors = (shell(), "-c", command), (nothing, theirs, theirs)
        process = await start_process(argv, cwd, variables, descriptors, sandbox)
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
        os.close(nothing)
    job = Job(command, cwd, process, output, LiveText(show), sandbox, began=began)
    job.watch(ours)
    return job


async def start_process(
    argv: Sequence[str], cwd: Path, environment: Mapping[str, str], descriptors: Sequence[int], sandbox: Sandbox | None
) -> Process:
    """A process with these descriptors as its standard input, output and errors, inside a sandbox if there is one.
    Raises OSError."""
    if sandbox is not None and sandbox.is_open:
        return await sandbox.start(argv, cwd, environment, descriptors)
    stdin, stdout, stderr = descriptors
    with _held(cwd) as folder:
        return BareProcess(
            await asyncio.create_subprocess_exec(
                *argv, cwd=folder, env=environment, stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True
            )
        )


@contextlib.contextmanager
def _held(cwd: Path) -> Iterator[str]:
    """A way into the folder that was judged, whatever takes its place now. Raises OSError if that is a link already."""
    folder = open_folder(cwd)
    try:
        held = f"/proc/self/fd/{folder}"
        yield held if Path(held).exists() else str(cwd)
    finally:
        os.close(folder)


def shell() -> str:
    """The shell that reads command lines: bash, which models write for, or whatever `sh` is."""
    return shutil.which("bash") or "/bin/sh"


def _open_terminal() -> tuple[int, int]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
    return ours, theirs
