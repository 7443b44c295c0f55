"""What people run every day works inside: a sandbox that gets in the way is switched off."""

from __future__ import annotations

import shutil
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from joey.sandbox import ProcessLimits, Sandbox
from sandbox_kit import PYTHON, World, a_world

COMMIT = "git -c user.name=Ann -c user.email=ann@example.com commit -q"
TAR = "tar cf t.tar --owner=1234 --group=1234 README.md"
TEST = "echo 'def test_it(tmp_path): (tmp_path / \"x\").touch()'"
PYTEST = f"{PYTHON} -m pytest -q -p no:cacheprovider -o addopts="
EVERYDAY = [
    ("git status", "git status --short README.md", ""),
    ("git add and commit", f"echo 1 > one && git add one && {COMMIT} -m One && git log --format=%s -1", "One\n"),
    ("git branch and checkout", "git checkout -qb topic && git branch --show-current && git checkout -q -", "topic\n"),
    ("git stash", "echo 2 > README.md && git stash -q && git stash pop -q && git checkout -q README.md", ""),
    ("git tag and gc", "git tag v1 && git gc -q && git tag", "v1\n"),
    ("a worktree in the workspace", "git worktree add -q tree && ls tree/README.md", "tree/README.md\n"),
    ("a temporary file", "f=$(mktemp) && echo hi > $f && cat $f", "hi\n"),
    ("/dev/shm", "echo hi > /dev/shm/x && cat /dev/shm/x", "hi\n"),
    ("processes", "ps -e -o comm= | grep -c bash", None),
    ("a pipe and a subshell", "(echo b; echo a) | sort | head -1", "a\n"),
    ("process substitution", "cat <(echo hi)", "hi\n"),
    ("multiprocessing", f"{PYTHON} -c 'import multiprocessing as m; print(sum(m.Pool(2).map(abs, [-1, 2])))'", "3\n"),
    ("a cache", "mkdir -p ~/.cache/tool && echo hi > ~/.cache/tool/x && cat ~/.cache/tool/x", "hi\n"),
    ("the home folder can be read", "cat ~/.bashrc", "# mine\n"),
    ("tracing an own child", f"{PYTHON} -c 'import ctypes; print(ctypes.CDLL(None).ptrace(0, 0, 0, 0))'", "0\n"),
    ("tar of somebody's files", f"{TAR} && tar xf t.tar -C /tmp && ls /tmp/README.md", "/tmp/README.md\n"),
    ("the user is who they are", "test $(id -u) = $(stat -c %u .) && echo mine", "mine\n"),
    ("a long line of output", "head -c 3000000 /dev/zero | tr '\\0' x | wc -c", "3000000\n"),
    ("make", "printf 'all:\\n\\techo made\\n' > Makefile && make -s", "made\n"),
    ("a pytest of the project", f"{TEST} > test_it.py && {PYTEST} test_it.py | tail -1 | cut -c1-8", "1 passed\n"),
    ("node", "node -e 'console.log(1 + 1)'", "2\n"),
    ("npm", "npm --version >/dev/null && npm init -y >/dev/null && test -f package.json && echo made", "made\n"),
    ("gcc", "echo 'int main(void){return 0;}' > a.c && gcc a.c -o a.out && ./a.out && echo ran", "ran\n"),
]  # fmt: skip
NEEDED = {"node": "node", "npm": "npm", "gcc": "gcc", "make": "make"}


