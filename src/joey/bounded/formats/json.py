"""JSON with bounded nesting. Numbers of thousands of digits are an error, as Python has it."""

from __future__ import annotations

import json
import re
from typing import Any

from joey.bounded.formats import MAX_DEPTH, FormatError, too_deep

_TOKENS = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[\]{}]', re.DOTALL)


def read_json(text: str) -> Any:
    """The value. Raises FormatError."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise FormatError(f"{error.msg} (column {error.colno})", error.lineno) from None
    except RecursionError:
        raise too_deep() from None
    except ValueError as error:
        raise FormatError(_in_words(error)) from None
    check_depth(text)
    return value


def check_depth(text: str) -> None:
    """Raises FormatError for valid JSON that is nested too deep, in time linear in the text."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    for token in _TOKENS.finditer(text):
        if token[0] in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise too_deep(text.count("\n", 0, token.start()) + 1)
        elif token[0] in "]}":
            depth -= 1


def _in_words(error: ValueError) -> str:
    return "a number has thousands of digits; write a shorter one" if "digits" in str(error) else str(error)
