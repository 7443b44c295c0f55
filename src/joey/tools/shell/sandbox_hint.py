"""A failure that looks like the sandbox: which wall it was, and how to ask for a way through.

Programs report a wall in their own words ("Read-only file system", "Could not resolve host"). A model that does not
know of the wall goes looking for another cause, or for a way around. So the result names the wall. Only commands that
failed are looked at, and only the end of their output; and words alone are not enough where a place must be named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from joey.sandbox import Sandbox
from joey.sandbox.proxy import REFUSED
from joey.tools.shell.job import ExitStatus

_LOOKED_AT = 20_000
_NETWORK = re.compile(
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
    return "\n".join(_walls(command, output[-_LOOKED_AT:], sandbox))


def _walls(command: str, output: str, sandbox: Sandbox) -> Iterator[str]:
    if REFUSED in output:
        hosts = ", ".join(sandbox.walls.hosts)
        yield f"The sandbox stopped this: only these hosts can be reached: {hosts}. " + _ASK.format(needs='["network"]')
    elif sandbox.walls.network != "on" and _NETWORK.search(output):
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
            "This may have been the sandbox: commands can write only in the workspace and in $TMPDIR, not in /tmp, and "
            "have no network unless the user approved them. " + _ASK.format(needs='["network"] or ["/a/folder"]')
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