NOT_IN_PARTIAL = {
    "/dev/shm": "/dev/shm is everybody's",
    "multiprocessing": "its semaphores are files in /dev/shm",
    "a cache": "caches are in $XDG_CACHE_HOME",
    "tracing an own child": "nobody could tell whose child it is",
    "tar of somebody's files": "/tmp is closed",
    "a pytest of the project": "folders above the home folder cannot be listed, and Joey's own tests are one here",
}  # fmt: skip
"""The guide names these."""
POOL = "import concurrent.futures as c; print(*c.ThreadPoolExecutor().map(abs, [-1]))"
PAIR = "import asyncio, socket; asyncio.run(asyncio.sleep(0)); socket.socketpair()"
FORK = 'require("child_process").fork("./child.js").on("message", each => console.log(each))'
JOBS = "printf 'all: b1 b2\\nb%%:\\n\\t@echo made\\n' > M && make -sf M -j2"
ALONE = f"{TEST} > test_it.py && {PYTEST} --confcutdir=. test_it.py | tail -1 | cut -c1-8"
ONLY_PARTIAL = [
    ("copies with times and attributes", "echo 1 > a && cp -p a b && cp -a a c && mv c d && cat b d", "1\n1\n"),
    ("tar with attributes", "echo 1 > a && tar cf t.tar --xattrs --acls a && tar xf t.tar --xattrs && cat a", "1\n"),
    ("its own limits and priorities", "ulimit -n 100 && nice true && ionice -c3 taskset 1 echo hi", "hi\n"),
    ("a pytest of a project", ALONE, "1 passed\n"),
    ("a pair of sockets", f"{PYTHON} -c '{PAIR}'", ""),
    ("a pool of threads", f"{PYTHON} -c '{POOL}'", "1\n"),
    ("messages to a child of node", f"echo 'process.send(1)' > child.js && node -e '{FORK}'", "1\n"),
    ("names of users", "id -un >/dev/null && getent passwd root | cut -d: -f1", "root\n"),
    (
        "a script of npm",
        "echo '{}' >package.json && npm pkg set scripts.x='echo hi' >/dev/null && npm run -s x",
        "hi\n",
    ),
    ("make with several jobs", JOBS, "made\nmade\n"),
]
IN_PARTIAL = [*(each for each in EVERYDAY if each[0] not in NOT_IN_PARTIAL), *ONLY_PARTIAL]


@pytest.fixture(scope="module")
def partial_world() -> Iterator[World]:
    with a_world() as made:
        yield made


@pytest.mark.parametrize(("name", "command", "expected"), IN_PARTIAL, ids=[each[0] for each in IN_PARTIAL])
def test_it_works_in_a_partial_one(partial_world: World, name: str, command: str, expected: str | None) -> None:
    program = "node" if "node" in name else "npm" if "npm" in name else NEEDED.get(name, "git")
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    sandbox = partial_world.open("partial", partial_world.walls(limits=ProcessLimits()))
    ran = partial_world.inside(command, sandbox=sandbox)
    assert ran.code == 0, ran.out
    assert expected is None or ran.out == expected


def test_a_setting_gives_a_partial_one_shared_memory_and_terminals(partial_world: World) -> None:
    places = tuple(map(Path, ("/dev/shm", "/dev/ptmx", "/dev/pts")))
    sandbox = partial_world.open("partial", partial_world.walls(limits=ProcessLimits(), writable=places))
    pool = next(command for name, command, _expected in EVERYDAY if name == "multiprocessing")
    assert partial_world.inside(pool, sandbox=sandbox).out == "3\n"
    assert partial_world.inside(f"{PYTHON} -c 'import os; print(len(os.openpty()))'", sandbox=sandbox).out == "2\n"


@pytest.fixture(scope="module")
def sandbox(world: World) -> Sandbox:
    return world.open("full", world.walls(limits=ProcessLimits()))


@pytest.mark.parametrize(("name", "command", "expected"), EVERYDAY, ids=[each[0] for each in EVERYDAY])
def test_it_works_inside(world: World, sandbox: Sandbox, name: str, command: str, expected: str | None) -> None:
    if name in NEEDED and shutil.which(NEEDED[name]) is None:
        pytest.skip(f"{NEEDED[name]} is not installed")
    ran = world.inside(command, sandbox=sandbox)
    assert ran.code == 0, ran.out
    assert expected is None or ran.out == expected


