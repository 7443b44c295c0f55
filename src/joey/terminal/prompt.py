"""The input: several lines, a history, and completion of `/` commands and `@` mentions.

Enter sends. A new line is Ctrl+J everywhere, Shift+Enter or Alt+Enter in terminals that tell them from Enter, or a
backslash before Enter. Up on the first line and Down on the last walk through what was sent before. Tab takes the
first completion.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from textual import events
from textual.message import Message
from textual.widgets import TextArea

_NEW_LINE = ("ctrl+j", "shift+enter", "alt+enter")
_WORD = re.compile(r"(?:^/|(?:(?<=\s)|^)@)\S*$")
_MOST = 8


def word_to_complete(before: str) -> str:
    """The command or mention that ends where the cursor is; empty if there is none."""
    found = _WORD.search(before)
    return found[0] if found else ""


def completions(word: str, candidates: Sequence[str], most: int = _MOST) -> list[str]:
    """The candidates that go on from the word: those that begin with it first, then those that have it inside."""
    if not word:
        return []
    sign, wanted = word[0], word[1:].casefold()
    known = [each for each in candidates if each.startswith(sign)]
    starting = [each for each in known if each[1:].casefold().startswith(wanted)]
    inside = [each for each in known if wanted in each.casefold() and each not in starting] if wanted else []
    return [each for each in (starting + inside)[:most] if each != word]


class History:
    """What was sent, and where in it the user is looking. What was being typed comes back at the end."""

    def __init__(self, sent: Sequence[str] = ()) -> None:
        self._sent = list(sent)
        self._at = len(self._sent)
        self._draft = ""

    def add(self, text: str) -> None:
        if text and self._sent[-1:] != [text]:
            self._sent.append(text)
        self._at, self._draft = len(self._sent), ""

    def older(self, now: str) -> str | None:
        if self._at == 0:
            return None
        if self._at == len(self._sent):
            self._draft = now
        self._at -= 1
        return self._sent[self._at]

    def newer(self) -> str | None:
        if self._at == len(self._sent):
            return None
        self._at += 1
        return self._draft if self._at == len(self._sent) else self._sent[self._at]


class Prompt(TextArea):
    """Where the user types."""

    @dataclass
    class Sent(Message):
        """The user pressed Enter."""

        text: str

    @dataclass
    class Completing(Message):
        """These would go on from what was typed; none when there is nothing to complete."""

        found: list[str]

    def __init__(self, candidates: Callable[[str], Sequence[str]]) -> None:
        super().__init__(
            id="prompt", compact=True, highlight_cursor_line=False, placeholder="What shall I do?  (/help)",
            tab_behavior="focus",
        )  # fmt: skip
        self._candidates = candidates
        self._found: list[str] = []
        self.sent_before = History()

    def on_key(self, event: events.Key) -> None:
        if self._took(event.key):
            event.stop()
            event.prevent_default()

    def _took(self, key: str) -> bool:
        """Whether the key means something here besides typing."""
        row, column = self.cursor_location
        if key == "enter" and not self._continues():
            self.send()
        elif key in _NEW_LINE:
            self.insert("\n")
        elif key == "enter":
            self.delete((row, column - 1), (row, column))
            self.insert("\n")
        elif key == "tab" and self._found:
            self._complete()
        elif key == "up" and row == 0:
            self._recall(self.sent_before.older(self.text))
        elif key == "down" and row == self.document.line_count - 1:
            self._recall(self.sent_before.newer())
        else:
            return False
        return True

    def _continues(self) -> bool:
        row, column = self.cursor_location
        return self.document[row][:column].endswith("\\")

    def send(self) -> None:
        """What Enter does."""
        text = self.text.strip()
        self.sent_before.add(text)
        self.text = ""
        self.post_message(self.Sent(text))

    def _recall(self, text: str | None) -> None:
        if text is not None:
            self.text = text
            self.move_cursor(self.document.end)

    def _word(self) -> str:
        row, column = self.cursor_location
        before = self.document[row][:column]
        return word_to_complete(before) if row == 0 or "@" in before else ""

    def _complete(self) -> None:
        word, chosen = self._word(), self._found[0]
        row, column = self.cursor_location
        ending = "" if chosen.endswith("/") else " "
        self.replace(chosen + ending, (row, column - len(word)), (row, column))

    def on_text_area_changed(self) -> None:
        word = self._word()
        found = completions(word, self._candidates(word[0])) if word else []
        if found != self._found:
            self._found = found
            self.post_message(self.Completing(found))
