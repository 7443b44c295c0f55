"""The filter for system calls: a small program that the kernel runs before each (classic BPF, built here).

It is not the wall that keeps files and networks apart; namespaces or Landlock do that. It takes away what a command has
no business with and what breaks out of sandboxes are made of: new namespaces, mounts, keyrings, io_uring, BPF, loading
kernels and modules, typing into the terminal it was started from, sockets that no network namespace holds (of virtual
machines), and set-user-id and set-group-id bits: a file with one is a way to the user's rights for others, and it would
stay in the workspace. What is refused gets an error, not a signal: programs have an answer to that.

Numbers differ by architecture. Other ways to call the kernel (32-bit, x32) have numbers of their own and are refused.
"""

from __future__ import annotations

import errno
import stat
import struct
from dataclasses import dataclass
from typing import Literal, TypeAlias

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_X32 = 0x40000000
_NAMESPACES = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
_TIME_NAMESPACE = 0x80
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK, _AF_VSOCK = 1, 2, 10, 16, 40
_NETLINK_ROUTE = 0
_SET_ID = stat.S_ISUID | stat.S_ISGID
_CREATING = 0o100 | 0o20000000
"""O_CREAT and what is O_TMPFILE's own: without one of them the mode that follows means nothing."""

Sockets: TypeAlias = Literal["unix", "local", "network"]
"""Which sockets can be made: unix ones; those for which a network namespace without a way out is a wall; or all but
those of virtual machines, which reach the host whatever the namespace."""

_REFUSED = (
    # files systems and namespaces
    "mount", "umount2", "pivot_root", "chroot", "setns", "open_tree", "move_mount", "fsopen", "fsconfig", "fsmount",
    "fspick", "mount_setattr", "quotactl", "quotactl_fd", "swapon", "swapoff", "open_by_handle_at",
    # the kernel itself
    "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot", "bpf",
    "perf_event_open", "syslog", "acct", "lookup_dcookie", "nfsservctl", "fanotify_init", "userfaultfd",
    "add_key", "request_key", "keyctl", "settimeofday", "clock_settime", "sethostname", "setdomainname", "vhangup",
    "iopl", "ioperm", "uselib",
)  # fmt: skip
_MISSING = ("io_uring_setup", "io_uring_enter", "io_uring_register", "clone3", "openat2")
"""Answered as if the kernel did not have them: callers then take the older way (which for clone and open can be looked
into)."""
_MODES = {
    "chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "mkdir": 1, "mkdirat": 2, "mknod": 1, "mknodat": 2,
    "creat": 1,
}  # fmt: skip
"""Which argument is the mode of a file."""
_OPENING = {"open": (1, 2), "openat": (2, 3)}
"""Which are the flags and the mode."""
_TRACING = ("ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd")

_SHARED = {
    "pidfd_getfd": 438, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428,
    "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "clone3": 435,
    "openat2": 437, "mount_setattr": 442, "quotactl_fd": 443, "fchmodat2": 452,
}  # fmt: skip
X86_64 = _SHARED | {
    "open": 2, "mkdir": 83, "creat": 85, "chmod": 90, "fchmod": 91, "mknod": 133, "openat": 257, "mkdirat": 258,
    "mknodat": 259, "fchmodat": 268,
    "ioctl": 16, "socket": 41, "clone": 56, "ptrace": 101, "syslog": 103, "uselib": 134, "vhangup": 153,
    "pivot_root": 155, "chroot": 161, "acct": 163, "settimeofday": 164, "mount": 165, "umount2": 166, "swapon": 167,
    "swapoff": 168, "reboot": 169, "sethostname": 170, "setdomainname": 171, "iopl": 172, "ioperm": 173,
    "init_module": 175, "delete_module": 176, "quotactl": 179, "nfsservctl": 180, "lookup_dcookie": 212,
    "clock_settime": 227, "kexec_load": 246, "add_key": 248, "request_key": 249, "keyctl": 250, "unshare": 272,
    "perf_event_open": 298, "fanotify_init": 300, "open_by_handle_at": 304, "setns": 308, "process_vm_readv": 310,
    "process_vm_writev": 311, "kcmp": 312, "finit_module": 313, "kexec_file_load": 320, "bpf": 321,
    "userfaultfd": 323,
}  # fmt: skip
AARCH64 = _SHARED | {
    "mknodat": 33, "mkdirat": 34, "fchmod": 52, "fchmodat": 53, "openat": 56,
    "lookup_dcookie": 18, "ioctl": 29, "umount2": 39, "mount": 40, "pivot_root": 41, "nfsservctl": 42, "chroot": 51,
    "vhangup": 58, "quotactl": 60, "acct": 89, "unshare": 97, "kexec_load": 104, "init_module": 105,
    "delete_module": 106, "clock_settime": 112, "syslog": 116, "ptrace": 117, "reboot": 142, "sethostname": 161,
    "setdomainname": 162, "settimeofday": 170, "socket": 198, "add_key": 217, "request_key": 218, "keyctl": 219,
    "clone": 220, "swapon": 224, "swapoff": 225, "perf_event_open": 241, "fanotify_init": 262,
    "open_by_handle_at": 265, "setns": 268, "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272,
    "finit_module": 273, "bpf": 280, "userfaultfd": 282, "kexec_file_load": 294,
}  # fmt: skip


