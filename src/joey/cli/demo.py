"""See one whole task, offline and with nothing configured.

The model is scripted: its replies were written in advance. Everything else is real: a local HTTP server sends them in
a provider's wire format, Joey's parsers read them, and Joey's tools run in a scratch folder
that is removed at the end. You approve each step, and may ask for a change. At a terminal it is shown as any task is;
accepting the result ends it.

examples:
  joey demo --yes
  joey demo --protocol xml --provider openai
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
import shutil
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from textwrap import fill

from joey import protocols
from joey.app.running import EXIT_CODES, run_headless
from joey.app.tasks import Given, TaskOptions, open_task, prepare_task
from joey.cli.interactive import full_terminal
from joey.events import CompletionRequested, TaskFinished
from joey.providers import open_model
from joey.task.task import TaskHandle
from joey.terminal.plain.conversation import Conversation, converse
from joey.testing.hello_model import FEEDBACK, TASK, HelloModel, notes
from joey.testing.script import Faults
from joey.testing.server import LocalServer

_SDKS = {"anthropic": "Anthropic's", "openai": "OpenAI's"}
_SECONDS_A_PIECE = 0.03
_SECONDS_TO_THINK = 0.3
_SECONDS_TO_READ = 0.5
_READER_LEFT = 141
"""What a shell says of a program that wrote to a pipe which nobody read any more."""


def configure(parser: argparse.ArgumentParser) -> None:
    names = protocols.task_names()
    parser.add_argument("--protocol", choices=names, default="native", help="how the model calls tools (native)")
    parser.add_argument("--provider", choices=tuple(_SDKS), default="anthropic", help="whose wire format (anthropic)")
    parser.add_argument("--yes", "-y", action="store_true", help="approve everything, and give the prepared feedback")
    parser.add_argument("--speed", type=_speed, metavar="X", help="times the usual speed; without a terminal, no waits")
    parser.add_argument("--plain", action="store_true", help="plain lines, also on a terminal")
    parser.add_argument("--keep", action="store_true", help="do not remove the scratch folder")


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not speed > 0:
        raise argparse.ArgumentTypeError(f"the speed is a number above 0, such as 2 or 0.5, not {text!r}")
    return speed


def run(args: argparse.Namespace) -> int:
    on_terminal = sys.stdout.isatty()
    attended = on_terminal and sys.stdin is not None and sys.stdin.isatty()
    speed = args.speed or (1.0 if on_terminal else None)
    pace = 1 / speed if speed else 0.0
    if attended and not args.yes and not args.plain and full_terminal():
        return _on_the_screen(args, pace)
    conversation = Conversation(sys.stdout, grows=True)
    with _scratch_folder(keep=args.keep) as folder, _no_proxy():
        conversation.echo(_opening(args, folder, attended=attended))
        finished = asyncio.run(_demo(args, folder, conversation, pace, types=attended and not args.yes))
    conversation.echo(_closing(finished, folder if args.keep else None))
    return _READER_LEFT if conversation.reader_left else EXIT_CODES[finished.outcome]


def _on_the_screen(args: argparse.Namespace, pace: float) -> int:
    """The demo in the interactive terminal."""
    from joey.cli.demo_screen import show_demo

    with _scratch_folder(keep=args.keep) as folder, _no_proxy():
        about = " ".join(_opening(args, folder, attended=True).split())
        scripted = _scripted(args, folder, pace)
        finished = asyncio.run(show_demo(scripted, f"{args.provider}/scripted", folder, about))
    print(_closing(finished, folder if args.keep else None))
    return EXIT_CODES[finished.outcome]


@asynccontextmanager
async def _scripted(args: argparse.Namespace, folder: Path, pace: float) -> AsyncIterator[tuple[TaskOptions, Given]]:
    """The model and the folder of the demo, while its server runs."""
    port = _free_port()
    workspace = folder / "hello"
    workspace.mkdir()
    (workspace / "notes.md").write_text(notes(port), encoding="utf-8")
    faults = Faults(latency=_SECONDS_TO_THINK * pace, pause=_SECONDS_A_PIECE * pace)
    protocol = protocols.get(args.protocol)
    async with LocalServer(HelloModel(protocol, port, _python(), faults)) as server:
        url = server.anthropic_url if args.provider == "anthropic" else server.openai_url
        provider, model = open_model(f"{args.provider}/scripted", base_url=url, api_key="none-needed")
        given = Given((provider, model), config=False, store=folder / "tasks")
        try:
            yield TaskOptions(workspace, {"protocol": args.protocol}), given
        finally:
            await provider.close()


async def _demo(
    args: argparse.Namespace, folder: Path, conversation: Conversation, pace: float, *, types: bool
) -> TaskFinished:
    async with (
        _scripted(args, folder, pace) as (options, given),
        open_task(prepare_task(options, given), TASK, conversation.watch) as task,
    ):
        remove = partial(_remove, folder) if not args.keep else lambda: None
        return await _converse(task, conversation, remove, pace, types=types)


async def _converse(
    task: TaskHandle, conversation: Conversation, at_the_last: Callable[[], None], pace: float, *, types: bool
) -> TaskFinished:
    if types:
        return await converse(task, conversation, sys.stdin.fileno(), at_the_last=at_the_last)
    conversation.attend(task)
    typing = asyncio.create_task(_type_answers(conversation, pace))
    try:
        return await run_headless(task, at_the_last=at_the_last)
    finally:
        typing.cancel()


async def _type_answers(conversation: Conversation, pace: float) -> None:
    """Answer as somebody would type it: yes to every request, the prepared feedback to the first result, and an empty
    line, which accepts, to the next."""
    feedback = [FEEDBACK]
    while True:
        await conversation.waiting.wait()
        await asyncio.sleep(_SECONDS_TO_READ * pace)
        is_result = isinstance(conversation.request, CompletionRequested)
        line = (feedback.pop() if feedback else "") if is_result else "y"
        conversation.echo(line)
        conversation.heard(line)


# Before and after


def _opening(args: argparse.Namespace, folder: Path, *, attended: bool) -> str:
    whose = _SDKS[args.provider]
    about = (
        f"The model is scripted; the rest is real: its replies come over HTTP in {whose} format, {whose} SDK and "
        f"Joey's {args.protocol} parser read them, and Joey's tools run in {folder}."
    )
    if args.yes:
        more = "Every request is approved."
    elif not attended:
        more = "There is no terminal to ask at, so every request is approved."
    else:
        more = f"When you see the result, ask for a change, such as: {FEEDBACK}"
    return f"{fill(f'{about} {more}', 80)}\n"


def _closing(finished: TaskFinished, kept: Path | None) -> str:
    folder = f"The files are in {kept}." if kept else "The scratch folder is removed."
    words = f"\nNothing is left running. {folder}"
    if finished.outcome != "completed":
        return words
    joey = sys.argv[0] if "/" in sys.argv[0] else "joey"
    model = f"set ANTHROPIC_API_KEY or OPENAI_API_KEY, or run `{joey} local install`"
    more = fill(f"That was a whole task. For a real one, {model}; then type `{joey}` in a project.", 80)
    return f"{words}\n{more}"


# The scratch folder and the machine


@contextmanager
def _scratch_folder(*, keep: bool) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="joey-demo-")).resolve()
    try:
        yield folder
    finally:
        if not keep:
            _remove(folder)


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _no_proxy() -> Iterator[None]:
    """Nothing here leaves the machine; a proxy that is set up for the rest of the world must not get in between."""
    before = {name: os.environ.get(name) for name in ("no_proxy", "NO_PROXY")}
    os.environ.update(dict.fromkeys(before, "127.0.0.1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def _python() -> str:
    """How to call Python in a command line: short where that works."""
    return "python3" if shutil.which("python3") else shlex.quote(sys.executable)
