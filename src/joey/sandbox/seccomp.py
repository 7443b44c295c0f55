"""The filter for system calls: a small program that the kernel runs before each (classic BPF, built here).

It is not the wall that keeps files and networks apart; namespaces or Landlock do that. It takes away what a command has
no business with and what breaks out of sandboxes are made of: new namespaces, mounts, keyrings, io_uring, BPF, loading
kernels and modules, typing into the terminal it was started from, sockets that no network namespace holds (of virtual
machines), and set-user-id and set-group-id bits: a file with one is a way to the user's rights for others, and it would
stay in the workspace. What is refused gets an error, not a signal: programs have an answer to that.

Without namespaces (`partial`) it takes away more: what reaches processes, memory, queues and attributes of files
outside, which Landlock does not see.

Numbers differ by architecture. Other ways to call the kernel (32-bit, x32) have numbers of their own and are refused.
"""

from __future__ import annotations

import errno
import stat
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_X32 = 0x40000000
_NAMESPACES = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
_TIME_NAMESPACE = 0x80
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK, _AF_VSOCK = 1, 2, 10, 16, 40
_NETLINK_ROUTE = 0
_SOCKET_TYPE, _SOCK_STREAM, _SOCK_SEQPACKET = 0xF, 1, 5
_WHOLE = 0xFFFFFFFF
_SET_ID = stat.S_ISUID | stat.S_ISGID
_CREATING = 0o100 | 0o20000000
"""O_CREAT and what is O_TMPFILE's own: without one of them the mode that follows means nothing."""

Sockets: TypeAlias = Literal["pairs", "local", "network"]
"""Which sockets can be made: only pairs that are connected to each other; those for which a network namespace without a
way out is a wall; or all but those of virtual machines, which reach the host whatever the namespace."""

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

# Only where there are no namespaces

_TRACING = (
    "ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd", "process_madvise", "process_mrelease",
)  # fmt: skip
_HOST_MEMORY = (
    "shmget", "shmat", "shmctl", "msgget", "msgsnd", "msgrcv", "msgctl", "semget", "semop", "semctl", "semtimedop",
    "mq_open", "mq_unlink",
)  # fmt: skip
"""Shared memory, semaphores and queues are known by numbers and names that everybody on the machine shares. They are
answered as if the kernel did not have them."""
_ATTRIBUTES = (
    "setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr", "lremovexattr", "fremovexattr", "removexattrat",
    "file_setattr",
)  # fmt: skip
"""Landlock does not see these. They are answered as by a disk that has no such attributes."""
_OF_A_PROCESS = (
    "prlimit64", "sched_setparam", "sched_setscheduler", "sched_setaffinity", "sched_setattr", "migrate_pages",
    "move_pages",
)  # fmt: skip
"""The first argument is a process; 0 is the caller, and nobody can tell whose another number is."""
_PRIORITIES = {"setpriority": (0, 1), "ioprio_set": (1, 2)}
"""The first argument says what the second one is: the process or the process group, which must be the caller's own, or
a user, of whom all processes would be changed."""
_FILE_FLAGS = (0x40086602, 0x40046602, 0x401C5820, 0x40087602, 0x40047602, 0x40086604, 0x40046604, 0x40806685)
"""Flags, project, version and seal (fs-verity) of a file. A file that is open for reading is enough for these."""
_VOLUMES = (0x9400, 0xBC00)
"""The kinds of btrfs and bcachefs: a snapshot in the workspace would show what is hidden, and Landlock does not see a
volume being made."""
_COPIES = (0x40049409, 0x4020940D, 0xC0189436)
"""Of the same kind as btrfs's, and everybody's: the contents of one file for another one that is open for writing."""
_IOCTL_KIND = 0xFF00

