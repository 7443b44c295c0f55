"""The input: several lines, earlier messages, completion of `/` commands and `@` mentions, images by path.

Enter sends. A new line is Ctrl+J everywhere, Shift+Enter or Alt+Enter in terminals that tell them from Enter, or a
backslash before Enter. While completions are shown, Up and Down choose among them and Tab takes the chosen one (so does
Enter, once one was chosen; it sends the only command that begins so); Esc puts them away. Otherwise Up on the first
line and Down on the last walk through what was sent before; Ctrl+R, and words before or after it, through what has
these words in it. Up in an empty input takes back what still waits for the model. A pasted text that is nothing but
paths of images attaches them; Backspace in an empty input lets the last one go. A large paste is a chip in the input
(`pasted`). `?` in an empty input shows the keys.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widgets import TextArea

from joey.system.visible import one_line
from joey.terminal.attachments import ImageFile, images_in, only_images
from joey.terminal.first_frame import PLACEHOLDER
from joey.terminal.screen.line import edited
from joey.terminal.screen.menu import Menu, completions, word_to_complete
from joey.terminal.screen.pasted import Pasted
from joey.terminal.screen.survival import Survives
from joey.terminal.screen.vim import VimKeys

_NEW_LINE = ("ctrl+j", "shift+enter", "alt+enter")
_BELOW = "↓ there is more below · Ctrl+End shows it"
_MOVES = {"down": 1, "up": -1, "ctrl+n": 1, "ctrl+p": -1}
"""What moves in the menu, and by how much."""


class History:
    """What was sent, and where in it the user is looking. What was being typed comes back at the end."""

    def __init__(self, sent: Sequence[str] = ()) -> None:
        self._sent = list(sent)
        self._at = len(self._sent)
        self._draft = ""
        self._wanted: str | None = None
        """The words that are searched for; None while nobody searches."""

    def add(self, text: str) -> None:
        if text and self._sent[-1:] != [text]:
            self._sent.append(text)
        self.reset()

    def reset(self) -> None:
        """The user types again: looking starts from the end next time."""
        self._at, self._draft, self._wanted = len(self._sent), "", None

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

    def search(self, now: str) -> str | None:
        """What was sent last with these words in it; asked again, the one before."""
        if self._wanted is None:
            self._wanted, self._at, self._draft = now, len(self._sent), now
        return self._older_with(self._wanted.casefold(), now)

    def search_for(self, words: str) -> str | None:
        """The same for other words, from the end."""
        self._wanted, self._at = words, len(self._sent)
        return self._older_with(words.casefold(), "")

    def _older_with(self, wanted: str, now: str) -> str | None:
        for at in range(self._at - 1, -1, -1):
            if wanted in self._sent[at].casefold() and self._sent[at] != now:
                self._at = at
                return self._sent[at]
        return None


def _word_before(line: str, column: int) -> int:
    """Where the word begins that ends before the column, as Ctrl+W of a shell sees words."""
    return len(line[:column].rstrip()) - len(line[:column].rstrip().rpartition(" ")[2])


class Prompt(Survives, TextArea):
    """Where the user types."""

    @dataclass
    class Sent(Message):
        """The user pressed Enter. The images are those that were attached or named, mentions aside."""

        text: str
        images: list[ImageFile] = field(default_factory=list)

    @dataclass
    class Completing(Message):
        """These would go on from what was typed; none when there is nothing to complete."""

        menu: Menu

    @dataclass
    class Attached(Message):
        """These images would be sent along now."""

        images: list[ImageFile]

    @dataclass
    class WantsKeys(Message):
        """`?` in the empty input: show the keys, or hide them again."""

    @dataclass
    class WantsEnd(Message):
        """End in the empty input: show the end of the conversation."""

    @dataclass
    class WantsImage(Message):
        """Ctrl+V, or a paste without text: what is in the clipboard may be an image."""

    def __init__(
        self,
        candidates: Callable[[str], Sequence[str]],
        folder: Path,
        sent_before: Sequence[str] = (),
        take_back: Callable[[], str | None] = lambda: None,
        intercept: Callable[[str, str], bool] = lambda _key, _text: False,
        *,
        vim: bool = False,
    ) -> None:
        """`intercept` sees every key first, with the text that is there, and returns whether it took the key."""
        super().__init__(
            id="prompt", compact=True, highlight_cursor_line=False, placeholder=PLACEHOLDER,
            tab_behavior="focus",
        )  # fmt: skip
        self._candidates = candidates
        self._folder = folder
        self._take_back = take_back
        self._menu, self._menu_word = Menu(), ""
        self._intercept = intercept
        self._attached: list[ImageFile] = []
        self._shown: list[ImageFile] = []
        self._recalled = ""
        self._search: str | None = None
        """The words that Ctrl+R looks for, while what is typed is added to them."""
        self._draft = ""
        """What Esc brings back then."""
        self._is_below = False
        self._cut = ""
        self._pasted = Pasted()
        self._vim = VimKeys(self, self._looked_back) if vim else None
        self.sent_before = History(sent_before)

    def work_in(self, folder: Path, sent_before: Sequence[str]) -> None:
        """Another folder from now on, with the messages that were sent there."""
        self._folder, self.sent_before = folder, History(sent_before)

    # Keys

    async def on_key(self, event: events.Key) -> None:
        if (
            self._intercept(event.key, self.text or self._search_sign)
            or self._took(event.key, event.character)
            or await edited(self, event.key)
        ):
            event.stop()
            event.prevent_default()

    def _took(self, key: str, character: str | None) -> bool:
        """Whether the key means something here besides typing."""
        if self._search is not None and self._searched(self._search, key, character):
            return True
        if self._chose(key) or (self._vim is not None and self._vim.took(key, character)):
            return True
        return self._sent_or_broke(key) or self._looked_back(key) or self._wanted(key) or self._as_in_a_shell(key)

    def _wanted(self, key: str) -> bool:
        if key == "question_mark" and not self.text:
            self.post_message(self.WantsKeys())
        elif key == "end" and not self.text:
            self.post_message(self.WantsEnd())
        elif key == "ctrl+v":
            self.post_message(self.WantsImage())
        else:
            return False
        return True

    def _as_in_a_shell(self, key: str) -> bool:
        """Keys of readline: on the line that was typed, however it wraps; Ctrl+Y brings back what was cut last."""
        row, column = self.cursor_location
        line = self.document[row]
        cut = {"ctrl+u": (0, column), "ctrl+k": (column, len(line)), "ctrl+w": (_word_before(line, column), column)}
        if key in cut and (between := cut[key])[0] < between[1]:
            self._cut = line[between[0] : between[1]]
            self.delete((row, between[0]), (row, between[1]))
        elif key == "ctrl+y":
            self.insert(self._cut)
        elif key in ("ctrl+a", "ctrl+e"):
            self.move_cursor((row, 0 if key == "ctrl+a" else len(line)))
        elif key in ("alt+b", "alt+f"):
            (self.action_cursor_word_left if key == "alt+b" else self.action_cursor_word_right)()
        else:
            return False
        return True

    def _chose(self, key: str) -> bool:
        if self._menu.found and self._word() != self._menu_word:
            self.offer_again()  # keys that come in a burst are ahead of what follows from them
        shown = self._menu
        if not shown.found:
            return False
        if key == "escape":
            self._offer(Menu())
        elif key in _MOVES:
            self._offer(shown.moved(_MOVES[key]))
        elif key == "tab":
            self._complete(shown.best)
        elif key == "enter" and shown.chosen is not None:
            runs = self._is_command_alone(self._word())
            self._complete(shown.best)
            if runs:
                self.send()
        else:
            return False
        return True

    def _is_command_alone(self, word: str) -> bool:
        """Whether a command, or the beginning of one, is all that was typed."""
        return word.startswith("/") and self.text == word

    def _sent_or_broke(self, key: str) -> bool:
        row, column = self.cursor_location
        continues = self.document[row][:column].endswith("\\")
        if key == "enter" and not continues:
            self.send()
        elif key in _NEW_LINE:
            self.insert("\n")
        elif key == "enter":
            self.delete((row, column - 1), (row, column))
            self.insert("\n")
        elif key == "backspace" and not self.text and self._attached:
            self._attached.pop()
            self._show_images()
        elif key == "backspace" and (chip := self._pasted.chip_at_end(self.document[row][:column])):
            self.delete((row, column - len(chip)), (row, column))
        else:
            return False
        return True

    def _looked_back(self, key: str) -> bool:
        row, _ = self.cursor_location
        if key == "up" and not self.text and (text := self._take_back()) is not None:
            self.put(text)
        elif key == "up" and row == 0:
            self._recall(self.sent_before.older(self.text))
        elif key == "down" and row == self.document.line_count - 1:
            self._recall(self.sent_before.newer())
        elif key == "ctrl+r":
            self._begin_search()
        else:
            return False
        return True

    # Search

    @property
    def _search_sign(self) -> str:
        """Stands for a text while there is none: what is typed in a search is no answer to a request."""
        return "" if self._search is None else "search"

    def _begin_search(self) -> None:
        words = self._draft = self.text
        if words:
            self._recall(self.sent_before.search(words))
        self._look_for(words)

    def _searched(self, words: str, key: str, character: str | None) -> bool:
        """A key while searching. Whatever is no part of the words ends the search, and does what it always does."""
        if key == "ctrl+r":
            self._recall(self.sent_before.search(self.text))
        elif key == "backspace" or (character is not None and character.isprintable()):
            words = words[:-1] if key == "backspace" else words + (character or "")
            self._recall((words and self.sent_before.search_for(words)) or "")
            self._look_for(words)
        else:
            self._look_for(None)
            if key == "escape":
                self._recall(self._draft)
            return key == "escape" or (key == "enter" and not self.text)
        return True

    def _look_for(self, words: str | None) -> None:
        self._search = words
        self._show_title()

    def show_below(self, *, is_below: bool) -> None:
        """Whether the conversation goes on below what is in view."""
        self._is_below = is_below
        self._show_title()

    def _show_title(self) -> None:
        title = _BELOW if self._is_below else ""
        if self._search is not None:
            found = "no earlier message" if self._search and not self.text else "earlier messages"
            title = f"{found} with: {one_line(self._search) or '(type a word)'} · Ctrl+R older · Esc back"
        self.border_title = Content(title)

    def send(self) -> None:
        """What Enter does."""
        text, images = self.whole_text.rstrip(), self._images()
        self.sent_before.add(self.text.strip())
        self.text = ""
        self._attached = []
        self._show_images()
        self.post_message(self.Sent(text, [each for each in images if not each.mentioned]))

    @property
    def whole_text(self) -> str:
        """What would be sent: with everything that was pasted."""
        return self._pasted.whole(self.text)

    def put(self, text: str) -> None:
        """Replace what is typed, with the cursor behind it, where one goes on."""
        self.text = text
        self.move_cursor(self.document.end)

    def clear_to_history(self) -> None:
        """Empty the input; Up brings back what was in it."""
        self.sent_before.add(self.text.strip())
        self.text = ""

    def _recall(self, text: str | None) -> None:
        if text is not None:
            self._recalled = text
            self.put(text)

    # Images

    def on_paste(self, event: events.Paste) -> None:
        self._intercept("paste", self.text)  # a key before it that was held is the beginning of what is typed
        images, chip = only_images(event.text, self._folder), self._pasted.chip_for(event.text)
        if images:
            self.attach(images)
        elif chip:
            self.insert(chip)
        elif not event.text:
            self.post_message(self.WantsImage())
        else:
            return
        event.stop()
        event.prevent_default()  # the text area would put the text in

    def attach(self, images: Sequence[ImageFile]) -> None:
        """Send these along with what is typed."""
        self._attached += [each for each in images if each not in self._attached]
        self._show_images()

    def _images(self) -> list[ImageFile]:
        return list(dict.fromkeys([*self._attached, *images_in(self.text, self._folder)]))

    def _show_images(self) -> None:
        images = self._images()
        if images != self._shown:
            self._shown = images
            self.post_message(self.Attached(images))

    # Completion

    def _word(self) -> str:
        row, column = self.cursor_location
        before = self.document[row][:column]
        return word_to_complete(before) if row == 0 or "@" in before else ""

    def _complete(self, chosen: str) -> None:
        word = self._word()
        row, column = self.cursor_location
        ending = "" if chosen.endswith("/") else " "
        self.replace(chosen + ending, (row, column - len(word)), (row, column))

    def _offer(self, menu: Menu) -> None:
        if menu != self._menu:
            self._menu = menu
            self.post_message(self.Completing(menu))

    def offer_again(self) -> None:
        """Look for completions again: there may be more by now."""
        word = self._menu_word = self._word()
        known = self._candidates(word[0]) if word else ()
        found = tuple(completions(word, known))
        if found != self._menu.found:
            begins = bool(found) and self._is_command_alone(word) and word not in known
            self._offer(Menu(found, 0 if begins else None))  # Enter runs a command that was typed in full

    def on_text_area_changed(self) -> None:
        if self.text != self._recalled:
            self.sent_before.reset()
            self._look_for(None)
            self.offer_again()
        else:
            self._offer(Menu())
        self._show_images()
