"""Incremental JSON: which argument is growing, and the new text of it.

A JsonReader is fed pieces of any size and answers, for each, with what it added: a path of keys and indexes, and the
decoded new characters of the string there, or a finished number, true, false or null. It looks at each character once,
so a megabyte costs a hundred times ten kilobytes, however it is cut.

The machine. One state is active at a time:

    VALUE   --"-->  STRING  --closing quote-->  AFTER
    VALUE   --{-->  FIRST_KEY      VALUE --[--> FIRST_ITEM
    FIRST_KEY, KEY  --"-->  IN_KEY  --closing quote-->  COLON  --:-->  VALUE
    VALUE   --other-->  SCALAR  --delimiter-->  AFTER
    AFTER   --,-->  KEY or VALUE      AFTER --} or ]--> AFTER, or DONE at the outermost
    any     --something else-->  BROKEN, which takes everything and says nothing

An escape that is cut in two, or the first half of a surrogate pair, waits in `_tail` for the rest: at most eleven
characters. The text itself is kept once, for the final value and for snapshots, which are made on demand.

What it does with what JSON leaves open or forbids:

* control characters inside strings (a raw newline, a tab): read on, noted in `lenient`; the model intended them.
* a comma before a closing bracket: read on, noted in `lenient`.
* duplicate keys: the last wins in the value, as in `json.loads`; the pieces of both are reported.
* lone surrogates: kept, as in `json.loads`.
* NaN, Infinity and numbers that overflow: BROKEN. Python reads them, but no provider takes them back.
* a byte order mark or white space before the value, white space after it: ignored. Anything else after it: BROKEN.
* nesting deeper than MAX_DEPTH: BROKEN, with that as the reason, long before Python's own limit.
"""

from __future__ import annotations

import json
import math
import re
from copy import deepcopy
from typing import TypeAlias

from joey.protocols.json.partial import partial_value
from joey.wire import ArgumentPath, JsonValue

MAX_DEPTH = 200

_VALUE, _FIRST_KEY, _KEY, _COLON, _FIRST_ITEM, _ITEM, _AFTER, _SCALAR, _STRING, _IN_KEY, _DONE, _BROKEN = range(12)
_IN_STRING = (_STRING, _IN_KEY)

_SPACE = re.compile(r"[ \t\n\r]*")
_START_SPACE = re.compile(r"[ \t\n\r\ufeff]*")
_SCALAR_RUN = re.compile(r"[^\s,\]}:\[{\"]*")
# As much of a string as is certain: up to the closing quote, or to an escape that is not complete.
_STRING_RUN = re.compile(r'[^"\\]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\]*)*')
_CUT_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
_CONTROL = re.compile(r"[\x00-\x1f]")
_DECODER = json.JSONDecoder(strict=False)

_EXPECTED = {
    _VALUE: "a value",
    _FIRST_KEY: "a key in double quotes or '}'",
    _KEY: "a key in double quotes",
    _COLON: "':'",
    _FIRST_ITEM: "a value or ']'",
    _ITEM: "a value",
    _AFTER: "',' or a closing bracket",
    _DONE: "nothing more",
}


JsonPiece: TypeAlias = tuple[ArgumentPath, str, str, bool]
"""What a piece of text added: the path, the new text there, the piece as it was written, and whether the text is a
whole JSON scalar rather than a piece of a string. A plain tuple: one is made for each few characters of a stream."""

_Found: TypeAlias = list[tuple[ArgumentPath, str, bool, int]]


