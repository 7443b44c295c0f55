"""Trying the walls of a sandbox that stands, with harmless attempts, so that a person can see what holds."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import socket
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from joey.sandbox.sandbox import Sandbox
from joey.system.temporaries import ScratchFolder

_PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True, slots=True)
class Trial:
    """One attempt: whether the wall held, and what was seen."""

    name: str
    held: bool
    seen: str = ""


async def try_walls(sandbox: Sandbox) -> tuple[Trial, ...]:
    """Each wall, one after the other. What must work in the workspace is tried as well."""
    with contextlib.ExitStack() as opened:
        attempts = [*_attempts(sandbox), *(_on_linux(opened) if sys.platform == "linux" else ())]
        return tuple([await _tried(sandbox, *each) for each in attempts])


def _on_linux(opened: contextlib.ExitStack) -> Iterator[tuple[str, str, bool]]:
    """What a sandbox without namespaces has to stop by other means, or cannot: on things of Joey's, made for it."""
    folder = ScratchFolder.make("joey-trial-")
    opened.callback(folder.close)
    file = folder.path / "file"
    file.touch()
    yield "see processes outside", f"test -d /proc/{os.getpid()}", False
    yield "change a process outside", f"prlimit --pid {os.getpid()} --core", False
    yield "chmod a file outside", f"chmod 600 {shlex.quote(str(file))}", False
    yield "set an attribute of a file outside", _python(f"os.setxattr({str(file)!r}, 'user.joey', b'')"), False
    service = opened.enter_context(socket.socket(socket.AF_UNIX))
    service.bind(str(folder.path / "service"))
    service.listen()
    connect = f"_socket.socket(_socket.AF_UNIX).connect({str(folder.path / 'service')!r})"
    yield "reach the socket of a service", _python(connect), False
    ours, theirs = os.openpty()
    opened.callback(os.close, ours)
    opened.callback(os.close, theirs)
    yield "open another terminal", f"exec 3<>{shlex.quote(os.ttyname(theirs))}", False
    with contextlib.suppress(OSError):
        memory, name = tempfile.mkstemp(dir="/dev/shm", prefix="joey-trial-")
        opened.callback(os.close, memory)
        opened.callback(Path(name).unlink)
        yield "open shared memory of others", f"exec 3<{shlex.quote(name)}", False


def _python(code: str) -> str:
    """A statement of Python, which ends with the reason if it fails."""
    program = shlex.quote(os.path.realpath(sys.executable))
    caught = f"import os, _socket\ntry: {code}\nexcept OSError as error: raise SystemExit(error.strerror)"
    return f"{program} -I -S -c {shlex.quote(caught)}"


def _attempts(sandbox: Sandbox) -> list[tuple[str, str, bool]]:
    """What is tried, the command, and whether it should work."""
    home = shlex.quote(str(Path.home()))
    name = f".joey-trial-{os.getpid()}"
    hidden = [shlex.quote(each) for each in sorted(sandbox.hidden)]
    tries = [
        ("write in the workspace", f"touch {name} && rm {name}", sandbox.held.note == ""),
        ("write in the home folder", f"touch {home}/{name} && rm {home}/{name}", False),
        ("write in /etc", f"touch /etc/{name} && rm /etc/{name}", False),
        ("write in a temporary folder", 'f=$(mktemp) && rm "$f"', True),
        ("signal a process outside", f"kill -0 {os.getpid()}", False),
        ("trace a process outside", f"cat /proc/{os.getpid()}/environ", False),
        ("make a namespace", "unshare -U true", False),
        ("mount something", "mount -t tmpfs none /mnt", False),
        ("reach another machine", "exec 3<>/dev/tcp/192.0.2.1/9", sandbox.walls.network == "on"),
    ]
    if (sandbox.walls.workspace / ".git" / "config").is_file():
        tries.append(("write to .git/config", "test -w .git/config && echo >> .git/config", False))
    if hidden:
        tries.append(
            (f"look into hidden places ({len(hidden)})", f"cat {' '.join(hidden)} 2>/dev/null | grep -q .", False)
        )
    # Whether another machine answers is not for us to try where there is a network.
    return [each for each in tries if each[0] != "reach another machine" or not each[2]]


async def _tried(sandbox: Sandbox, name: str, command: str, should_work: bool) -> Trial:
    ours, theirs = os.pipe()
    nothing = os.open(os.devnull, os.O_RDONLY)
    environment = {"PATH": _PATH, "HOME": str(Path.home()), "LC_ALL": "C"}
    try:
        argv = ["/bin/bash", "-c", command]
        process = await sandbox.start(argv, sandbox.walls.workspace, environment, (nothing, theirs, theirs))
    except OSError as error:
        os.close(ours)
        return Trial(name, held=False, seen=str(error.strerror))
    finally:
        os.close(theirs)
        os.close(nothing)
    code = await process.wait()
    output = await asyncio.to_thread(_read, ours)
    first = (output.strip().splitlines() or ["worked" if code == 0 else f"exit code {code}"])[0]
    return Trial(name, (code == 0) == should_work, first.rpartition(": ")[2])


def _read(descriptor: int) -> str:
    with os.fdopen(descriptor, "rb") as pipe:
        return pipe.read(4096).decode("utf-8", "replace")
