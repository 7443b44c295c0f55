"""Show and test the sandbox for commands, or run a command in it.

  joey sandbox                 how commands are confined in this folder, and how to improve it
  joey sandbox test            test each restriction from inside
  joey sandbox -- COMMAND …    run a command inside and return its exit code

The sandbox is the one that a task in this folder would use, with your settings (`sandbox`, `sandbox_network`, …; see
`joey config`). A command that you run this way has no network unless --network is given.

examples:
  joey sandbox -- make test
  joey sandbox --network on -- npm ci
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from joey.app.sandbox import walls_of
from joey.app.settings import environment_rules, sandbox_settings
from joey.app.sources import settings_in_force
from joey.cli.flags import add_workspace_flag
from joey.errors import UsageError
from joey.sandbox import Sandbox, SandboxSettings, open_sandbox
from joey.sandbox.trial import Trial, try_walls
from joey.system.signals import handled_signals
from joey.system.visible import visible
from joey.tools.shell.environment import command_environment

_NOT_FOUND, _NOT_RUN = 127, 126
_LEVELS = {
    "full": "Commands write only in this folder and in a /tmp of their own; secrets, Joey's files and other processes "
    "are hidden; git's hooks and configuration are read-only.",
    "partial": "Commands write only in this folder and in $TMPDIR, and secrets are not readable. They open no terminal "
    "and no shared memory (/dev/shm, SysV), and without the network no sockets.",
    "none": "Commands are not confined: what you approve can do whatever you can.",
}

_GIT = "in the sandbox git's hooks and configuration are read-only, because git runs the programs that they name"
_SERVICES = (
    "in the sandbox there are no sockets of services such as Docker, because whoever reaches one can do what the "
    "service can"
)
_HINTS = {"git": _GIT, **dict.fromkeys(("docker", "docker-compose", "podman", "nerdctl"), _SERVICES)}
"""What programs report in words that do not lead to the sandbox. Their output is theirs; this follows if they fail."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--network", choices=("none", "hosts", "on"), default="none", help="network (default: none)")
    add_workspace_flag(parser)
    parser.add_argument("--require", action="store_true", help="fail unless the sandbox is full")
    parser.add_argument("--env", action="append", default=[], metavar="NAME", help="pass this environment variable on")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="test | -- COMMAND …", help="what to do")


def run(args: argparse.Namespace) -> int:
    workspace = (args.workspace or Path.cwd()).absolute()
    if not workspace.is_dir():
        raise UsageError(f"{workspace} is not a folder")
    settings = sandbox_settings(settings_in_force(workspace))
    words = list(args.words)
    if words[:1] == ["--"] and words[1:]:
        return asyncio.run(_inside(words[1:], workspace, settings, args))
    if words not in ([], ["test"]):
        raise UsageError(f"unknown argument; to run a command, put -- before it: joey sandbox -- {' '.join(words)}")
    return asyncio.run(_report(workspace, settings, args, tried=words == ["test"]))


# What holds


async def _report(workspace: Path, settings: SandboxSettings, args: argparse.Namespace, *, tried: bool) -> int:
    sandbox = await open_sandbox(walls_of(workspace, settings, args.network))
    try:
        trials = await try_walls(sandbox) if tried and sandbox.is_open else ()
    finally:
        sandbox.close()
    if args.json:
        print(json.dumps(_as_json(sandbox, settings, trials), ensure_ascii=False, indent=2))
    else:
        print(visible("\n".join(_lines(sandbox, settings, trials))))
    return 0 if sandbox.held.level == "full" and all(each.held for each in trials) else 1


def _lines(sandbox: Sandbox, settings: SandboxSettings, trials: tuple[Trial, ...]) -> Iterator[str]:
    held = sandbox.held
    yield f"sandbox: {held.level}" + (f" ({held.means})" if held.means else "")
    yield _LEVELS[held.level]
    yield from (
        f"{name}: {text}" for name, text in (("why", held.why), ("to do", held.advice), ("note", held.note)) if text
    )
    if held.gaps:
        yield "It does not stop:"
        yield from (f"- {each}" for each in held.gaps)
    yield ""
    yield f"setting    sandbox = {settings.mode}" + ("  (commands run without it)" if settings.mode == "off" else "")
    yield f"network    sandbox_network = {settings.network}; hosts: {', '.join(settings.hosts) or 'none listed'}"
    yield f"writable   {', '.join(map(str, (sandbox.walls.workspace, *sandbox.walls.writable)))}"
    if held.level == "full":
        yield f"hidden     {len(sandbox.hidden)} places; read-only in the workspace: {len(sandbox.covered)}"
    yield "outside    file tools, MCP servers (unless configured), the browser, custom tools"
    if trials:
        yield ""
        width = max(len(each.name) for each in trials)
        yield from (f"{'ok' if each.held else '!!'}  {each.name:<{width}}  {each.seen}".rstrip() for each in trials)


def _as_json(sandbox: Sandbox, settings: SandboxSettings, trials: tuple[Trial, ...]) -> dict[str, object]:
    held = sandbox.held
    return {
        "level": held.level, "means": held.means, "why": held.why, "advice": held.advice, "note": held.note,
        "does_not_stop": list(held.gaps),
        "setting": settings.mode, "network": settings.network, "hosts": list(settings.hosts),
        "trials": [{"name": each.name, "held": each.held, "seen": each.seen} for each in trials],
    }  # fmt: skip


# A command inside


async def _inside(words: list[str], workspace: Path, settings: SandboxSettings, args: argparse.Namespace) -> int:
    if args.network == "hosts" and not settings.hosts:
        raise UsageError("sandbox_hosts is empty; set it first")
    sandbox = await open_sandbox(walls_of(workspace, settings, args.network))
    if not sandbox.is_open or (args.require and sandbox.held.level != "full"):
        sandbox.close()
        raise UsageError(f"no {'full ' if args.require else ''}sandbox available here: {sandbox.held}")
    if sandbox.held.level != "full":
        print(f"joey: sandbox: {visible(str(sandbox.held))}", file=sys.stderr)
    try:
        return await _run_in(sandbox, words, workspace, args.env)
    finally:
        sandbox.close()


async def _run_in(sandbox: Sandbox, words: list[str], workspace: Path, given: list[str]) -> int:
    rules = environment_rules(settings_in_force(workspace))
    environment = dict(command_environment(os.environ, rules.keep, rules.withhold).variables)
    environment |= {name: os.environ[name] for name in given if name in os.environ}
    try:
        process = await sandbox.start(words, Path.cwd(), environment, (0, 1, 2))
    except FileNotFoundError:
        print(f"joey: {visible(words[0])}: not found in the sandbox", file=sys.stderr)
        return _NOT_FOUND
    except OSError as error:
        print(f"joey: {visible(words[0])}: {error.strerror}", file=sys.stderr)
        return _NOT_RUN
    with handled_signals(process.signal_group):
        code = await process.wait()
    hint = _HINTS.get(Path(words[0]).name)
    if code and hint and sandbox.held.level == "full":
        print(f"joey: {hint}. If it needs that, run it outside the sandbox.", file=sys.stderr)
    return code if code >= 0 else 128 - code