class JsonReader:
    """Reads one JSON value that comes in pieces."""

    __slots__ = (
        "_base",
        "_blocks",
        "_key",
        "_kinds",
        "_path",
        "_recent",
        "_state",
        "_tail",
        "_where",
        "fault",
        "length",
        "lenient",
    )

    def __init__(self) -> None:
        self.fault: str | None = None
        """Why the text is not JSON, once it is not."""
        self.lenient: tuple[str, ...] = ()
        """What was read on over although JSON forbids it."""
        self._state = _VALUE
        self._path: list[str | int] = []
        self._kinds: list[bool] = []  # True for an object, False for an array; parallel to _path
        self._where: ArgumentPath = ()
        self._key: list[str] = []
        self._tail = ""
        self._blocks: list[str] = []
        self._recent: list[str] = []
        self.length = 0
        """How many characters were fed."""
        self._base = 0  # where the text that is being scanned begins

    # What a caller uses

    def feed(self, text: str) -> list[JsonPiece]:
        """What this piece added. The `raw` of the answers, put together, is the piece."""
        if not text:
            return []
        self.length += len(text)
        self._recent.append(text)
        if len(self._recent) >= 1024:
            # Small strings cost a dozen times their text: join them before they add up.
            self._blocks.append("".join(self._recent))
            self._recent.clear()
        if self._state == _STRING and not self._tail and '"' not in text and "\\" not in text and text.isprintable():
            return [(self._where, text, text, False)]
        return self._scan(text)

    def finish(self) -> list[JsonPiece]:
        """The text has ended. A number at the outermost level is only now known to be whole."""
        if self._state != _SCALAR or self._kinds:
            return []
        literal = "".join(self._key)
        return [((), literal, "", True)] if self._end_scalar() else []

    @property
    def complete(self) -> bool:
        """Whether a whole value was read, and nothing but white space after it."""
        return self._state == _DONE

    @property
    def text(self) -> str:
        """All that was fed."""
        self._compact()
        return self._blocks[0] if self._blocks else ""

    def fork(self) -> JsonReader:
        """A reader in the same state that goes its own way."""
        self._compact()
        return deepcopy(self)

    def snapshot(self) -> JsonValue:
        """The value as far as it is known, or None. Read again from the text, so that it disturbs nothing."""
        return partial_value(self.text, None)

    def value(self) -> JsonValue:
        """The whole value. Only after `complete`."""
        if not self.lenient:
            return json.loads(self.text.lstrip("\ufeff \t\n\r"))
        return json.loads(without_trailing_commas(self.text.lstrip("\ufeff \t\n\r")), strict=False)

    # The text so far

    def _compact(self) -> None:
        if self._recent or len(self._blocks) > 1:
            self._blocks = ["".join(self._blocks + self._recent)]
            self._recent = []

    # The machine

    def _scan(self, text: str) -> list[JsonPiece]:
        held = len(self._tail)
        if held:
            text, self._tail = self._tail + text, ""
        self._base = self.length - len(text)
        found: _Found = []
        end, pos = len(text), 0
        while pos < end:
            state = self._state
            if state in _IN_STRING:
                pos = self._string(text, pos, found)
            elif state == _SCALAR:
                pos = self._scalar(text, pos, found)
            elif state == _BROKEN:
                break
            else:
                pos = self._structure(text, pos, found)
        return _with_raw(text[held:] if held else text, held, found)

    def _structure(self, text: str, pos: int, found: _Found) -> int:
        state = self._state
        space = _START_SPACE if state == _VALUE and not self._kinds else _SPACE
        pos = _end(space, text, pos)
        if pos == len(text):
            return pos
        char = text[pos]
        if char == '"' and state in (_VALUE, _FIRST_ITEM, _ITEM):
            self._state = _STRING
            self._where = tuple(self._path)
            found.append((self._where, "", False, pos + 1))
            return pos + 1
        if char == '"' and state in (_FIRST_KEY, _KEY):
            self._state = _IN_KEY
            self._key.clear()
            return pos + 1
        if char == ":" and state == _COLON:
            self._path[-1] = "".join(self._key)
            self._state = _VALUE
            return pos + 1
        if char == "," and state == _AFTER:
            self._next_member()
            return pos + 1
        if char in "{[" and state in (_VALUE, _FIRST_ITEM, _ITEM):
            self._open(char)
            return pos + 1
        if char in "}]":
            return self._shut(char, pos)
        if state in (_VALUE, _FIRST_ITEM, _ITEM):
            self._state = _SCALAR
            self._key.clear()
            return pos
        self._break(char, pos)
        return pos

    def _open(self, char: str) -> None:
        if len(self._kinds) >= MAX_DEPTH:
            self._state = _BROKEN
            self.fault = f"it is nested deeper than {MAX_DEPTH} levels"
            return
        is_object = char == "{"
        self._kinds.append(is_object)
        self._path.append("" if is_object else 0)
        self._state = _FIRST_KEY if is_object else _FIRST_ITEM

    def _shut(self, char: str, pos: int) -> int:
        closes_object = char == "}"
        matches = bool(self._kinds) and self._kinds[-1] == closes_object
        if not matches or self._state not in (_AFTER, _FIRST_KEY, _FIRST_ITEM, _KEY, _ITEM):
            self._break(char, pos)
            return pos
        if self._state in (_KEY, _ITEM):
            self._note("a comma before a closing bracket")
        self._kinds.pop()
        self._path.pop()
        self._state = _AFTER if self._kinds else _DONE
        return pos + 1

    def _next_member(self) -> None:
        if self._kinds[-1]:
            self._state = _KEY
            return
        index = self._path[-1]
        assert isinstance(index, int)
        self._path[-1] = index + 1
        self._state = _ITEM

    def _string(self, text: str, pos: int, found: _Found) -> int:
        stop = _end(_STRING_RUN, text, pos)
        closed = stop < len(text) and text[stop] == '"'
        upto = stop
        if not closed:
            upto = self._hold_back(text, pos, stop)
        decoded = self._decode(text[pos:upto])
        if self._state == _IN_KEY:
            self._key.append(decoded)
        elif decoded:
            self._grow(decoded, found, upto + closed)
        if self._state == _BROKEN:
            return len(text)
        if not closed:
            return len(text)
        if self._state == _IN_KEY:
            self._state = _COLON
        else:
            self._state = _AFTER if self._kinds else _DONE
        return stop + 1

    def _grow(self, decoded: str, found: _Found, end: int) -> None:
        """Report new characters; those of a string that began in this piece join its beginning."""
        if found and found[-1][0] is self._where and not found[-1][1]:
            found[-1] = (self._where, decoded, False, end)
        else:
            found.append((self._where, decoded, False, end))

    def _hold_back(self, text: str, pos: int, stop: int) -> int:
        """Where the certain part of an open string ends. What may grow into an escape or a pair waits in the tail."""
        if stop < len(text) and not _CUT_ESCAPE.match(text, stop):
            self._break(text[stop : stop + 2], stop, "a known escape")
            return stop
        upto = stop - 6 if _ends_in_high_surrogate(text, pos, stop) else stop
        self._tail = text[upto:]
        return upto

    def _decode(self, segment: str) -> str:
        if not segment.isprintable() and _CONTROL.search(segment):
            self._note("control characters in a string")
        if "\\" not in segment:
            return segment
        decoded: str = _DECODER.decode(f'"{segment}"')
        return decoded

    def _scalar(self, text: str, pos: int, found: _Found) -> int:
        stop = _end(_SCALAR_RUN, text, pos)
        self._key.append(text[pos:stop])
        if stop < len(text):
            literal = "".join(self._key)
            if self._end_scalar():
                found.append((tuple(self._path), literal, True, stop))
        return stop

    def _end_scalar(self) -> bool:
        literal = "".join(self._key)
        self._key.clear()
        problem = _scalar_problem(literal)
        if problem:
            self._state = _BROKEN
            self.fault = problem
            return False
        self._state = _AFTER if self._kinds else _DONE
        return True

    def _break(self, got: str, pos: int, expected: str | None = None) -> None:
        expected = expected or _EXPECTED[self._state]
        self.fault = f"expected {expected} at character {self._base + pos}, got {got!r}"
        self._state = _BROKEN

    def _note(self, what: str) -> None:
        if what not in self.lenient:
            self.lenient += (what,)


