"""Forty attacks and more, each tried three times: bare, where it must work, and in the two sandboxes.

An attack prints HAPPENED if it worked as seen from inside, or leaves something outside that `seen` finds. What the
sandbox without namespaces does not stop is listed, so that the list can be read in the guide and cannot grow unnoticed.
"""

from __future__ import annotations

import ctypes
import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from sandbox_kit import MARK, PYTHON, SECRET, World, a_world, listen, victim

ROOT = os.geteuid() == 0


@dataclass(frozen=True, slots=True)
class Attack:
    name: str
    command: str
    seen: Callable[[World], bool] = lambda _world: False
    """Whether it worked, seen from outside."""
    works_bare: bool = True
    """Whether it can be shown to work without a sandbox, here and without harm."""
    partial_stops: bool = True


def python(code: str) -> str:
    return f"{PYTHON} -I - <<'EOF'\n{code}\nEOF"


def differs(name: str, text: str) -> Callable[[World], bool]:
    return lambda world: (world.root / name).read_text() != text


def exists(name: str) -> Callable[[World], bool]:
    return lambda world: os.path.lexists(world.root / name)


def syscall(number: int, *arguments: str, refused: str) -> str:
    """A system call by its number; it happened unless it failed with this error."""
    return python(
        "import ctypes, errno\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        f"done = libc.syscall(ctypes.c_long({number}), {', '.join(arguments)})\n"
        f"print('{MARK}' if done >= 0 or ctypes.get_errno() != errno.{refused} else 'refused')"
    )


def connect(family: str, address: str, kind: str = "SOCK_STREAM") -> str:
    return python(
        f"import os, socket\ns = socket.socket(socket.{family}, socket.{kind})\ns.settimeout(5)\n"
        f"s.connect({address})\nprint('{MARK}' if s.recv(100) else 'nothing')"
    )


def family(number: int, protocol: int = 0) -> str:
    """A socket of this family; it happened if the filter did not refuse it, whether or not the kernel has such."""
    return python(
        "import ctypes, errno\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        f"libc.socket({number}, 3, {protocol})\n"
        f"print('refused' if ctypes.get_errno() in (errno.EAFNOSUPPORT, errno.EACCES) else '{MARK}')"
    )


def set_id(call: str) -> str:
    """Leave a file with a set-user-id or set-group-id bit in the workspace."""
    return python(
        "import ctypes, os\nlibc = ctypes.CDLL(None)\nos.umask(0)\n"
        "if os.path.exists('privileged'): os.unlink('privileged')\n"
        f"try:\n    {call}\nexcept OSError as error: print(error)\n"
        f"if os.path.exists('privileged') and os.stat('privileged').st_mode & 0o6000: print('{MARK}')\n"
        "if os.path.exists('privileged'): os.unlink('privileged')"
    )


