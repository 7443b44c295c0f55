"""Questions of the terminal's own, which y or n answers: whether a change that the user began is made.

A dialog has the keyboard, and whoever types does not look: so a key answers as it does a request (`answering`), and
every other character goes into the input, where nothing is lost. The last line says which keys work now. A dialog ends
once, whatever was typed behind the key that ended it.
"""

from __future__ import annotations

from typing import TypeVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import Static

from joey.commands import Answer
from joey.events import ContinueRequested
from joey.system.visible import one_line
from joey.terminal.drawing import draw_diff
from joey.terminal.screen.answering import Given, Held, KeyGate
from joey.terminal.screen.prompt import Prompt
from joey.terminal.screen.survival import Shown, Survives

Result = TypeVar("Result")
_MAX_TYPED = 30
"""How many characters of what stands in the input are shown: the last ones."""


class Dialog(Survives, ModalScreen[Result]):
    """A screen in front of the conversation."""

    _is_over = False

    def dismiss(self, result: Result | None = None) -> AwaitComplete:
        """Once: a key that was pressed before the screen was gone ends nothing else."""
        if self._is_over:
            return AwaitComplete()
        self._is_over = True
        return super().dismiss(result)


class YesNoDialog(Dialog[Result]):
    """A dialog with a question. `gate` decides which keys answer it; `prompt` gets what is typed."""

    def __init__(self, gate: KeyGate, prompt: Prompt) -> None:
        super().__init__()
        self._gate, self._prompt = gate, prompt
        self._again: Timer | None = None

    def compose_keys(self) -> Static:
        """The line about the keys."""
        return Shown(id="picker-keys")

    def keys(self, *, ready: bool) -> str:
        """Which keys work. `ready`: also those that answer."""
        raise NotImplementedError

    def answered(self, *, yes: bool) -> None:
        """The user has decided."""
        raise NotImplementedError

    def ask(self, question: str) -> None:
        """From now on, y and n answer this."""
        self._gate.show(ContinueRequested("", question))
        self.show_keys()

    def end_question(self) -> None:
        self._gate.show(None)
        self.show_keys()

    @property
    def has_question(self) -> bool:
        return self._gate.request is not None

    @property
    def is_held(self) -> bool:
        """Whether a key was pressed that answers unless a word follows."""
        return self._gate.held is not None

    def take(self, event: events.Key) -> None:
        """A key that means nothing else here: it answers, or it is typed."""
        held, given = self._gate.held, self._gate.press(event.key, self._prompt.text)
        if isinstance(given, Held):
            self.set_timer(self._gate.hold, lambda: self._give(self._gate.release(given)))
        elif given is not None:
            self._give(given)
        else:
            self._type(event, held)
        self.show_keys()

    def _give(self, given: Given | None) -> None:
        if isinstance(given, Answer) and not self._is_over:
            self.answered(yes=given.yes)

    def _type(self, event: events.Key, held: Held | None) -> None:
        """Both are words, unless the user took the first one back."""
        if held is not None and event.key == "backspace":
            return
        if event.key == "backspace":
            self._prompt.action_delete_left()
        elif event.is_printable and event.character:
            self._prompt.insert((held.key if held else "") + event.character)

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        self._prompt._forward_event(event)  # noqa: SLF001 - nothing else marks it as handed on
        self.set_timer(0.1, self.show_keys)

    def show_keys(self) -> None:
        """Say which keys work now, or what was typed instead."""
        if self._is_over:
            return
        typed, ready = one_line(self._prompt.text), self._gate.is_ready(self._prompt.text)
        shown = f"…{typed[-_MAX_TYPED:]}" if len(typed) > _MAX_TYPED else typed
        hint = f"In the input: {shown} · Esc goes back to it · Ctrl+C clears it, then a key answers"
        self.query_one("#picker-keys", Static).update(Text(hint if typed else self.keys(ready=ready)))
        if self._again is not None:
            self._again.stop()
        if typed or (self.has_question and not ready):  # Ctrl+C clears the input without a word to this screen
            self._again = self.set_timer(self._gate.quiet + 0.01, self.show_keys)


class ConfirmDiff(YesNoDialog[bool]):
    """Whether the change shall be made."""

    def __init__(self, heading: str, diff: str, gate: KeyGate, prompt: Prompt) -> None:
        super().__init__(gate, prompt)
        self._heading, self._diff = heading, diff

    def compose(self) -> ComposeResult:
        with Vertical(id="picker"):
            yield Static(Text(self._heading, "bold"), id="picker-title")
            with VerticalScroll(can_focus=False):
                yield Static(draw_diff(self._diff))
            yield self.compose_keys()

    def on_mount(self) -> None:
        self.ask(self._heading)

    def keys(self, *, ready: bool) -> str:
        return "y adds it · n or Esc goes back" if ready else "Esc goes back"

    def answered(self, *, yes: bool) -> None:
        self.dismiss(yes)

    def on_key(self, event: events.Key) -> None:
        event.stop()
        if event.key == "escape":
            self.dismiss(False)
        else:
            self.take(event)
