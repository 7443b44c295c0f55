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
not be able to kill it first, so all of it stays outside of their Landlock domain, without a thread in there: a signal
to one thread ends them all. A process of its own, the starter, enters the domain and starts the commands. These can
kill it, as they can kill each other; then a new one takes its place.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _socket
import ctypes
import errno
import marshal
import os
import resource
import select
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 1, 4, 36
_PR_CAPBSET_DROP = 24
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446  # the same numbers on every architecture
_MSG_CMSG_CLOEXEC = 0x40000000 if sys.platform == "linux" else 0
_HEADER = 4
_KIND, _LINK = 0o170000, 0o120000
_NOWHERE = ("192.0.2.1", 9)
"""An address for documentation: connecting a datagram socket to it sends nothing, and shows if there is a route."""

_TO_DEFAULT = (_signal.SIGPIPE, _signal.SIGXFSZ, _signal.SIGINT)

libc = ctypes.CDLL(None, use_errno=True)


def main(control: _socket.socket) -> None:
    setup: dict[str, Any] = _receive(control)[0]
    _confine(setup)
    starter = _Starter(control, setup) if setup["landlock"] else None
    found = starter.renew() if starter else _findings(setup)
    control.sendall(b'hello {%s, "pid": %d}\n' % (found, os.getpid()))
    _serve(control, starter)


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
            place = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue  # what is not there needs no rule
        if os.fstat(place).st_mode & _KIND == _LINK:
            os.close(place)
            continue  # what became a link would give the place where it leads
        beneath = _Beneath(access, place)
        _syscall(_LANDLOCK_ADD, made, 1, ctypes.byref(beneath), 0)
        os.close(place)
    _syscall(_LANDLOCK_RESTRICT, made, 0)
    os.close(made)


def _syscall(number: int, *arguments: object) -> int:
    done = libc.syscall(ctypes.c_long(number), *arguments)
    if done < 0:
        raise OSError(ctypes.get_errno(), f"system call {number}")
    return int(done)


# Trying them


def _findings(setup: dict[str, Any]) -> bytes:
    outside = sum(_may_write(path) for path in setup["outside"])
    return b'"writable_outside": %d, "route": %d' % (outside, _has_route())


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


def _serve(control: _socket.socket, starter: _Starter | None) -> None:
    ours, theirs = os.pipe()
    os.set_blocking(ours, False)
    os.set_blocking(theirs, False)
    running: dict[int, int] = {}
    _signal.set_wakeup_fd(theirs, warn_on_full_buffer=False)
    _signal.signal(_signal.SIGCHLD, lambda *_: None)
    if starter:
        _signal.signal(_signal.SIGTERM, lambda *_: _end(running, starter))
    waiting = select.poll()
    waiting.register(control, select.POLLIN)
    waiting.register(ours, select.POLLIN)
    while True:
        ready = [fd for fd, _event in waiting.poll()]
        if ours in ready:
            os.read(ours, 4096)
        try:
            _reap(control, running, starter)
            if control.fileno() in ready:
                _obey(control, *_receive(control), running, starter)
        except EOFError:
            _end(running, starter)


def _obey(
    control: _socket.socket, message: Any, descriptors: list[int], running: dict[int, int], starter: _Starter | None
) -> None:
    if message[0] == "signal":
        _kill_group(message[1], message[2])
        return
    _run, number, *command = message
    try:
        pid = starter.start(command, descriptors) if starter else _spawn(command, descriptors)
        running[pid] = number
        _report(control, b"started", number, pid)
    except (OSError, ValueError) as error:
        _report(control, b"failed", number, getattr(error, "errno", None) or errno.EINVAL)
    finally:
        for each in descriptors:
            os.close(each)


class _Starter:
    """The process in the Landlock domain that starts the commands, seen from outside.

    Each command gets the end of a pipe. What is to become the command writes its process id there before it runs the
    program, and a blank and the error if that fails; the pipe closes when the program runs. So if nothing was written,
    nothing ran, and a new starter may try it again. Commands are children of this process, which adopts them at once.
    """

    ATTEMPTS = 3
    ANSWER_TIMEOUT = 20.0
    """A command may stop it (SIGSTOP)."""
    SEND_TIMEOUT = 4.0
    """Less than Joey waits for the end of this process."""

    def __init__(self, control: _socket.socket, setup: dict[str, Any]) -> None:
        self.pid: int | None = None
        """None once it has ended."""
        self._control = control
        self._setup = setup
        self._channel: _socket.socket

    def renew(self) -> bytes:
        """Make one, and return what it found when it tried the walls. Raises EOFError."""
        self._channel, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM, 0)
        pid = os.fork()
        if pid == 0:
            _be_starter(theirs, self._setup)
        self.pid = pid
        theirs.close()
        self._channel.settimeout(self.SEND_TIMEOUT)
        if not self._is_ready(self._channel.fileno()):
            raise EOFError
        return bytes(_receive(self._channel)[0])

    def start(self, command: list[Any], descriptors: list[int]) -> int:
        """The process id. Raises OSError."""
        written = b""
        for _ in range(self.ATTEMPTS):
            written = self._attempt(command, descriptors)
            if written:
                break
            self.end()
        pid, _, failure = written.partition(b" ")
        if failure or not pid:
            raise OSError(int(failure or errno.EAGAIN), "it cannot be started")
        return int(pid)

    def _attempt(self, command: list[Any], descriptors: list[int]) -> bytes:
        ours, theirs = os.pipe()
        try:
            if self.pid is None:
                self.renew()
            _send(self._channel, command, [*descriptors, theirs])
        except (OSError, EOFError):
            os.close(ours)
            return b""
        finally:
            os.close(theirs)
        return self._read_all(ours)

    def _read_all(self, pipe: int) -> bytes:
        data = b""
        try:
            while self._is_ready(pipe):
                piece = os.read(pipe, 100)
                if not piece:
                    return data
                data += piece
        finally:
            os.close(pipe)
        self.end()
        return data or b" %d" % errno.ETIMEDOUT

    def _is_ready(self, descriptor: int) -> bool:
        """Whether it can be read from; not if that takes too long or Joey is gone."""
        waiting = select.poll()
        waiting.register(descriptor, select.POLLIN)
        waiting.register(self._control, 0)  # only its end
        return [fd for fd, _event in waiting.poll(self.ANSWER_TIMEOUT * 1000)] == [descriptor]

    def end(self) -> None:
        pid, self.pid = self.pid, None
        try:
            if pid is not None:
                os.kill(pid, _signal.SIGKILL)
                os.waitpid(pid, 0)
        except OSError:
            return