FIND_VICTIM = """
import os, pathlib
def victims():
    for each in pathlib.Path('/proc').glob('[0-9]*'):
        try:
            if os.environ['VICTIM_WORD'].encode() in (each / 'cmdline').read_bytes(): yield int(each.name)
        except OSError: pass
"""
OF_VICTIM = f"""
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    for pid in victims():
        done = libc.syscall(ctypes.c_long(number), *(pid if each is None else each for each in arguments))
        if done >= 0: print('{MARK}')
"""
CHANGES = {
    "a limit": "call(302, None, 7, ctypes.create_string_buffer(b'\\0\\2\\0\\0\\0\\0\\0\\0' * 2, 16), 0)",
    "the scheduler": "call(144, None, 0, ctypes.create_string_buffer(8))",
    "the scheduler's parameters": "call(142, None, ctypes.create_string_buffer(8))",
    "the scheduler's attributes": "a = (ctypes.c_uint32 * 12)(48, 0, 0, 0, 19)\ncall(314, None, a, 0)",
    "the processors": "call(203, None, 8, ctypes.create_string_buffer(b'\\xff' * 8, 8))",
    "the priority": "call(141, 0, None, 19)",
    "the priority for the disk": "call(251, 1, None, 2 << 13 | 4)",
}
"""Harmless as they are: each sets what is there already, or what a process that sleeps does not feel."""
SIGNALS = {
    "by its thread": "call(234, None, None, 0)",
    "with a value": (
        "i = ctypes.create_string_buffer(128)\nctypes.c_int.from_buffer(i, 8).value = -1\ncall(129, None, 18, i)"
    ),
    "by a descriptor": (
        "for pid in victims():\n    fd = libc.syscall(434, pid, 0)\n"
        f"    if libc.syscall(424, fd, 0, None, 0) == 0: print('{MARK}')"
    ),
}
"""None of them does anything: 0 is no signal, and 18 (SIGCONT) goes to a process that is not stopped."""
WRITES = [
    Attack("write beside the workspace", f"echo x > $OUT/new && echo {MARK}", exists("outside/new")),
    Attack("append to ~/.bashrc", f"echo evil >> ~/.bashrc && echo {MARK}", differs("home/.bashrc", "# mine\n")),
    Attack(
        "write through a link in the workspace",
        f"ln -sfn $OUT link && echo x > link/by-link && echo {MARK}",
        exists("outside/by-link"),
    ),
    Attack(
        "hard link to a file outside, and write",
        f"ln $OUT/file hard; echo changed > hard; grep -q changed $OUT/file && echo {MARK}; rm -f hard",
        differs("outside/file", "somebody's\n"),
    ),
    Attack("rename a file out", f"touch mine; mv mine $OUT/moved && echo {MARK}", exists("outside/moved")),
    Attack(
        "truncate outside",
        python(f"import os; os.truncate(os.environ['OUT'] + '/file', 0); print('{MARK}')"),
        differs("outside/file", "somebody's\n"),
    ),
    Attack(
        "chmod outside",
        f"chmod 0777 $OUT/file && echo {MARK}",
        lambda world: (world.outside / "file").stat().st_mode & 0o777 == 0o777,
        partial_stops=False,
    ),
    Attack(
        "set times outside",
        f"touch -d 2001-01-01 $OUT/file && echo {MARK}",
        lambda world: (world.outside / "file").stat().st_mtime < 1_000_000_000,
        partial_stops=False,
    ),
    Attack(
        "set an extended attribute outside",
        python(f"import os; os.setxattr(os.environ['OUT'] + '/file', 'user.joey', b'x'); print('{MARK}')"),
    ),
    Attack(
        "set an extended attribute by a descriptor for reading",
        python(f"import os; os.setxattr(os.open(os.environ['OUT'] + '/file', 0), 'user.joey', b'x'); print('{MARK}')"),
    ),
    Attack(
        "set flags of a file outside",
        python(
            "import fcntl, os\nfile = os.open(os.environ['OUT'] + '/file', 0)\n"
            "flags = fcntl.ioctl(file, 0x80086601, bytes(8))\n"
            f"fcntl.ioctl(file, 0x40086602, flags); print('{MARK}')"
        ),
    ),
    *(
        Attack(
            f"{what} outside",
            python(f"import os; out = os.environ['OUT'] + '/by-call'\n{code}\nprint('{MARK}')"),
            exists("outside/by-call"),
        )
        for what, code in {
            "make a folder": "os.mkdir(out)",
            "make a link": "os.symlink('x', out)",
            "make a pipe": "os.mkfifo(out)",
            "make a hard link": "os.link('README.md', out)",
        }.items()
    ),
    Attack(
        "empty a file that is opened for reading",
        python(f"import os; os.open(os.environ['OUT'] + '/file', os.O_RDONLY | os.O_TRUNC); print('{MARK}')"),
        differs("outside/file", "somebody's\n"),
    ),
    Attack(
        "open a descriptor again for writing",
        python(
            "import os\nfile = os.open(os.environ['OUT'] + '/file', os.O_RDONLY)\n"
            f"os.open(f'/proc/self/fd/{{file}}', os.O_WRONLY); print('{MARK}')"
        ),
    ),
    Attack("delete outside", f"rm -f $OUT/other && echo {MARK}", lambda world: not (world.outside / "other").exists()),
]
SECRETS = [
    Attack("read ~/.ssh", f"grep -q {SECRET} ~/.ssh/id_ed25519 && echo {MARK}"),
    Attack(
        "read ~/.ssh through a link in the workspace",
        f"ln -sfn ~/.ssh keys; grep -q {SECRET} keys/id_ed25519 && echo {MARK}",
    ),
    Attack(
        "see when a hidden file is used",
        python(
            "import ctypes, os\nlibc = ctypes.CDLL(None)\n"
            f"folder = os.path.expanduser('~/.ssh').encode()\n"
            f"if libc.inotify_add_watch(libc.inotify_init(), folder, 32) >= 0: print('{MARK}')"
        ),
        partial_stops=False,
    ),
    Attack(
        "open a hidden file by a descriptor for its place",
        python(
            "import os\nplace = os.open(os.path.expanduser('~/.ssh/id_ed25519'), os.O_PATH)\n"
            f"if open(f'/proc/self/fd/{{place}}').read() == '{SECRET}': print('{MARK}')"
        ),
    ),
    Attack(
        "read from a folder that was opened by its place",
        python(
            "import os\nplace = os.open(os.path.expanduser('~/.ssh'), os.O_PATH)\n"
            f"if os.read(os.open('id_ed25519', os.O_RDONLY, dir_fd=place), 99) == b'{SECRET}': print('{MARK}')"
        ),
    ),
    Attack("see the size of a hidden file", f"stat -c %s ~/.ssh/id_ed25519 && echo {MARK}", partial_stops=False),
    Attack("read ~/.aws", f"grep -q {SECRET} ~/.aws/credentials && echo {MARK}"),
    Attack("read ~/.netrc", f"grep -q {SECRET} ~/.netrc && echo {MARK}"),
    Attack("read ~/.npmrc", f"grep -q {SECRET} ~/.npmrc && echo {MARK}"),
    Attack("read the shell's history", f"grep -q {SECRET} ~/.bash_history && echo {MARK}"),
    Attack("read an ignored file", f"grep -q {SECRET} .env && echo {MARK}", partial_stops=False),
    Attack("read a key in the environment", f'[ -n "$ATTACK_API_KEY" ] && echo {MARK}'),
    Attack(
        "read a key in another process's environment",
        f"grep -laz VICTIM={SECRET} /proc/[0-9]*/environ 2>/dev/null | grep -q . && echo {MARK}",
    ),
    Attack(
        "open another process's memory",
        python(f"{FIND_VICTIM}\nfor pid in victims():\n    open(f'/proc/{{pid}}/mem', 'rb'); print('{MARK}')"),
    ),
    Attack("read Joey's settings", f"grep -q {SECRET} ~/.config/joey/config.toml && echo {MARK}"),
    Attack("read a journal", f"grep -rq {SECRET} ~/.local/state/joey/ && echo {MARK}"),
    Attack("read files of others in /tmp", f'grep -q {SECRET} "$TMP_FILE" && echo {MARK}'),
    Attack("unhide by removing the folder", f"rm -rf ~/.ssh; grep -q {SECRET} ~/.ssh/id_ed25519 && echo {MARK}",
           works_bare=False),
    Attack("unhide by unmounting", f"umount ~/.ssh; grep -q {SECRET} ~/.ssh/id_ed25519 && echo {MARK}",
           works_bare=False),
    Attack(
        "read through another process's root",
        f"cat /proc/*/root{{$HOME,}}/.ssh/id_ed25519 2>/dev/null | grep -q {SECRET} && echo {MARK}",
        works_bare=False,
    ),
]  # fmt: skip
NETWORK = [
    Attack("TCP out", connect("AF_INET", "('127.0.0.1', int(os.environ['TCP_PORT']))")),
    Attack(
        "UDP out",
        python(
            "import os, socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
            "s.sendto(b'data', ('127.0.0.1', int(os.environ['UDP_PORT'])))"
        ),
        lambda world: _received(world),  # noqa: PLW0108 - it stands further down
    ),
    Attack("an abstract unix socket", connect("AF_UNIX", "'\\0' + os.environ['ABSTRACT']")),
    Attack("the ssh agent's socket", connect("AF_UNIX", "os.environ['AGENT']")),
    Attack("a socket like Docker's", connect("AF_UNIX", "os.environ['DOCKER']")),
    Attack("a socket in /tmp, like X11's", connect("AF_UNIX", "os.environ['X11']")),
    Attack(
        "a datagram to a service's socket, sent by one of a pair",
        python(
            "import os, socket\nours, _theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
            f"ours.sendto(b'data', os.environ['LOG']); print('{MARK}')"
        ),
    ),
    Attack("the cloud's metadata address", connect("AF_INET", "('169.254.169.254', 80)"), works_bare=False),
    Attack("a raw socket", connect("AF_PACKET", "('lo', 3)", "SOCK_RAW"), works_bare=False),
    Attack("a socket to the host of a virtual machine", family(40), works_bare=False),
    Attack("a socket for the kernel's ciphers", family(38), works_bare=False),
    Attack("a socket for audit messages", family(16, 9), works_bare=False),
    Attack(
        "D-Bus",
        python(
            "import glob, socket\n"
            "for each in ('/run/dbus/system_bus_socket', *glob.glob('/run/user/*/bus')):\n"
            f"    socket.socket(socket.AF_UNIX).connect(each); print('{MARK}')"
        ),
        works_bare=False,
    ),
]
PROCESSES = [
    Attack(
        "kill a process of the user's",
        python(f"{FIND_VICTIM}\nfor pid in victims():\n    os.kill(pid, 0); print('{MARK}')"),
    ),
    *(
        Attack(f"signal it {how}", python(f"{FIND_VICTIM}\n{OF_VICTIM}\n{code}"))
        for how, code in SIGNALS.items()
    ),
    *(
        Attack(
            f"read {name} of a process of the user's",
            python(f"{FIND_VICTIM}\nfor pid in victims():\n    {how}(f'/proc/{{pid}}/{name}'); print('{MARK}')"),
        )
        for name, how in {"maps": "open", "fd/0": "os.readlink", "cwd": "os.listdir", "root": "os.listdir"}.items()
    ),
    Attack("set the clock", syscall(227, "0", "ctypes.create_string_buffer(16)", refused="EPERM"), works_bare=False),
    Attack("adjust the clock", syscall(
        159, "ctypes.create_string_buffer(b'\\1' + bytes(255), 256)", refused="EPERM"), works_bare=ROOT),
    Attack(
        "trace a process of the user's",
        python(
            f"{FIND_VICTIM}\nimport ctypes\nlibc = ctypes.CDLL(None)\nfor pid in victims():\n"
            f"    if libc.ptrace(16, pid, 0, 0) == 0:\n        print('{MARK}'); os.waitpid(pid, 0x40000000)"
        ),
    ),
    *(
        Attack(f"change {what} of a process of the user's", python(f"{FIND_VICTIM}\n{OF_VICTIM}\n{code}"))
        for what, code in CHANGES.items()
    ),
    Attack(
        "see other processes",
        python(f"{FIND_VICTIM}\nprint('{MARK}' if list(victims()) else 'nobody')"),
        partial_stops=False,
    ),
    Attack("take 2 GB of memory", python(f"x = bytearray(2 << 30); print('{MARK}')"), works_bare=False),
    Attack("start 500 processes", python(
        f"import subprocess\nall = []\ntry:\n    for _ in range(500): all.append(subprocess.Popen(['sleep', '60']))\n"
        f"    print('{MARK}')\nfinally:\n    for each in all: each.kill()"), works_bare=False),
    Attack("write 300 MB", f"head -c 300M /dev/zero > big && echo {MARK}; rm -f big"),
    Attack(
        "raise the limits again", f"ulimit -f unlimited && ulimit -d unlimited && echo {MARK}", works_bare=ROOT
    ),
    Attack("gain rights by a setuid program", f"grep -q 'NoNewPrivs:.0' /proc/self/status && echo {MARK}"),
    Attack("have capabilities", f"grep -q 'CapEff:.0*$' /proc/self/status || echo {MARK}", works_bare=ROOT),
    Attack(
        "find descriptors of Joey's",
        f"ls -l /proc/self/fd | grep -q joey-secret && echo {MARK}",
        works_bare=False,
    ),
    Attack(
        "inherit any other descriptor",
        python(
            "import os\n"
            "for fd in range(3, 256):\n"
            "    try: place = os.readlink(f'/proc/self/fd/{fd}')\n"
            "    except OSError: continue\n"
            f"    if os.path.exists(f'/proc/self/fd/{{fd}}') or 'socket' in place: print('{MARK}', fd, place)"
        ),
        works_bare=False,
    ),
    Attack("read the memory of the process that starts commands", f"head -c1 /proc/$PPID/mem && echo {MARK}; "
           f"readlink /proc/$PPID/fd/* && echo {MARK}", works_bare=False),
]  # fmt: skip
KERNEL = [
    Attack("a new user namespace", f"unshare -U true && echo {MARK}"),
    Attack("a new network namespace", f"unshare -Un true && echo {MARK}"),
    Attack("clone3", syscall(435, "None", "0", refused="ENOSYS")),
    Attack("clone with a namespace", syscall(56, "0x10000011", "0", "0", "0", "0", refused="EPERM"), works_bare=False),
    Attack("io_uring", syscall(425, "1", "ctypes.create_string_buffer(256)", refused="ENOSYS")),
    Attack("a keyring", syscall(250, "0", "-3", "1", refused="EPERM")),
    Attack("bpf", syscall(321, "0", "None", "0", refused="EPERM"), works_bare=ROOT),
    Attack("perf_event_open", syscall(298, "None", "0", "-1", "-1", "0", refused="EPERM")),
    Attack("userfaultfd", syscall(323, "1", refused="EPERM")),
    Attack("mount", f"mount --bind $OUT /mnt && echo {MARK}", works_bare=False),
    Attack("a 32-bit system call, which has other numbers", syscall(0x40000000 | 41, "2", "1", "0", refused="ENOSYS"),
           works_bare=False),
    Attack(
        "type into the terminal (TIOCSTI)",
        python(
            "import ctypes, errno, os\nlibc = ctypes.CDLL(None, use_errno=True)\nour, their = os.openpty()\n"
            "for command in (0x5412, 0x541C, 0x100005412):\n"
            "    libc.syscall(16, their, ctypes.c_ulong(command), b'x')\n"
            f"    if ctypes.get_errno() != errno.EPERM: print('{MARK}')"
        ),
        works_bare=ROOT,
    ),
    Attack("write to /proc/sys", f"cd /proc/sys/kernel; p=$(cat core_pattern); echo $p > core_pattern && echo {MARK}",
           works_bare=ROOT),
    Attack("write to /sys", f"cd /sys/kernel/mm/ksm; n=$(cat run); echo $n > run && echo {MARK}",
           works_bare=ROOT),
    Attack("make a node for the disk", f"mknod disk b 254 0 && head -c1 disk && echo {MARK}", works_bare=False),
    Attack("load a module", syscall(313, "0", "b''", "0", refused="EPERM"), works_bare=False),
]  # fmt: skip
SYSV = (
    "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\nlibc.shmat.restype = ctypes.c_long\n"
    "found = int(os.environ['SYSV_{0}'])\n"
    f"if libc.{{1}} not in (-1, None): print('{MARK}')"
)
"""Reach what another program made, by the number that it has for everybody."""
_FRESH = "os.close(os.open('privileged', os.O_CREAT | os.O_WRONLY, 0o755))"
PRIVILEGED = [
    Attack("set-user-id by chmod", set_id(f"{_FRESH}; os.chmod('privileged', 0o4755)")),
    Attack("set-group-id by chmod", set_id(f"{_FRESH}; os.chmod('privileged', 0o2755)")),
    Attack("set-user-id by fchmod", set_id("f = open('privileged', 'w'); os.fchmod(f.fileno(), 0o4755)")),
    Attack("set-user-id by fchmodat", set_id(f"{_FRESH}; libc.fchmodat(-100, b'privileged', 0o4755, 0)")),
    Attack("set-user-id by fchmodat2", set_id(f"{_FRESH}; libc.syscall(452, -100, b'privileged', 0o4755, 0)")),
    Attack("set-user-id by open", set_id("os.open('privileged', os.O_CREAT | os.O_WRONLY, 0o4755)")),
    Attack("set-user-id by creat", set_id("libc.creat(b'privileged', 0o4755)")),
    Attack("set-user-id by mknod", set_id("os.mknod('privileged', 0o104755)")),
    Attack("set-user-id by openat2", set_id(
        "import struct; libc.syscall(437, -100, b'privileged', struct.pack('QQQ', 0o101, 0o4755, 0), 24)")),
    Attack("set-user-id by a file without a name", set_id(
        "f = os.open('.', os.O_TMPFILE | os.O_WRONLY, 0o4755); "
        "libc.linkat(-100, b'/proc/self/fd/%d' % f, -100, b'privileged', 0x400)")),
]  # fmt: skip
LATER = [
    Attack("plant a hook", f"echo evil > .git/hooks/pre-commit && echo {MARK}",
           exists("workspace/.git/hooks/pre-commit"), partial_stops=False),
    Attack("set core.fsmonitor", f"git config core.fsmonitor evil && echo {MARK}",
           lambda world: "fsmonitor" in (world.workspace / ".git/config").read_text(), partial_stops=False),
    Attack("replace .git/config", f"echo '[core]' > c && mv -f c .git/config && echo {MARK}", partial_stops=False),
    Attack("move .git away", f"mv .git gone && echo {MARK} && mv gone .git", partial_stops=False),
    Attack("move the hooks away", f"mv .git/hooks .git/gone && echo {MARK} && mv .git/gone .git/hooks",
           partial_stops=False),
    Attack("change Joey's settings", f"echo 'sandbox = \"off\"' > ~/.config/joey/config.toml && echo {MARK}",
           differs("home/.config/joey/config.toml", f'# {SECRET}\nsandbox = "auto"\n')),
    Attack("replace the folder of Joey's settings", f"mv ~/.config ~/.gone && echo {MARK} && mv ~/.gone ~/.config"),
    Attack("forge a journal", f"echo '{{}}' >> ~/.local/state/joey/tasks/1/journal.jsonl && echo {MARK}",
           differs("home/.local/state/joey/tasks/1/journal.jsonl", f'{{"{SECRET}": 1}}\n')),
    Attack("write to the shared /tmp", 'echo x > "$TMP_FOLDER/planted"',
           lambda world: Path(world.variables["TMP_FOLDER"], "planted").exists()),
    Attack("write to the shared /dev/shm", 'echo x > "/dev/shm/$SHM_NAME"',
           lambda world: _taken(Path("/dev/shm", world.variables["SHM_NAME"]))),
    Attack("read another program's shared memory", f"grep -q {SECRET} /dev/shm/$SHM_FILE && echo {MARK}"),
    Attack("find another program's shared memory", f'ls /dev/shm | grep -q "$SHM_FILE" && echo {MARK}'),
    Attack("SysV shared memory", python(SYSV.format("shm", "shmat(found, None, 0)"))),
    Attack("a SysV queue", python(SYSV.format("msg", "msgctl(found, 2, ctypes.create_string_buffer(256))"))),
    Attack("SysV semaphores", python(SYSV.format("sem", "semctl(found, 0, 12)"))),
    Attack("a POSIX queue", python(
        "import ctypes, os\nlibc = ctypes.CDLL(None)\n"
        f"if libc.mq_open(os.environ['QUEUE'].encode(), os.O_RDWR) >= 0: print('{MARK}')")),
    Attack("another program's terminal", f"exec 3<>$TERMINAL && echo {MARK}"),
    Attack("write to another program's terminal", f"echo password: > $TERMINAL && echo {MARK}"),
    Attack("find the terminals of others", f"ls /dev/pts | grep -qx $(basename $TERMINAL) && echo {MARK}"),
    Attack("change .envrc", f"echo evil > .envrc && echo {MARK}", differs("workspace/.envrc", "# mine\n"),
           partial_stops=False),
    Attack("change .vscode", f"echo evil > .vscode/tasks.json && echo {MARK} && rm .vscode/tasks.json",
           partial_stops=False),
    Attack("a job for cron", "mkdir -p /var/spool/cron/crontabs 2>/dev/null; echo '* * * * * evil' > "
           f"/var/spool/cron/crontabs/joey-test && echo {MARK}", works_bare=False),
    Attack("a job for at", f"touch /var/spool/cron/atjobs/joey-test /var/spool/at/joey-test && echo {MARK}",
           works_bare=False),
]  # fmt: skip
ATTACKS = (*WRITES, *SECRETS, *NETWORK, *PROCESSES, *KERNEL, *PRIVILEGED, *LATER)


