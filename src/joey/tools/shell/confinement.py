"""The sandboxes of a task: made when first needed, shared by commands with the same walls, closed with the task.

A command that a person approved may have the network, one that a rule allowed may not; so a task can have two of them.
A command that needs more (`needs`) gets a sandbox with just that, or none if it needs to be outside. Nothing is ever
tried again outside.

A failure may look like the sandbox: then the result says which wall it was, and how to ask for a way through. Programs
report a wall in their own words ("Read-only file system", "Could not resolve host"). A model that does not
know of the wall goes looking for another cause, or for a way around. So the result names the wall. Only commands that
failed are looked at, and only the end of their output; and words alone are not enough where a place must be named.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from joey.sandbox import Network, Sandbox, SandboxSettings, Walls, open_sandbox
from joey.sandbox.proxy import REFUSED
from joey.system.filenames import quoted
from joey.tools.base import Confined, ToolContext
from joey.tools.shell.job import ExitStatus
from joey.tools.shell.jobs import Jobs

NETWORK, OUTSIDE = "network", "outside"
_ENDING_A_JOB = re.compile(r"\s*kill\s+(?:-\w+\s+)?--\s+-(\d{1,9})\s*")
_NETWORK = {"none": "no network", "hosts": "network: listed hosts only", "on": "network"}


class NotConfinedError(Exception):
    """A command may not run, because it would not be confined as it must be. The text is for the model."""


@dataclass(eq=False)
class Sandboxes:
    """Those of one task."""

    opened: dict[Walls, Sandbox] = field(default_factory=dict)
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def get(self, walls: Walls) -> Sandbox:
        async with self._opening:
            found = self.opened.get(walls)
            if found is None or (found.holder is not None and not found.is_open):
                found = self.opened[walls] = await open_sandbox(walls)
            return found

    async def close(self) -> None:
        for each in self.opened.values():
            each.close()
        self.opened.clear()


def resolved_needs(needs: Sequence[str]) -> tuple[str, ...]:
    """The needs with every path as it is now, links followed: what is judged is what is given, whatever a process puts
    in the place of a folder meanwhile."""
    return tuple(dict.fromkeys(each if each in (NETWORK, OUTSIDE) else str(_place(each)) for each in needs))


def missing_needs(settings: SandboxSettings, workspace: Path, needs: Sequence[str]) -> tuple[str, ...]:
    """What of `needs` a command does not have anyway; each is an action that the policy judges."""
    if settings.mode == "off":
        return ()
    has = [workspace.resolve(), *existing_places(settings.writable)]
    return tuple(each for each in dict.fromkeys(needs) if not _has(each, settings, has))


def _has(need: str, settings: SandboxSettings, has: Sequence[Path]) -> bool:
    if need == NETWORK:
        return settings.network == "on"
    return need != OUTSIDE and any(Path(need).is_relative_to(each) for each in has)


def _place(need: str) -> Path:
    return Path(need).expanduser().resolve()


def existing_places(names: Sequence[str]) -> tuple[Path, ...]:
    """Those of the places that exist; the others cannot be written to, nor made."""
    return tuple(each for each in map(_place, names) if each.exists())


def describe_need(need: str) -> str:
    """What is needed, in words for the user who decides."""
    words = {NETWORK: "the network", OUTSIDE: "to run outside it, with everything that you may do yourself"}
    return words.get(need, f"to write in {quoted(need)}")


def network_if_approved(settings: SandboxSettings, needs: Sequence[str]) -> str:
    """What the yes of a person gives a command besides its run, in words for them; empty where that is nothing more."""
    if settings.mode == "off":
        return "It runs without a sandbox: it may use the network, and do everything that you may do yourself.\n"
    if NETWORK in needs or OUTSIDE in needs or settings.network_for(approved=True) != "on":
        return ""
    return "If you approve it, it may also use the network.\n"


def badly_named(needs: Sequence[str]) -> str | None:
    """A need that is none, for the model; None if all are."""
    wrong = (each for each in needs if each not in (NETWORK, OUTSIDE) and not each.startswith(("/", "~/")))
    return next((f'needs: {need!r} is not "network", "outside" or an absolute path' for need in wrong), None)


def problem_with(needs: Sequence[str], context: ToolContext) -> str | None:
    """What is wrong with needs that are resolved, for the model; None if nothing is."""
    for need in needs:
        if need in (NETWORK, OUTSIDE):
            continue
        place = Path(need)
        if place.resolve() != place:
            return f"needs: {need} leads somewhere else than when it was judged; try again"
        if place.is_relative_to(context.workspace.resolve()):
            return f"needs: {need} is in the workspace, which needs no naming; what is protected there stays so"
        if not place.exists():
            return f"needs: {need} does not exist; name an existing folder"
        if context.storage.resolve().is_relative_to(place) or context.workspace.resolve().is_relative_to(place):
            return f'needs: {need} holds far more than a project; name a smaller folder, or use "outside"'
    return None


async def sandbox_for(
    command: str, needs: Sequence[str], settings: SandboxSettings, context: ToolContext
) -> Sandbox | None:
    """The sandbox for a command that may run now; None where it runs bare. Raises NotConfinedError."""
    if settings.mode == "off":
        if context.permissions.approved_by() == "sandbox":
            raise NotConfinedError("No command can run unasked: the sandbox is off. Tell the user.")
        _report(context, "off", "on", "off")
        return None
    only_full = settings.mode == "require" or context.permissions.approved_by() == "sandbox"
    if OUTSIDE in needs:
        if only_full:
            raise NotConfinedError("Here no command runs outside the sandbox: the user's settings say so.")
        _report(context, "none", "on", "none for this command, as was approved")
        return None
    sandbox = _of_the_job_it_ends(command, context)
    sandbox = sandbox or await context.memory[Sandboxes].get(_walls(needs, settings, context))
    if only_full and sandbox.held.level != "full":
        raise NotConfinedError(
            f"No command can run: the user's settings want a full sandbox; here it is {sandbox.held}. Tell the user."
        )
    network = sandbox.walls.network
    _report(context, sandbox.held.level, network, f"{sandbox.held}, {_NETWORK[network]}")
    return sandbox if sandbox.is_open else None


async def unapproved_sandbox(
    settings: SandboxSettings, context: ToolContext, sandboxes: Sandboxes | None = None
) -> Sandbox | None:
    """What holds a command that a task runs by itself: the same as one that nobody approved, among the sandboxes of the
    task's commands or others. Raises OSError where that is no full sandbox and there must be one."""
    if settings.mode == "off":
        return None
    sandbox = await (sandboxes or context.memory[Sandboxes]).get(_walls((), settings, context))
    if settings.mode == "require" and sandbox.held.level != "full":
        raise PermissionError(f"`sandbox = require` is set, and here the sandbox is {sandbox.held}")
    return sandbox if sandbox.is_open else None


