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
    _pipes: tuple[asyncio.StreamReader, asyncio.StreamReader]
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
        out, err = await asyncio.gather(*(pipe.read() for pipe in self._pipes))
        await self.wait()
        return out, err


@dataclass(frozen=True, slots=True)
class Starter:
    """Where the process listens that has everything loaded."""

    path: Path

    async def start(self, args: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Forked:
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(str(self.path))
        reads, writes = zip(os.pipe(), os.pipe(), strict=True)
        nothing = os.open(os.devnull, os.O_RDONLY)
        request = {"args": [*args], "folder": str(folder), "environment": dict(environment)}
        socket.send_fds(connection, [json.dumps(request).encode()], [nothing, *writes])
        for each in (nothing, *writes):
            os.close(each)
        reader, writer = await asyncio.open_unix_connection(sock=connection)
        pid = int(await reader.readline())
        return Forked(pid, reader, writer, (await _piped(reads[0]), await _piped(reads[1])))


async def _piped(file: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=1 << 20)
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, os.fdopen(file, "rb", 0))
    return reader


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
    for name in ("app.services", "cli.run", "cli.resume", "providers.anthropic", "providers.openai_chat"):
        importlib.import_module(f"joey.{name}")


def _become(request: dict[str, object], files: Sequence[int]) -> list[str]:
    os.setsid()
    for number, each in enumerate(files):
        os.dup2(each, number)
    os.closerange(3, 256)
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    os.chdir(str(request["folder"]))
    environment = request["environment"]
    assert isinstance(environment, dict)
    os.environ.clear()
    os.environ.update(environment)
    random.seed()
    args = request["args"]
    assert isinstance(args, list)
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