def _end(pattern: re.Pattern[str], text: str, pos: int) -> int:
    """Where the run ends that begins at pos. The patterns used with it match the empty run."""
    match = pattern.match(text, pos)
    return match.end() if match else pos


def _ends_in_high_surrogate(text: str, pos: int, stop: int) -> bool:
    """Whether text[pos:stop] ends in an escape such as \\ud83d, the first half of a pair."""
    at = stop - 6
    if at < pos or text[at] != "\\" or text[at + 1] != "u" or text[at + 2] not in "dD" or text[at + 3] not in "89abAB":
        return False
    before = text[pos:at]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 0


def _with_raw(text: str, held: int, found: _Found) -> list[JsonPiece]:
    """Share out the text over what was found in it: each takes what comes before it, the last also what comes after."""
    if not found:
        return [((), "", text, False)]
    pieces: list[JsonPiece] = []
    start = 0
    for path, decoded, literal, end in found[:-1]:
        end = max(end - held, 0)
        pieces.append((path, decoded, text[start:end], literal))
        start = end
    path, decoded, literal, _ = found[-1]
    pieces.append((path, decoded, text[start:], literal))
    return pieces


def _scalar_problem(literal: str) -> str | None:
    """Why this is no JSON number, true, false or null."""
    if literal in ("true", "false", "null"):
        return None
    if literal in ("NaN", "Infinity", "-Infinity"):
        return f"{literal} is not JSON"
    try:
        number = json.loads(literal)
    except json.JSONDecodeError:
        return f"expected a value, got {literal[:40]!r}" if literal else "expected a value"
    except ValueError:
        return f"a number of {len(literal)} digits is too long"
    if isinstance(number, float) and not math.isfinite(number):
        return f"the number {literal[:40]} is too large"
    return None


_STRING_OR_TRAILING_COMMA = re.compile(r'("[^"\\]*(?:\\.[^"\\]*)*")|,(?=\s*[\]}])', re.DOTALL)


def without_trailing_commas(text: str) -> str:
    """The same JSON without commas before closing brackets. Strings are left alone."""
    return _STRING_OR_TRAILING_COMMA.sub(lambda match: match[1] or "", text)