def test_a_server_of_one_command_answers_the_next(world: World, sandbox: Sandbox) -> None:
    serve = f"cd $(mktemp -d) && echo hello > x && {{ {PYTHON} -m http.server 8124 >/dev/null 2>&1 & }} && echo $!"
    group = world.inside(serve, sandbox=sandbox).out.strip()
    ask = (
        f"{PYTHON} -c 'import time, urllib.request as u\nfor _ in range(100):\n  try: print(u.urlopen(\"http://127.0.0.1:"
        "8124/x\").read().decode()); break\n  except OSError: time.sleep(0.1)'"
    )
    assert world.inside(ask, sandbox=sandbox).out == "hello\n\n"
    assert world.inside(f"kill {group} && echo ended", sandbox=sandbox).out == "ended\n"


def test_a_virtual_environment_and_pip_from_an_index_on_this_machine(world: World) -> None:
    wheel = _wheel(world.workspace / "packages")
    sandbox = world.open("full", world.walls(network="on", limits=ProcessLimits()))
    install = (
        f"{PYTHON} -m venv --without-pip env && "
        f"{sys.prefix}/bin/python -m pip --python env/bin/python install -q --no-index --disable-pip-version-check "
        f"--find-links {wheel.parent} tiny && env/bin/python -c 'import tiny; print(tiny.WORD)'"
    )
    ran = world.inside(install, sandbox=sandbox)
    assert ran.out.endswith("hi\n"), ran.out
    assert not (world.home / ".cache/pip").exists()


def _wheel(folder: Path) -> Path:
    folder.mkdir()
    path = folder / "tiny-1.0-py3-none-any.whl"
    info = "tiny-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("tiny.py", "WORD = 'hi'\n")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return path


# Repositories of other shapes


@pytest.fixture
def repository() -> Iterator[World]:
    with a_world() as made:
        yield made


def test_a_commit_in_a_linked_worktree(repository: World) -> None:
    linked = repository.root / "linked"
    repository.git("worktree", "add", "-q", str(linked))
    sandbox = repository.open("full", repository.walls(linked))
    ran = repository.inside(
        f"echo 1 > one && git add one && {COMMIT} -m One && git log --format=%s -1", sandbox=sandbox
    )
    assert ran.out == "One\n"
    assert repository.git("log", "--format=%s", "-1", "linked") == "One\n"
    main = repository.workspace / ".git"
    hook = f"echo evil > {main}/hooks/pre-commit; git config core.pager evil; echo x > {main}/../README.md"
    assert repository.inside(hook, sandbox=sandbox).code != 0
    assert not (main / "hooks/pre-commit").exists() and "evil" not in (main / "config").read_text()
    assert (repository.workspace / "README.md").read_text() == "# Project\n"
    redirect = f"echo /tmp > {main}/worktrees/linked/commondir; echo /tmp/x > {main}/worktrees/linked/gitdir"
    assert repository.inside(redirect, sandbox=sandbox).code != 0


def test_a_commit_in_a_folder_of_a_repository(repository: World) -> None:
    folder = repository.workspace / "part"
    folder.mkdir()
    sandbox = repository.open("full", repository.walls(folder))
    ran = repository.inside(
        f"echo 1 > one && git add one && {COMMIT} -m Part && git log --format=%s -1", sandbox=sandbox
    )
    assert ran.out == "Part\n"
    assert repository.inside("echo x > ../README.md", sandbox=sandbox).code != 0


def test_a_commit_in_a_submodule(repository: World) -> None:
    origin = repository.root / "origin"
    repository.git("init", "-q", str(origin), cwd=repository.root)
    repository.git("commit", "-q", "--allow-empty", "-m", "Begin", cwd=origin)
    repository.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(origin), "sub")
    sandbox = repository.open("full", repository.walls(repository.workspace / "sub"))
    ran = repository.inside(
        f"echo 1 > one && git add one && {COMMIT} -m Sub && git log --format=%s -1", sandbox=sandbox
    )
    assert ran.out == "Sub\n"
    assert repository.inside("git config core.pager evil", sandbox=sandbox).code != 0
    above = repository.open("full", repository.walls())
    evil = "echo '[core] fsmonitor = evil' >> .git/modules/sub/config; echo x > .git/modules/sub/hooks/pre-commit"
    assert repository.inside(evil, sandbox=above).code != 0
