"""The process inside a sandbox: it starts the commands that it is handed over a socket, and reports how they end.

    python -I -S inside.py FD

It runs by itself, before anything of Joey's can be imported, so it needs nothing but the standard library, and only the
parts of it that load fast. Joey is trusted and sends marshalled tuples. What goes back may have been written by a
command that took this process over, so it is lines of numbers, which Joey checks:

    hello {…}        once, after the walls are up: what was found when they were tried (JSON without strings of others)
    started ID PID   a command runs, in a session and a process group of its own
    failed ID ERRNO  it could not be started
    ended ID STATUS  it has ended; the status is the system's

Where there is a PID namespace this is its first process: nothing inside can kill it, and when it ends the kernel ends
everything else. Elsewhere (`partial`) it adopts what commands leave behind and kills it before it ends. Commands must
not be able to kill it first, so it stays outside of their Landlock domain: a thread enters it and starts them all.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _socket
import _thread
import ctypes
import errno
import marshal
import os
import resource
import select
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 1, 4, 36
_PR_CAPBSET_DROP = 24
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446  # the same numbers on every architecture
_MSG_CMSG_CLOEXEC = 0x40000000 if sys.platform == "linux" else 0
_HEADER = 4
_NOWHERE = ("192.0.2.1", 9)
"""An address for documentation: connecting a datagram socket to it sends nothing, and shows if there is a route."""

libc = ctypes.CDLL(None, use_errno=True)


def main(control: _socket.socket) -> None:
    setup: dict[str, Any] = _receive(control)[0]
    _confine(setup)
    within = _Within(setup["landlock"])
    found: str = within.run(lambda: _findings(setup))
    control.sendall(b"hello " + found.encode() + b"\n")
    _serve(control, within, partial=bool(setup["landlock"]))


# The walls that a process puts up around itself


def _confine(setup: dict[str, Any]) -> None:
    # Without a PID namespace, nobody ends what is left if this process is killed: it is asked to end then (`_serve`).
    _prctl(_PR_SET_PDEATHSIG, _signal.SIGTERM if setup["landlock"] else _signal.SIGKILL)
    # Commands run as the same user: without this they could read and change this process.
    _prctl(_PR_SET_DUMPABLE, 0)
    for name, limit in setup["limits"].items():
        _limit(getattr(resource, name), limit)
    if setup["landlock"]:
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        _give_up_capabilities()
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    if setup["filter"]:
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)
        _seccomp(setup["filter"])


def _give_up_capabilities() -> None:
    """For root: commands start without any, and none can be had again. Where there is none, nothing happens."""
    for number in range(64):
        libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)


def _limit(which: int, limit: int) -> None:
    _soft, hard = resource.getrlimit(which)
    limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(which, (limit, limit))


def _prctl(option: int, value: object) -> None:
    if sys.platform == "linux" and libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {option}")


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def _seccomp(program: bytes) -> None:
    wanted = _Program(len(program) // 8, program)
    if libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(wanted), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("access", ctypes.c_uint64), ("parent", ctypes.c_int32))


def _landlock(sizes: tuple[int, int, int], handled: tuple[int, int, int], rules: list[tuple[str, int]]) -> None:
    ruleset = _Ruleset(*handled)
    made = _syscall(_LANDLOCK_CREATE, ctypes.byref(ruleset), ctypes.c_size_t(sizes[0]), 0)
    for path, access in rules:
        try:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue  # what is not there needs no rule
        beneath = _Beneath(access, place)
        _syscall(_LANDLOCK_ADD, made, 1, ctypes.byref(beneath), 0)
        os.close(place)
    _syscall(_LANDLOCK_RESTRICT, made, 0)
    os.close(made)


class _Within:
    """Where Landlock holds: a thread that has confined itself. What it starts is confined like it; where there is no
    Landlock to enter, there is no thread either."""

    def __init__(self, landlock: tuple[Any, ...]) -> None:
        self._wanted, self._done = _thread.allocate_lock(), _thread.allocate_lock()
        self._wanted.acquire()
        self._done.acquire()
        self._landlock = landlock
        self._work: Callable[[], Any] = lambda: None
        self._result: Any = None
        if landlock:
            _thread.start_new_thread(self._live, ())
            self.run(lambda: _landlock(*landlock))

    def run(self, work: Callable[[], Any]) -> Any:
        """What this returns, or raises, when it is done there."""
        if not self._landlock:
            return work()
        self._work = work
        self._wanted.release()
        self._done.acquire()
        if isinstance(self._result, Exception):
            raise self._result
        return self._result

    def _live(self) -> None:
        while True:
            self._wanted.acquire()
            try:
                self._result = self._work()
            except Exception as error:  # noqa: BLE001 - whoever wanted it gets it
                self._result = error
            self._done.release()


def _syscall(number: int, *arguments: object) -> int:
    done = libc.syscall(ctypes.c_long(number), *arguments)
    if done < 0:
        raise OSError(ctypes.get_errno(), f"system call {number}")
    return int(done)


# Trying them


def _findings(setup: dict[str, Any]) -> str:
    outside = sum(_may_write(path) for path in setup["outside"])
    return f'{{"writable_outside": {outside}, "route": {int(_has_route())}, "pid": {os.getpid()}}}'


def _may_write(folder: str) -> bool:
    """Whether a file can be made there. It is never left behind: it has no name."""
    try:
        made = os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o600)
    except OSError as error:
        return error.errno in (errno.EOPNOTSUPP, errno.EISDIR) and os.access(folder, os.W_OK)
    os.close(made)
    return True


def _has_route() -> bool:
    try:
        probe = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
    except OSError:
        return False
    try:
        probe.connect(_NOWHERE)
    except OSError:
        return False
    finally:
        probe.close()
    return True


# Starting commands


def _serve(control: _socket.socket, within: _Within, *, partial: bool) -> None:
    ours, theirs = os.pipe()
    os.set_blocking(ours, False)
    os.set_blocking(theirs, False)
    _signal.set_wakeup_fd(theirs, warn_on_full_buffer=False)
    _signal.signal(_signal.SIGCHLD, lambda *_: None)
    if partial:
        _signal.signal(_signal.SIGTERM, lambda *_: _end(partial=True))
    running: dict[int, int] = {}
    waiting = select.poll()
    waiting.register(control, select.POLLIN)
    waiting.register(ours, select.POLLIN)
    while True:
        ready = [fd for fd, _event in waiting.poll()]
        if ours in ready:
            os.read(ours, 4096)
        _reap(control, running)
        if control.fileno() in ready:
            try:
                _obey(control, *_receive(control), running, within)
            except EOFError:
                _end(partial=partial)


def _obey(
    control: _socket.socket, message: Any, descriptors: list[int], running: dict[int, int], within: _Within
) -> None:
    if message[0] == "signal":
        try:
            os.killpg(message[1], message[2])
        except OSError:
            return
        return
    _run, number, argv, cwd, environment = message
    try:
        pid = within.run(lambda: _spawn(argv, cwd, environment, descriptors))
        running[pid] = number
        control.sendall(b"started %d %d\n" % (number, pid))
    except (OSError, ValueError) as error:
        control.sendall(b"failed %d %d\n" % (number, getattr(error, "errno", None) or errno.EINVAL))
    finally:
        for each in descriptors:
            os.close(each)


def _spawn(argv: list[bytes], cwd: bytes, environment: dict[bytes, bytes], descriptors: list[int]) -> int:
    os.chdir(cwd)
    try:
        return os.posix_spawn(
            _find(argv[0], environment.get(b"PATH", os.fsencode(os.defpath))),
            argv,
            environment,
            file_actions=[(os.POSIX_SPAWN_DUP2, each, number) for number, each in enumerate(descriptors)],
            setsid=True,
            setsigmask=(),
            setsigdef=(_signal.SIGPIPE, _signal.SIGXFSZ, _signal.SIGINT),
        )
    finally:
        os.chdir("/")


def _find(program: bytes, path: bytes) -> bytes:
    if b"/" in program:
        return program
    for folder in path.split(b":"):
        found = os.path.join(folder, program)  # noqa: PTH118 - pathlib loads slowly
        if folder and os.access(found, os.X_OK) and not os.path.isdir(found):  # noqa: PTH112
            return found
    raise FileNotFoundError(errno.ENOENT, "no such program")


def _reap(control: _socket.socket, running: dict[int, int]) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        if pid in running:
            control.sendall(b"ended %d %d\n" % (running.pop(pid), status))


def _end(*, partial: bool) -> None:
    """As the first process of a PID namespace, ending is enough. Elsewhere what is left is looked for and killed."""
    while partial and (children := _children()):
        for each in children:
            try:
                os.kill(each, _signal.SIGKILL)
            except OSError:
                continue
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            break
    os._exit(0)


def _children() -> list[int]:
    found: list[int] = []
    for thread in os.listdir("/proc/self/task"):  # noqa: PTH208 - pathlib loads slowly
        try:
            with open(f"/proc/self/task/{thread}/children") as listed:  # noqa: PTH123
                found += [int(each) for each in listed.read().split()]
        except OSError:
            continue
    return found


# The socket


def _receive(control: _socket.socket) -> tuple[Any, list[int]]:
    """One message and the descriptors that came with it. Raises EOFError when Joey is gone."""
    try:
        header, ancillary, _flags, _address = control.recvmsg(_HEADER, 1024, _MSG_CMSG_CLOEXEC)
    except OSError:
        raise EOFError from None
    descriptors = [
        int.from_bytes(data[at : at + 4], sys.byteorder)
        for level, kind, data in ancillary
        if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS
        for at in range(0, len(data) - 3, 4)
    ]
    header += _read(control, _HEADER - len(header))
    return marshal.loads(_read(control, int.from_bytes(header, "big"))), descriptors  # noqa: S302 - from Joey


def _read(control: _socket.socket, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        try:
            piece = control.recv(length - len(data))
        except OSError:
            raise EOFError from None
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)


def _keep_only(control: int) -> None:
    """Close what bubblewrap was handed, places of the disk outside among it, before any command could inherit it."""
    os.set_inheritable(control, False)
    os.closerange(3, control)
    os.closerange(control + 1, 1 << 20)


if __name__ == "__main__":
    try:
        _keep_only(int(sys.argv[1]))
        main(_socket.socket(fileno=int(sys.argv[1])))
    except EOFError:
        sys.exit(0)
