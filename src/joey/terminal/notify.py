"""What a terminal is told besides what it shows. The title of its window: the task in a few words (OSC 2), and whatever
it was when Joey ends. And that it is the user's turn, to a user who looks elsewhere: by the terminal's bell, by a
notification of the desktop that the terminal passes on (OSC 9 or 777), or by a command of the user's.

`auto` rings the bell, and sends the notification where the terminal is known to show it; others would print it or
ignore it. The command gets the words as its last argument and is not waited for.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from joey.events import (
    ApprovalRequested,
    CompletionRequested,
    ContinueRequested,
    Event,
    QuestionRequested,
    TaskFinished,
)
from joey.journal.markdown import task_title
from joey.system.visible import one_line

_KEEP, _GIVE_BACK = "\x1b[22;2t", "\x1b[23;2t"


class WindowTitle:
    """Writes the title, once for each change. `write` goes to the terminal."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._now: str | None = None

    def show(self, text: str, folder: str) -> None:
        title = task_title(text) or one_line(folder)
        if title != self._now:
            self._write(("" if self._now is not None else _KEEP) + f"\x1b]2;{title} · joey\x07")
            self._now = title

    def give_back(self) -> None:
        if self._now is not None:
            self._write(_GIVE_BACK)
            self._now = None


_BELL = "\a"
_MAX_LENGTH = 120
_SHOWS_9 = ("iTerm.app", "WezTerm", "ghostty", "vscode", "WarpTerminal")
"""Values of $TERM_PROGRAM."""
_SHOWS_777 = ("rxvt", "foot")
"""Beginnings of $TERM."""


def words_for(event: Event) -> str:
    """What to say when this event made it the user's turn; empty where it did not."""
    match event:
        case ApprovalRequested(_, _, name):
            return f"Approval required: {one_line(name)}"
        case QuestionRequested(_, question):
            return one_line(question)
        case CompletionRequested():
            return "Task completed"
        case ContinueRequested(_, reason):
            return one_line(reason)
        case TaskFinished(outcome, message):
            return "Task completed" if outcome == "completed" else one_line(f"Task ended: {outcome}. {message}")
        case _:
            return ""


def codes_for(way: str, words: str, environment: Mapping[str, str]) -> str:
    """What to send to the terminal."""
    words = words.replace(";", ",")
    osc_9, osc_777 = f"\x1b]9;Joey: {words}\a", f"\x1b]777;notify;Joey;{words}\a"
    if way == "auto":
        if environment.get("TERM_PROGRAM") in _SHOWS_9 or "KITTY_WINDOW_ID" in environment:
            return osc_9 + _BELL
        return _BELL + (osc_777 if environment.get("TERM", "").startswith(_SHOWS_777) else "")
    return {"bell": _BELL, "osc9": osc_9, "osc777": osc_777}.get(way, "")


def start(command: Sequence[str]) -> None:
    """Run a command of the user's, beside everything else. One that cannot be run is not worth a complaint now."""
    with contextlib.suppress(OSError, ValueError):
        subprocess.Popen(  # noqa: S603 - the user's own setting
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Notifier:
    """The user's settings, and the ways out."""

    way: str = "auto"
    command: str = ""
    always: bool = False
    """Also while the terminal has the focus."""
    write: Callable[[str], None] = lambda _codes: None
    run: Callable[[Sequence[str]], None] = start
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)

    def tell(self, event: Event, *, focused: bool) -> None:
        """It is the user's turn, because of this event."""
        words = words_for(event)[:_MAX_LENGTH]
        if not words or (focused and not self.always):
            return
        if codes := codes_for(self.way, words, self.environment):
            self.write(codes)
        if self.command:
            with contextlib.suppress(ValueError):
                # The model's words are never an option of the user's command.
                self.run([*shlex.split(self.command), f" {words}" if words.startswith("-") else words])
