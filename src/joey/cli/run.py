"""Carry out one task, with nobody at the keyboard.

Progress goes to stderr and the result to stdout; with --json, every event is a line of JSON on stdout. What needs
leave is allowed by --approve, --allow and --deny, and otherwise denied with the reason: a headless run never hangs on
a question. What is piped in is added to the prompt: `git diff | joey run "review this"`.

exit codes: 0 completed, 1 error, 2 asked wrongly, 3 refused (no leave, or the model would not), 4 a limit was reached,
130 cancelled

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

from joey.app.settings import notices, settings_in_force
from joey.app.tasks import TaskOptions, open_task
from joey.errors import UsageError
from joey.events import TaskFinished
from joey.frames import framed
from joey.mcp.config import configured_servers
from joey.sandbox.settings import MODES
from joey.task.parts import Watcher
from joey.task.task import Task
from joey.terminal.headless import EXIT_CODES, printing, printing_json, run_headless

_PIPE_PATIENCE = 5.0


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prompt", nargs="?", help="what to do; - reads it from the pipe")
    parser.add_argument("--file", "-f", metavar="FILE", help="read the prompt from a file")
    parser.add_argument("--resume", metavar="ID", help="go on with a task; `last` is the newest")
    configure_task(parser)
    configure_run(parser)


def configure_run(parser: argparse.ArgumentParser) -> None:
    """What may be done, how much of it, and how it is shown."""
    parser.add_argument("--approve", metavar="PROFILE", help="ask (default), edits, read-only, auto, or all")
    parser.add_argument("--allow", action="append", default=[], metavar="RULE", help="commands that may run, as words")
    parser.add_argument("--deny", action="append", default=[], metavar="RULE", help="commands that never run")
    parser.add_argument("--sandbox", choices=MODES, help="confine commands: auto (default), require, or off")
    parser.add_argument("--max-turns", type=int, metavar="N", help="requests to the model, at most")
    parser.add_argument("--max-cost", type=float, metavar="DOLLARS", help="what it may cost, at most")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="how long it may take, at most")
    parser.add_argument("--attach", action="append", default=[], metavar="IMAGE", help="a picture for the model")
    configure_habits(parser)
    parser.add_argument("--json", action="store_true", help="every event as a line of JSON on stdout")


def configure_task(parser: argparse.ArgumentParser) -> None:
    """The options every command has that makes a task."""
    configure_model(parser)
    parser.add_argument("--protocol", "-p", metavar="NAME", help="how the model calls tools: native, xml, json_mix, …")
    parser.add_argument(
        "--mode", metavar="SLUG", help="code (default), architect, ask, debug, orchestrator, or your own"
    )
    parser.add_argument("--workspace", "-w", type=Path, metavar="FOLDER", help="where to work; here when left out")


def configure_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", "-m", metavar="PROVIDER/MODEL", help="which model; from the settings when left out")
    parser.add_argument("--base-url", metavar="URL", help="another server that speaks the provider's format")
    parser.add_argument(
        "--prompt",
        dest="prompt_form",
        choices=["auto", "compact", "full"],
        help="what the model is told: compact is for small ones; auto (default) goes by the size of its window",
    )


def configure_habits(parser: argparse.ArgumentParser) -> None:
    """What to make of a model that does not call tools as it should."""
    parser.add_argument(
        "--plain-answers",
        choices=["remind", "finish"],
        help="a reply without a call: remind the model how it works (default), or take the reply as the result",
    )
    parser.add_argument(
        "--text-calls",
        choices=["ignore", "offer", "run"],
        help="a call that a native model wrote as text: leave it, ask about it (default), or make it",
    )
    parser.add_argument(
        "--tool-choice",
        choices=["auto", "required"],
        help="whether a reply may be words alone (default), or is exactly one call",
    )
    parser.add_argument(
        "--grammar",
        choices=["off", "llama.cpp", "vllm", "vllm-guided"],
        help="the kind of server that is told what a legal reply is in the protocol, so that no call is malformed",
    )


def run(args: argparse.Namespace) -> int:
    options = options_from(args, resume=args.resume, headless=True)
    return run_without_a_user(options, prompt_from(args), as_json=args.json)


def options_from(args: argparse.Namespace, *, resume: str | None, headless: bool) -> TaskOptions:
    return TaskOptions(
        model=args.model,
        base_url=args.base_url,
        protocol=args.protocol,
        mode=args.mode,
        workspace=args.workspace or Path.cwd(),
        approve=args.approve,
        allow=tuple(args.allow),
        deny=tuple(args.deny),
        sandbox=args.sandbox,
        max_turns=args.max_turns,
        max_cost=args.max_cost,
        resume=resume,
        attach=tuple(args.attach),
        timeout=args.timeout,
        plain_answers=args.plain_answers,
        text_calls=args.text_calls,
        tool_choice=args.tool_choice,
        grammar=args.grammar,
        prompt_form=args.prompt_form,
        headless=headless,
    )


def run_without_a_user(options: TaskOptions, prompt: str, *, as_json: bool) -> int:
    for warning in configured_servers(options.workspace.absolute()).warnings:
        print(f"warning: {warning}", file=sys.stderr)
    watch = printing_json(sys.stdout) if as_json else printing(sys.stderr)
    finished = asyncio.run(_finished(options, prompt, watch))
    if not as_json and finished.outcome == "completed":
        print(finished.message)
    return EXIT_CODES[finished.outcome]


async def _finished(options: TaskOptions, prompt: str, watch: Watcher) -> TaskFinished:
    async with open_task(options, prompt, watch) as task:
        return await run_headless(task, seconds=seconds_for(task, options))


def seconds_for(task: Task, options: TaskOptions) -> float | None:
    """How long a task may take. What the settings have to say to the user is said here, too."""
    config = settings_in_force(task.workspace, options.flags)
    parts = task.parts
    unpriced = parts.policy.max_cost is not None and parts.prices.of(parts.model) is None
    unlimited = [f"the price of {parts.label} is not known, so the limit on cost cannot hold"] if unpriced else []
    for notice in (*notices(config), *unlimited):
        print(f"note: {notice}", file=sys.stderr)
    seconds: float | None = config.value("limits.timeout")
    return seconds


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
    whole = f"{prompt}\n\n{framed('input', piped.rstrip())}" if prompt and piped.strip() else prompt or piped
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
