"""List the tools of a mode, and try one.

  joey tools --mode architect          tools that the mode offers, and why others are not available
  joey tools read_file                 the description and schema that a model gets
  joey tools --try read_file '{"path": "a.txt"}'
  joey tools --try write_to_file '{"path": "a.txt", "file_text": "hi"}' --approve edits

--try runs one tool in the current folder, as if a model had called it, and prints what the model would read; what the
user would see goes to stderr. Use - to read the arguments from stdin. Reading files in the folder is allowed. Anything
else follows your settings (`joey config`) and --approve; if it needs approval, you are asked in a terminal, and it is
refused without one. The exit code is 0 on success, and 1 if the tool or the command that it ran failed.

Configured MCP servers (`joey mcp`) are started to list or try their tools, unless --no-mcp is given.

Custom tools are Python files in .joey/tools/ (the project's) and ~/.config/joey/tools/ (yours); see
docs/guides/custom-tools.md. A project's tools run only after `joey tools --trust` in its folder.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joey.cli.flags import add_setting_flags, add_workspace_flag, settings_in, workspace_in
from joey.errors import UsageError

if TYPE_CHECKING:
    from joey.app.tools import Discovery
    from joey.mcp.offer import McpOffer
    from joey.messages import Shown, ToolResult, ToolUseBlock
    from joey.task.calls import Judged
    from joey.tools.base import ToolContext
    from joey.tools.toolset import Offered, ToolChoices, Toolset, Withheld


_TIMEOUT = 20.0
"""Seconds until servers must be ready."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="show the description and schema of one tool")
    parser.add_argument("--mode", default="code", metavar="MODE", help="mode (default: code)")
    parser.add_argument("--model", metavar="PROVIDER/MODEL", help="list the tools that this model would get")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--try", dest="call", nargs=2, metavar=("NAME", "JSON"), help="run one tool")
    add_setting_flags(parser, "tools")
    add_workspace_flag(parser)
    parser.add_argument("--no-mcp", action="store_true", help="do not start MCP servers")
    parser.add_argument("--trust", action="store_true", help="trust this folder, so that its tools may run")
    parser.add_argument("--distrust", action="store_true", help="stop trusting this folder")


def run(args: argparse.Namespace) -> int:
    from joey.app.sources import settings_in_force
    from joey.app.tools import discover, tool_choices
    from joey.tools.toolset import choices_for

    workspace = workspace_in(args)
    if args.trust or args.distrust:
        return _trust(workspace, trusted=args.trust)
    here = discover(workspace)
    if args.call:
        return _try(here, args)
    chosen = tool_choices(settings_in_force(workspace), workspace)
    chosen = choices_for(args.model, chosen) if args.model else chosen
    offer, problems = _servers(here, wanted=not args.no_mcp and _concerns_mcp(args.name))
    toolset = here.toolset(args.mode, chosen, offer)
    if args.name:
        return _show(toolset, args.name, as_json=args.json)
    if args.json:
        print(_as_json(here, toolset, problems))
        return 0
    print(_table(toolset))
    _warn(here, problems)
    return 0


def _warn(here: Discovery, more: Sequence[str] = ()) -> None:
    for problem in (*here.custom.problems, *here.modes.problems, *more):
        print(f"warning: {problem}", file=sys.stderr)


# MCP servers


def _concerns_mcp(name: str | None) -> bool:
    """Whether servers are needed to answer: for the whole list, or for what looks like a tool of theirs."""
    from joey.mcp.names import is_mcp_name

    return name is None or is_mcp_name(name) or name in ("use_mcp_tool", "access_mcp_resource")


def _servers(here: Discovery, *, wanted: bool) -> tuple[McpOffer | None, list[str]]:
    """What the servers offer, and what a person should know of them. They have ended when this returns."""
    import asyncio

    from joey.mcp.config import configured_servers

    loaded = configured_servers(here.workspace)
    if not wanted or not loaded.enabled:
        return None, loaded.warnings if wanted else []
    offer, problems = asyncio.run(_offered(here))
    return offer, [*loaded.warnings, *problems]


async def _offered(here: Discovery) -> tuple[McpOffer, list[str]]:
    from joey.app.tools import servers_of
    from joey.mcp.catalogue import ServerCatalogue
    from joey.mcp.offer import make_offer

    async with servers_of(here.workspace, _TIMEOUT) as servers:
        offer = make_offer(servers, in_text=False)
        silent = servers.unavailable(f"not ready within {_TIMEOUT:g} s")
        return offer, silent + [f"MCP server {name!r}: {what}" for name, what in ServerCatalogue(servers).problems]


# Listing