def _be_starter(channel: _socket.socket, setup: dict[str, Any]) -> NoReturn:
    try:
        _signal.set_wakeup_fd(-1)
        _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
        _signal.signal(_signal.SIGTERM, _signal.SIG_DFL)
        _prctl(_PR_SET_PDEATHSIG, _signal.SIGKILL)
        _keep_only(channel.fileno())
        _landlock(*setup["landlock"])
        _send(channel, _findings(setup))
        while True:
            command, descriptors = _receive(channel)
            _start_orphan(command, descriptors)
            for each in descriptors:
                os.close(each)
    except EOFError:
        os._exit(0)
    except BaseException as error:  # noqa: BLE001 - what follows is the other process's
        os.write(2, f"{error}\n".encode())
        os._exit(1)


def _start_orphan(command: list[Any], descriptors: list[int]) -> None:
    """Start a command from a process that ends at once."""
    *given, report = descriptors
    try:
        between = os.fork()
    except OSError as error:
        os.write(report, b" %d" % (error.errno or errno.EAGAIN))
        return
    if between:
        os.waitpid(between, 0)
        return
    try:
        if os.fork() == 0:
            os.write(report, b"%d" % os.getpid())
            _become(command, given)
    except (OSError, ValueError) as error:
        os.write(report, b" %d" % (getattr(error, "errno", None) or errno.EINVAL))
    os._exit(0)


def _become(command: list[Any], descriptors: list[int]) -> None:
    argv, cwd, environment = command
    os.setsid()
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
    for each in _TO_DEFAULT:
        _signal.signal(each, _signal.SIG_DFL)
    for number, each in enumerate(descriptors):
        os.dup2(each, number)
    os.chdir(cwd)
    program = _find(argv[0], environment.get(b"PATH", os.fsencode(os.defpath)))
    os.execve(program, argv, environment)  # noqa: S606 - the command as it was judged


def _spawn(command: list[Any], descriptors: list[int]) -> int:
    argv, cwd, environment = command
    os.chdir(cwd)
    try:
        return os.posix_spawn(
            _find(argv[0], environment.get(b"PATH", os.fsencode(os.defpath))),
            argv,
            environment,
            file_actions=[(os.POSIX_SPAWN_DUP2, each, number) for number, each in enumerate(descriptors)],
            setsid=True,
            setsigmask=(),
            setsigdef=_TO_DEFAULT,
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


def _reap(control: _socket.socket, running: dict[int, int], starter: _Starter | None) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        if starter and pid == starter.pid:
            starter.pid = None
        if pid in running:
            _report(control, b"ended", running.pop(pid), status)


def _end(running: dict[int, int], starter: _Starter | None) -> NoReturn:
    """As the first process of a PID namespace, ending is enough. Elsewhere what is left is looked for and killed; where
    it cannot be looked for, at least the groups of the commands."""
    if starter:
        starter.end()
        for each in running:
            _kill_group(each, _signal.SIGKILL)
    while starter and (children := _children()):
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


def _kill_group(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
    except OSError:
        return


def _children(listing: str = "/proc/thread-self/children") -> list[int]:
    """None where it cannot be read."""
    try:
        with open(listing) as listed:  # noqa: PTH123 - pathlib loads slowly
            return [int(each) for each in listed.read().split()]
    except OSError:
        return []


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


def _report(control: _socket.socket, what: bytes, number: int, value: int) -> None:
    try:
        control.sendall(b"%s %d %d\n" % (what, number, value))
    except OSError:
        raise EOFError from None


def _send(channel: _socket.socket, message: Any, descriptors: list[int] | None = None) -> None:
    data = marshal.dumps(message)
    data = len(data).to_bytes(_HEADER, "big") + data
    passed = b"".join(each.to_bytes(4, sys.byteorder) for each in descriptors or ())
    sent = channel.sendmsg([data], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, passed)] if passed else [])
    channel.sendall(data[sent:])


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