def _received(world: World) -> bool:
    server: socket.socket = world.udp  # type: ignore[attr-defined]
    try:
        return bool(server.recv(100))
    except BlockingIOError:
        return False


def _taken(path: Path) -> bool:
    try:
        path.unlink()
    except OSError:
        return False
    return True


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with a_world() as made:
        _surround(made)
        yield made


@pytest.fixture(scope="module")
def bare_world() -> Iterator[World]:
    """Another one: what an attack replaces there would lose what a sandbox has mounted over it."""
    with a_world() as made:
        _surround(made)
        yield made


def _surround(world: World) -> None:
    """What the attacks are after."""
    private = tempfile.TemporaryDirectory(prefix="joey-attack-")
    world.finally_do(private.cleanup)
    place = Path(private.name)
    (place / "file").write_text(SECRET)
    (world.home / ".docker").mkdir()
    process = victim(world)
    udp = listen(world, ("127.0.0.1", 0), socket.SOCK_DGRAM)
    udp.setblocking(False)
    world.udp = udp  # type: ignore[attr-defined]
    abstract = f"joey-attack-{world.root.name}"
    sockets = {"AGENT": world.outside / "agent", "DOCKER": world.home / ".docker/s", "X11": place / "X0"}
    for path in sockets.values():
        _listen_at(world, path)
    listen(world, f"\0{abstract}")
    log = _listen_at(world, place / "log", socket.SOCK_DGRAM)
    log.setblocking(False)
    memory = Path("/dev/shm", f"{abstract}-file")
    memory.write_text(SECRET)
    world.finally_do(lambda: memory.unlink(missing_ok=True))
    world.variables = {
        "LOG": str(place / "log"),
        "SHM_FILE": memory.name,
        "TERMINAL": _terminal(world),
        "QUEUE": _queue(world, f"/{abstract}"),
        **_sysv(world),
        "OUT": str(world.outside),
        "TMP_FOLDER": str(place),
        "TMP_FILE": str(place / "file"),
        "SHM_NAME": abstract,
        "ABSTRACT": abstract,
        "TCP_PORT": str(listen(world, ("127.0.0.1", 0)).getsockname()[1]),
        "UDP_PORT": str(udp.getsockname()[1]),
        "VICTIM_PID": str(process.pid),
        "VICTIM_WORD": str(process.args[1]),  # type: ignore[index]
        "SSH_AUTH_SOCK": str(sockets["AGENT"]),
        **{name: str(path) for name, path in sockets.items()},
    }


