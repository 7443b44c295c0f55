"""Documents and texts made to fill the memory or to take forever, read with read_file.

Each is a file of at most a few hundred kilobytes (the texts: some megabytes), read in a process of its own.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from bounds_kit import refused
from documents_kit import WORD, archive, docx, pages, pdf, stream, xlsx

LAUGHS = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10 if n else "ha"}">' for n in range(10))
LAST_COLUMN = '<row><c r="XFD1" t="inlineStr"><is><t>x</t></is></c></row>'

LATE = "reading it takes more than 1.0 seconds, so it stops after"
MUCH = "it takes more than "
"""Seconds or memory: it depends on the machine which of them ends first."""


def bomb(name: str, piece: bytes, times: int, start: bytes = b"") -> bytes:
    """An archive with one part that is much larger than the archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file, file.open(name, "w") as part:
        part.write(start)
        for _ in range(times):
            part.write(piece)
    return buffer.getvalue()


def loop_of_pages() -> bytes:
    objects = pages(stream(b""))
    return pdf({**objects, 2: b"<</Type/Pages/Kids[2 0 R 2 0 R]/Count 99999999>>"})


def forms_in_forms() -> bytes:
    """Forms that draw each other: every level twice the one below."""
    names = {f"F{n}": 20 + n for n in range(40)}
    resources = b"/XObject<<%s>>" % b"".join(b"/%s %d 0 R" % (name.encode(), at) for name, at in names.items())
    forms = {
        at: stream(b"/F%d Do /F%d Do" % (n + 1, n + 1), b"/Type/XObject/Subtype/Form/Resources<<%s>>" % resources)
        for n, at in enumerate(names.values())
    }
    return pdf({**pages(stream(b"/F0 Do"), resources=resources), **forms})


def xref_in_a_loop() -> bytes:
    data = pdf(pages(stream(b"")))
    return data.replace(b"/Root 1 0 R>>", b"/Root 1 0 R/Prev %d>>" % data.rindex(b"xref\n0"))


HOSTILE: list[tuple[str, str, Callable[[], bytes], str]] = [
    ("cells in the last column", "xlsx", lambda: xlsx(LAST_COLUMN * 50_000), "more than 8 MB of text"),
    (
        "one long text in many cells",
        "xlsx",
        lambda: xlsx('<row><c t="s"><v>0</v></c></row>' * 50_000, strings=f"<si><t>{'x' * 1_000_000}</t></si>"),
        "more than 8 MB of text",
    ),
    ("a sheet listed 50,000 times", "xlsx", lambda: xlsx(LAST_COLUMN * 40, sheets=50_000), "more than 8 MB of text"),
    ("a row of millions of cells", "xlsx", lambda: xlsx("<row>" + "<c/>" * 4_000_000 + "</row>"), MUCH),
    ("millions of texts", "xlsx", lambda: xlsx("", strings="<si/>" * 2_000_000), "Error: "),
    (
        "40 MB of texts",
        "xlsx",
        lambda: xlsx("", strings=f"<si><t>{'x' * 4_000}</t></si>" * 10_000),
        "more than 32 MB; save it as CSV",
    ),
    ("elements of no use", "xlsx", lambda: xlsx("<a/>" * 2_000_000), "elements without text"),
    ("a deep sheet", "xlsx", lambda: xlsx("<row>" + "<c>" * 100_000), "more than 100 levels deep"),
    ("300 MB of blanks", "docx", lambda: bomb("word/document.xml", b" " * 1024**2, 300), "larger than 64 MB"),
    (
        "60 MB in one word",
        "docx",
        lambda: bomb("word/document.xml", b"x" * 1024**2, 60, f"<w:p {WORD}><w:r><w:t>".encode()),
        "no readable XML",
    ),
    ("a paragraph of millions of runs", "docx", lambda: docx("<w:p>" + "<w:r/>" * 4_000_000), MUCH),
    ("deep tables", "docx", lambda: docx("<w:tbl><w:tr><w:tc>" * 50_000), "more than 100 levels deep"),
    (
        "entities of entities",
        "docx",
        lambda: archive({"word/document.xml": f"<!DOCTYPE x [{LAUGHS}]><x>&a9;</x>"}),
        "document type declaration",
    ),
    (
        "entities in UTF-16",
        "docx",
        lambda: archive({"word/document.xml": f"<!DOCTYPE x [{LAUGHS}]><x>&a9;</x>".encode("utf-16")}),
        "document type declaration",
    ),
    (
        "a million paragraphs",
        "docx",
        lambda: docx("<w:p/>" * 500_000),
        "Only the beginning: ",
    ),
    ("70 MB of operators", "pdf", lambda: pdf(pages(stream(b"(x) Tj " * 10_000_000))), "this page is left out"),
    ("300 MB of blanks", "pdf", lambda: pdf(pages(stream(b" " * 300_000_000))), "PDF"),
    ("nested arrays", "pdf", lambda: pdf(pages(stream(b"[" * 1_000_000))), "PDF"),
    ("a loop of pages", "pdf", loop_of_pages, "PDF"),
    ("forms in forms", "pdf", forms_in_forms, "PDF"),
    ("a loop of tables", "pdf", xref_in_a_loop, "PDF"),
    (
        "pages without end",
        "pdf",
        lambda: pdf(pages(stream(b"BT /F1 12 Tf " + b"(x) Tj " * 5_000 + b" ET"), 3_000)),
        f"Only the beginning: {LATE}",
    ),
    (
        "a deep notebook",
        "ipynb",
        lambda: b'{"cells": ' + b"[" * 200_000,
        "Shown as plain text: the notebook is no valid",
    ),
    ("millions of lists", "ipynb", lambda: b'{"cells": [' + b"[]," * 5_000_000 + b"[]]}", "MB of memory"),
    (
        "large outputs",
        "ipynb",
        lambda: b'{"cells": [{"outputs": [' + b",".join([b'{"text": "%s"}' % (b"x" * 2_000)] * 7_000) + b"]}]}",
        "there is more than 8 MB of text, so it stops after 0 cells",
    ),
    ("15 MB of line ends", "txt", lambda: b"\n" * 15_000_000, "of 15000000 total"),
    ("15 MB with one wide letter", "txt", lambda: b"ab\n" * 5_000_000 + "😀".encode(), "of 5000001 total"),
    ("one line of 15 MB", "txt", lambda: b"x" * 15_000_000, "are cut and end in"),
    ("17 MB", "txt", lambda: b"x\n" * 8_500_000, "read_file reads up to 16.0 MB"),
]


@pytest.mark.parametrize(
    ("suffix", "make", "words"), [pytest.param(*rest, id=f"{name} ({rest[0]})") for name, *rest in HOSTILE]
)
def test_a_hostile_document_is_refused_or_cut(
    suffix: str, make: Callable[[], bytes], words: str, tmp_path: Path
) -> None:
    (tmp_path / f"file.{suffix}").write_bytes(make())
    refused("read_file", tmp_path, words)
