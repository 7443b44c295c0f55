"""Documents made byte by byte, so that no program or library is needed to make them."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping, Sequence

WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
SHEET = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
RELATIONS = 'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"'
OFFICE = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'


def archive(parts: Mapping[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return buffer.getvalue()


def docx(body: str) -> bytes:
    return archive({"word/document.xml": f"<w:document {WORD}><w:body>{body}</w:body></w:document>"})


def xlsx(rows: str, *, strings: str = "", styles: str = "", sheets: int = 1) -> bytes:
    """A workbook whose sheets are all the same part."""
    listed = "".join(f'<sheet name="S{number}" r:id="r1"/>' for number in range(1, sheets + 1))
    return archive(
        {
            "xl/workbook.xml": f"<workbook {SHEET} {OFFICE}><sheets>{listed}</sheets></workbook>",
            "xl/_rels/workbook.xml.rels": (
                f'<Relationships {RELATIONS}><Relationship Id="r1" Target="worksheets/one.xml"/></Relationships>'
            ),
            "xl/sharedStrings.xml": f"<sst {SHEET}>{strings}</sst>",
            "xl/styles.xml": f"<styleSheet {SHEET}>{styles}</styleSheet>",
            "xl/worksheets/one.xml": f"<worksheet {SHEET}><sheetData>{rows}</sheetData></worksheet>",
        }
    )


def pdf(objects: Mapping[int, bytes], root: int = 1) -> bytes:
    """A PDF of these objects by their numbers."""
    data, places = b"%PDF-1.4\n", {}
    for number, content in objects.items():
        places[number] = len(data)
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    size = max(objects) + 1
    table = b"xref\n0 %d\n0000000000 65535 f \n" % size
    table += b"".join(b"%010d 00000 n \n" % places.get(number, 0) for number in range(1, size))
    return data + table + b"trailer\n<</Size %d/Root %d 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (size, root, len(data))


def stream(content: bytes, entries: bytes = b"") -> bytes:
    packed = zlib.compress(content, 9)
    return b"<</Length %d/Filter/FlateDecode%s>>\nstream\n%s\nendstream" % (len(packed), entries, packed)


def pages(content: bytes, count: int = 1, resources: bytes = b"/Font<</F1 5 0 R>>") -> dict[int, bytes]:
    """The objects of a PDF whose pages all have the same content, object 4; object 5 is a font."""
    kids = b" ".join(b"%d 0 R" % number for number in range(10, 10 + count))
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<<%s>>>>" % resources
    return {
        1: b"<</Type/Catalog/Pages 2 0 R>>",
        2: b"<</Type/Pages/Kids[%s]/Count %d>>" % (kids, count),
        4: content,
        5: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        **dict.fromkeys(range(10, 10 + count), page),
    }


def book(texts: Sequence[Sequence[str]]) -> bytes:
    """A PDF with these lines, page by page."""
    objects = pages(b"", len(texts))
    del objects[4]
    for number, lines in enumerate(texts):
        shown = "\n".join(f"({line}) Tj T*" for line in lines)
        content = 10 + len(texts) + number
        objects[10 + number] = objects[10 + number].replace(b"/Contents 4 0 R", b"/Contents %d 0 R" % content)
        objects[content] = stream(f"BT /F1 11 Tf 14 TL 72 720 Td\n{shown}\nET".encode())
    return pdf(objects)
