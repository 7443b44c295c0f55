"""Forty attacks and more, each tried three times: bare, where it must work, and in the two sandboxes.

An attack prints HAPPENED if it worked as seen from inside, or leaves something outside that `seen` finds. What the
sandbox without namespaces does not stop is listed, so that the list can be read in the guide and cannot grow unnoticed.
"""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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
    Attack("delete outside", f"rm -f $OUT/other && echo {MARK}", lambda world: not (world.outside / "other").exists()),
]
SECRETS = [
    Attack("read ~/.ssh", f"grep -q {SECRET} ~/.ssh/id_ed25519 && echo {MARK}"),
    Attack(
        "read ~/.ssh through a link in the workspace",
        f"ln -sfn ~/.ssh keys; grep -q {SECRET} keys/id_ed25519 && echo {MARK}",
    ),
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
    Attack("the ssh agent's socket", connect("AF_UNIX", "os.environ['AGENT']"), partial_stops=False),
    Attack("a socket like Docker's", connect("AF_UNIX", "os.environ['DOCKER']"), partial_stops=False),
    Attack("a socket in /tmp, like X11's", connect("AF_UNIX", "os.environ['X11']"), partial_stops=False),
    Attack("the cloud's metadata address", connect("AF_INET", "('169.254.169.254', 80)"), works_bare=False),
    Attack("a raw socket", connect("AF_PACKET", "('lo', 3)", "SOCK_RAW"), works_bare=False),
    Attack("a socket to the host of a virtual machine", family(40), works_bare=False),
    Attack("a socket for the kernel's ciphers", family(38), works_bare=False),
    Attack("a socket for audit messages", family(16, 9), works_bare=False),
    Attack(
        "D-Bus",
        'for each in /run/dbus/system_bus_socket /run/user/*/bus; do [ -S "$each" ] && echo ' + MARK + "; done",
        works_bare=False,
        partial_stops=False,
    ),
]
PROCESSES = [
    Attack(
        "kill a process of the user's",
        python(f"{FIND_VICTIM}\nfor pid in victims():\n    os.kill(pid, 0); print('{MARK}')"),
    ),
    Attack(
        "trace a process of the user's",
        python(
            f"{FIND_VICTIM}\nimport ctypes\nlibc = ctypes.CDLL(None)\nfor pid in victims():\n"
            f"    if libc.ptrace(16, pid, 0, 0) == 0:\n        print('{MARK}'); os.waitpid(pid, 0x40000000)"
        ),
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
           lambda world: _taken(Path("/dev/shm", world.variables["SHM_NAME"])), partial_stops=False),
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
    world.variables = {
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


def _listen_at(world: World, path: Path) -> None:
    """A path may be too long for a socket; the folder is not."""
    before = Path.cwd()
    os.chdir(path.parent)
    try:
        listen(world, path.name)
    finally:
        os.chdir(before)


def _paths(world: World) -> dict[str, str]:
    """What an attack may know: the names that commands do not get are handed to it all the same."""
    return {name: value for name, value in world.variables.items() if name != "SSH_AUTH_SOCK"}


def _put_back(world: World) -> None:
    for name in ("outside/new", "outside/by-link", "outside/moved", "workspace/.git/hooks/pre-commit", "workspace/mine",
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


@pytest.mark.parametrize("level", ["full", "partial"])
def test_with_the_network_there_is_still_no_socket_to_the_host_of_a_virtual_machine(world: World, level: str) -> None:
    sandbox = world.open(level, world.walls(network="on"))
    assert "refused" in world.inside(family(40), sandbox=sandbox).out
    assert world.inside(family(2), sandbox=sandbox).happened
