"""Relaxed JSON that comes in pieces: the machine behind `rjson.loads` and the json_mix protocol.

The language is described in the package. The machine has a place, which says what may come next, and a
token that is being read:

    places  VALUE  FIRST_ITEM  ITEM  FIRST_KEY  KEY  COLON  AFTER  DONE
    tokens  none  STRING  WORD  SLASH (a comment or a word)  LINE and BLOCK (comments)  FENCE

It looks at each character once, however the text is cut: a token, an escape or a surrogate pair that is cut in two
is remembered, not read again. The value is built on the way, so that it is there when the text ends, and half of it
before. The machine keeps its own stack, so that depth costs no recursion; MAX_DEPTH bounds it, because whoever gets
the value may recurse over it. A fault is final: it is described in `fault`, and nothing more is read.
"""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple

from joey.protocols.json.relaxed.strings import (
    ATOM,
    FENCE_RUN,
    JSON_ATOM,
    JSON_SPACE,
    LINE_END,
    SPACES,
    WORD_RUN,
    StringReader,
    atom_value,
    copy_of,
    match_end,
    shorten,
    space_without,
)
from joey.wire import ArgumentPath, JsonValue

MAX_DEPTH = 200

_VALUE, _FIRST_ITEM, _ITEM, _FIRST_KEY, _KEY, _COLON, _AFTER, _DONE = range(8)
_NONE, _STRING, _WORD, _SLASH, _LINE, _BLOCK, _FENCE = range(7)

_PYTHON = {"True": "true", "False": "false", "None": "null"}
_EXPECTED = {
    _VALUE: "a value",
    _FIRST_ITEM: "a value or ']'",
    _ITEM: "a value",
    _FIRST_KEY: "a key or '}'",
    _KEY: "a key",
    _COLON: "':'",
    _AFTER: "',' or a closing bracket",
    _DONE: "nothing more",
}


class RelaxedPiece(NamedTuple):
    """What a stretch of text added: new characters of the string at `path`, or, if `literal`, a whole JSON scalar."""

    path: ArgumentPath
    text: str
    raw: str
    literal: bool


