"""Files that are no text: that of documents, read in a bounded process (`joey.bounded.documents`), and what any other
is, in a few words."""

from __future__ import annotations

import json

from joey.bounded.documents import MODULES, DocumentError, Extracted
from joey.bounded.process import LimitError, run_bounded

_OTHERS = (
    (b"BM", "a BMP image"),
    (b"II*\0", "a TIFF image"),
    (b"MM\0*", "a TIFF image"),
    (b"\0\0\1\0", "an icon"),
    (b"\x7fELF", "an ELF program or library"),
    (b"MZ", "a Windows program or library"),
    (b"\xcf\xfa\xed\xfe", "a macOS program or library"),
    (b"\xca\xfe\xba\xbe", "a Java class or a macOS program"),
    (b"\0asm", "a WebAssembly module"),
    (b"PK\3\4", "a zip archive (or a format built on one)"),
    (b"\x1f\x8b", "gzip-compressed data"),
    (b"BZh", "bzip2-compressed data"),
    (b"\xfd7zXZ\0", "xz-compressed data"),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed data"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-zip archive"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"%PDF-", "a PDF under another name"),
    (b"OggS", "Ogg sound or video"),
    (b"ID3", "MP3 sound"),
    (b"fLaC", "FLAC sound"),
    (b"wOFF", "a web font"),
    (b"wOF2", "a web font"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document (.doc, .xls, .ppt)"),
)


def describe_binary(data: bytes) -> str:
    """What the first bytes say that the file is."""
    if data[4:8] == b"ftyp":
        return "an AVIF image" if data[8:12] == b"avif" else "MP4 or QuickTime video"
    return next((words for start, words in _OTHERS if data.startswith(start)), "binary data")


def is_document(suffix: str) -> bool:
    return suffix.lower() in MODULES


def extract(suffix: str, file: int) -> Extracted:
    """The text of a document of the kind its suffix names, from a descriptor of it. Blocks. Raises DocumentError."""
    try:
        answer = json.loads(run_bounded("joey.bounded.documents", [suffix.lower()], file))
    except LimitError as problem:
        raise DocumentError(f"{problem}; if you need it, use a program for it with execute_command") from None
    if "error" in answer:
        raise DocumentError(answer["error"])
    return Extracted(**answer)