def _table(toolset: Toolset) -> str:
    names = [each.name for each in toolset.offered] + [each.name for each in toolset.withheld]
    width = max(map(len, names))
    lines = [f"tools in {toolset.mode.slug} mode"]
    lines += [f"  {each.name:<{width}}  {each.tool.group:<8}{_origin(each)}" for each in toolset.offered]
    if toolset.withheld:
        lines += ["", "not available"]
        lines += [
            f"  {each.name:<{width}}  {each.tool.group:<8}{_origin(each)}: {each.reason}" for each in toolset.withheld
        ]
    return "\n".join(lines)


def _origin(entry: Offered | Withheld) -> str:
    file = getattr(entry.tool, "origin", None)
    unlisted = "" if entry.tool.listed else ", can be called but is not in the model's list"
    return f"{entry.origin} ({file}){unlisted}" if file else f"{entry.origin}{unlisted}"


def _as_json(here: Discovery, toolset: Toolset, of_servers: Sequence[str]) -> str:
    tools = [_tool_json(each, None) for each in toolset.offered]
    tools += [_tool_json(each, each.reason) for each in toolset.withheld]
    problems = [
        {"file": each.file, "line": each.line, "message": each.message}
        for each in (*here.custom.problems, *here.modes.problems)
    ]
    answer = {"mode": toolset.mode.slug, "tools": tools, "problems": problems, "mcp_problems": list(of_servers)}
    return json.dumps(answer, ensure_ascii=False, indent=2)


def _tool_json(entry: Offered | Withheld, reason: str | None) -> dict[str, Any]:
    file = getattr(entry.tool, "origin", None)
    return {
        "name": entry.name,
        "group": entry.tool.group,
        "origin": entry.origin,
        "file": str(file) if file and entry.origin != "mcp" else None,
        "server": file if entry.origin == "mcp" else None,
        "available": reason is None,
        "reason": reason,
        "aliases": list(entry.tool.aliases),
    }


def _show(toolset: Toolset, name: str, *, as_json: bool) -> int:
    entry = _find(toolset, name)
    reason = getattr(entry, "reason", None)
    if as_json:
        print(json.dumps({**_tool_json(entry, reason), **entry.tool.spec.to_openai()}, ensure_ascii=False, indent=2))
        return 0
    print(f"{entry.name}  ({entry.tool.group}, {_origin(entry)})")
    if reason:
        print(f"not available in {toolset.mode.slug} mode: {reason}")
    if entry.tool.aliases:
        print(f"also called: {', '.join(entry.tool.aliases)}")
    print(f"\n{entry.tool.description}\n\n{json.dumps(entry.tool.schema, ensure_ascii=False, indent=2)}")
    return 0


