"""The words of code and of questions: `parseHttpRequest` and `parse_http_request` are both parse, http, request.

A name of several parts also counts as a whole (`parsehttprequest`), so that whoever asks for the very name finds it
before code that happens to use the same parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_NAME = re.compile(r"[^\W_]+(?:_+[^\W_]+)*")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_PARTS = re.compile(r"_+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])")

_COMMON = """
    a an and are as at be been but by can could did do does done for from has have how i if in into is it its just like
    me my no not of on or our out should so some such than that the their them then there these they this to up us use
    used uses using want was we were what when where which while who why will with would you your
    code codebase function method
"""
COMMON = frozenset(_COMMON.split())
"""Words that say nothing about which code is meant; a question made of nothing else is searched as it stands."""


def parts(name: str) -> list[str]:
    """The parts of one name, in lower case."""
    return [part.lower() for part in _PARTS.split(name) if part]


def words(text: str) -> Iterator[str]:
    """Every part of every name, and names of several parts as a whole."""
    for match in _NAME.finditer(text):
        pieces = parts(match.group())
        yield from pieces
        if len(pieces) > 1:
            yield "".join(pieces)


def search_words(question: str) -> list[str]:
    """The words of a question that can tell one piece of code from another, each once."""
    found = list(dict.fromkeys(words(question)))
    return [word for word in found if word not in COMMON] or found


def split_names(text: str) -> str:
    """A text with `camelCase` names opened up: the model's words are lower case, and it would not see the parts."""
    return _CAMEL.sub(" ", text)