def _of_the_job_it_ends(command: str, context: ToolContext) -> Sandbox | None:
    """For `kill -- -PID` as results suggest it: the sandbox of that job, since each counts processes by itself."""
    ending = _ENDING_A_JOB.fullmatch(command)
    jobs = [job for job in context.memory[Jobs].all if ending and job.process.pid == int(ending[1]) and job.is_running]
    return jobs[-1].sandbox if jobs else None


def _walls(needs: Sequence[str], settings: SandboxSettings, context: ToolContext) -> Walls:
    network: Network = settings.network_for(
        approved=context.permissions.approved_by() == "user" or context.permissions.may_widen(NETWORK)
    )
    return Walls(
        context.workspace,
        network="on" if NETWORK in needs else network,
        hosts=settings.hosts,
        writable=(*existing_places(settings.writable), *(Path(each) for each in needs if each != NETWORK)),
        hide=settings.hide,
        show=settings.show,
        limits=settings.limits,
        own=(context.storage,),
        guarded=context.permissions.guarded,
        ignored=context.ignored,
    )


def _report(context: ToolContext, level: str, network: str, message: str) -> None:
    context.confined(Confined(level, network, message))


_LOOKED_AT = 20_000
_NO_NETWORK = re.compile(
    r"network is unreachable|could not resolve|temporary failure in name resolution|name or service not known"
    r"|\bENETUNREACH\b|\bEAI_AGAIN\b|\bENOTFOUND\b|getaddrinfo|no route to host|unable to resolve|failed to resolve"
    r"|nameresolutionerror|dns error|unknown host|failed to lookup address",
    re.IGNORECASE,
)
_READ_ONLY = re.compile(r"read-only file system|\bEROFS\b|\bos error 30\b", re.IGNORECASE)
_DENIED = re.compile(r"permission denied|\bEACCES\b|operation not permitted|\bEPERM\b|\bos error 13\b", re.IGNORECASE)
_MEMORY = re.compile(r"memory ?error|cannot allocate memory|out of memory|heap out of memory|\bENOMEM\b", re.IGNORECASE)
_FORKS = re.compile(r"resource temporarily unavailable|cannot fork", re.IGNORECASE)
_SERVICE = re.compile(r"docker daemon|\b(?:docker|podman|containerd)\.sock\b|cannot connect to podman", re.IGNORECASE)
_ASK = (
    "If the task needs it, run the command again with needs: {needs}; the user decides. Do not look for a way around."
)


