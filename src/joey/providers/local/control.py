"""The words with which a model's messages begin and end, broken where they stand in what somebody wrote.

A model that is run here gets one text, made from the conversation by its template, and in that text `<|im_end|>` is
the end of a message whether the template wrote it or a file that was read. So each such word in the conversation gets a
backslash behind its first character, and one that has some gets one more. Which words there are is written in the
model's own file; none is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from joey.providers.base import ModelRequest
from joey.providers.encoding.encodable import rewritten


def without_words(request: ModelRequest, words: Sequence[str]) -> ModelRequest:
    """The request with these words broken, in every text of it."""
    if not words:
        return request
    pattern = _pattern(tuple(words))

    def broken(text: str) -> str:
        return pattern.sub(lambda found: f"{found[0]}\\", text)

    messages = tuple(rewritten(message, broken) for message in request.messages)
    return replace(request, system=broken(request.system), messages=messages)


@lru_cache(maxsize=8)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(rf"{re.escape(word[0])}(?=\\*{re.escape(word[1:])})" for word in words))
