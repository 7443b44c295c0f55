"""TOML with bounded nesting.

The standard reader remembers every beginning of a dotted key: `a.a.a.…` of 67 KB takes gigabytes. So dotted keys are
counted before it sees them; a text that merely looks like such a key is refused too, which no settings file needs.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any

from joey.bounded.formats import FormatError, too_deep

MAX_KEY_PARTS = 20
_PART = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]++|\\.)*+"|'[^'\n]*+')"""
_LONG_KEY = re.compile(rf"(?<![A-Za-z0-9_-])(?:{_PART}[ \t]*+\.[ \t]*+){{{MAX_KEY_PARTS},}}")
_LINE = re.compile(r"\(at line (\d+)")


def read_toml(text: str) -> dict[str, Any]:
    """The tables. Raises FormatError."""
    if found := _LONG_KEY.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise FormatError(f"a key has more than {MAX_KEY_PARTS} parts with dots; use a shorter one", line)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _LINE.search(str(error))
        raise FormatError(str(error), int(found[1]) if found else len(text.rstrip("\n").split("\n"))) from None
    except RecursionError:
        raise too_deep() from None
    except ValueError as error:
        raise FormatError(str(error).partition(";")[0]) from None