def _listen_at(world: World, path: Path, kind: int = socket.SOCK_STREAM) -> socket.socket:
    """A path may be too long for a socket; the folder is not."""
    before = Path.cwd()
    os.chdir(path.parent)
    try:
        return listen(world, path.name, kind)
    finally:
        os.chdir(before)


def _terminal(world: World) -> str:
    """One that another program of the user's has open."""
    ours, theirs = os.openpty()
    for each in (ours, theirs):
        world.finally_do(partial(os.close, each))
    return os.ttyname(theirs)


def _queue(world: World, name: str) -> str:
    libc = ctypes.CDLL(None)
    os.close(libc.mq_open(name.encode(), os.O_CREAT | os.O_RDWR, 0o600, None))
    world.finally_do(lambda: libc.mq_unlink(name.encode()))
    return name


def _sysv(world: World) -> dict[str, str]:
    """Shared memory, a queue and a semaphore of another program's, by their numbers."""
    libc = ctypes.CDLL(None)
    shared, queue, semaphore = libc.shmget(0, 4096, 0o1600), libc.msgget(0, 0o1600), libc.semget(0, 1, 0o1600)
    world.finally_do(lambda: (libc.shmctl(shared, 0, None), libc.msgctl(queue, 0, None), libc.semctl(semaphore, 0, 0)))
    return {"SYSV_shm": str(shared), "SYSV_msg": str(queue), "SYSV_sem": str(semaphore)}


