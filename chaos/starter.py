"""Starts `joey` in a moment: a process that has loaded it already forks for each start.

What is loaded is most of what a start takes, and nothing of a task happens meanwhile. So where only what comes later
matters, a start by this program shows the same as one by a shell, and many more of them can be killed in an hour. A
process that is started so is the real command in a session of its own, with its own arguments, folder, environment and
pipes; a keeper waits for it, and reports how it ended.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import random
import select
import shutil
import signal
import socket
import sys
import tempfile
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from joey.cli import main

_MAX_REQUEST = 1 << 16


@dataclass(slots=True)
class Forked:
    """A process, with as much of asyncio's own as is needed here."""

    pid: int
    _reader: asyncio.StreamReader
    _writer: asyncio.StreamWriter
    stdout: asyncio.StreamReader
    stderr: asyncio.StreamReader
    stdin: asyncio.WriteTransport | None = None
    returncode: int | None = None

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    async def wait(self) -> int:
        if self.returncode is None:
            line = await self._reader.readline()
            self.returncode = int(line or b"-9")
            self._writer.close()
        return self.returncode

    async def communicate(self) -> tuple[bytes, bytes]:
        out, err = await asyncio.gather(self.stdout.read(), self.stderr.read())
        await self.wait()
        return out, err


@dataclass(frozen=True, slots=True)
class Starter:
    """Where the process listens that has everything loaded."""

    path: Path

    async def start(
        self,
        args: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        *,
        traced_by: Sequence[str] = (),
        talks: bool = False,
    ) -> Forked:
        """`traced_by` is a strace without the process, which follows it from its first call on. One that `talks` has a
        standard input; that of others is empty."""
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(str(self.path))
        reads, writes = zip(os.pipe(), os.pipe(), strict=True)
        source, into = os.pipe() if talks else (os.open(os.devnull, os.O_RDONLY), None)
        request = {
            "args": [*args], "folder": str(folder), "environment": dict(environment), "waits": bool(traced_by),
        }  # fmt: skip
        socket.send_fds(connection, [json.dumps(request).encode()], [source, *writes])
        for each in (source, *writes):
            os.close(each)
        reader, writer = await asyncio.open_unix_connection(sock=connection)
        pid = int(await reader.readline())
        if traced_by:
            await _trace(pid, traced_by)
        stdin = await _piped_into(into) if into is not None else None
        return Forked(pid, reader, writer, await _piped(reads[0]), await _piped(reads[1]), stdin)


async def _trace(pid: int, traced_by: Sequence[str]) -> None:
    """Have a process followed that has stopped for it, and let it continue."""
    await _reaches(pid, "State:\tT")
    tracer = await asyncio.create_subprocess_exec(*traced_by, "-p", str(pid))
    await _reaches(pid, f"TracerPid:\t{tracer.pid}\n")
    os.kill(pid, signal.SIGCONT)


async def _reaches(pid: int, status: str) -> None:
    for _ in range(2000):
        if status in _status(pid):
            return
        await asyncio.sleep(0.01)
    raise SystemExit(f"process {pid} did not reach {status!r}; may strace follow a process of the same user here?")


def _status(pid: int) -> str:
    return Path(f"/proc/{pid}/status").read_text()


async def _piped(file: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=1 << 20)
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, os.fdopen(file, "rb", 0))
    return reader


async def _piped_into(file: int) -> asyncio.WriteTransport:
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_write_pipe(asyncio.Protocol, os.fdopen(file, "wb", 0))
    return transport


@asynccontextmanager
async def started() -> AsyncIterator[Starter]:
    """A starter, for as long as it is needed."""
    folder = Path(tempfile.mkdtemp(prefix="joey-chaos-"))
    path = folder / "starter"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "chaos.starter", str(path),
        cwd=Path(__file__).parents[1], stdin=PIPE, stdout=PIPE,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        await process.stdout.readline()
        yield Starter(path)
    finally:
        process.kill()
        await process.wait()
        shutil.rmtree(folder, ignore_errors=True)


# The process itself


def serve(path: str) -> list[str]:
    """Wait for requests until standard input ends; returns, in a process of its own, the arguments of one."""
    _load()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    print("ready", flush=True)
    while listener in select.select([listener, sys.stdin], [], [])[0]:
        connection, _ = listener.accept()
        data, files, *_ = socket.recv_fds(connection, _MAX_REQUEST, 3)
        if os.fork() == 0:
            pid = os.fork()
            if pid == 0:
                return _become(json.loads(data), files)
            _keep(pid, connection, files)
        connection.close()
        for each in files:
            os.close(each)
        _reap()
    raise SystemExit  # nobody is there any more to request something


def _load() -> None:
    names = ("app.services", "cli.run", "cli.resume", "acp.agent", "providers.plain_messages", "providers.plain_chat")
    for name in names:
        importlib.import_module(f"joey.{name}")


def _become(request: dict[str, object], files: Sequence[int]) -> list[str]:
    os.setsid()
    for number, each in enumerate(files):
        os.dup2(each, number)
    os.closerange(3, 256)
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    sys.__stdout__ = sys.stdout  # type: ignore[misc] # whoever replaces the one may still write to the other
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    os.chdir(str(request["folder"]))
    environment = request["environment"]
    assert isinstance(environment, dict)
    os.environ.clear()
    os.environ.update(environment)
    random.seed()
    args = request["args"]
    assert isinstance(args, list)
    if request["waits"]:
        os.kill(os.getpid(), signal.SIGSTOP)
    return args


def _keep(pid: int, connection: socket.socket, files: Sequence[int]) -> None:
    """Report the process and how it ended, and end."""
    for each in files:
        os.close(each)
    connection.sendall(f"{pid}\n".encode())
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    connection.sendall(f"{code}\n".encode())
    os._exit(0)


def _reap() -> None:
    """Forget the keepers that are done."""
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                return
        except ChildProcessError:
            return


if __name__ == "__main__":
    raise SystemExit(main(serve(sys.argv[1])))
