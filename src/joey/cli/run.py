"""Carry out one task, with nobody at the keyboard.

Progress goes to stderr and the result to stdout; with --json, every event is a line of JSON on stdout. What needs
leave is allowed by --approve, --allow and --deny, and otherwise denied with the reason: a headless run never hangs on
a question. What is piped in is added to the prompt: `git diff | joey run "review this"`.

exit codes: 0 completed, 1 error, 2 asked wrongly, 3 refused, 4 a limit was reached, 130 cancelled

examples:
  joey run "Add a test for parse_date" --model anthropic/claude-sonnet-5-5 --approve edits --allow pytest
  joey run - --model ollama/qwen3 --protocol xml < task.txt
  joey run "Go on" --resume last
"""

from __future__ import annotations

import argparse
import asyncio
import select
import sys
from pathlib import Path

from joey.app import TaskOptions, notices, open_task, settings_in_force
from joey.errors import UsageError
from joey.mcp.config import configured_servers
from joey.task.parts import Watcher
from joey.terminal.headless import EXIT_CODES, printing, printing_json, run_headless

_PIPE_PATIENCE = 5.0


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prompt", nargs="?", help="what to do; - reads it from the pipe")
    parser.add_argument("--file", "-f", metavar="FILE", help="read the prompt from a file")
    configure_task(parser)
    parser.add_argument("--approve", metavar="PROFILE", help="ask (default), edits, read-only, or all")
    parser.add_argument("--allow", action="append", default=[], metavar="RULE", help="commands that may run, as words")
    parser.add_argument("--deny", action="append", default=[], metavar="RULE", help="commands that never run")
    parser.add_argument("--max-turns", type=int, metavar="N")
    parser.add_argument("--max-cost", type=float, metavar="DOLLARS")
    parser.add_argument("--timeout", type=float, metavar="SECONDS")
    parser.add_argument("--resume", metavar="ID", help="go on with a task; `last` is the newest")
    parser.add_argument("--attach", action="append", default=[], metavar="IMAGE", help="a picture for the model")
    parser.add_argument("--json", action="store_true", help="every event as a line of JSON on stdout")


def configure_task(parser: argparse.ArgumentParser) -> None:
    """The options every command has that makes a task."""
    parser.add_argument("--model", "-m", metavar="PROVIDER/MODEL", help="which model; from the settings when left out")
    parser.add_argument("--base-url", metavar="URL", help="another server that speaks the provider's format")
    parser.add_argument("--protocol", "-p", metavar="NAME", help="how the model calls tools: native, xml, json_mix, …")
    parser.add_argument(
        "--mode", metavar="SLUG", help="code (default), architect, ask, debug, orchestrator, or your own"
    )
    parser.add_argument("--workspace", "-w", type=Path, metavar="FOLDER", help="where to work; here when left out")


def run(args: argparse.Namespace) -> int:
    options = TaskOptions(
        model=args.model,
        base_url=args.base_url,
        protocol=args.protocol,
        mode=args.mode,
        workspace=args.workspace or Path.cwd(),
        approve=args.approve,
        allow=tuple(args.allow),
        deny=tuple(args.deny),
        max_turns=args.max_turns,
        max_cost=args.max_cost,
        resume=args.resume,
        attach=tuple(args.attach),
        timeout=args.timeout,
        headless=True,
    )
    for warning in configured_servers(options.workspace.absolute()).warnings:
        print(f"warning: {warning}", file=sys.stderr)
    watch = printing_json(sys.stdout) if args.json else printing(sys.stderr)
    return asyncio.run(_run(options, prompt_from(args), watch=watch, as_json=args.json))


async def _run(options: TaskOptions, prompt: str, *, watch: Watcher, as_json: bool) -> int:
    async with open_task(options, prompt, watch) as task:
        config = settings_in_force(task.workspace, options.flags)
        for notice in notices(config):
            print(f"note: {notice}", file=sys.stderr)
        finished = await run_headless(task, seconds=config.value("limits.timeout"))
    if not as_json and finished.outcome == "completed":
        print(finished.message)
    return EXIT_CODES[finished.outcome]


def prompt_from(args: argparse.Namespace) -> str:
    """The prompt: an argument, a file, a pipe, or an argument with what is piped in below it."""
    piped = _piped(patient=not args.prompt or args.prompt == "-")
    if args.file:
        try:
            prompt = Path(args.file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"cannot read {args.file}: {error}") from None
    elif args.prompt == "-":
        prompt, piped = piped, ""
    else:
        prompt = args.prompt or ""
    whole = f"{prompt}\n\n<input>\n{piped.rstrip()}\n</input>" if prompt and piped.strip() else prompt or piped
    if not whole.strip() and not args.resume:
        raise UsageError('say what to do: joey run "…", joey run - < FILE, or joey run --file FILE')
    return whole


def _piped(*, patient: bool) -> str:
    """What is piped in. A pipe that stays open and empty must not hold up a task that has its prompt already."""
    if sys.stdin is None or sys.stdin.isatty():
        return ""
    try:
        ready = patient or bool(select.select([sys.stdin], [], [], _PIPE_PATIENCE)[0])
    except (OSError, ValueError):
        ready = True  # a file, or something else that cannot be waited for: reading it does not block
    if not ready:
        print(f"nothing came through the pipe in {_PIPE_PATIENCE:.0f} s; going on without it", file=sys.stderr)
        return ""
    return sys.stdin.read()
