"""A task with a user at a plain terminal: lines out, lines in.

What happens is printed as in `lines`. A line that is typed answers the request that stands open; when there is none,
it is a message for the model. Which of the two it is depends on when it was read, and input is read all the time, so
what was typed before a question was shown can never be the answer to it.

    leave        y, n or a (always); "y words" and "n words" add a comment; any other words are a no with a comment
    a question   the number of a suggestion, or an answer in words
    a result     y, or words about what should be different
    going on     y, n, or words of guidance for the model

An empty line answers nothing: the prompt is shown again. The end of the input cancels the task. A line that `command`
has an answer to is neither: it is for the program itself.
"""

from __future__ import annotations

import asyncio
import os
from codecs import getincrementaldecoder
from collections import deque
from collections.abc import Callable
from typing import TextIO

from joey.commands import Answer, Cancel, Say
from joey.events import (
    ApprovalRequested,
    CompletionRequested,
    ContinueRequested,
    Event,
    QuestionRequested,
    Request,
    TaskFinished,
)
from joey.task.requests import unattended
from joey.task.task import TaskHandle
from joey.terminal.headless import run_headless
from joey.terminal.lines import Lines
from joey.terminal.visible import visible

_YES, _NO, _ALWAYS = ("y", "yes"), ("n", "no"), ("a", "always")
_CHUNK = 65536


class Conversation:
    """What is shown and asked. `watch` goes into the task's parts, `attend` says which task the answers are for."""

    def __init__(self, out: TextIO, command: Callable[[str], str | None] = lambda _line: None) -> None:
        self._out = out
        self._command = command
        self._lines = Lines()
        self._open: deque[Request] = deque()
        self.asks = asyncio.Event()
        """Set while something waits for an answer."""
        self._task: TaskHandle | None = None

    def attend(self, task: TaskHandle) -> None:
        self._task = task

    def watch(self, _task_id: str, event: Event) -> None:
        self._print(self._lines.text(event))
        if isinstance(event, (ApprovalRequested, QuestionRequested, CompletionRequested, ContinueRequested)):
            self._open.append(event)
            self.asks.set()
            if len(self._open) == 1:
                self._prompt()

    def heard(self, line: str | None) -> None:
        """A line that was typed; None when there will be no more."""
        assert self._task is not None
        if line is None:
            self._task.send(Cancel("the input ended"))
        elif (told := self._command(line.strip())) is not None:
            self._print(f"{visible(told)}\n" if told else "")
            if self._open:
                self._prompt()
        elif self._open:
            self._answer(self._open[0], line.strip())
        elif line.strip():
            self._task.send(Say(line.strip()))

    def _answer(self, request: Request, line: str) -> None:
        answer = answer_to(request, line) if line else None
        if answer is not None:
            self._give(answer)
        if self._open:
            self._prompt()

    def _give(self, answer: Answer) -> None:
        assert self._task is not None
        self._open.popleft()
        if not self._open:
            self.asks.clear()
        self._task.send(answer)

    def nobody(self) -> None:
        """There will be no more lines, and nobody who could be asked: give the careful answers."""
        while self._open:
            answer = unattended(self._open[0])
            self.echo("(nobody is there)")
            self._give(answer)

    def close(self) -> None:
        """What is still asked will not be answered."""
        self._open.clear()
        self.asks.clear()

    def echo(self, line: str) -> None:
        """Show a line that was read and not typed."""
        self._print(f"{visible(line)}\n")

    def _prompt(self) -> None:
        self._print(prompt_for(self._open[0]))

    def _print(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


def prompt_for(request: Request) -> str:
    match request:
        case ApprovalRequested():
            return "  allow it? [y]es, [n]o, [a]lways, or why not: "
        case QuestionRequested(_, _, suggestions):
            return "  your answer, or a number: " if suggestions else "  your answer: "
        case CompletionRequested():
            return "  accept it? [y]es, or what should be different: "
        case ContinueRequested():
            return "  go on? [y]es, [n]o, or what to tell the model: "


def answer_to(request: Request, line: str) -> Answer | None:
    """What this line means as an answer; None if it must be asked again."""
    request_id = request.request_id
    match request:
        case ApprovalRequested():
            return _leave(request_id, line)
        case QuestionRequested(_, _, suggestions):
            picked = int(line) - 1 if line.isascii() and line.isdigit() else -1
            text = suggestions[picked].text if 0 <= picked < len(suggestions) else line
            return Answer(request_id, yes=True, text=text)
        case CompletionRequested() if line.lower() in _NO:
            return None  # the model needs to know what is wrong
        case CompletionRequested() | ContinueRequested():
            if line.lower() in (*_YES, *_NO):
                return Answer(request_id, yes=line.lower() in _YES)
            return Answer(request_id, text=line)


def _leave(request_id: str, line: str) -> Answer:
    if line.lower() in _ALWAYS:
        return Answer(request_id, yes=True, always=True)
    first, _, rest = line.partition(" ")
    word = first.rstrip(",.:;!").lower()
    if word in _YES:
        return Answer(request_id, yes=True, text=rest.strip())
    return Answer(request_id, text=rest.strip() if word in _NO else line)


async def converse(
    task: TaskHandle, conversation: Conversation, keyboard: int, *, seconds: float | None = None
) -> TaskFinished:
    """Run a task to its end with what comes from this file descriptor. Ctrl-C cancels it cleanly."""
    conversation.attend(task)
    loop = asyncio.get_running_loop()
    typed = _Typed(conversation)
    loop.add_reader(keyboard, lambda: typed.take(os.read(keyboard, _CHUNK)) or loop.remove_reader(keyboard))
    try:
        return await run_headless(task, seconds=seconds)
    finally:
        loop.remove_reader(keyboard)


class _Typed:
    """Bytes from the keyboard, to whole lines."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def take(self, data: bytes) -> bool:
        """Pass on the lines that are complete; False at the end of the input."""
        *lines, self._rest = (self._rest + self._decoder.decode(data)).split("\n")
        for line in lines:
            self._conversation.heard(line)
        if not data:
            self._conversation.heard(None)
        return bool(data)