class RelaxedReader:
    """Reads one value that comes in pieces. `accepted` counts tokens, `scanned` the characters looked at."""

    __slots__ = (
        "_base",
        "_growing",
        "_length",
        "_open",
        "_path",
        "_place",
        "_space",
        "_star",
        "_string",
        "_token",
        "_word",
        "accepted",
        "at_stop",
        "duplicates",
        "fault",
        "found",
        "pause_after_string",
        "paused",
        "python",
        "relaxed",
        "repair",
        "repairs",
        "scanned",
        "stops",
        "value",
        "where",
    )

    def __init__(
        self, *, relaxed: bool = True, duplicates: bool = False, repair: bool = False, stops: str | None = None
    ) -> None:
        self.relaxed, self.duplicates, self.repair = relaxed, duplicates, repair
        self.stops = stops
        """Characters at which, between two tokens, `read` returns: the caller may want to see what begins there.
        A reader with stops also returns after a bracket that leaves at most two of them open."""
        self._space = space_without(stops) if relaxed else JSON_SPACE
        self.pause_after_string = False
        self.python = False
        """Whether True, False and None are what Python means by them, and not words. What is not JSON is noted then:
        the text is supposed to be."""
        self.fault: str | None = None
        self.repairs: list[str] = []  # in no order: a piece is looked through for one fault after another
        self.value: JsonValue = None
        self.where: ArgumentPath = ()
        self.accepted = 0
        self.scanned = 0
        self.at_stop = False
        self.paused = False
        self.found: list[tuple[ArgumentPath, str, bool, int]] = []
        self._place = _VALUE
        self._token = _NONE
        self._open: list[Any] = []  # the containers that are open, outermost first
        self._path: list[str | int] = []  # in each of them, the key or index that is being read
        self._string = StringReader(repair, self._note)
        self._growing = False  # whether the string that is being read is a value
        self._word: list[str] = []  # the pieces of the word that is being read
        self._star = False
        self._length = 0  # of what was read before the current text
        self._base = 0  # added to a position in the current text, it counts from the very beginning

    # What a caller uses

    @property
    def complete(self) -> bool:
        """Whether a whole value was read, and nothing but space and comments after it."""
        return self._place == _DONE and self._token in (_NONE, _FENCE) and self.fault is None

    @property
    def done(self) -> bool:
        """Whether the value is whole, whatever is being read after it."""
        return self._place == _DONE

    @property
    def quoting(self) -> bool:
        """Whether the next character belongs to a string or a comment."""
        return self._token in (_STRING, _LINE, _BLOCK)

    @property
    def in_string(self) -> bool:
        return self._token == _STRING

    @property
    def depth(self) -> int:
        return len(self._open)

    @property
    def innermost(self) -> Any:
        """The container that is being filled."""
        return self._open[-1] if self._open else None

    def take(self, text: str) -> str | None:
        """The quick way: read a piece that lies inside a string value, neither ends it nor holds an odd character.

        The answer is what it adds to the string, or None if it must be read with `read`."""
        grown = self._string.take(text) if self._growing else None
        if grown is None:
            return None
        self._length += len(text)
        self.scanned += len(text)
        return grown

    def read(
        self, text: str, start: int = 0, end: int | None = None, *, past_stop: bool = False
    ) -> tuple[list[RelaxedPiece], int]:
        """Read on; the answer is what was added and how far it went. The `raw` of the pieces is what was read."""
        end = len(text) if end is None else end
        self.paused = self.at_stop = False
        window, position, shift = text, start, 0
        held, self._string.tail = self._string.tail, ""
        if held:
            window, position, shift = held + text[start:end], 0, start - len(held)
            end -= shift
        self._base = self._length + shift - start
        while position < end and self.fault is None and not self.paused:
            position = self._step(window, position, end, past_stop)
            past_stop = False
        stopped = position + shift
        self._length += stopped - start
        self.scanned += stopped - start
        return self._share_out(text, start, stopped, shift), stopped

    def finish(self) -> None:
        """The text has ended."""
        self._base = 0
        if self.fault is None and self._token in (_WORD, _SLASH):
            self._end_word("".join(self._word) if self._token == _WORD else "/", self._length)
        if self.fault is None and not self.complete:
            self.fault = f"expected {self._wanted()} at character {self._length}, got the end"

    def snapshot(self) -> JsonValue:
        """The value as far as it has come. Costs a copy of it."""
        if self._token != _STRING or self._place in (_FIRST_KEY, _KEY):
            return copy_of(self.value)
        text = self._string.text
        if not self._open:
            return text
        value = copy_of(self.value)
        holder = value
        for step in self._path[:-1]:
            holder = holder[step]
        if isinstance(holder, list):
            holder.append(text)
        else:
            holder[self._path[-1]] = text
        return value

    # One step of the machine; each returns how far it came

    def _step(self, text: str, position: int, end: int, past_stop: bool) -> int:
        token = self._token
        if token == _STRING:
            return self._read_string(text, position, end)
        if token == _NONE:
            return self._read_place(text, position, end, past_stop)
        if token == _WORD:
            return self._read_word(text, position, end)
        if token == _SLASH:
            return self._read_slash(text, position)
        if token == _LINE:
            ending = LINE_END.search(text, position, end)
            self._token = _NONE if ending else _LINE
            return ending.end() if ending else end
        if token == _BLOCK:
            return self._read_block(text, position, end)
        stop = match_end(FENCE_RUN, text, position, end)
        self._token = _NONE if stop < end else _FENCE
        return stop

    def _read_place(self, text: str, position: int, end: int, past_stop: bool) -> int:
        if not past_stop:
            position = match_end(self._space, text, position, end)
            if position == end:
                return end
        char = text[position]
        if self.stops is not None and char in self.stops:
            if not past_stop:
                self.paused = self.at_stop = True
                return position
            if char in SPACES:
                return position + 1
        if char == "/" and self.relaxed:
            self._token = _SLASH
            return position + 1
        if char == "`" and self.repair and not self._open and self._place in (_VALUE, _DONE):
            self._note("a code fence around the JSON")
            self._token = _FENCE
            return position + 1
        if not self._accept(char, position, text, end):
            self._refuse(char, position)
            return position
        self.accepted += 1
        return position if self._token == _WORD else position + 1

    def _accept(self, char: str, position: int, text: str, end: int) -> bool:
        """Whether the character may come here. If it may, it has taken effect."""
        place = self._place
        if place == _AFTER:
            return self._accept_after(char)
        if place == _COLON:
            self._place = _VALUE if char == ":" else place
            return char == ":"
        if place == _DONE:
            return False
        if char in "}]":
            trailing = place in (_KEY, _ITEM)
            matches = place in ((_FIRST_KEY, _KEY) if char == "}" else (_FIRST_ITEM, _ITEM))
            if matches and (self.relaxed or not trailing):
                self._note_relaxed("a comma too many" if trailing else "")
                self._close()
                return True
            return False
        if char == '"' or (char == "'" and self.relaxed):
            self._begin_string(char, position)
            return True
        if char in "{[":
            if place in (_FIRST_KEY, _KEY):
                return False
            self._begin_container(char)
            return True
        if match_end(WORD_RUN, text, position, end) == position:
            return False
        self._token = _WORD
        self._word.clear()
        return True

    def _accept_after(self, char: str) -> bool:
        holder = self._open[-1]
        if char == ",":
            self._place = _KEY if isinstance(holder, dict) else _ITEM
            if self._place == _ITEM:
                self._path[-1] = len(holder)
            return True
        if char != ("}" if isinstance(holder, dict) else "]"):
            return False
        self._close()
        return True

    def _begin_container(self, bracket: str) -> None:
        if len(self._open) >= MAX_DEPTH:
            self.fault = f"it is nested deeper than {MAX_DEPTH} levels"
            return
        container: Any = {} if bracket == "{" else []
        self._put(container)
        self._open.append(container)
        self._path.append("" if bracket == "{" else 0)
        self._place = _FIRST_KEY if bracket == "{" else _FIRST_ITEM
        self.paused = self.stops is not None and len(self._open) <= 2

    def _close(self) -> None:
        self._open.pop()
        self._path.pop()
        self._place = _AFTER if self._open else _DONE
        self.paused = self.stops is not None and len(self._open) < 2

    def _put(self, value: JsonValue) -> None:
        if not self._open:
            self.value = value
            self._place = _DONE
            return
        holder = self._open[-1]
        if isinstance(holder, dict):
            holder[self._path[-1]] = value
        else:
            holder.append(value)
        self._place = _AFTER

    def _put_key(self, key: str, position: int) -> None:
        if not self.duplicates and key in self._open[-1]:
            self.fault = f"the key {shorten(key)} is given twice, again before character {self._at(position)}"
            return
        self._path[-1] = key
        self._place = _COLON

    def _begin_string(self, quote: str, position: int) -> None:
        self._token = _STRING
        self._note_relaxed("single quotes" if quote == "'" else "")
        self._string.begin(quote)
        if self._place not in (_FIRST_KEY, _KEY):
            self._growing = True
            self.where = tuple(self._path)
            self.found.append((self.where, "", False, position + 1))

    def _read_string(self, text: str, position: int, end: int) -> int:
        added, stop, closed = self._string.read(text, position, end)
        if self._string.fault is not None:
            self.fault = f"{self._string.fault} near character {self._at(stop)}"
            return stop
        if added and self._growing:
            self._report_growth(added, stop)
        if closed:
            self._end_string(stop)
        return stop

    def _report_growth(self, added: str, until: int) -> None:
        """New characters; those of a string that began in this text join its beginning."""
        if self.found and self.found[-1][0] is self.where and not self.found[-1][1]:
            self.found.pop()
        self.found.append((self.where, added, False, until))

    def _end_string(self, position: int) -> None:
        self._token = _NONE
        self._growing = False
        self.paused = self.pause_after_string
        if self._place in (_FIRST_KEY, _KEY):
            self._put_key(self._string.text, position)
        else:
            self._put(self._string.text)

    # Words and comments

    def _read_word(self, text: str, position: int, end: int) -> int:
        stop = match_end(WORD_RUN, text, position, end)
        self._word.append(text[position:stop])
        if stop == end:
            return end
        word = "".join(self._word)
        if text[stop] == "/" and self.relaxed and not ATOM.fullmatch(word):
            self._word.append("/")
            return stop + 1
        self._end_word(word, stop)
        return stop

    def _end_word(self, word: str, position: int) -> None:
        self._token = _NONE
        self._word.clear()
        if self._place not in (_VALUE, _FIRST_ITEM, _ITEM, _FIRST_KEY, _KEY):
            self._refuse(word, position - len(word))
            return
        to_the_letter = self.duplicates and not self.relaxed  # 007 is 7, but for those who want what JSON.parse takes
        atom = (JSON_ATOM if to_the_letter else ATOM).match(word)
        is_key = self._place in (_FIRST_KEY, _KEY)
        if (atom and (is_key or atom.end() < len(word))) or not (atom or self.relaxed):
            self._refuse(word, position - len(word))
        elif is_key:
            self._note_relaxed("a word without quotes")
            self._put_key(word, position)
        elif atom:
            self._put_atom(word, position)
        elif self.python and word in _PYTHON:
            self._put_atom(_PYTHON[word], position)
            self._note("constants as Python writes them")
        else:
            self._note_relaxed("a word without quotes")
            self.paused = self.pause_after_string
            self.found.append((tuple(self._path), word, False, position))
            self._put(word)

    def _put_atom(self, word: str, position: int) -> None:
        value = atom_value(word)
        if value is None and word != "null":
            self.fault = f"a number of {len(word)} digits is too long at character {self._at(position)}"
        elif self.repair and isinstance(value, float) and not math.isfinite(value):
            self.fault = f"the number {shorten(word)} is too large at character {self._at(position)}"
        else:
            literal = word if JSON_ATOM.fullmatch(word) else json.dumps(value)
            self.found.append((tuple(self._path), literal, True, position))
            self._put(value)

    def _read_slash(self, text: str, position: int) -> int:
        if text[position] in "/*":
            self._note_relaxed("a comment")
            self._token = _LINE if text[position] == "/" else _BLOCK
            self._star = False
            return position + 1
        self._token = _WORD
        self._word[:] = ["/"]
        if self._place in (_VALUE, _FIRST_ITEM, _ITEM, _FIRST_KEY, _KEY):
            self.accepted += 1
        else:
            self._refuse("/", position - 1)
        return position

    def _read_block(self, text: str, position: int, end: int) -> int:
        if self._star and text[position] == "/":
            self._token = _NONE
            return position + 1
        stop = text.find("*/", position, end)
        if stop >= 0:
            self._token = _NONE
            return stop + 2
        self._star = text[end - 1] == "*"
        return end

    # What to say

    def _refuse(self, got: str, position: int) -> None:
        self.fault = f"expected {self._wanted()} at character {self._at(position)}, got {shorten(got)}"

    def _wanted(self) -> str:
        if self._token == _STRING:
            return "the end of a string"
        if self._token in (_LINE, _BLOCK):
            return "the end of a comment"
        return _EXPECTED[self._place]

    def _at(self, position: int) -> int:
        return self._base + position

    def _note(self, what: str) -> None:
        if what not in self.repairs:
            self.repairs.append(what)

    def _note_relaxed(self, what: str) -> None:
        if what and self.python:
            self._note(what)

    def _share_out(self, text: str, start: int, stopped: int, shift: int) -> list[RelaxedPiece]:
        """Each thing found takes the text that leads up to it; the last takes what follows as well."""
        found = self.found
        if not found:
            return [RelaxedPiece((), "", text[start:stopped], False)] if stopped > start else []
        self.found = []
        pieces = []
        for path, decoded, literal, end in found[:-1]:
            end = max(end + shift, start)
            pieces.append(RelaxedPiece(path, decoded, text[start:end], literal))
            start = end
        path, decoded, literal, _ = found[-1]
        pieces.append(RelaxedPiece(path, decoded, text[start:stopped], literal))
        return pieces
