"""Relaxed JSON, as models write it: read whole with `loads`, or in pieces with `RelaxedReader`.

Besides JSON it takes

* words without quotes, as keys and as values: letters, digits and `$_-+.*?!|&%^/#\\`. As a value a word is a string,
  unless it is a number, true, false or null; `True`, `None`, `NaN` and `.5` are strings. A word that only begins like
  a number or a keyword (`1b`, `0x1F`, `5.`, `truex`) is a fault.
* strings in single quotes, where `\\'` is a quote and `"` needs no escape;
* a comma before a closing bracket;
* `// to the end of the line` and `/* comments */`, and every space that Unicode knows as one.

It refuses what hides a mistake: a key given twice (unless `duplicates`), two values, a comma too many, control
characters and unknown escapes in strings. With `repair`, which is for the calls of a model, it reads on over the last
two, and over a Markdown fence around the value, and says so in `repairs`.
"""

from __future__ import annotations

from joey.errors import JoeyError
from joey.protocols.json.relaxed.reader import MAX_DEPTH, RelaxedPiece, RelaxedReader
from joey.wire import JsonValue

__all__ = ["MAX_DEPTH", "RelaxedJsonError", "RelaxedPiece", "RelaxedReader", "loads"]


_NO_BEGINNING = ("}", "]", ",", ":")


class RelaxedJsonError(JoeyError, ValueError):
    """The text is not even relaxed JSON; says where, what was expected and what came."""


def loads(
    text: str, *, relaxed: bool = True, duplicates: bool = False, repair: bool = False, tolerant: bool = False
) -> JsonValue:
    """The value of a whole text. Without `relaxed` only JSON will do; with `duplicates` the last of equal keys wins.

    With `tolerant`, what follows a word, a number or a string at the top does not matter, and a text that begins with
    a closing bracket, a comma or a colon is null."""
    reader = RelaxedReader(relaxed=relaxed, duplicates=duplicates, repair=repair)
    position = 0
    while position < len(text) and reader.fault is None:
        _, position = reader.read(text, position)
    reader.finish()
    if reader.fault is not None:
        begun = reader.done or text.lstrip()[:1] in _NO_BEGINNING
        if tolerant and begun and not isinstance(reader.value, (dict, list)):
            return reader.value
        raise RelaxedJsonError(reader.fault)
    return reader.value
