"""Joey in plain lines, for terminals that can do no more, for pipes and for logs: lines out, lines in.

    idle  --a line-->  a task runs, as in `conversation`  --it ends-->  idle
    idle: a message for a new task or for the last one; a backslash at the end of a line continues it

When the model is done, its task still waits for the next message, with the same prompt; an empty line ends it. When
none waits, an empty line continues a task only where the line above the prompt says so. `/` commands work at any time.

At a keyboard, lines are read at any time: what is typed while Joey works waits for the model. What still waits when the
task ends is listed above the prompt, with what sends it. Ctrl+D quits, whatever runs. From a pipe or a file,
one line is read for each request, and it is echoed, so that the output reads like a conversation. After the end of
such input nobody can answer: requests get the cautious answer, as with `joey run`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from base64 import b64encode
from codecs import getincrementaldecoder
from collections.abc import Awaitable, Callable, Sequence
from shutil import get_terminal_size
from typing import TextIO

from rich.text import Text

from joey.app.notes_for_later import NotePlan, note_in
from joey.app.running import EXIT_CODES, run_headless
from joey.app.services import Choices, Services
from joey.commands import Cancel
from joey.errors import JoeyError
from joey.events import Event, TaskFinished, ToolRunFinished, TurnStarted
from joey.journal.replay import TaskState
from joey.messages import ImageBlock
from joey.permissions import Granted
from joey.system.signals import handled_signals, release_terminal
from joey.system.visible import VisiblePieces, unfiltered, visible
from joey.task.task import TaskHandle
from joey.terminal.attachments import attached_line, images_in, read_images
from joey.terminal.notes import note_on_job
from joey.terminal.plain.conversation import Conversation, converse
from joey.terminal.plain.margin import BAR, INDENT, Margin, behind
from joey.terminal.plain.writer import TAKES_BACK
from joey.terminal.resumed import entries_of
from joey.terminal.scrollback import replies
from joey.terminal.session import Session
from joey.terminal.slash import (
    NOTHING_QUEUED,
    TYPE_TO_CONTINUE,
    is_for_the_terminal,
    list_models,
    list_permissions,
    resume_task,
    run_command,
)
from joey.terminal.transcript import ModelText, UserText
from joey.terminal.users_commands import is_command
from joey.terminal.welcome import welcome

_CHUNK = 65536
_KEYS = """\
  Enter     send; a backslash before it continues on the next line
  /help     the commands; @FILE names a file, !COMMAND runs one of yours
  /unqueue  take back the last message that still waits for the model
  Ctrl+C    stop what runs; Ctrl+D quits, and the task can be resumed"""


class Plain:
    """A sitting in lines."""

    def __init__(self, services: Services, choices: Choices, out: TextIO, *, first: str = "") -> None:
        """`first` is a line that counts as typed."""
        self.session = Session(services, choices)
        self._out = out
        self._talk: Conversation | None = None
        self._first = first
        self._closing = False
        self._ended_by: signal.Signals | None = None
        self._running: asyncio.Future[int] | None = None
        self._compacting = False
        self._late: Awaitable[str] | None = None
        """The reply of a command that takes a while."""
        self._code = 0

    @property
    def busy(self) -> bool:
        return self.session.task is not None

    async def run(self, source: int) -> int:
        """Run until /quit or the end of the input. The exit code tells how the last task of a script ended."""
        with handled_signals(self._end_by_signal, (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)):
            self._running = asyncio.ensure_future(self._run(LineSource(source)))
            try:
                return await self._running
            except asyncio.CancelledError:
                if self._ended_by is None:
                    raise
                return 128 + self._ended_by
            finally:
                await self.session.close()

    async def _run(self, lines: LineSource) -> int:
        self._begin()
        if self._first:
            self._print(f"> {self._first}")
            await self._heard(self._first, lines)
        while not self._closing and (line := await self._ask(lines)) is not None:
            await self._heard(line.strip(), lines)
        return 0 if lines.is_keyboard else self._code

    def _end_by_signal(self, number: signal.Signals) -> None:
        """While no task runs: end with the commands that the user runs. A task handles these signals itself."""
        if number == signal.SIGHUP:
            release_terminal()
        self._ended_by = number
        if self._running is not None:
            self._running.cancel()

    def _begin(self) -> None:
        choices = self.session.choices
        services, status = self.session.services, self.session.status
        hello = welcome(services.place(), status.model, status.profile, "joey --approve")
        self._print(resume_task(self, choices.resume) if choices.resume else hello)
        if choices.resume and choices.mode:
            self.session.choose(mode=choices.mode)
        for notice in self.session.services.notices():
            self._print(notice)

    async def _ask(self, lines: LineSource) -> str | None:
        self._print("> ", end="")
        whole: list[str] = []
        while (line := await lines.next()) is not None:
            if not lines.is_keyboard:
                self._print(visible(line))
            whole.append(line.removesuffix("\\"))
            if not line.endswith("\\"):
                return "\n".join(whole)
        self._print("")
        return "\n".join(whole) if whole else None

    async def _heard(self, text: str, lines: LineSource) -> None:
        services = self.session.services
        if lines.is_keyboard:
            self.session.history.add(text)
        if (reply := self._command(text)) is not None:
            self._print(reply)
            if self._compacting:
                self._compacting = False
                await self._with_task("", (), lambda task, _: task.compact())
            await self._show_late()
        elif is_command(text):
            await self._run_users_command(text)
        elif note := note_in(text):
            await self._add_note(note, lines)
        elif text or self.session.enter_continues:
            named = [each for each in images_in(text, services.folder) if not each.mentioned]
            found = read_images(named, services.image)
            for line in filter(None, (attached_line(found), *(f"! {each}" for each in found.not_attached))):
                self._print(line)
            text = self.session.for_the_model(text)
            await self._with_task(text, found.images, lambda task, talk: self._converse(task, talk, lines))
            for line in self._talk.unsent if self._talk else ():
                await self._heard_late(line, lines)
        elif self.session.choices.resume:
            self._print(TYPE_TO_CONTINUE)

    async def _heard_late(self, line: str, lines: LineSource) -> None:
        """A line that came when the task had ended."""
        if self._closing:
            self._print(f"(not sent: {line})")
        else:
            await self._heard(line.strip(), lines)

    async def _show_late(self) -> None:
        late, self._late = self._late, None
        if late is not None:
            try:
                self._print(await late)
            except JoeyError as error:
                self._print(str(error))

    async def _add_note(self, words: str, lines: LineSource) -> None:
        """Add a line to AGENTS.md, if the user wants the change that it makes."""

        async def confirm(plan: NotePlan) -> bool:
            self._print(visible(plan.diff))
            self._print(f"{plan.question} y or n: ", end="")
            return (await lines.next() or "").strip().lower() in ("y", "yes")

        try:
            self._print(await self.session.services.add_note(words, confirm))
        except JoeyError as error:
            self._print(str(error))

    async def _run_users_command(self, line: str) -> None:
        entry = self.session.command_line.entry(line)
        pieces, margin = VisiblePieces(drop_escapes=True), Margin(BAR, self._width)
        await self.session.command_line.run(entry, lambda text: self._print(margin.add(pieces.add(text)), end=""))
        self._print(margin.add(pieces.end()), end="\n" if margin.is_open else "")
        if entry.ended:
            self._print(entry.ended)

    def _command(self, line: str) -> str | None:
        """The reply of a `/` command, or of `?`; None: the line is something else."""
        if line == "?":
            return _KEYS
        request, own = self._talk.request if self._talk is not None else None, self.session.services.commands()
        return run_command(self, line) if is_for_the_terminal(line, own, request) else None

    async def _with_task(
        self, text: str, images: Sequence[ImageBlock], what: Callable[[TaskHandle, Conversation], Awaitable[None]]
    ) -> None:
        talk = self._talk = Conversation(self._out, self._command, typed=True)

        def watch(task_id: str, event: Event) -> None:
            for task, shown in self.session.subtasks.shown(task_id, event):
                self.session.note_status(task, shown)
            if isinstance(event, (TurnStarted, ToolRunFinished)):
                self._show_ended_jobs()
            talk.watch(task_id, event)

        try:
            async with self.session.services.open(text, self.session.choices, watch, images) as task:
                self.session.began(task)
                await what(task, talk)
        except JoeyError as error:
            self._print(f"! {error}")
            self._code = 1
        finally:
            self.session.ended()
        self._show_queued()

    def _show_ended_jobs(self) -> None:
        for job in self.session.ended_jobs():
            self._print(note_on_job(job)[0])
        self.session.count_jobs()

    async def _converse(self, task: TaskHandle, talk: Conversation, lines: LineSource) -> None:
        finished = await (converse(task, talk, lines.fd) if lines.is_keyboard else _read_to(task, talk, lines))
        self._code = EXIT_CODES[finished.outcome]
        self._closing = self._closing or talk.input_ended

    def _print(self, text: str, end: str = "\n") -> None:
        self._out.write(visible(text) + end)
        self._out.flush()

    # What commands do here

    def show(self, text: str) -> None:
        self._print(text)

    def show_later(self, reply: Awaitable[str]) -> None:
        self._late = reply

    def show_task(self, state: TaskState) -> None:
        """The last message of each side."""
        entries = entries_of(state.messages, interrupted=state.interrupted)
        sent = [entry.text for entry in entries if isinstance(entry, UserText)][-1:]
        replies = [entry.words.text for entry in entries if isinstance(entry, ModelText)][-1:]
        for text in sent:
            self._print(self._behind(text, "> ", INDENT))
        for text in replies:
            self._print(self._behind(text, BAR, BAR))
        self._list_queued(TAKES_BACK)

    def _show_queued(self) -> None:
        """After the end of a task: what still waits for the model, and what sends it."""
        if self._talk is None or self._talk.reader_left:
            return
        if self._closing:
            self._list_queued("queued; sent when you resume the task and continue")
        elif self._list_queued(TAKES_BACK):
            self._print(self.session.how_to_continue())

    def _list_queued(self, hint: str) -> bool:
        queued = self.session.queued
        for text in queued:
            self._print(f"{self._behind(text, '› ', INDENT)}  ({hint})")
        return bool(queued)

    def take_back(self) -> str:
        taken = self.session.take_back()
        return NOTHING_QUEUED if taken is None else f"Taken back, not sent: {taken}"

    def _behind(self, text: str, first: str, others: str) -> str:
        """Words of others, so that no row of them looks like one of ours."""
        return behind(Text(visible(text)), first, others, self._width).plain

    @property
    def _width(self) -> int | None:
        return get_terminal_size().columns if self._out.isatty() else None

    def show_permissions(self, granted: Sequence[Granted]) -> str:
        return list_permissions(granted)

    def choose_task(self) -> None:
        """In lines there is nothing to choose from: it is the last one, and `/tasks` lists the others."""
        self._print(run_command(self, "/resume last"))

    def choose_model(self) -> None:
        self._print(list_models(self.session.services.model_choices()))

    def compact(self) -> None:
        self._compacting = True

    def replies(self) -> list[str]:
        resumed = self.session.choices.resume
        return replies(entries_of(self.session.services.state(resumed)[1].messages)) if resumed else []

    def copy_text(self, text: str) -> str:
        if not self._out.isatty():
            return "Nothing can be copied here: this is no terminal."
        copied = b64encode(visible(text).encode("utf-8", "replace")).decode()
        unfiltered(self._out).write(f"\x1b]52;c;{copied}\a")
        return "Copied, if this terminal lets programs copy (OSC 52)."

    def set_theme(self, which: str) -> str:
        return f"Plain lines have no theme; {which} is for the full screen."

    def close(self) -> None:
        self._closing = True
        if self.session.task is not None and self._talk is not None:
            self._talk.close()
            self.session.task.send(Cancel("Joey was closed"))


async def _read_to(task: TaskHandle, talk: Conversation, lines: LineSource) -> TaskFinished:
    """Run a task with one line of the input for each of its requests."""
    talk.attend(task)

    async def answers() -> None:
        while True:
            await talk.waiting.wait()
            line = await lines.next()
            if line is None:
                talk.nobody()
            else:
                talk.echo(line)
                talk.heard(line)

    answering = asyncio.create_task(answers())
    try:
        return await run_headless(task)
    finally:
        answering.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await answering


class LineSource:
    """Lines of a file descriptor, one at a time. Nothing blocks, and waiting can be cancelled."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.is_keyboard = os.isatty(fd)
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._ended = False

    async def next(self) -> str | None:
        """The next line without its end; None when there is none."""
        while "\n" not in self._rest and not self._ended:
            data = await self._read()
            self._rest += self._decoder.decode(data, final=not data)
            self._ended = not data and not self.is_keyboard
            if not data:
                break
        line, end, self._rest = self._rest.partition("\n")
        return line.removesuffix("\r") if line or end else None

    async def _read(self) -> bytes:
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        try:
            loop.add_reader(self.fd, ready.set)
        except PermissionError:
            return os.read(self.fd, _CHUNK)  # a file is always ready, and cannot be waited for
        try:
            await ready.wait()
        finally:
            loop.remove_reader(self.fd)
        try:
            return os.read(self.fd, _CHUNK)
        except OSError:
            return b""  # the terminal is gone