def _paths(world: World) -> dict[str, str]:
    """What an attack may know: the names that commands do not get are handed to it all the same."""
    return {name: value for name, value in world.variables.items() if name != "SSH_AUTH_SOCK"}


def _put_back(world: World) -> None:
    by_call = world.outside / "by-call"
    if by_call.is_dir() and not by_call.is_symlink():
        by_call.rmdir()
    for name in ("outside/new", "outside/by-call", "outside/by-link", "outside/moved",
                 "workspace/.git/hooks/pre-commit", "workspace/mine",
                 "workspace/link", "workspace/keys", "workspace/c", "workspace/big"):  # fmt: skip
        (world.root / name).unlink(missing_ok=True)
    Path(world.variables["TMP_FOLDER"], "planted").unlink(missing_ok=True)
    world.write_files()
    (world.outside / "file").chmod(0o644)
    os.utime(world.outside / "file")
    (world.workspace / ".git/config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = false\n")


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_the_full_sandbox_stops(world: World, attack: Attack) -> None:
    _put_back(world)
    if ROOT and attack.name == "start 500 processes":
        pytest.skip("the kernel does not count the processes of root; the guide says so")
    ran = world.inside(attack.command, "full", more=_paths(world))
    assert not ran.happened, ran.out
    assert not attack.seen(world)


