"""A task with a user at a plain terminal: lines out, lines in.

What happens is printed as in `lines`. A line that is typed answers the request that stands open; when there is none,
it is a message for the model. Which of the two it is depends on when it was read, and input is read all the time, so
what was typed before a question was shown can never be the answer to it. What stood in the line that was not sent yet,
where nobody sees it any more, is taken out of the terminal's buffer, and a line says so.

    approval     y, n, 2 or a (don't ask again in this task), 3 or p (in this project); "y words" and "n words" add a
                 comment; any other words are a no with a comment
    a question   the number of a suggestion, or an answer in words
    continuing   y, n, or a hint for the model
    the model is done   any words are the next message; an empty line accepts what it did

Elsewhere an empty line answers nothing: the prompt is shown again. The end of the input (Ctrl+D at a keyboard) cancels
the task. A line that `command` has an answer to is neither: it is for the program itself.
"""

from __future__ import annotations

import asyncio
import os
import select
import termios
from codecs import getincrementaldecoder
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO

from joey import events
from joey.app.running import run_headless
from joey.commands import Answer, Cancel, Say
from joey.frames import own_words
from joey.permissions import Scope
from joey.system.visible import one_line
from joey.task.requests import unattended
from joey.task.task import TaskHandle
from joey.terminal.plain.writer import Writer
from joey.terminal.plans import asks_before

_YES, _NO = ("y", "yes"), ("n", "no")
_PLAN = {"y": "ask", "yes": "ask", "1": "ask", "2": "edits"}
"""The profile with which a plan is carried out, by what is typed."""
_EDIT_PLAN = ("e", "3")
"""What opens the plan in an editor, where there is a whole screen."""
_ALWAYS: dict[str, Scope] = {
    "2": "task", "a": "task", "always": "task", "3": "project", "p": "project", "project": "project",
}  # fmt: skip
_CHUNK = 65536


class Conversation:
    """What is shown and requested. `watch` goes into the task, `attend` names the task that gets the answers."""

    def __init__(
        self,
        out: TextIO,
        command: Callable[[str], str | None] = lambda _line: None,
        *,
        grows: bool = False,
        typed: bool = False,
    ) -> None:
        self._writer = Writer(out, grows=grows, typed=typed)
        self._writer.console.hang_up = self.hang_up
        self._command = command
        self._open: deque[events.Request] = deque()
        self.waiting = asyncio.Event()
        """Set while something waits for an answer."""
        self._task: TaskHandle | None = None
        self.keyboard: Keyboard | None = None
        self.unsent: list[str] = []
        """Lines that came when the task had ended: they are for what comes after it."""
        self.input_ended = False
        """Whether there will be no more lines, because the user wants to quit, or the terminal is gone."""

    def attend(self, task: TaskHandle) -> None:
        self._task = task

    def watch(self, task_id: str, event: events.Event) -> None:
        if isinstance(event, events.TurnStarted) and self._task is not None:
            self._writer.unheard = [own_words(message.text) for message in self._task.queued]
        self._writer.watch(task_id, event)
        if isinstance(
            event,
            (events.ApprovalRequested, events.QuestionRequested, events.CompletionRequested, events.ContinueRequested),
        ):
            if not self._open and self.keyboard:
                self.keyboard.catch_up()
            self._open.append(event)
            self.waiting.set()
            if len(self._open) == 1:
                self._show_first()
        elif isinstance(event, events.RequestAnswered):
            self._answered_elsewhere(event)

    def _answered_elsewhere(self, event: events.RequestAnswered) -> None:
        """Somebody else was first, at another front end: the next line is for what is still open. A result is also
        taken as it is when the task is stopped."""
        answered = next((each for each in self._open if each.request_id == event.request_id), None)
        if answered is None:
            return
        first = answered is self._open[0]
        self._open.remove(answered)
        if not (isinstance(event, events.CompletionAnswered) and event.accepted):
            self.echo("\n  (answered elsewhere)")
        self._writer.prompting = bool(self._open)
        if not self._open:
            self.waiting.clear()
        elif first:
            self._show_first()

    def heard(self, line: str | None) -> None:
        """A line that was typed; None when there will be no more."""
        assert self._task is not None
        if line is None:
            self._end()
        elif (reply := self._command(line.strip())) is not None:
            self.echo(reply)
            if self._open:
                self._prompt()
        elif self._open:
            self._answer(self._open[0], line.strip())
        elif line.strip() and not self._task.send(Say(line.strip())):
            self.unsent.append(line)

    def _end(self) -> None:
        assert self._task is not None
        self.input_ended = True
        if self._writer.prompting:
            self._writer.write("")  # the prompt is left without an answer
        self.close()
        self._task.send(Cancel("the input ended"))

    def _answer(self, request: events.Request, line: str) -> None:
        if not line and (not isinstance(request, events.CompletionRequested) or request.plan):
            self._prompt()
            return
        if isinstance(request, events.ApprovalRequested) and _is_conditional(line):
            self.echo(_CONDITIONAL)
            self._prompt()
            return
        if isinstance(request, events.CompletionRequested) and request.plan and line.lower() in _EDIT_PLAN:
            self.echo(_NO_EDITOR)
            self._prompt()
            return
        self._give(answer_to(request, line))
        if self._open:
            self._show_first()

    def _give(self, answer: Answer) -> None:
        assert self._task is not None
        self._open.popleft()
        self._writer.prompting = bool(self._open)
        if not self._open:
            self.waiting.clear()
        self._task.send(answer)

    def nobody(self) -> None:
        """There will be no more lines, and nobody can answer: give the cautious answers."""
        while self._open:
            answer = unattended(self._open[0])
            self.echo("(no user to answer)")
            self._give(answer)

    def close(self) -> None:
        """Open requests will not be answered."""
        self._writer.prompting = False
        self._open.clear()
        self.waiting.clear()

    def echo(self, line: str) -> None:
        """Show a line that was read and not typed."""
        if line:
            self._writer.write(line)

    @property
    def request(self) -> events.Request | None:
        """What the next line answers."""
        return self._open[0] if self._open else None

    @property
    def reader_left(self) -> bool:
        """Whether nobody reads what is written any more."""
        return self._writer.console.reader_left

    def hang_up(self) -> None:
        """The terminal is gone: write nothing more, and end the task with all that it started."""
        self._writer.console.quiet = True
        if self._task is not None:
            self._task.send(Cancel("the terminal was closed"))

    def _show_first(self) -> None:
        """Another request gets the next line. The next message, which "done" waits for, may have been begun before."""
        request = self._open[0]
        if self.keyboard and not (isinstance(request, events.CompletionRequested) and not request.plan):
            words = one_line(self.keyboard.discard())
            self.echo(f"\n  (not sent, because it was typed before this request: {words})" if words.strip() else "")
        self._prompt()

    def _prompt(self) -> None:
        self._writer.prompting = True
        self._writer.write(prompt_for(self._open[0]), end="")