_SHARED = {
    "process_madvise": 440, "process_mrelease": 448, "setxattrat": 463, "removexattrat": 466, "file_setattr": 469,
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
    "shmget": 29, "shmat": 30, "shmctl": 31, "semget": 64, "semop": 65, "semctl": 66, "msgget": 68, "msgsnd": 69,
    "msgrcv": 70, "msgctl": 71, "semtimedop": 220, "mq_open": 240, "mq_unlink": 241, "setxattr": 188,
    "lsetxattr": 189, "fsetxattr": 190, "removexattr": 197, "lremovexattr": 198, "fremovexattr": 199,
    "setpriority": 141, "sched_setparam": 142, "sched_setscheduler": 144, "sched_setaffinity": 203, "ioprio_set": 251,
    "migrate_pages": 256, "move_pages": 279, "prlimit64": 302, "sched_setattr": 314, "socketpair": 53,
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
    "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7, "removexattr": 14, "lremovexattr": 15, "fremovexattr": 16,
    "ioprio_set": 30, "sched_setparam": 118, "sched_setscheduler": 119, "sched_setaffinity": 122, "setpriority": 140,
    "mq_open": 180, "mq_unlink": 181, "msgget": 186, "msgctl": 187, "msgrcv": 188, "msgsnd": 189, "semget": 190,
    "semctl": 191, "semtimedop": 192, "semop": 193, "shmget": 194, "shmctl": 195, "shmat": 196, "socketpair": 199,
    "migrate_pages": 238, "move_pages": 239, "prlimit64": 261, "sched_setattr": 274,
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


def filter_for(machine: str, *, namespaces: bool, sockets: Sockets) -> bytes | None:
    """The filter for this machine (`platform.machine()`); None for one whose numbers are not known.

    Behind `namespaces` a call that names a process, shared memory or a file finds only what is the sandbox's own.
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
    refused = dict.fromkeys(_REFUSED, errno.EPERM) | dict.fromkeys(_MISSING, errno.ENOSYS)
    if not namespaces:
        refused |= dict.fromkeys(_TRACING, errno.EPERM) | dict.fromkeys(_HOST_MEMORY, errno.ENOSYS)
        refused |= dict.fromkeys(_ATTRIBUTES, errno.EOPNOTSUPP)
    for name, error in refused.items():
        if name in numbers:
            program += [(_EQUAL, 0, 1, numbers[name]), _refusal(error)]
    program += _ioctl(numbers["ioctl"], namespaces=namespaces)
    program += _looked_into(numbers["clone"], 0, (_ANY_BIT, _NAMESPACES))
    program += _looked_into(numbers["unshare"], 0, (_ANY_BIT, _NAMESPACES | _TIME_NAMESPACE))
    program += _socket(numbers["socket"], sockets)
    program += [] if namespaces else _without_namespaces(numbers)
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


def _ioctl(number: int, *, namespaces: bool) -> list[_Instruction]:
    """Refuse typing into a terminal; and, where Landlock alone keeps files apart, what changes them unseen."""
    if namespaces:
        return _looked_into(number, 1, (_EQUAL, _TIOCSTI), (_EQUAL, _TIOCLINUX))
    allow, unsupported = (_RETURN, 0, 0, _ALLOW), _refusal(errno.EOPNOTSUPP)
    body = [_argument(1)]
    for each in (_TIOCSTI, _TIOCLINUX):
        body += [(_EQUAL, 0, 1, each), _refusal(errno.EPERM)]
    for each in _COPIES:
        body += [(_EQUAL, 0, 1, each), allow]
    for each in _FILE_FLAGS:
        body += [(_EQUAL, 0, 1, each), unsupported]
    body.append((_AND, 0, 0, _IOCTL_KIND))
    for each in _VOLUMES:
        body += [(_EQUAL, 0, 1, each), unsupported]
    return [(_EQUAL, 0, len(body) + 1, number), *body, allow]


def _without_namespaces(numbers: Mapping[str, int]) -> list[_Instruction]:
    """Refuse what changes another process, and pairs of sockets that can still send elsewhere (datagrams)."""
    program = []
    for name in _OF_A_PROCESS:
        program += _only(numbers[name], (0, _WHOLE, (0,)))
    for name, kinds in _PRIORITIES.items():
        program += _only(numbers[name], (0, _WHOLE, kinds), (1, _WHOLE, (0,)))
    types = (_SOCK_STREAM, _SOCK_SEQPACKET)
    return program + _only(numbers["socketpair"], (0, _WHOLE, (_AF_UNIX,)), (1, _SOCKET_TYPE, types))


def _only(number: int, *arguments: tuple[int, int, tuple[int, ...]]) -> list[_Instruction]:
    """Allow a call only if each of these arguments, as far as a mask goes, has one of its values."""
    body: list[_Instruction] = []
    for index, mask, values in arguments:
        body += [_argument(index), (_AND, 0, 0, mask)]
        body += [(_EQUAL, len(values) - at, 0, value) for at, value in enumerate(values)]
        body.append(_refusal(errno.EPERM))
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
        case "pairs":
            body = [_refusal(errno.EACCES)]
        case "local":
            for family in (_AF_UNIX, _AF_INET, _AF_INET6):
                body += [(_EQUAL, 0, 1, family), allow]
            body += [(_EQUAL, 0, 3, _AF_NETLINK), _argument(2), (_EQUAL, 0, 1, _NETLINK_ROUTE), allow, refuse]
    return [(_EQUAL, 0, len(body), number), *body]
