"""What a command prints, taken in as it comes: shown live, kept whole on the disk, its two ends kept in memory.

    bytes --UTF-8--> text --Screen--> settled text (scrolled off, final) + what is still on the screen
                       |
                       +--> live pieces for the user, with colours

Colours are for the user alone: what the model is sent, and what is kept on the disk, has none.

Output up to PREVIEW bytes never touches the disk (unless an artifact is wanted from the start). Beyond that it is
written to an artifact, which at any time holds the settled text and, behind it, the screen as it looks now: what is on
the screen is written over when it changes. If the disk is full, or the outputs of the task have reached MAX_KEPT, the
ends in memory remain, and the result says so.
Memory is bounded: one chunk, one screen, two ends.

For showing, long output is made short: repeated lines are counted, and the middle is left out and measured. A fifth of
the room goes to the beginning, the rest to the end: that is where a command says how it went.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import BinaryIO

from joey.bounded.folders import reason
from joey.system.user_files import write_all
from joey.tools.shell.artifacts import kept_bytes, new_artifact
from joey.tools.shell.colours import COLOUR, ColouredEnds, without_colours
from joey.tools.shell.screen import TerminalScreen

GAP = re.compile(r"^\[\.\.\.(\d+) (lines|characters|bytes) omitted\.\.\.\]$", re.MULTILINE)
"""Where the middle of a long output is missing (`shorten_output`)."""
PREVIEW = 10 * 1024
HEAD = PREVIEW
TAIL = 4 * HEAD
"""How many characters of the two ends stay in memory: what a user is shown of long output, a fifth of it the head.
What has not been written to the disk must all be in the head, so that is as large as a preview."""

MAX_KEPT = 256 * 1024 * 1024
"""How many bytes of output are kept on the disk for one task."""
_LIMIT_REACHED = f"the outputs kept for this task have reached their limit of {MAX_KEPT // 1024**2} MB"


class CommandOutput:
    """The output of one command."""

    def __init__(self, storage: Path, *, keep_from_start: bool = False, max_kept: int = MAX_KEPT) -> None:
        self._storage = storage
        self._room = max_kept
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._screen = TerminalScreen(colours=True)
        self._shown = ColouredEnds(HEAD, TAIL)
        self._head = ""
        self._tail = ""
        self._settled_bytes = 0
        self._settled_characters = 0
        self._settled_lines = 0
        self._file: BinaryIO | None = None
        self.artifact: Path | None = None
        self.problem = ""
        """Why the output could not be kept on the disk."""
        if keep_from_start:
            self.keep()

    @property
    def size(self) -> int:
        """How many bytes of text there are so far."""
        return self._settled_bytes + len(self._visible.encode())

    @property
    def _visible(self) -> str:
        return without_colours(self._screen.visible)

    @property
    def lines(self) -> int:
        """How many lines there are so far, with the one that the next word would begin or continue."""
        return self._settled_lines + self._screen.visible.count("\n") + 1

    @property
    def is_small(self) -> bool:
        """Whether all of it fits into a preview."""
        return self.size <= PREVIEW

    def keep(self) -> None:
        """Keep the output on the disk even if it stays small."""
        if self.artifact is None and not self.problem:
            self._open()
            self._write(b"")

    def feed(self, data: bytes) -> str:
        """Take in what the command printed; returns it as text for live showing."""
        text = self._decode(data)
        self._settle(self._screen.feed(text))
        return text

    def finish(self) -> None:
        """Nothing more will come."""
        self._settle(self._screen.feed(self._decode(b"", True)))
        self._settle(self._screen.finish())
        if self._file is not None:
            self._file.close()
            self._file = None

    def preview(self, limit: int = PREVIEW) -> str:
        """All of the text if it is small; otherwise its two ends, half the room each, at ends of lines if possible."""
        if self.size <= limit:
            return self._head + self._visible
        head = _first_bytes(self._beginning(), limit // 2)
        tail = _last_bytes(self._end(), limit // 2)
        omitted = self.size - len(head.encode()) - len(tail.encode())
        return joined_ends(head.removesuffix("\n"), tail, omitted, "bytes")

    def for_user(self) -> str:
        """As much as a user is shown, with colours: everything, or the two ends kept in memory."""
        head, tail, omitted = self._shown.with_end(self._screen.visible)
        return joined_ends(head, tail, omitted) if omitted else head + tail

    def _beginning(self) -> str:
        return self._head if self._settled_characters >= HEAD else self._head + self._visible

    def _end(self) -> str:
        return self._tail + self._visible

    def _settle(self, coloured: str) -> None:
        """Text that will not change any more goes to the ends in memory and to the disk."""
        self._shown.add(coloured)
        text = without_colours(coloured)
        data = text.encode()
        if self._file is None and not self.problem and self._settled_bytes + len(data) > PREVIEW:
            self._open()
        self._write(data)
        self._head += text[: HEAD - len(self._head)]
        self._tail = (self._tail + text)[-TAIL:]
        self._settled_bytes += len(data)
        self._settled_characters += len(text)
        self._settled_lines += text.count("\n")

    def _open(self) -> None:
        try:
            self._room -= kept_bytes(self._storage)
            if self._room <= 0:
                self._give_up(_LIMIT_REACHED)
                return
            self.artifact = new_artifact(self._storage)
            self._file = self.artifact.open("wb", buffering=0)
            write_all(self._file.fileno(), self._head.encode())
        except OSError as problem:
            self._give_up(reason(problem))

    def _write(self, data: bytes) -> None:
        if self._file is None:
            return
        data += self._visible.encode()
        if self._settled_bytes + len(data) > self._room:
            self._give_up(_LIMIT_REACHED)
            return
        try:
            self._file.seek(self._settled_bytes)
            write_all(self._file.fileno(), data)
            self._file.truncate()
        except OSError as problem:
            with suppress(OSError):
                self._file.truncate(self._settled_bytes)
            self._give_up(reason(problem))

    def _give_up(self, problem: str) -> None:
        self.problem = problem
        if self._file is not None:
            self._file.close()
            self._file = None


def _first_bytes(text: str, limit: int) -> str:
    cut = text.encode()[:limit].decode("utf-8", "ignore")
    line_end = cut.rfind("\n") + 1
    return cut[:line_end] if line_end > len(cut) // 2 else cut


def _last_bytes(text: str, limit: int) -> str:
    data = text.encode()
    if len(data) <= limit:
        return text
    cut = data[-limit:].decode("utf-8", "ignore")
    line_start = cut.find("\n") + 1
    return cut[line_start:] if 0 < line_start < len(cut) // 2 else cut


_SEQUENCES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-Z\\^-~])")
_MAX_LIVE = 16 * 1024


class LiveText:
    """Shows a command's output to the user while it comes, now and then and never too much at once.

    Sequences other than colours are taken out. Returns to the start of the line stay in: whoever shows it draws them.
    """

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._waiting = ""
        self._skipped = 0

    def add(self, text: str) -> None:
        waiting = self._waiting + text
        surplus = max(0, len(waiting) - _MAX_LIVE)
        if surplus and (cut := _SEQUENCES.match(waiting, max(0, waiting.rfind("\x1b", 0, surplus)))):
            surplus = max(surplus, cut.end())
        self._skipped += surplus
        self._waiting = waiting[surplus:]

    def stop(self) -> None:
        """Show nothing from now on."""
        self._show = lambda _text: None

    def flush(self) -> None:
        """Show what is waiting, but for half a sequence at its end."""
        ready, rest = self._waiting, ""
        start = self._waiting.rfind("\x1b", max(0, len(self._waiting) - 256))
        if start >= 0 and not _SEQUENCES.match(self._waiting, start):
            ready, rest = self._waiting[:start], self._waiting[start:]
        self._waiting = rest
        if not ready:
            return
        note = f"\n\x1b[0m[...{self._skipped} characters skipped...]\n" if self._skipped else ""
        self._skipped = 0
        self._show(note + _SEQUENCES.sub(lambda found: found[0] if COLOUR.fullmatch(found[0]) else "", ready))


def format_size(count: int) -> str:
    if count < 1024:
        return f"{count} bytes"
    return f"{count / 1024:.1f} KB" if count < 1024**2 else f"{count / 1024**2:.1f} MB"


_HEAD_SHARE = 0.2


def collapse_repeats(text: str) -> str:
    """Runs of the same line as one line and a count, where that is shorter."""
    lines = text.split("\n")
    last = lines.pop()  # no newline behind it, so it is not the same line again
    shaped = "".join(_run(line, len(list(run))) for line, run in groupby(lines))
    return shaped + last


def _run(line: str, count: int) -> str:
    repeats = f"{line}\n" * (count - 1)
    note = f"<previous line repeated {count - 1} additional times>\n"
    return f"{line}\n{note if len(note) < len(repeats) else repeats}"


def shorten_output(
    text: str, max_lines: int | None = None, max_characters: int | None = None, *, lines_before: int = 0
) -> str:
    """The text with its middle left out if it has more than so many characters, or else more than so many lines. Where
    it lacks some of its middle already, `lines_before` is how many lines it had."""
    if max_characters is not None and len(text) > max_characters:
        head = int(max_characters * _HEAD_SHARE)
        tail = max_characters - head
        return joined_ends(text[:head], text[-tail:] if tail else "", len(text) - max_characters)
    lines = text.split("\n")
    if max_lines is None or len(lines) <= max_lines:
        return text
    head = int(max_lines * _HEAD_SHARE)
    cut = len(lines) - max_lines
    omitted = max(len(lines), lines_before) - max_lines
    return "\n".join([*lines[:head], "", f"[...{omitted} lines omitted...]", "", *lines[head + cut :]])


def with_file(shown: str, file: Path | None) -> str:
    """An output for the user with the file that has all of it, below the place where its middle is missing."""
    if file is None:
        return shown
    return GAP.sub(lambda gap: f"{gap[0]}\n[the whole output is in {file}]", shown, count=1)


def joined_ends(head: str, tail: str, omitted: int, unit: str = "characters") -> str:
    """The two ends of something longer, and how much is missing between them."""
    return f"{head}\n[...{omitted} {unit} omitted...]\n{tail}"