def prompt_for(request: events.Request) -> str:
    match request:
        case events.ApprovalRequested():
            return f"Approve? [y]es{_lasting(request)}, [n]o, or why not: "
        case events.QuestionRequested(_, _, suggestions):
            return "Your answer, or a number: " if suggestions else "Your answer: "
        case events.CompletionRequested(plan=True):
            careful, editing = asks_before(request, "ask"), asks_before(request, "edits")
            other = f", [2] {editing}" if editing != careful else ""
            return f"Carry out the plan? [y]es and {careful}{other}, [n]o, or what to change: "
        case events.CompletionRequested(plain=True):
            return "> "
        case events.CompletionRequested():
            return "Enter accepts, or type what to change: "
        case events.ContinueRequested():
            return "Continue? [y]es, [n]o, or a hint for the model: "


def _lasting(request: events.ApprovalRequested) -> str:
    if not request.always:
        return ""
    if "project" not in request.scopes:
        return ", [2] always in this subtask"
    return ", [2] always in this task, [3] always in this project"


def answer_to(request: events.Request, line: str) -> Answer:
    """The answer that this line gives."""
    request_id = request.request_id
    match request:
        case events.ApprovalRequested():
            return _approval(request, line)
        case events.QuestionRequested(_, _, suggestions):
            picked = int(line) - 1 if line.isascii() and line.isdigit() else -1
            text = suggestions[picked].text if 0 <= picked < len(suggestions) else line
            return Answer(request_id, yes=True, text=text)
        case events.CompletionRequested(plan=True) if line.lower() in _PLAN:
            return Answer(request_id, yes=True, profile=_PLAN[line.lower()])
        case events.CompletionRequested(plan=True) if line.lower() in _NO:
            return Answer(request_id)
        case events.CompletionRequested():
            accepts = not line or (not request.plain and line.lower() in _YES)
            return Answer(request_id, yes=accepts, text="" if accepts else line)
        case events.ContinueRequested():
            if line.lower() in (*_YES, *_NO):
                return Answer(request_id, yes=line.lower() in _YES)
            return Answer(request_id, text=line)


