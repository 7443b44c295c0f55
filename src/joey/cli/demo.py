"""See one whole task, offline and with nothing configured.

The model is scripted: its replies were written beforehand. Everything else is real: a local HTTP server sends them in
a provider's wire format, the provider's own SDK and Joey's parsers read them, and Joey's tools do what they say in a
scratch folder that is removed at the end. You are asked before anything is done, and may say what to change.

examples:
  joey demo --yes
  joey demo --protocol xml --provider openai
"""

from __future__ import annotations

import argparse
import asyncio
import io
import os
import shlex
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from joey import protocols
from joey.commands import Answer
from joey.events import ApprovalRequested, CompletionRequested, Request, TaskFinished
from joey.journal.store import TaskStore
from joey.modes.builtin import BUILTIN_MODES
from joey.providers import open_model
from joey.task.config import Hooks, Model, TaskConfig, TaskWorkspace
from joey.task.log import Watcher
from joey.task.task import TaskHandle
from joey.terminal.console import SafeConsole
from joey.terminal.headless import EXIT_CODES, run_headless
from joey.terminal.keyboard import forget_typed_ahead, read_line
from joey.terminal.show import Show
from joey.testing.hello_model import FEEDBACK, TASK, HelloModel, notes
from joey.testing.script import Faults
from joey.testing.server import LocalServer
from joey.tools.builtin import builtin_tools
from joey.tools.toolset import build_toolset

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
    parser.add_argument("--yes", "-y", action="store_true", help="answer yes, and give the prepared feedback")
    parser.add_argument("--speed", type=_speed, metavar="X", help="times the usual speed; without a terminal, no waits")
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
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal that cannot show ✓ shows ? instead
    console = Screen(highlight=False)
    attended = sys.stdin is not None and sys.stdin.isatty() and console.is_terminal
    speed = args.speed or (1.0 if console.is_terminal else None)
    pace = 1 / speed if speed else 0.0
    user = User(console, asks=attended and not args.yes, pace=pace)
    with _scratch_folder(keep=args.keep) as folder, _no_proxy():
        console.print(_opening(args, folder, attended=attended))
        finished = asyncio.run(_demo(args, folder, console, Show(console, user.answer), pace))
    console.print(_closing(finished, folder if args.keep else None))
    return _READER_LEFT if console.reader_left else EXIT_CODES[finished.outcome]


class Screen(SafeConsole):
    """A console whose reader may go away (`joey demo | head`): then nothing more is said, and `hang_up` is called."""

    reader_left = False
    hang_up: Callable[[], None] = staticmethod(lambda: None)

    def on_broken_pipe(self) -> None:
        self.quiet = self.reader_left = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that Python's last flush is content, too
        self.hang_up()


async def _demo(args: argparse.Namespace, folder: Path, console: Screen, show: Show, pace: float) -> TaskFinished:
    port = _free_port()
    workspace = folder / "hello"
    workspace.mkdir()
    (workspace / "notes.md").write_text(notes(port), encoding="utf-8")
    faults = Faults(latency=_SECONDS_TO_THINK * pace, pause=_SECONDS_A_PIECE * pace)
    protocol = protocols.get(args.protocol)
    async with LocalServer(HelloModel(protocol, port, _python(), faults)) as server:
        url = server.anthropic_url if args.provider == "anthropic" else server.openai_url
        provider, model = open_model(f"{args.provider}/scripted", base_url=url, api_key="none-needed")
        task = TaskHandle.start(_config(Model(provider, model, protocol), workspace, show.watch), TASK)
        show.follow(task)
        console.hang_up = show.hang_up
        if console.reader_left:
            show.hang_up()
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, show.hang_up)
        try:
            return await run_headless(task, at_the_last=lambda: None if args.keep else _remove(folder))
        finally:
            show.close()
            await provider.close()


def _config(model: Model, workspace: Path, watch: Watcher) -> TaskConfig:
    """What every task is made of, except that nothing is the user's own: no settings, no history, no custom tools."""
    tools = builtin_tools()
    toolsets = {mode.slug: build_toolset(mode, tools) for mode in BUILTIN_MODES}
    return TaskConfig(
        model,
        TaskWorkspace(workspace, TaskStore(workspace.parent / "tasks")),
        tools=lambda mode: toolsets[mode.slug],
        modes={mode.slug: mode for mode in BUILTIN_MODES},
        hooks=Hooks(watch),
    )


@dataclass(slots=True)
class User:
    """Answers what the task asks: the person at the terminal, or else everything yes and the prepared feedback."""

    console: Screen
    asks: bool
    pace: float
    gave_feedback: bool = False
    denied: bool = False
    """Whether the last thing asked was denied: then the prepared words would not fit."""

    async def answer(self, request: Request) -> Answer:
        if isinstance(request, CompletionRequested):
            return await self._completion(request.request_id)
        question = "Allow it?" if isinstance(request, ApprovalRequested) else "Go on?"
        typed = "?"
        while typed not in ("", "y", "yes", "n", "no"):
            typed = (await self._line(f"{question} [Y/n] ", "yes")).lower()
        self.denied = typed.startswith("n")
        return Answer(request.request_id, yes=not self.denied)

    async def _completion(self, request_id: str) -> Answer:
        """The first result gets feedback, the prepared words unless others are typed; the next may be accepted."""
        prepared = "" if self.gave_feedback or self.denied else FEEDBACK
        self.gave_feedback = self.gave_feedback or bool(prepared)
        offer = f"Enter says: {prepared} ok accepts." if prepared else "Enter accepts."
        typed = await self._line(f"Anything to change? {offer}\n> ", prepared or "ok")
        text = "" if typed.lower() == "ok" else typed or prepared
        return Answer(request_id, yes=not text, text=text)

    async def _line(self, prompt: str, usual: str) -> str:
        """What the person types; with nobody to ask, the usual answer, after time enough to read the question."""
        if self.asks:
            forget_typed_ahead()
        self.console.print(Text(prompt, style="bold"), end="")
        if self.asks:
            return await read_line()
        await asyncio.sleep(_SECONDS_TO_READ * self.pace)
        self.console.print(usual)
        return usual


# What is said before and after


def _opening(args: argparse.Namespace, folder: Path, *, attended: bool) -> Text:
    whose = _SDKS[args.provider]
    about = (
        f"The model is scripted; the rest is real: its replies come over HTTP in {whose} format, {whose} SDK and "
        f"Joey's {args.protocol} parser read them, and Joey's tools run in {folder}."
    )
    if args.yes:
        about += " Everything is answered yes."
    elif not attended:
        about += " There is no terminal to ask at, so everything is answered yes."
    return Text.assemble((about, "dim"), "\n\n", (f"> {TASK}", "bold"), "\n")


def _closing(finished: TaskFinished, kept: Path | None) -> Text:
    folder = f"The files are in {kept}." if kept else "The scratch folder is removed."
    words = f"\nNothing is left running. {folder}"
    if finished.outcome == "completed":
        joey = sys.argv[0] if "/" in sys.argv[0] else "joey"
        model = f"set ANTHROPIC_API_KEY or OPENAI_API_KEY, or run `{joey} local install`"
        words = f"{words}\nThat was a whole task. For a real one, {model}; then type `{joey}` in a project."
    return Text(words, style="dim")


# The world around it


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
