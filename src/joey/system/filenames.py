"""File names as they can stand in a list, a prompt or the header of a diff, whatever characters they hold.

A name may hold a line break, an escape sequence, characters that turn the direction of writing or show nothing at all,
or bytes that are no text. Shown as it is, it could pass for two names, for words of ours, or for words of the user's.
Such a name is quoted the way git does: in double quotes, with backslash escapes and octal bytes. Every other name stays
as it is. `unquoted` reads the quoted form back, so that a tool takes what a listing showed.
"""

from __future__ import annotations

import os
import re

_UNUSUAL = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f\u2028\u2029"  # controls, and what ends a line
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # what turns the direction of writing
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # what shows nothing
    "\ud800-\udfff"  # halves of surrogate pairs: bytes that are no text
    '"\\\\'  # the two characters that mark a quoted name
    "]|^ | $"
)
_SHORT = {
    "\a": "\\a", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\v": "\\v", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\",
}  # fmt: skip
_LONG = {short[1]: character for character, short in _SHORT.items()}
_ESCAPED = re.compile(r'\\([0-3][0-7]{2}|[abtnvfr"\\])|[^\\"]', re.DOTALL)


def quoted(name: str) -> str:
    """The name, in quotes and with escapes if it holds anything unusual. Can always be encoded and is one line."""
    return f'"{_UNUSUAL.sub(_escape, name)}"' if _UNUSUAL.search(name) else name


def unquoted(text: str) -> str:
    """The name that `quoted` shows like this; any other text is the name itself."""
    if len(text) < 2 or text[0] != '"' or text[-1] != '"':
        return text
    pieces = list(_ESCAPED.finditer(text[1:-1]))
    if sum(len(piece[0]) for piece in pieces) != len(text) - 2:
        return text
    try:
        name = os.fsdecode(b"".join(map(_bytes_of, pieces)))
    except UnicodeEncodeError:
        return text
    return name if quoted(name) == text else text


def _bytes_of(piece: re.Match[str]) -> bytes:
    escaped = piece[1]
    if escaped is None:
        return piece[0].encode("utf-8")
    return bytes([int(escaped, 8)]) if escaped.isdecimal() else _LONG[escaped].encode("ascii")


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    if character in _SHORT:
        return _SHORT[character]
    if character == " ":  # at an end of the name, where the quotes show it
        return character
    try:
        data = os.fsencode(character)
    except UnicodeEncodeError:  # half a surrogate pair that stands for no byte
        data = character.encode("utf-8", "surrogatepass")
    return "".join(f"\\{byte:03o}" for byte in data)
