"""The bytes of a text file as text, and back without touching a byte that was not edited.

A file is read as the first of these that fits:

1. what its byte order mark says: UTF-8, UTF-16 or UTF-32 (the mark is kept apart and written again);
2. not text at all, when it holds a NUL byte;
3. UTF-8;
4. Windows-1252 where every byte has a character there, otherwise Latin-1, which fits anything.

Whatever was chosen, `read(data).encode(text)` with the text unchanged gives the same bytes. Line ends are part of
the text, as they stand; nothing is normalised here. What this does not do is guess among the other eight-bit
encodings: text in them comes out as the wrong letters, yet goes back as the right bytes.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from joey.errors import JoeyError

# UTF-32 first: its little-endian mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_NAMES = {
    "utf-8": "UTF-8",
    "utf-16-le": "UTF-16 LE",
    "utf-16-be": "UTF-16 BE",
    "utf-32-le": "UTF-32 LE",
    "utf-32-be": "UTF-32 BE",
    "cp1252": "Windows-1252",
    "latin-1": "Latin-1",
}


class NotTextError(JoeyError):
    """The bytes are not text."""


class UnencodableError(JoeyError):
    """The text has a character that the file's encoding does not have."""


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file's text and how it is written down."""

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""

    @property
    def encoding_name(self) -> str:
        """The encoding in words: `UTF-8`, `UTF-16 LE with BOM`."""
        return _NAMES[self.encoding] + (" with BOM" if self.mark else "")

    @property
    def is_plain(self) -> bool:
        """Whether it is UTF-8 without a byte order mark: the usual case, which needs no note."""
        return self.encoding == "utf-8" and not self.mark

    def encode(self, text: str) -> bytes:
        """Another text in the same encoding, with the same byte order mark."""
        if self.mark:
            text = text.removeprefix("\ufeff")
        try:
            return self.mark + text.encode(self.encoding)
        except UnicodeEncodeError as error:
            character = text[error.start]
            raise UnencodableError(
                f"the file is {self.encoding_name}, which has no character {character!r} (U+{ord(character):04X})"
            ) from None


def read_text(data: bytes) -> TextFile:
    """The text in these bytes. Raises NotTextError if there is none."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            text = _decoded(data[len(mark) :], encoding)
            if text is not None:
                return TextFile(text, encoding, mark)
    if b"\0" in data:
        raise NotTextError("the file is binary (it has NUL bytes)")
    for encoding in ("utf-8", "cp1252"):
        text = _decoded(data, encoding)
        if text is not None:
            return TextFile(text, encoding)
    return TextFile(data.decode("latin-1"), "latin-1")


def _decoded(data: bytes, encoding: str) -> str | None:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    # A codec that forgives something on the way in would not give it back.
    return text if text.encode(encoding) == data else None