@pytest.mark.parametrize("attack", [each for each in ATTACKS if each.partial_stops], ids=lambda attack: attack.name)
def test_the_partial_sandbox_stops(world: World, attack: Attack) -> None:
    _put_back(world)
    if ROOT and attack.name == "start 500 processes":
        pytest.skip("the kernel does not count the processes of root; the guide says so")
    ran = world.inside(attack.command, "partial", more=_paths(world))
    assert not ran.happened, ran.out
    assert not attack.seen(world)


@pytest.mark.parametrize("attack", [each for each in ATTACKS if each.works_bare], ids=lambda attack: attack.name)
def test_without_a_sandbox_it_is_an_attack(bare_world: World, attack: Attack) -> None:
    _put_back(bare_world)
    ran = bare_world.bare(attack.command, _paths(bare_world))
    assert ran.happened or attack.seen(bare_world), ran.out


@pytest.mark.parametrize("call", CHANGES.values(), ids=CHANGES)
def test_in_a_partial_sandbox_a_process_can_only_change_itself(world: World, call: str) -> None:
    """By a number nobody can tell whose process it is, so 0 is the only way to name one: its own."""
    tried = f"{OF_VICTIM}\nimport os, sys\nvictims = lambda: [int(sys.stdin.readline())]\n{call}"
    (world.workspace / "change.py").write_text(tried)
    by_zero, by_number = (f"echo {pid} | {PYTHON} -I change.py" for pid in (0, "$$"))
    assert world.inside(by_zero, "partial").happened
    assert not world.inside(by_number, "partial").happened
    assert world.bare(by_number).happened


@pytest.mark.parametrize(("number", "kind"), [(141, 2), (251, 3)], ids=["priority", "priority for the disk"])
def test_in_a_partial_sandbox_nobody_changes_all_processes_of_a_user(world: World, number: int, kind: int) -> None:
    """Tried on a user who has none: on one who has, it would change everything that runs on this machine."""
    tried = syscall(number, str(kind), "54321", str(2 << 13 | 4), refused="EPERM")
    assert not world.inside(tried, "partial").happened
    assert world.bare(tried).happened


@pytest.mark.parametrize("level", ["full", "partial"])
def test_with_the_network_there_is_still_no_socket_to_the_host_of_a_virtual_machine(world: World, level: str) -> None:
    sandbox = world.open(level, world.walls(network="on"))
    assert "refused" in world.inside(family(40), sandbox=sandbox).out
    assert world.inside(family(2), sandbox=sandbox).happened
