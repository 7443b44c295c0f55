"""The filter for system calls: a small program that the kernel runs before each (classic BPF, built here).

It is not the wall that keeps files and networks apart; namespaces or Landlock do that. It takes away what a command has
no business with and what breaks out of sandboxes are made of: new namespaces, mounts, keyrings, io_uring, BPF, loading
kernels and modules, and typing into the terminal it was started from. What is refused gets an error, not a signal:
programs have an answer to that.

Numbers differ by architecture. Other ways to call the kernel (32-bit, x32) have numbers of their own and are refused.
"""

from __future__ import annotations

import errno
import struct
from dataclasses import dataclass

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_X32 = 0x40000000
_NAMESPACES = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
_TIME_NAMESPACE = 0x80
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_AF_UNIX = 1

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
_MISSING = ("io_uring_setup", "io_uring_enter", "io_uring_register", "clone3")
"""Answered as if the kernel did not have them: callers then take the older way (which for clone can be looked into)."""
_TRACING = ("ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd")

_SHARED = {
    "pidfd_getfd": 438, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428,
    "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "clone3": 435,
    "mount_setattr": 442, "quotactl_fd": 443,
}  # fmt: skip
X86_64 = _SHARED | {
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
    "lookup_dcookie": 18, "ioctl": 29, "umount2": 39, "mount": 40, "pivot_root": 41, "nfsservctl": 42, "chroot": 51,
    "vhangup": 58, "quotactl": 60, "acct": 89, "unshare": 97, "kexec_load": 104, "init_module": 105,
    "delete_module": 106, "clock_settime": 112, "syslog": 116, "ptrace": 117, "reboot": 142, "sethostname": 161,
    "setdomainname": 162, "settimeofday": 170, "socket": 198, "add_key": 217, "request_key": 218, "keyctl": 219,
    "clone": 220, "swapon": 224, "swapoff": 225, "perf_event_open": 241, "fanotify_init": 262,
    "open_by_handle_at": 265, "setns": 268, "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272,
    "finit_module": 273, "bpf": 280, "userfaultfd": 282, "kexec_file_load": 294,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Architecture:
    """How the kernel names an architecture in `seccomp_data`, and its numbers."""

    audit: int
    numbers: dict[str, int]


ARCHITECTURES = {
    "x86_64": Architecture(0xC000003E, X86_64),
    "aarch64": Architecture(0xC00000B7, AARCH64),
}


def filter_for(machine: str, *, tracing: bool, inet: bool) -> bytes | None:
    """The filter for this machine (`platform.machine()`); None for one whose numbers are not known.

    `tracing` allows debuggers: behind a PID namespace they find only the sandbox's own processes. `inet` allows
    sockets beyond unix ones: with a network namespace they lead nowhere, without one they are the wall.
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
    if not inet:
        program += _only(numbers["socket"], 0, _AF_UNIX)
    program.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("HBBI", *each) for each in program)


def _refusal(error: int) -> tuple[int, int, int, int]:
    return (_RETURN, 0, 0, _ERROR | error)


def _argument(index: int) -> tuple[int, int, int, int]:
    """The lower half of an argument: the kernel looks at no more of these."""
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * index)


def _looked_into(number: int, argument: int, *tests: tuple[int, int]) -> list[tuple[int, int, int, int]]:
    """Refuse a call if its argument passes one of the tests; allow it otherwise."""
    body = [_argument(argument)]
    for test, value in tests:
        body += [(test, 0, 1, value), _refusal(errno.EPERM)]
    body.append((_RETURN, 0, 0, _ALLOW))
    return [(_EQUAL, 0, len(body), number), *body]


def _only(number: int, argument: int, value: int) -> list[tuple[int, int, int, int]]:
    """Allow a call only with this argument."""
    body = [_argument(argument), (_EQUAL, 0, 1, value), (_RETURN, 0, 0, _ALLOW), _refusal(errno.EACCES)]
    return [(_EQUAL, 0, len(body), number), *body]