def _find(toolset: Toolset, name: str) -> Offered | Withheld:
    import difflib

    entries: list[Offered | Withheld] = [*toolset.offered, *toolset.withheld]
    for entry in entries:
        if name in (entry.name, entry.tool.name, *entry.tool.aliases):
            return entry
    near = difflib.get_close_matches(name, [entry.name for entry in entries], n=1)
    raise UsageError(f"unknown tool {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))


# Trust


def _trust(workspace: Path, *, trusted: bool) -> int:
    from joey.app.tools import discover
    from joey.system.trust import TrustStore

    store = TrustStore()
    (store.trust if trusted else store.distrust)(workspace)
    if not trusted:
        still = " (a folder above it is trusted)" if store.trusts(workspace) else ""
        print(f"{workspace} is no longer trusted{still}.")
        return 0
    here = discover(workspace)
    print(f"{workspace} is now trusted (saved in {store.file}). Its tools:")
    print("\n".join(f"  {tool.name}  {tool.origin}" for tool in here.custom.tools) or "  none yet")
    _warn(here)
    return 0


# Trying


def _try(here: Discovery, args: argparse.Namespace) -> int:
    import asyncio

    from joey.app.calls import for_the_model
    from joey.messages import ToolUseBlock
    from joey.wire import encode

    name, text = args.call
    screen = _Screen(silent=args.json)
    call = ToolUseBlock("manual", name, _arguments(text))
    with contextlib.redirect_stdout(sys.stderr):  # what a custom tool prints is no part of its answer
        result, exit_code = asyncio.run(_call(here, args, screen, call))
    if args.json:
        print(json.dumps(encode(result), ensure_ascii=False))
    else:
        screen.show(result.shown)
        print(for_the_model(result))
        _warn(here)
    return 1 if result.is_error or exit_code else 0


def _arguments(text: str) -> Any:
    source = sys.stdin.read() if text == "-" else text
    try:
        return json.loads(source)
    except ValueError as error:
        raise UsageError(f"the arguments are not valid JSON: {error}") from None


async def _call(
    here: Discovery, args: argparse.Namespace, screen: _Screen, call: ToolUseBlock
) -> tuple[ToolResult, int]:
    """The result, and the exit code of the command that was run, if one was."""
    from joey.app.calls import CallRunner
    from joey.app.checks import language_settings
    from joey.app.sources import settings_in_force
    from joey.app.tools import builtin_options, servers_of
    from joey.policy import Workspace
    from joey.system.folders import state_folder
    from joey.tools.base import ToolContext
    from joey.tools.registry import Registry
    from joey.tools.shell.jobs import Jobs

    workspace = Workspace.of(here.workspace)
    context = ToolContext(
        here.workspace,
        state_folder() / "try",
        mode=args.mode,
        modes=here.modes.slugs,
        ignored=workspace.hides,
        progress=screen.live,
    )
    config = settings_in_force(here.workspace)
    options = builtin_options(config, here.library, language_settings(config, here.workspace))
    approver = screen.ask if sys.stdin.isatty() and args.call[1] != "-" else None
    settings = _settings(here.workspace, settings_in(args))
    async with contextlib.AsyncExitStack() as stack:
        offer = None
        if not args.no_mcp and _concerns_mcp(call.name):
            from joey.mcp.offer import make_offer

            servers = await stack.enter_async_context(servers_of(here.workspace, _TIMEOUT))
            offer = make_offer(servers, in_text=False)
        toolset = here.toolset(args.mode, _choices(here, args.mode), offer, options)
        registry = Registry(toolset)
        try:
            result = await CallRunner(registry, context, settings, workspace, approver).run(call)
        finally:
            exit_code = context.memory[Jobs].last_exit_code
            await _close_tools(context, screen)
    return result, exit_code


async def _close_tools(context: ToolContext, screen: _Screen) -> None:
    """Nobody is left to keep the output of what a command has started."""
    from joey.tools.shell.jobs import Jobs

    if running := len(context.memory[Jobs].running):
        screen.end_line()
        print(f"note: stopped {running} running command(s), as at the end of a task", file=sys.stderr)
    await context.memory.close()


def _choices(here: Discovery, mode: str) -> ToolChoices:
    """Tools that only some models get can be tried as well."""
    from dataclasses import replace

    from joey.app.sources import settings_in_force
    from joey.app.tools import tool_choices

    chosen = tool_choices(settings_in_force(here.workspace), here.workspace)
    opt_in = (each.name for each in here.toolset(mode, chosen).withheld if each.tool.opt_in)
    return replace(chosen, include=(*chosen.include, *opt_in))


def _settings(workspace: Path, flags: Mapping[str, Any]) -> Any:
    """Whoever types a call may at least read the folder they are in."""
    from dataclasses import replace

    from joey.app.settings import approvals_in_force
    from joey.app.sources import settings_in_force
    from joey.mcp.config import configured_servers

    settings = approvals_in_force(settings_in_force(workspace, flags)).settings
    settings = settings.changed(mcp_allow=(*settings.servers.allow, *configured_servers(workspace).allowed))
    return replace(settings, reads="allow") if not flags and settings.reads == "ask" else settings


class _Screen:
    """What the user sees, on the error stream; nothing is shown twice."""

    def __init__(self, *, silent: bool) -> None:
        self._silent = silent
        self._seen: set[Shown] = set()
        self._was_live = False
        self._at_line_start = True

    def live(self, text: str) -> None:
        if not self._silent:
            self._was_live = True
            self._at_line_start = text.endswith("\n")
            sys.stderr.write(text)
            sys.stderr.flush()

    def end_line(self) -> None:
        if not self._at_line_start:
            print(file=sys.stderr)
        self._at_line_start = True

    def ask(self, judged: Judged) -> bool:
        self.show(judged.plan.shown)
        print(f"{judged.call.tool.name} needs approval: {judged.verdict.reason}", file=sys.stderr)
        for part in judged.verdict.parts:
            print(f"  {part.decision:<5}  {part.subject}  ({part.reason})", file=sys.stderr)
        sys.stderr.write("Allow it? [y/N] ")
        sys.stderr.flush()
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    def show(self, shown: tuple[Shown, ...]) -> None:
        from joey.messages import ShownDiff, ShownText

        self.end_line()
        for each in shown:
            if each in self._seen:
                continue
            self._seen.add(each)
            if isinstance(each, ShownDiff):
                print(each.diff.rstrip("\n"), file=sys.stderr)
            elif not isinstance(each, ShownText):
                print(f"[image, {each.media_type}]", file=sys.stderr)
            elif not self._was_live:  # a command's output, which has been seen as it came
                print(textwrap.indent(each.text.rstrip("\n"), "  "), file=sys.stderr)
