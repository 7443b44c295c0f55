"""Joey's end of the socket to the process inside a sandbox (`inside.py`).

    starting -> serving -> closed

What comes from inside is checked word by word: a command may have taken that process over, and can then lie about how
commands ended, but nothing more. When the socket closes, every command that still ran counts as killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import marshal
import os
import re
import select
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from joey.errors import JoeyError
from joey.system.processes import ProcessGroup, group_led_by, pid_outside

_START_TIMEOUT = 20.0
_END_TIMEOUT = 5.0
_LINE = re.compile(rb"(started|failed|ended) (\d{1,9}) (\d{1,9})")
_HELLO = re.compile(rb'hello \{"writable_outside": (\d{1,4}), "route": ([01]), "pid": (\d{1,9})\}')
_MAX_LINE = 200
_MAX_REPORT = 4000


class SandboxError(JoeyError):
    """A sandbox could not be set up, or is gone; the text says why."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What the process inside found when it tried the walls."""

    writable_outside: int
    route: bool
    pid: int


@dataclass(eq=False, slots=True)
class ConfinedProcess:
    """A command inside. Its process id is the sandbox's, where that has ids of its own."""

    pid: int
    _holder: Holder
    _ended: asyncio.Future[int]

    @property
    def group(self) -> ProcessGroup | None:
        """Its process group as it is known outside; None if it has ended."""
        outside = self._holder.outside(self.pid)
        return None if outside is None else group_led_by(outside)

    async def wait(self) -> int:
        """How it ended: its exit code, or the signal, negative."""
        return await asyncio.shield(self._ended)

    def signal_group(self, number: signal.Signals) -> None:
        """To the command and everything it started that is still in its process group."""
        self._holder.signal_group(self.pid, number)