def _approval(request: events.ApprovalRequested, line: str) -> Answer:
    request_id, scope = request.request_id, _ALWAYS.get(line.lower())
    if scope in request.scopes and request.always:
        return Answer(request_id, yes=True, always=True, scope=scope)
    word, rest = _first_word("yes" if line == "1" else line)
    if word in _YES and not rest:
        return Answer(request_id, yes=True)
    return Answer(request_id, text=rest if word in _NO else line)


def _is_conditional(line: str) -> bool:
    """Whether it is a yes with words, which the call as it is may not do justice to."""
    word, rest = _first_word(line)
    return word in _YES and bool(rest)


def _first_word(line: str) -> tuple[str, str]:
    first, _, rest = line.partition(" ")
    return first.rstrip(",.:;!").lower(), rest.strip()


_NO_EDITOR = "Plain lines open no editor, so nothing is carried out yet: type what to change in the plan."
_CONDITIONAL = "Type y alone to approve it as it is, or n and your words to say what should be different."


async def converse(
    task: TaskHandle,
    conversation: Conversation,
    keyboard: int,
    *,
    seconds: float | None = None,
    at_the_last: Callable[[], None] = lambda: None,
) -> events.TaskFinished:
    """Run a task to its end with what comes from this file descriptor. Ctrl-C cancels it cleanly."""
    conversation.attend(task)
    loop = asyncio.get_running_loop()
    typed = Keyboard(conversation, keyboard)
    conversation.keyboard = typed if os.isatty(keyboard) else None
    loop.add_reader(keyboard, lambda: typed.take(_read(keyboard)) or loop.remove_reader(keyboard))
    try:
        return await run_headless(task, seconds=seconds, at_the_last=at_the_last, hang_up=conversation.hang_up)
    finally:
        loop.remove_reader(keyboard)


def _read(keyboard: int) -> bytes:
    try:
        return os.read(keyboard, _CHUNK)
    except OSError:
        return b""  # the terminal is gone


def _unsent(keyboard: int) -> bytes:
    """What the terminal holds, with the line that was not sent yet, taken out of it."""
    with suppress(termios.error, OSError):  # no terminal, or it is gone
        kept = termios.tcgetattr(keyboard)
        by_character = [*kept[:6], [*kept[6]]]
        by_character[3] &= ~termios.ICANON  # a line that has no end yet can be read only so
        by_character[6][termios.VMIN], by_character[6][termios.VTIME] = 0, 0
        termios.tcsetattr(keyboard, termios.TCSANOW, by_character)
        try:
            return os.read(keyboard, _CHUNK)
        finally:
            termios.tcsetattr(keyboard, termios.TCSANOW, kept)
            termios.tcflush(keyboard, termios.TCIFLUSH)
    return b""


def _is_in_front(keyboard: int) -> bool:
    """Whether what is typed is for this program: one in the background is stopped when it changes the terminal."""
    try:
        return os.tcgetpgrp(keyboard) == os.getpgrp()
    except OSError:
        return True  # not the terminal that controls this program


class Keyboard:
    """Bytes from the keyboard, to whole lines."""

    def __init__(self, conversation: Conversation, source: int) -> None:
        self._conversation, self._source = conversation, source
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._lines: deque[str] = deque()
        self._rest = ""

    def take(self, data: bytes) -> bool:
        """Pass on the lines that are complete; False at the end of the input."""
        *lines, self._rest = (self._rest + self._decoder.decode(data)).split("\n")
        self._lines += lines
        self._pass_on()
        if not data:
            words, self._rest = one_line(self._rest), ""
            self._conversation.echo(f"\n  (not sent: {words})" if words.strip() else "")
            self._conversation.heard(None)
        return bool(data)

    def _pass_on(self) -> None:
        while self._lines:
            self._conversation.heard(self._lines.popleft())

    def catch_up(self) -> None:
        """Pass on the lines that were sent and not read yet: they are no answers to what comes next."""
        self._pass_on()
        if select.select([self._source], [], [], 0)[0]:
            self.take(_read(self._source))

    def discard(self) -> str:
        """Everything that was typed and not passed on; it never will be."""
        unsent = _unsent(self._source) if _is_in_front(self._source) else b""
        words = "\n".join([*self._lines, self._rest + self._decoder.decode(unsent)])
        self._lines.clear()
        self._rest = ""
        return words