def wall_hint(command: str, output: str, ended: ExitStatus | None, sandbox: Sandbox) -> str:
    """What to add to the result of a command that failed in a sandbox; empty if no wall can be seen in it."""
    if ended is None or ended.code == 0:
        return ""
    return "\n".join(_walls_hit(command, output[-_LOOKED_AT:], sandbox))


def _walls_hit(command: str, output: str, sandbox: Sandbox) -> Iterator[str]:
    if REFUSED in output:
        hosts = ", ".join(sandbox.walls.hosts)
        yield f"The sandbox stopped this: only these hosts can be reached: {hosts}. " + _ASK.format(needs='["network"]')
    elif sandbox.walls.network != "on" and _NO_NETWORK.search(output):
        yield "The sandbox stopped this: the command has no network. " + _ASK.format(needs='["network"]')
    if guarded := next((line for line in output.splitlines() if _is_guarded(line, sandbox)), None):
        yield (
            f"The sandbox stopped this ({guarded.strip()[:200]}): hooks and configuration of git and other files that "
            "run or steer programs are read-only for commands. Use the edit tools, which the user approves, or, if the "
            'task needs the command itself, needs: ["outside"].'
        )
    elif any(_READ_ONLY.search(line) and "/" in f"{line}{command}" for line in output.splitlines()):
        yield (
            "The sandbox stopped this: commands can write only in the workspace and in /tmp, which is empty for each "
            "task and is theirs alone. " + _ASK.format(needs='["/the/folder/to/write/in"]')
        )
    elif _DENIED.search(output) and _names_hidden(f"{command}\n{output}", sandbox):
        yield (
            "The sandbox stopped this: places with secrets, and Joey's own files, are hidden from commands. If the "
            'task needs it, ask the user, or run the command with needs: ["outside"]; the user decides.'
        )
    elif sandbox.held.level == "partial" and _DENIED.search(output):
        yield (
            "This may have been the sandbox: commands can write only in the workspace and in $TMPDIR, not in /tmp or "
            "/dev/shm (which Python's multiprocessing needs), open no terminals, and have neither network nor sockets "
            "unless the user approved them. " + _ASK.format(needs='["network"] or ["/a/folder"]')
        )
    if sandbox.held.level == "full" and _SERVICE.search(output):
        yield (
            "The sandbox stopped this: sockets of services such as Docker are hidden from commands, because whoever "
            "reaches one can do what the service can. " + _ASK.format(needs='["outside"]')
        )
    if _MEMORY.search(output) or _FORKS.search(output):
        limits = sandbox.walls.limits
        yield (
            f"This may have been a limit of the sandbox: {limits.memory} MB of memory a process, {limits.processes} "
            "processes, both settings of the user's."
        )


def _is_guarded(line: str, sandbox: Sandbox) -> bool:
    if not (_READ_ONLY.search(line) or "busy" in line.lower()):
        return False
    return ".git/config" in line or ".git/hooks" in line or any(each in line for each in sandbox.covered_names)


def _names_hidden(text: str, sandbox: Sandbox) -> bool:
    return any(each in text for each in sandbox.hidden_names)
