"""The tokens of relaxed JSON: what a word, a string, a space and an escape look like."""

from __future__ import annotations

import re

from joey.wire import JsonValue

JSON_SPACE = re.compile(r"[ \t\n\r]*")
SPACES = " \t\n\r\v\f\u00a0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000\ufeff"
ANY_SPACE = re.compile(f"[{SPACES}]*")
WORD_RUN = re.compile(r"[$A-Za-z0-9_\-+.*?!|&%^#\\]*")  # and the slash, which may begin a comment
ATOM = re.compile(r"true|false|null|-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
JSON_ATOM = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
FENCE_RUN = re.compile(r"[`A-Za-z]*")
LINE_END = re.compile(r"[\r\n]")
CONTROL = re.compile(r"[\x00-\x1f]")

# As much of a string as is certain. The group holds the last escape and what follows it.
_ESCAPED = r"\\(?:u[0-9a-fA-F]{4}|[^u])"
STRING_RUN = {quote: re.compile(rf"[^{quote}\\]*({_ESCAPED}[^{quote}\\]*)*", re.DOTALL) for quote in "\"'"}
_PAIR = r"u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
ESCAPE = re.compile(rf"\\({_PAIR}|u[0-9a-fA-F]{{4}}|.)", re.DOTALL)
CUT_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
HIGH_HALF = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}")
PLAIN_ESCAPE = re.compile(r'\\(["\\/bfnrt])')
PLAINLY_ESCAPED = re.compile(r'[^"\\]*(?:\\["\\/bfnrt][^"\\]*)*')
ESCAPES = {"\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def space_without(stops: str | None) -> re.Pattern[str]:
    """The spaces that may be passed over: not those that may begin a tag."""
    if stops is None or not set(stops) & set(SPACES):
        return ANY_SPACE
    return re.compile(f"[{''.join(sorted(set(SPACES) - set(stops)))}]*")


def match_end(pattern: re.Pattern[str], text: str, position: int, end: int) -> int:
    match = pattern.match(text, position, end)
    return match.end() if match else position


def plain_unescape(match: re.Match[str]) -> str:
    return ESCAPES.get(match.group(1), '"')


def atom_value(word: str) -> JsonValue:
    if word in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[word]
    if word.lstrip("-").isdigit():
        try:
            return int(word)
        except ValueError:  # Python refuses to read thousands of digits
            return None
    return float(word)


def copy_of(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {key: copy_of(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copy_of(item) for item in value]
    return value


def shorten(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")
