"""Run one task without asking questions, for scripts and CI.

Progress goes to stderr and the result to stdout; with --json, every event is a line of JSON on stdout. --approve,
--allow and --deny decide what the task may do. Anything else is denied with a reason, so a run never waits for an
answer. Piped input is added to the prompt: `git diff | joey run "review this"`.

exit codes: 0 completed, 1 error, 2 invalid usage, 3 refused (not approved, or the model declined), 4 limit reached,
130 cancelled

examples:
  joey run "Add a test for parse_date" --model anthropic/claude-sonnet-5-5 --approve edits --allow pytest
  joey run - --model ollama/qwen3 --protocol xml < task.txt
  joey run "Continue" --resume last
  joey run "Try another parser" --worktree parser --approve edits
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import select
import sys
from pathlib import Path
from typing import BinaryIO, TextIO

from joey.app.running import EXIT_CODES, run_headless
from joey.app.settings import notices
from joey.app.tasks import TaskOptions, TaskSetup, open_task, prepare_task
from joey.app.worktrees import left_in
from joey.cli.flags import add_setting_flags, add_workspace_flag, add_worktree_flag, folder_in, settings_in
from joey.errors import JoeyError, UsageError
from joey.events import Event, TaskFinished, ToolRunFinished
from joey.frames import framed, one_line
from joey.task.log import Watcher
from joey.task.task import TaskHandle
from joey.task.wording import is_denied
from joey.terminal.plain.conversation import Conversation, converse
from joey.terminal.plain.headless import printing, printing_json

_PIPE_TIMEOUT = 5.0


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prompt", nargs="?", help="what to do; - reads it from stdin")
    parser.add_argument("--file", "-f", metavar="FILE", help="read the prompt from a file")
    parser.add_argument(
        "--continue", "-c", dest="resume", action="store_const", const="last", help="continue the last task here"
    )
    parser.add_argument(
        "--resume", "-r", metavar="ID", help="resume a task; `last` is the most recent one of this folder"
    )
    add_workspace_flag(parser)
    add_worktree_flag(parser)
    add_setting_flags(parser, "run")
    configure_headless(parser)


def configure_headless(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--attach", action="append", default=[], metavar="IMAGE", help="attach an image; can be repeated"
    )
    parser.add_argument("--json", action="store_true", help="print every event as a line of JSON")


def run(args: argparse.Namespace) -> int:
    prompt = prompt_from(args)
    options = TaskOptions(folder_in(args), settings_in(args), args.resume, tuple(args.attach), headless=True)
    return run_without_a_user(options, prompt, as_json=args.json)


def run_without_a_user(options: TaskOptions, prompt: str, *, as_json: bool) -> int:
    setup = prepare_task(options)
    for warning in setup.servers.warnings:
        _report(f"warning: {warning}")
    denied = _DeniedCalls(_needed(printing_json(sys.stdout)) if as_json else _wanted(printing(sys.stderr)))
    finished, how = asyncio.run(_finished(setup, prompt, denied.watch))
    if as_json and finished.outcome == "error":
        _report(f"joey: {finished.message}")
    if denied.names:
        _report(f"note: {denied}")
    if left := left_in(setup.workspace):
        _report(f"note: {left}")
    if how:
        _report(f"Resume this task with: {how}")
    if not as_json and finished.outcome == "completed":
        print(finished.message)
    return EXIT_CODES[finished.outcome]


def _report(line: str) -> None:
    """Where nobody can read it, the result is still printed."""
    with contextlib.suppress(OSError):
        print(line, file=sys.stderr, flush=True)


def _needed(watch: Watcher) -> Watcher:
    """Events that a program reads: where they cannot be written, the task ends and says so."""

    def watched(task_id: str, event: Event) -> None:
        try:
            watch(task_id, event)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise JoeyError(
                f"the events cannot be written: {error.strerror}; make room, or send them elsewhere"
            ) from None

    return watched


def _wanted(watch: Watcher) -> Watcher:
    """Progress for people: a task does not end because it cannot be shown on a full disk. A reader who left ends it."""

    def watched(task_id: str, event: Event) -> None:
        try:
            watch(task_id, event)
        except BrokenPipeError:
            raise
        except OSError:
            pass

    return watched


class _DeniedCalls:
    """Passes events on, and remembers the calls that were denied: what a result claims may not have been done."""

    def __init__(self, watch: Watcher) -> None:
        self._watch = watch
        self.names: list[str] = []

    def watch(self, task_id: str, event: Event) -> None:
        if isinstance(event, ToolRunFinished) and event.result.is_error and is_denied(event.result.text):
            self.names.append(event.name)
        self._watch(task_id, event)

    def __str__(self) -> str:
        count = "1 call was" if len(self.names) == 1 else f"{len(self.names)} calls were"
        which = ", ".join(map(one_line, dict.fromkeys(self.names)))
        return f"{count} denied and did nothing ({which}); --approve and --allow decide what may be done unattended"


async def _finished(setup: TaskSetup, prompt: str, watch: Watcher) -> tuple[TaskFinished, str]:
    """How the task ended, and what resumes it if it is not complete."""
    async with open_task(setup, prompt, watch) as task:
        print_notices(task, setup, prompt)
        finished = await run_headless(task, seconds=setup.config.value("limits.timeout"))
        if task.config.servers is not None:
            for notice in task.config.servers.unavailable("it was still starting when the task ended"):
                print(f"note: {notice}", file=sys.stderr)
        if finished.outcome == "completed":
            return finished, ""
        words = ' "…"' if task.state.is_finished else ""
        return finished, f"joey run --resume {task.id}{words}"


async def run_attended(options: TaskOptions, prompt: str) -> int:
    """Run a task line by line, with a person at the terminal."""
    setup, conversation = prepare_task(options), Conversation(sys.stdout)
    async with open_task(setup, prompt, conversation.watch) as task:
        print_notices(task, setup, prompt)
        seconds = setup.config.value("limits.timeout")
        finished = await converse(task, conversation, sys.stdin.fileno(), seconds=seconds)
    if left := left_in(setup.workspace):
        print(left)
    return EXIT_CODES[finished.outcome]


def print_notices(task: TaskHandle, setup: TaskSetup, prompt: str) -> None:
    """What the user should know before the task starts."""
    model = task.config.model
    unpriced = task.config.approvals.attendance.max_cost is not None and model.prices.of(model.full_name) is None
    unlimited = [f"the price of {model.label} is unknown, so max_cost has no effect"] if unpriced else []
    how = f'this task is finished; continue it with a message: joey resume {task.id} "…"'
    finished = [how] if task.state.is_finished and not prompt else []
    for notice in (*setup.notices, *notices(setup.config), *unlimited, *finished):
        print(f"note: {notice}", file=sys.stderr)


def prompt_from(args: argparse.Namespace) -> str:
    """The prompt: an argument, a file, a pipe, or an argument with what is piped in below it."""
    if args.file and args.prompt:
        raise UsageError("give the prompt as an argument or with --file, not both")
    piped = _piped(wait=not args.prompt or args.prompt == "-")
    if args.file:
        try:
            prompt = Path(args.file).read_text(encoding="utf-8")
        except OSError as error:
            raise UsageError(f"cannot read {args.file}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise UsageError(f"cannot read {args.file}: it is not UTF-8; save it as UTF-8") from None
    elif args.prompt == "-":
        prompt, piped = piped, ""
    else:
        prompt = args.prompt or ""
    whole = f"{prompt}\n\n{framed('input', piped.rstrip())}" if prompt and piped.strip() else prompt or piped
    if not whole.strip() and not args.resume:
        raise UsageError('no prompt given; use joey run "…", joey run - < FILE, or joey run --file FILE')
    return whole


def _piped(*, wait: bool) -> str:
    """Piped input. An open but empty pipe must not delay a task that already has a prompt."""
    if sys.stdin is None or sys.stdin.isatty():
        return ""
    try:
        ready = wait or bool(select.select([sys.stdin], [], [], _PIPE_TIMEOUT)[0])
    except (OSError, ValueError):
        ready = True  # a file, or something else that cannot be waited for: reading it does not block
    if not ready:
        print(f"no piped input after {_PIPE_TIMEOUT:.0f} s; continuing without it", file=sys.stderr)
        return ""
    return _piped_text(sys.stdin)


def _piped_text(source: TextIO) -> str:
    """What is piped in, decoded as a file is; where it is no UTF-8, a line says what it was taken for."""
    from joey.tools.textfile import NotTextError, read_text

    binary: BinaryIO | None = getattr(source, "buffer", None)
    if binary is None:
        return source.read()
    data = binary.read()
    try:
        found = read_text(data)
    except NotTextError:
        _report("note: the piped input is binary; bytes that are no text were replaced")
        return data.decode("utf-8", "replace")
    if not found.is_plain:
        _report(f"note: the piped input was read as {found.encoding_name}")
    return found.text
