"""What comes from the keyboard, as messages: bytes of any kind, in pieces that are cut anywhere.

    outside  --\\x1b[200~-->  in a paste: everything is text  --\\x1b[201~-->  outside

Textual's parser looks for keys in a paste that holds an escape code, and takes all that follows for keys: lines would
be sent, and a letter would answer a request. So it is never given a paste. A byte that is no UTF-8 is shown as �, and
what the parser cannot read is left out and reported, with what was typed before and after it in its place.

A beginning of a mark waits for the rest: the escape character alone for as long as the Escape key takes anyway.
"""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from collections.abc import Callable, Generator, Iterable, Iterator
from time import monotonic

from textual import constants, events
from textual._xterm_parser import XTermParser
from textual.message import Message

_ESCAPE = "\x1b"
_BEGIN, _END = "\x1b[200~", "\x1b[201~"
_MARK_TIMEOUT = 1.0
"""How many seconds a mark may take to arrive."""
_CODES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor movements
    r"|\x1b[]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)"  # titles, links, the clipboard
    r"|\x1b[ -/]*[0-~]"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
)


def pasted_text(text: str) -> str:
    """What was pasted, with its lines as they are and without what a terminal would obey."""
    return re.sub(r"\r\n?", "\n", _CODES.sub("", text))


class Keyboard:
    """Turns bytes into messages. `failed` is told of what could not be read."""

    def __init__(self, failed: Callable[[Exception], object], clock: Callable[[], float] = monotonic) -> None:
        self._failed, self._clock = failed, clock
        self._decode = getincrementaldecoder("utf-8")("replace").decode
        self._parser = XTermParser()
        self._held, self._held_since = "", 0.0
        """The beginning of a mark, which the parser has not been given."""
        self._given_up = ""
        """The same, once it came to nothing: the rest of the mark may still come, in one piece."""
        self._pasted: list[str] | None = None
        """The pieces of a paste that has not ended."""

    def read(self, data: bytes, *, final: bool = False) -> Iterator[Message]:
        """The messages that these bytes complete."""
        text = self._decode(data, final)
        while text:
            if self._pasted is not None:
                text = yield from self._paste(self._pasted, text)
            else:
                text = yield from self._type(text)

    def tick(self) -> Iterator[Message]:
        """To be called again and again: a key may be over because nothing follows."""
        yield from self._parsed(self._parser.tick)
        timeout = constants.ESCAPE_DELAY if self._held == _ESCAPE else _MARK_TIMEOUT
        if self._held and self._clock() - self._held_since >= timeout:
            self._given_up, self._held = self._held, ""
            if self._given_up == _ESCAPE:
                yield events.Key("escape", _ESCAPE)
            else:
                yield from self._keys(self._given_up)

    def _type(self, text: str) -> Generator[Message, None, str]:
        """Everything up to a paste is keys; returns what is behind its mark."""
        given_up, self._given_up = self._given_up, ""
        if given_up and text.startswith(_BEGIN.removeprefix(given_up)):
            text = given_up + text
        elif self._held:
            text, self._held = self._held + text, ""
        typed, mark, rest = text.partition(_BEGIN)
        if mark:
            self._pasted = []
        else:
            self._held = next((_BEGIN[:n] for n in range(len(_BEGIN) - 1, 0, -1) if typed.endswith(_BEGIN[:n])), "")
            self._held_since = self._clock()
            typed = typed.removesuffix(self._held)
        yield from self._keys(typed)
        return rest

    def _paste(self, pieces: list[str], text: str) -> Generator[Message, None, str]:
        """Everything up to the mark of its end is text; returns what is behind it."""
        before = pieces.pop() if pieces else ""
        whole, mark, rest = (before + text).partition(_END)
        if not mark:  # the mark may be cut, so what it begins with stays in the last piece
            cut = max(0, len(whole) - len(_END))
            pieces += [whole[:cut], whole[cut:]]
            return ""
        self._pasted = None
        yield events.Paste(pasted_text("".join([*pieces, whole])))
        return rest

    def _keys(self, text: str) -> Iterator[Message]:
        if text:
            yield from self._parsed(lambda: self._parser.feed(text))

    def _parsed(self, parse: Callable[[], Iterable[Message]]) -> Iterator[Message]:
        """What the parser makes of it. One that has failed once reads nothing any more, so another takes its place."""
        try:
            yield from parse()
        except Exception as error:  # noqa: BLE001 - a key that nobody knows is no reason to end
            before, self._parser = self._parser, XTermParser()
            for name in ("mouse_pixels", "terminal_size", "terminal_pixel_size"):
                setattr(self._parser, name, getattr(before, name))
            self._failed(error)
