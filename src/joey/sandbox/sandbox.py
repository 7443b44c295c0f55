"""Setting up a sandbox: the best one that this machine lets us have, tried before it is relied upon.

| level   | made of                                     | holds                                              |
|---------|---------------------------------------------|----------------------------------------------------|
| full    | bubblewrap, seccomp, limits                 | everything the guide promises                      |
| partial | Landlock, seccomp, limits (no namespaces)   | most of it; not .git/hooks, nor other processes    |
| none    | nothing                                     | nothing: the policy alone                          |
"""

from __future__ import annotations

import asyncio
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from joey.sandbox import bubblewrap, landlock, seatbelt
from joey.sandbox.hidden import homes
from joey.sandbox.holder import ConfinedProcess, Findings, Holder, SandboxError, hold
from joey.sandbox.mounts import Identity, Layout, Mount, layout, too_broad
from joey.sandbox.proxy import Proxy
from joey.sandbox.seccomp import filter_for
from joey.sandbox.settings import Walls
from joey.system.temporaries import ScratchFolder

Level: TypeAlias = Literal["full", "partial", "none"]
INSTALL = "install bubblewrap (Debian, Ubuntu, Fedora, Arch: the package `bubblewrap`)"
_INSIDE, _FORWARD = Path(__file__).with_name("inside.py"), Path(__file__).with_name("forward.py")
_PROXY_FOLDER, _PROXY_PORT = "/run/joey-proxy", 18080
_USERNS = "let user namespaces be made (Ubuntu: an AppArmor profile for bwrap; Docker: its seccomp profile)"


@dataclass(frozen=True, slots=True)
class HeldLevel:
    """What holds for the commands of a sandbox, and why it is not more."""

    level: Level
    means: str = ""
    """What it is made of."""
    why: str = ""
    """Why there is no better one."""
    advice: str = ""
    note: str = ""
    """Something that a user should know of this workspace."""
    gaps: tuple[str, ...] = ()
    """What it does not stop and a full one would."""

    def __str__(self) -> str:
        words = f"{self.level} ({self.means})" if self.means else self.level
        parts = [words, *(f"no full one: {self.why}" for _ in [0] if self.why), self.advice, self.note]
        return "; ".join(each for each in parts if each)


