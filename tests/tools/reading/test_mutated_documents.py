"""Documents with a few bytes changed: each is read, or refused with a DocumentError, and nothing else happens.

The readers run here and not in their child, so that every other exception shows.
"""

from __future__ import annotations

import contextlib
import io
import json
import zipfile
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents_kit import archive, docx, pages, pdf, stream, xlsx
from image_kit import made
from joey.bounded.documents import DocumentError, Extracted
from joey.images.shrinking import shrink
from joey.images.sizing import image_type

TABLE = "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t><w:tab/></w:r></w:p></w:tc></w:tr></w:tbl>"
ROWS = (
    '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" s="1"><v>45292.5</v></c></row>'
    '<row r="2"><c r="B2" t="b"><v>1</v></c><c t="inlineStr"><is><t>in</t></is></c></row>'
)
STYLES = '<numFmts><numFmt numFmtId="170" formatCode="dd/mm/yy"/></numFmts><cellXfs><xf/><xf numFmtId="170"/></cellXfs>'
CELLS = [
    {"cell_type": "code", "source": ["a\n", "b"], "outputs": [{"output_type": "error", "ename": "E", "evalue": "v"}]},
    {"cell_type": "code", "source": "x", "outputs": [{"data": {"text/plain": "1", "image/png": "aGk="}}]},
]
FONT = b"<</Type/Font/Subtype/Type0/BaseFont/A/ToUnicode 6 0 R/DescendantFonts[7 0 R]/Encoding/Identity-H>>"
CMAP = b"1 begincodespacerange <00><ff> endcodespacerange 1 beginbfchar <01><0041> endbfchar"
ORIGINALS = {
    "word": docx('<w:p><w:pPr><w:pStyle w:val="Heading2"/></w:pPr><w:r><w:t>T</w:t></w:r></w:p>' + TABLE),
    "spreadsheet": xlsx(ROWS, strings="<si><t>Name</t></si>", styles=STYLES),
    "notebook": json.dumps({"cells": CELLS}).encode(),
    "pdf": pdf(
        {
            **pages(stream(b"BT /F1 12 Tf 72 700 Td <01> Tj (text) ' [(a) -20 (b)] TJ ET"), 2),
            5: FONT,
            6: stream(CMAP),
            7: b"<</Type/Font/Subtype/CIDFontType2/BaseFont/A/W[1[500]]>>",
        }
    ),
}
IMAGES = {kind: made(30, 30, kind, noise=True) for kind in ("PNG", "JPEG", "GIF", "WEBP")}
CHANGES = st.lists(st.tuples(st.integers(0, 10_000), st.binary(max_size=6), st.integers(0, 20)), min_size=1, max_size=8)


def changed(data: bytes, changes: list[tuple[int, bytes, int]]) -> bytes:
    for place, new, gone in changes:
        at = place % (len(data) + 1)
        data = data[:at] + new + data[at + gone :]
    return data


def assert_read_or_refused(kind: str, data: bytes) -> None:
    module: Any = import_module(f"joey.bounded.documents.{kind}")
    with contextlib.suppress(DocumentError):
        assert isinstance(module.extract(io.BytesIO(data)), Extracted)


@pytest.mark.parametrize("kind", ORIGINALS)
def test_the_originals_are_read(kind: str) -> None:
    module: Any = import_module(f"joey.bounded.documents.{kind}")
    assert len(module.extract(io.BytesIO(ORIGINALS[kind])).text) > 5


@pytest.mark.property
@pytest.mark.parametrize("kind", ORIGINALS)
@given(changes=CHANGES)
def test_a_changed_file_is_read_or_refused(kind: str, changes: list[tuple[int, bytes, int]]) -> None:
    assert_read_or_refused(kind, changed(ORIGINALS[kind], changes))


@pytest.mark.property
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
@given(changes=CHANGES)
def test_a_changed_image_is_made_smaller_or_refused(kind: str, changes: list[tuple[int, bytes, int]]) -> None:
    smaller = shrink(changed(IMAGES[kind], changes), 20, 100_000)
    assert smaller is None or image_type(smaller[1]) == smaller[0]


@pytest.mark.property
@pytest.mark.parametrize(("kind", "part"), [("word", "word/document.xml"), ("spreadsheet", "xl/worksheets/one.xml")])
@given(changes=CHANGES)
def test_a_changed_part_of_an_archive_is_read_or_refused(
    kind: str, part: str, changes: list[tuple[int, bytes, int]]
) -> None:
    with zipfile.ZipFile(io.BytesIO(ORIGINALS[kind])) as file:
        parts: dict[str, str | bytes] = {name: file.read(name) for name in file.namelist()}
        parts[part] = changed(file.read(part), changes)
    assert_read_or_refused(kind, archive(parts))
