"""File names as they can stand in a list or in the header of a diff, whatever characters they hold.

A name may hold a line break, an escape sequence, characters that turn the direction of writing, or bytes that are no
text. Shown as it is, it could pass for two names or for words of ours. Such a name is quoted the way git does: in
double quotes, with backslash escapes and octal bytes. Every other name stays as it is.
"""

from __future__ import annotations

import os
import re

# Control characters, what ends a line, what turns the direction of writing, half surrogates (bytes that are no text),
# and the two characters that mark a quoted name.
_UNUSUAL = re.compile('[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff"\\\\]')
_SHORT = {
    "\a": "\\a", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\v": "\\v", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\",
}  # fmt: skip


def quoted(name: str) -> str:
    """The name, in quotes and with escapes if it holds anything unusual."""
    return f'"{_UNUSUAL.sub(_escape, name)}"' if _UNUSUAL.search(name) else name


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    if character in _SHORT:
        return _SHORT[character]
    try:
        data = os.fsencode(character)
    except UnicodeEncodeError:  # half a surrogate pair that stands for no byte
        data = character.encode("utf-8", "surrogatepass")
    return "".join(f"\\{byte:03o}" for byte in data)