@dataclass(eq=False)
class Holder:
    """The process inside, and the commands it runs."""

    process: subprocess.Popen[bytes]
    socket: socket.socket
    report: int
    """What the process, or the program that starts it, wrote to its standard error."""
    findings: Findings | None = None
    closed: bool = False
    failure: str = ""
    """What it wrote last, once it is closed."""
    _buffer: bytearray = field(default_factory=bytearray)
    _count: int = 0
    _starting: dict[int, asyncio.Future[int]] = field(default_factory=dict)
    _running: dict[int, asyncio.Future[int]] = field(default_factory=dict)
    _hello: asyncio.Future[Findings] | None = None

    async def set_up(self, setup: Mapping[str, Any]) -> Findings:
        """Hand over what the process needs to confine itself, and wait until it has tried the walls."""
        loop = asyncio.get_running_loop()
        self._hello = loop.create_future()
        self.socket.setblocking(False)
        loop.add_reader(self.socket, self._read)
        try:
            await self._send(dict(setup))
            async with asyncio.timeout(_START_TIMEOUT):
                self.findings = await self._hello
        except (TimeoutError, OSError, SandboxError) as error:
            self.close()
            raise SandboxError(self.failure or str(error) or "it did not answer") from None
        except BaseException:
            self.close()
            raise
        return self.findings

    async def start(
        self, argv: Sequence[str], cwd: str, environment: Mapping[str, str], descriptors: Sequence[int]
    ) -> ConfinedProcess:
        """Run a program with these descriptors as its first. Raises OSError if it cannot be started."""
        if self.closed:
            raise SandboxError("the sandbox has ended")
        loop = asyncio.get_running_loop()
        self._count += 1
        number = self._count
        started = self._starting[number] = loop.create_future()
        ended = self._running[number] = loop.create_future()
        words = [os.fsencode(each) for each in argv]
        variables = {os.fsencode(name): os.fsencode(value) for name, value in environment.items()}
        await self._send(("run", number, words, os.fsencode(cwd), variables), descriptors)
        try:
            pid = await started
        except OSError:
            del self._running[number]
            raise
        return ConfinedProcess(pid, self, ended)

    def signal_group(self, pid: int, number: int) -> None:
        with contextlib.suppress(OSError):
            self._send_now(_framed(("signal", pid, int(number))), ())

    @property
    def children(self) -> tuple[int, ...]:
        """The processes of commands and what they left behind, as far as they are nobody else's children."""
        first = _children(self.process.pid) if self._has_monitor else [self.process.pid]
        return tuple(each for parent in first for each in _children(parent))

    def outside(self, pid: int) -> int | None:
        """What a process that was started inside is called outside."""
        return pid_outside(self.children, pid) if self._has_monitor else pid

    @property
    def _has_monitor(self) -> bool:
        """Whether the process inside has ids of its own: then bubblewrap waits outside."""
        return self.findings is not None and self.findings.pid != self.process.pid

    def close(self) -> None:
        """End the sandbox and everything in it. When this returns, none of it can do anything any more."""
        if self.closed:
            return
        self.closed = True
        first = [_watched(each) for each in _children(self.process.pid)] if self._has_monitor else []
        with contextlib.suppress(RuntimeError):  # the loop may be gone already
            asyncio.get_running_loop().remove_reader(self.socket)
        self.socket.close()
        if self.findings is not None and not self._has_monitor:
            self._let_it_end()
        self.process.kill()
        self.process.wait()
        _wait_for([each for each in first if each is not None])
        self.failure = self._last_line()
        os.close(self.report)
        gone = SandboxError("the sandbox has ended")
        waiting: list[asyncio.Future[Any]] = [*self._starting.values(), *([self._hello] if self._hello else [])]
        for each in waiting:
            if not each.done():
                each.set_exception(gone)
                each.exception()  # whoever waits hears of it; where nobody does, nothing went wrong
        for ended in self._running.values():
            if not ended.done():
                ended.set_result(-signal.SIGKILL)
        self._running.clear()

    def _let_it_end(self) -> None:
        """Without a PID namespace it kills what commands left behind, and then ends by itself."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_END_TIMEOUT)

    # The socket

    async def _send(self, message: Any, descriptors: Sequence[int] = ()) -> None:
        data = _framed(message)
        sent = await self._when_writable(lambda: socket.send_fds(self.socket, [data], list(descriptors)))
        if sent < len(data):
            await asyncio.get_running_loop().sock_sendall(self.socket, memoryview(data)[sent:])

    async def _when_writable(self, send: Any) -> int:
        while True:
            try:
                return int(send())
            except BlockingIOError:
                await asyncio.sleep(0.001)

    def _send_now(self, data: bytes, descriptors: Sequence[int]) -> None:
        if not self.closed:
            socket.send_fds(self.socket, [data], list(descriptors))

    def _read(self) -> None:
        try:
            data = self.socket.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._buffer += data
        while (end := self._buffer.find(b"\n")) >= 0:
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            self._take(line)
        if not data or len(self._buffer) > _MAX_LINE:
            self.close()

    def _take(self, line: bytes) -> None:
        if hello := _HELLO.fullmatch(line):
            if self._hello is not None and not self._hello.done():
                self._hello.set_result(Findings(int(hello[1]), hello[2] == b"1", int(hello[3])))
        elif report := _LINE.fullmatch(line):
            self._note(report[1], int(report[2]), int(report[3]))

    def _note(self, what: bytes, number: int, value: int) -> None:
        waiting = self._running.pop(number, None) if what == b"ended" else self._starting.pop(number, None)
        if waiting is None or waiting.done():
            return
        if what == b"failed":
            waiting.set_exception(OSError(value, os.strerror(value)))
        else:
            waiting.set_result(_exit_code(value) if what == b"ended" else value)

    def _last_line(self) -> str:
        with contextlib.suppress(OSError):
            text = os.pread(self.report, _MAX_REPORT, 0).decode("utf-8", "replace").strip()
            return text.splitlines()[-1].strip() if text else ""
        return ""


def _children(pid: int) -> list[int]:
    try:
        tasks = Path(f"/proc/{pid}/task").iterdir()
        return [int(each) for task in tasks for each in (task / "children").read_text("ascii").split()]
    except OSError:
        return []


def _watched(pid: int) -> int | None:
    """A descriptor that becomes readable when the process has ended."""
    try:
        return os.pidfd_open(pid)
    except (OSError, AttributeError):
        return None


def _wait_for(processes: Sequence[int]) -> None:
    """The first process of a PID namespace ends only after all the others in it."""
    for each in processes:
        select.select([each], [], [], _END_TIMEOUT)
        os.close(each)


def _framed(message: Any) -> bytes:
    data = marshal.dumps(message)
    return len(data).to_bytes(4, "big") + data


def _exit_code(status: int) -> int:
    try:
        return os.waitstatus_to_exitcode(status)
    except ValueError:
        return 255


def hold(argv: Sequence[str], descriptors: Sequence[int] = ()) -> Holder:
    """Start the process inside; its end of the socket is appended to the arguments. Raises OSError."""
    ours, theirs = socket.socketpair()
    report = os.memfd_create("joey-sandbox-report") if hasattr(os, "memfd_create") else os.open(os.devnull, os.O_RDWR)
    try:
        process = subprocess.Popen(  # noqa: S603 - bubblewrap or Python, with arguments of ours
            [*argv, str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=report,
            pass_fds=(theirs.fileno(), *descriptors),
            start_new_session=True,
            cwd="/",
            env={"LC_ALL": "C.UTF-8"},
        )
    except BaseException:
        ours.close()
        os.close(report)
        raise
    finally:
        theirs.close()
    return Holder(process, ours, report)
