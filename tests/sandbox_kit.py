"""A small world with something to lose, and sandboxes in it.

    root/
      home/       secrets, settings and a journal of Joey's
      outside/    files of somebody else's
      workspace/  a git repository: the only place that commands may change

It lies beside the tests and not in /tmp, which is empty inside a sandbox: there an attack on a file would fail because
the file is not there, and show nothing. A process, sockets and servers of the user's run outside.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest

from joey.policy import Workspace
from joey.policy.protected import is_guarded
from joey.sandbox import Sandbox, Walls, bubblewrap, open_full, open_partial
from joey.sandbox.holder import SandboxError
from joey.sandbox.settings import ProcessLimits
from joey.tools.shell.environment import command_environment

T = TypeVar("T")
SECRET = "the-secret-of-the-user"
MARK = "HAPPENED"
PYTHON = sys.executable
LIMITS = ProcessLimits(memory=1024, processes=200, file_size=100)
_FILES = {
    "home/.ssh/id_ed25519": SECRET,
    "home/.aws/credentials": SECRET,
    "home/.netrc": SECRET,
    "home/.npmrc": SECRET,
    "home/.bash_history": SECRET,
    "home/.bashrc": "# mine\n",
    "home/.gitconfig": "[user]\n\tname = Ann\n\temail = ann@example.com\n[init]\n\tdefaultBranch = main\n",
    "home/.config/joey/config.toml": f'# {SECRET}\nsandbox = "auto"\n',
    "home/.local/state/joey/tasks/1/journal.jsonl": f'{{"{SECRET}": 1}}\n',
    "home/.cache/made.txt": "the user's\n",
    "outside/file": "somebody's\n",
    "outside/other": "somebody's\n",
    "workspace/README.md": "# Project\n",
    "workspace/.vscode/settings.json": "{}\n",
    "workspace/.envrc": "# mine\n",
    "workspace/.env": SECRET,
    "workspace/.gitignore": ".env\n",
    "workspace/.joeyignore": ".env\n",
}


def need_bubblewrap() -> None:
    if bubblewrap.program() is None:
        pytest.skip("bubblewrap is not installed")


def need_visible_checkout() -> None:
    if Path(__file__).resolve().is_relative_to("/tmp"):
        pytest.skip("commands in the sandbox have a /tmp of their own, which hides this checkout: clone it elsewhere")


@dataclass(frozen=True, slots=True)
class Ran:
    code: int
    out: str

    @property
    def happened(self) -> bool:
        return MARK in self.out


class Loop:
    """An event loop in a thread of its own, so that one sandbox serves many tests."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T], timeout: float = 120) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout)

    def call(self, work: Callable[[], None]) -> None:
        async def called() -> None:
            work()

        self.run(called())

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def run_in(sandbox: Sandbox, command: str, environment: Mapping[str, str], cwd: Path | None = None) -> Ran:
    """A command inside, and all that it prints until nobody can print any more."""
    ours, theirs = os.pipe()
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        process = await sandbox.start(
            ["/bin/bash", "-c", command], cwd or sandbox.walls.workspace, environment, (nothing, theirs, theirs)
        )
    finally:
        os.close(theirs)
        os.close(nothing)
    reading = asyncio.get_running_loop().run_in_executor(None, _read_all, ours)
    code = await process.wait()
    return Ran(code, await reading)


def _read_all(descriptor: int) -> str:
    with os.fdopen(descriptor, "rb") as pipe:
        return pipe.read().decode("utf-8", "replace")