_Instruction: TypeAlias = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Architecture:
    """How the kernel names an architecture in `seccomp_data`, and its numbers."""

    audit: int
    numbers: dict[str, int]


ARCHITECTURES = {
    "x86_64": Architecture(0xC000003E, X86_64),
    "aarch64": Architecture(0xC00000B7, AARCH64),
}


def filter_for(machine: str, *, tracing: bool, sockets: Sockets) -> bytes | None:
    """The filter for this machine (`platform.machine()`); None for one whose numbers are not known.

    `tracing` allows debuggers: behind a PID namespace they find only the sandbox's own processes.
    """
    architecture = ARCHITECTURES.get(machine)
    if architecture is None:
        return None
    numbers = architecture.numbers
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, architecture.audit),
        _refusal(errno.ENOSYS),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _X32),
        _refusal(errno.ENOSYS),
    ]
    refused = (*_REFUSED, *(() if tracing else _TRACING))
    for name, error in (*((each, errno.EPERM) for each in refused), *((each, errno.ENOSYS) for each in _MISSING)):
        if name in numbers:
            program += [(_EQUAL, 0, 1, numbers[name]), _refusal(error)]
    program += _looked_into(numbers["ioctl"], 1, (_EQUAL, _TIOCSTI), (_EQUAL, _TIOCLINUX))
    program += _looked_into(numbers["clone"], 0, (_ANY_BIT, _NAMESPACES))
    program += _looked_into(numbers["unshare"], 0, (_ANY_BIT, _NAMESPACES | _TIME_NAMESPACE))
    program += _socket(numbers["socket"], sockets)
    for name, argument in _MODES.items():
        if name in numbers:
            program += _looked_into(numbers[name], argument, (_ANY_BIT, _SET_ID))
    for name, (flags, mode) in _OPENING.items():
        if name in numbers:
            program += _opening(numbers[name], flags, mode)
    program.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("HBBI", *each) for each in program)


def _refusal(error: int) -> _Instruction:
    return (_RETURN, 0, 0, _ERROR | error)


def _argument(index: int) -> _Instruction:
    """The lower half of an argument: the kernel looks at no more of these."""
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * index)


def _looked_into(number: int, argument: int, *tests: tuple[int, int]) -> list[_Instruction]:
    """Refuse a call if its argument passes one of the tests; allow it otherwise."""
    body = [_argument(argument)]
    for test, value in tests:
        body += [(test, 0, 1, value), _refusal(errno.EPERM)]
    body.append((_RETURN, 0, 0, _ALLOW))
    return [(_EQUAL, 0, len(body), number), *body]


def _opening(number: int, flags: int, mode: int) -> list[_Instruction]:
    """Refuse to make a file with one of the bits; allow to open one with whatever stands in place of the mode."""
    allow = (_RETURN, 0, 0, _ALLOW)
    body = [_argument(flags), (_ANY_BIT, 1, 0, _CREATING), allow]
    body += [_argument(mode), (_ANY_BIT, 0, 1, _SET_ID), _refusal(errno.EPERM), allow]
    return [(_EQUAL, 0, len(body), number), *body]


def _socket(number: int, sockets: Sockets) -> list[_Instruction]:
    """Allow those families that a wall stands around. Netlink tells programs which interfaces and routes there are."""
    allow, refuse = (_RETURN, 0, 0, _ALLOW), _refusal(errno.EAFNOSUPPORT)
    body = [_argument(0)]
    match sockets:
        case "network":
            body += [(_EQUAL, 0, 1, _AF_VSOCK), refuse, allow]
        case "unix":
            body += [(_EQUAL, 0, 1, _AF_UNIX), allow, _refusal(errno.EACCES)]
        case "local":
            for family in (_AF_UNIX, _AF_INET, _AF_INET6):
                body += [(_EQUAL, 0, 1, family), allow]
            body += [(_EQUAL, 0, 3, _AF_NETLINK), _argument(2), (_EQUAL, 0, 1, _NETLINK_ROUTE), allow, refuse]
    return [(_EQUAL, 0, len(body), number), *body]