@dataclass(eq=False)
class Sandbox:
    """A sandbox that stands. With the level `none` there is nobody inside, and nothing can be started in it."""

    walls: Walls
    held: HeldLevel
    holder: Holder | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that commands in it need on top of their own."""
    covered: Mapping[str, Identity] = field(default_factory=dict)
    """Files of the workspace that commands cannot change."""
    hidden: frozenset[str] = frozenset()
    """Places that commands do not see."""
    proxy: Proxy | None = None
    """The way to listed hosts, where there is one."""
    private: tuple[ScratchFolder, ...] = ()
    """Folders on the disk that go when the sandbox goes."""

    @property
    def is_open(self) -> bool:
        return self.holder is not None and not self.holder.closed

    @property
    def is_idle(self) -> bool:
        """Whether no command runs in it, nor anything that one left behind."""
        served = (self.proxy is not None) + (self.held.level == "partial")  # what starts commands is a process there
        return not self.is_open or self.holder is None or len(self.holder.children) <= served

    @property
    def covered_names(self) -> frozenset[str]:
        """The covered files as a command would write them."""
        root = self.walls.workspace.resolve()
        return frozenset(str(Path(each).relative_to(root)) for each in self.covered if Path(each).is_relative_to(root))

    @property
    def hidden_names(self) -> frozenset[str]:
        """The hidden places as a command would write them: absolute, and from the home folder."""
        home = Path.home()
        short = (f"~/{Path(each).relative_to(home)}" for each in self.hidden if Path(each).is_relative_to(home))
        return frozenset((*self.hidden, *short))

    async def start(
        self, argv: Sequence[str], cwd: Path, environment: Mapping[str, str], descriptors: Sequence[int]
    ) -> ConfinedProcess:
        """Run a program inside, with these descriptors as its standard input, output and errors. Raises OSError."""
        assert self.holder is not None
        return await self.holder.start(argv, _real(cwd), {**environment, **self.environment}, descriptors)

    def close(self) -> None:
        """End it, and everything that runs in it."""
        if self.holder is not None:
            self.holder.close()
        if self.proxy is not None:
            self.proxy.close()
        for each in self.private:
            each.close()


async def open_sandbox(walls: Walls) -> Sandbox:
    """The best sandbox there is for these walls. It never fails: the worst there is, is none."""
    try:
        return await open_full(walls)
    except (SandboxError, OSError) as error:
        why = _why(error)
    advice = INSTALL if bubblewrap.program() is None else _USERNS
    # Without a network of its own, a sandbox cannot tell hosts apart.
    fewer = replace(walls, network="none") if walls.network == "hosts" else walls
    try:
        return await open_partial(fewer, why, advice)
    except (SandboxError, OSError) as error:
        return Sandbox(walls, HeldLevel("none", why=f"{why}; {_why(error)}", advice=advice))


def _real(path: str | Path) -> str:
    return os.path.realpath(path)


def _why(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)


# Full


async def open_full(walls: Walls, proxy: Proxy | None = None) -> Sandbox:
    """A sandbox of namespaces, with a proxy if hosts are listed. Raises SandboxError or OSError where that is not
    possible."""
    if walls.network != "hosts":
        return await _open_full(walls)
    proxy = proxy or Proxy(walls.hosts)
    folder = ScratchFolder.make("joey-proxy-")
    try:
        await proxy.listen(folder.path / "proxy")
        sandbox = await _open_full(walls, [Mount("read", _PROXY_FOLDER, str(folder.path), is_folder=True)])
        sandbox.proxy, sandbox.private = proxy, (folder,)
        await _forward(sandbox)
    except BaseException:
        proxy.close()
        folder.close()
        raise
    return sandbox


async def _forward(sandbox: Sandbox) -> None:
    """Start what passes connections on to the proxy, and have programs find it."""
    ours, theirs = os.pipe()
    nothing = os.open(os.devnull, os.O_RDWR)
    try:
        argv = [*_python(_FORWARD), str(_PROXY_PORT), f"{_PROXY_FOLDER}/proxy"]
        await sandbox.start(argv, Path("/"), {}, (nothing, theirs, nothing))
    finally:
        os.close(theirs)
        os.close(nothing)
    with os.fdopen(ours, "rb") as pipe:
        listening = await asyncio.to_thread(pipe.readline)
    if listening != b"listening\n":
        sandbox.close()
        raise SandboxError("the proxy for listed hosts could not be started")
    address = f"http://127.0.0.1:{_PROXY_PORT}"
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    proxied = {variant: address for name in names for variant in (name, name.lower())}
    local = {"NO_PROXY": "localhost,127.0.0.1,::1", "no_proxy": "localhost,127.0.0.1,::1", "NODE_USE_ENV_PROXY": "1"}
    sandbox.environment = {**sandbox.environment, **proxied, **local}


async def _open_full(walls: Walls, more: Sequence[Mount] = ()) -> Sandbox:
    program = bubblewrap.program()
    if sys.platform != "linux" or program is None:
        raise SandboxError("bubblewrap is not installed" if sys.platform == "linux" else f"not on {sys.platform}")
    places = await asyncio.to_thread(layout, walls, more)
    try:
        holder = _hold_in_namespaces(program, walls, places)
    finally:
        places.close()
    await _tried(holder, walls, {"limits": walls.limits.resources, "landlock": (), "filter": b""})
    note = "" if places.writes else f"{too_broad(walls.workspace)}, so commands cannot write in it"
    environment = {**places.environment, **_for_root()}
    hidden = frozenset(each.place for each in places.mounts if each.kind in ("closed", "empty"))
    return Sandbox(walls, HeldLevel("full", "bubblewrap", note=note), holder, environment, places.covered, hidden)


def _hold_in_namespaces(program: str, walls: Walls, places: Layout) -> Holder:
    found = filter_for(platform.machine(), namespaces=True, sockets="network" if walls.network == "on" else "local")
    if found is None:
        raise SandboxError(f"there is no filter of system calls for {platform.machine()}")
    descriptor = os.memfd_create("joey-sandbox-filter")
    try:
        os.write(descriptor, found)
        os.lseek(descriptor, 0, os.SEEK_SET)
        arguments = bubblewrap.arguments(places, walls.network, descriptor)
        return hold([program, *arguments, "--", *_python(_INSIDE)], (descriptor, *places.descriptors))
    finally:
        os.close(descriptor)


def _python(script: Path) -> list[str]:
    return [_real(sys.executable), "-I", "-S", _real(script)]


def _for_root() -> dict[str, str]:
    """Root inside cannot give files away, which tar tries to as root."""
    return {"TAR_OPTIONS": "--no-same-owner"} if os.geteuid() == 0 else {}


async def _tried(holder: Holder, walls: Walls, setup: Mapping[str, Any]) -> Findings:
    """The walls are up and were tried from inside; SandboxError if one did not hold."""
    found = await holder.set_up({**setup, "outside": _outside(walls)})
    problem = "files outside can be written" if found.writable_outside else ""
    if found.route and walls.network != "on":
        problem = "there is a route to the network"
    if problem:
        holder.close()
        raise SandboxError(f"it was set up, but {problem}")
    return found


def _outside(walls: Walls) -> list[str]:
    """Folders that must not be writable inside."""
    root = walls.workspace.resolve()
    inside = [each.resolve() for each in walls.writable] + ([root] if too_broad(root) is None else [])
    tried = [Path("/"), Path("/etc"), Path("/usr"), *homes()]
    return [str(each) for each in tried if not any(each.is_relative_to(place) for place in inside)]


# Partial


async def open_partial(walls: Walls, why: str = "", advice: str = "") -> Sandbox:
    """A sandbox without namespaces. Raises SandboxError or OSError where that is not possible."""
    if walls.network == "hosts":
        raise SandboxError("hosts can only be allowed one by one in a full sandbox")
    folder = ScratchFolder.make("joey-sandbox-")
    private = folder.path
    environment = {**dict.fromkeys(("TMPDIR", "TMP", "TEMP"), str(private)), "XDG_CACHE_HOME": str(private / "cache")}
    environment["npm_config_cache"] = str(private / "npm")
    try:
        held, holder, setup = _hold_by_rules(walls, private)
        await _tried(holder, walls, setup)
    except BaseException:
        folder.close()
        raise
    return Sandbox(walls, replace(held, why=why, advice=advice), holder, environment, private=(folder,))


def _hold_by_rules(walls: Walls, private: Path) -> tuple[HeldLevel, Holder, Mapping[str, Any]]:
    limits = walls.limits.resources
    if sys.platform == "darwin":
        holder = hold([seatbelt.PROGRAM, "-p", seatbelt.profile(walls, [private]), *_python(_INSIDE)])
        return HeldLevel("partial", "seatbelt, untested"), holder, {"limits": limits, "landlock": (), "filter": b""}
    abi = landlock.version()
    found = filter_for(platform.machine(), namespaces=False, sockets="network" if walls.network == "on" else "pairs")
    if not abi or found is None:
        raise SandboxError("the kernel has no Landlock" if not abi else f"no filter for {platform.machine()}")
    rules = landlock.rules(walls, [private], abi)
    setup = {"limits": limits, "landlock": rules.wire, "filter": found}
    held = HeldLevel("partial", f"Landlock {abi}, seccomp", gaps=landlock.gaps(abi, walls.network))
    return held, hold(_python(_INSIDE)), setup