@dataclass(eq=False)
class World:
    """The folders, what runs outside, and the sandboxes that were opened."""

    root: Path
    loop: Loop = field(default_factory=Loop)
    _sandboxes: dict[Any, Sandbox] = field(default_factory=dict)
    _closing: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def outside(self) -> Path:
        return self.root / "outside"

    @property
    def workspace(self) -> Path:
        return self.root / "workspace"

    @property
    def environment(self) -> dict[str, str]:
        """What Joey itself runs in: with a key that commands should not have."""
        return {**os.environ, "HOME": str(self.home), "ATTACK_API_KEY": SECRET, **self.variables}

    def write_files(self) -> None:
        """Put everything back as it was, in place: a file that is replaced would lose what is mounted over it."""
        for name, text in _FILES.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists() or path.read_text() != text:
                path.write_text(text)

    def git(self, *words: str, cwd: Path | None = None) -> str:
        """git as the user runs it, outside. It never looks for a repository above the world: Joey's own is there."""
        environment = {**self.environment, "GIT_CEILING_DIRECTORIES": str(self.root)}
        done = subprocess.run(
            ["git", *words], cwd=cwd or self.workspace, env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout

    def walls(self, workspace: Path | None = None, **more: Any) -> Walls:
        folder = workspace or self.workspace
        paths = Workspace.of(folder)
        return Walls(folder, **{"limits": LIMITS, "guarded": is_guarded, "ignored": paths.hides, **more})

    def open(self, level: str, walls: Walls | None = None) -> Sandbox:
        """A sandbox of this level, as Joey would open it with this home folder. Skips where there can be none."""
        walls = walls or self.walls()
        key = (level, walls)
        if key not in self._sandboxes or not self._sandboxes[key].is_open:
            if level == "full":
                need_bubblewrap()
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("HOME", str(self.home))
                for name, value in self.variables.items():
                    patch.setenv(name, value)
                try:
                    self._sandboxes[key] = self.loop.run((open_full if level == "full" else open_partial)(walls))
                except SandboxError as error:
                    if level == "full" and walls.network != "hosts":
                        pytest.skip(f"no full sandbox here: {error}")
                    raise
        return self._sandboxes[key]

    def inside(
        self, command: str, level: str = "full", sandbox: Sandbox | None = None, more: Mapping[str, str] | None = None
    ) -> Ran:
        """Run a command in a sandbox, in the environment that commands get, and `more`."""
        given = command_environment(self.environment).variables
        return self.loop.run(run_in(sandbox or self.open(level), command, {**given, **(more or {})}))

    def bare(self, command: str, more: Mapping[str, str] | None = None) -> Ran:
        """Run it without any, to show that it is an attack."""
        done = subprocess.run(
            ["/bin/bash", "-c", command], cwd=self.workspace, env={**self.environment, **(more or {})},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
            timeout=60,
        )  # fmt: skip
        return Ran(done.returncode, done.stdout)

    def close_sandbox(self, sandbox: Sandbox) -> None:
        self.loop.call(sandbox.close)

    def finally_do(self, work: Callable[[], object]) -> None:
        self._closing.callback(work)

    def close(self) -> None:
        for sandbox in self._sandboxes.values():
            self.close_sandbox(sandbox)
        self._closing.close()
        self.loop.close()
        shutil.rmtree(self.root, ignore_errors=True)


@contextlib.contextmanager
def a_world() -> Iterator[World]:
    place = Path(__file__).parent / ".cache"
    place.mkdir(exist_ok=True)
    world = World(Path(tempfile.mkdtemp(prefix="sandbox-", dir=place)).resolve())
    try:
        world.write_files()
        world.git("init", "-q")
        world.git("add", "-A")
        world.git("commit", "-qm", "first")
        yield world
    finally:
        world.close()


# What of the user's runs outside


def listen(world: World, address: str | tuple[str, int], kind: int = socket.SOCK_STREAM) -> socket.socket:
    """A server outside that greets whoever reaches it. For datagrams it only listens."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    server = socket.socket(family, kind)
    server.bind(address)
    world.finally_do(server.close)
    if kind == socket.SOCK_STREAM:
        server.listen(50)
        threading.Thread(target=_greet, args=(server,), daemon=True).start()
    return server


def _greet(server: socket.socket) -> None:
    while True:
        try:
            connection, _address = server.accept()
        except OSError:
            return
        with connection, contextlib.suppress(OSError):
            connection.sendall(SECRET.encode())


def victim(world: World) -> subprocess.Popen[bytes]:
    """A process of the user's, with a secret in its environment."""
    process = subprocess.Popen(
        ["/bin/sleep", f"100000.{os.getpid()}"], env={"VICTIM": SECRET}, stdin=subprocess.DEVNULL
    )
    world.finally_do(process.wait)
    world.finally_do(process.kill)
    return process
