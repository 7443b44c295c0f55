"""Text as the numbers a BERT model reads: lower-cased words, cut into the longest pieces its vocabulary has.

The same as the `tokenizers` package makes for `bert-base-uncased`, in a hundred lines and without its 35 MB:

1. control characters go, accents go (decomposed, marks dropped), letters are lower-cased;
2. words end at white space; every mark of punctuation and every Chinese character is a word of its own;
3. a word is cut from the left into the longest pieces there are, all but the first written `##piece`. A word that
   cannot be cut so, or is longer than 100 characters, is `[UNK]`.

One difference, on purpose: a text that spells `[SEP]` does not get the special token but the three words.

The vocabulary beside this file is that of BERT (Google, Apache-2.0), 30,522 lines; it is used only if its hash is the
one written here.
"""

from __future__ import annotations

import hashlib
import lzma
import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from joey.errors import JoeyError

VOCABULARY = Path(__file__).with_name("vocabulary.txt.xz")
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
_MAX_WORD = 100
_ASCII_WORD = re.compile(r"[a-z0-9]+|[!-/:-@\[-`{-~]")
_CONTROL = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 127])
_CHINESE = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class DamagedModelError(JoeyError):
    """A file of the model is not the one that was measured; it is not used."""


def read_vocabulary(path: Path = VOCABULARY) -> dict[str, int]:
    """The pieces and their numbers, if the file is what it should be."""
    try:
        data = lzma.decompress(path.read_bytes())
    except (OSError, lzma.LZMAError) as error:
        raise DamagedModelError(f"the vocabulary {path} cannot be read ({error}); install Joey again") from None
    if hashlib.sha256(data).hexdigest() != VOCABULARY_SHA256:
        raise DamagedModelError(f"the vocabulary {path} is not the one Joey was made with; install Joey again")
    return {piece: number for number, piece in enumerate(data.decode("utf-8").splitlines())}


class WordPiece:
    """Makes the numbers of texts. Words are remembered: code says the same ones again and again."""

    def __init__(self, vocabulary: dict[str, int]) -> None:
        self._vocabulary = vocabulary
        self._unknown = (vocabulary["[UNK]"],)
        self._first, self._last = vocabulary["[CLS]"], vocabulary["[SEP]"]
        self._known: dict[str, tuple[int, ...]] = {}

    def numbers(self, text: str, limit: int) -> list[int]:
        """The text between `[CLS]` and `[SEP]`, at most `limit` numbers in all."""
        found: list[int] = []
        for word in _words(text):
            found += self._pieces(word)
            if len(found) >= limit - 2:
                break
        return [self._first, *found[: limit - 2], self._last]

    def _pieces(self, word: str) -> tuple[int, ...]:
        known = self._known.get(word)
        if known is None:
            known = self._cut(word)
            if len(self._known) < 100_000:
                self._known[word] = known
        return known

    def _cut(self, word: str) -> tuple[int, ...]:
        if len(word) > _MAX_WORD:
            return self._unknown
        pieces, start = [], 0
        while start < len(word):
            mark = "##" if start else ""
            for end in range(len(word), start, -1):
                number = self._vocabulary.get(mark + word[start:end])
                if number is not None:
                    pieces.append(number)
                    start = end
                    break
            else:
                return self._unknown
        return tuple(pieces)


def _words(text: str) -> Iterator[str]:
    if text.isascii():
        yield from (match.group() for match in _ASCII_WORD.finditer(text.translate(_CONTROL).lower()))
        return
    word = ""
    for char in _plain(text):
        kind = _kind(char)
        if kind == "letter":
            word += char
            continue
        if word:
            yield word
        word = ""
        if kind == "alone":
            yield char
    if word:
        yield word


def _plain(text: str) -> str:
    """Without control characters and accents, in lower case."""
    kept = "".join(char for char in text if char in "\t\n\r" or not _is_control(char))
    decomposed = unicodedata.normalize("NFD", kept)
    return "".join(char.lower() for char in decomposed if unicodedata.category(char) != "Mn")


def _is_control(char: str) -> bool:
    # Characters that are not assigned (Cn) stay: which those are depends on the version of Unicode.
    return char == "\ufffd" or unicodedata.category(char) in ("Cc", "Cf", "Co", "Cs")


@cache
def _kind(char: str) -> str:
    if char.isspace():
        return "space"
    if char.isascii():
        return "letter" if char.isalnum() else "alone"
    point = ord(char)
    is_chinese = any(low <= point <= high for low, high in _CHINESE)
    return "alone" if is_chinese or unicodedata.category(char).startswith("P") else "letter"
