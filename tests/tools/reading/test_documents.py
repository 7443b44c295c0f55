"""Documents made here byte by byte, so that no program or library is needed to make them."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from pathlib import Path

import pytest

from joey.bounded.documents import DocumentError, Extracted
from joey.tools.base import ToolContext
from joey.tools.builtin.read_file import ReadFile, ReadFileParams
from joey.tools.reading import kinds

WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
SHEET = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
RELATIONS = 'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"'
OFFICE = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'


def archive(**parts: str | bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return buffer.getvalue()


def extract(suffix: str, data: bytes) -> Extracted:
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        return kinds.extract(suffix, file.fileno())


def docx(body: str) -> bytes:
    return archive(**{"word/document.xml": f"<w:document {WORD}><w:body>{body}</w:body></w:document>"})


def paragraph(text: str, style: str = "") -> str:
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}<w:r><w:t>{text}</w:t></w:r></w:p>"


def xlsx(rows: str) -> bytes:
    styles = (
        f'<styleSheet {SHEET}><numFmts><numFmt numFmtId="170" formatCode="dd/mm/yy"/></numFmts>'
        '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="170"/><xf numFmtId="2"/></cellXfs></styleSheet>'
    )
    return archive(
        **{
            "xl/workbook.xml": (
                f'<workbook {SHEET} {OFFICE}><sheets><sheet name="Sales" r:id="r1"/></sheets></workbook>'
            ),
            "xl/_rels/workbook.xml.rels": (
                f'<Relationships {RELATIONS}><Relationship Id="r1" Target="worksheets/one.xml"/></Relationships>'
            ),
            "xl/sharedStrings.xml": (
                f"<sst {SHEET}><si><t>Name</t></si><si><r><t>two </t></r><r><t>runs</t></r></si></sst>"
            ),
            "xl/styles.xml": styles,
            "xl/worksheets/one.xml": f"<worksheet {SHEET}><sheetData>{rows}</sheetData></worksheet>",
        }
    )


def pdf(*lines: str) -> bytes:
    content = "BT /F1 12 Tf 72 700 Td 14 TL " + " ".join(f"({line}) Tj T*" for line in lines) + " ET"
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        f"<</Length {len(content)}>>\nstream\n{content}\nendstream",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    data, places = b"%PDF-1.4\n", []
    for number, text in enumerate(objects, 1):
        places.append(len(data))
        data += f"{number} 0 obj\n{text}\nendobj\n".encode()
    table = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n" + "".join(f"{each:010} 00000 n \n" for each in places)
    return data + f"{table}trailer\n<</Size {len(objects) + 1}/Root 1 0 R>>\nstartxref\n{len(data)}\n%%EOF\n".encode()


def test_a_pdf_gives_its_text_by_page() -> None:
    extracted = extract(".pdf", pdf("First line", "Second line"))
    assert extracted.source == "PDF, 1 page"
    assert extracted.text == "[Page 1]\nFirst line\nSecond line"


def test_a_page_without_text_is_reported_as_empty() -> None:
    assert "it may be a scanned image" in extract(".PDF", pdf()).text


@pytest.mark.parametrize("cut", [0, 5, 20, 100, 300])
def test_a_damaged_pdf_is_an_error_in_words(cut: int) -> None:
    with pytest.raises(DocumentError, match="PDF is damaged"):
        extract(".pdf", pdf("text")[:cut])


def test_a_docx_gives_headings_lists_and_tables() -> None:
    body = (
        paragraph("Title", "Heading1")
        + paragraph("Some text")
        + '<w:p><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>an item</w:t></w:r></w:p>'
        + "<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t></w:r><w:del><w:r><w:t>gone</w:t></w:r></w:del></w:p>"
        + f"<w:tbl><w:tr><w:tc>{paragraph('x')}</w:tc><w:tc>{paragraph('y')}</w:tc></w:tr></w:tbl>"
    )
    assert extract(".docx", docx(body)).text == "# Title\nSome text\n- an item\na\tb\n| x | y |"


def test_an_xlsx_gives_cells_under_their_sheet() -> None:
    rows = (
        '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="s"><v>1</v></c></row>'
        '<row r="3"><c r="A3"><v>1.5</v></c><c r="B3" t="b"><v>1</v></c>'
        '<c r="C3" t="inlineStr"><is><t>in</t></is></c></row>'
        '<row r="4"><c r="A4" s="1"><v>45292</v></c><c r="B4" s="2"><v>45292.75</v></c>'
        '<c r="C4" s="3"><v>2</v></c></row>'
    )
    extracted = extract(".xlsx", xlsx(rows))
    assert extracted.source == "XLSX, 1 sheet"
    assert extracted.text == (
        "[Sheet Sales]\n1: Name |  | two runs\n3: 1.5 | TRUE | in\n4: 2024-01-01 | 2024-01-01 18:00:00 | 2"
    )


@pytest.mark.parametrize("suffix", [".docx", ".xlsx"])
@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 not really", archive(other="x")])
def test_a_file_that_only_claims_to_be_a_document_is_an_error_in_words(suffix: str, data: bytes) -> None:
    with pytest.raises(DocumentError, match=r"this is no (DOCX|XLSX) file"):
        extract(suffix, data)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_document_type_declaration_is_refused_in_any_encoding(encoding: str) -> None:
    bomb = f'<?xml version="1.0" encoding="{encoding}"?><!DOCTYPE x [<!ENTITY a "aaaa">]><x>&a;</x>'
    with pytest.raises(DocumentError, match=r"document type declaration|no readable XML"):
        extract(".docx", archive(**{"word/document.xml": bomb.encode(encoding)}))


def test_a_notebook_gives_its_cells() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "words"]},
        {
            "cell_type": "code",
            "source": "1 + 1",
            "outputs": [{"output_type": "execute_result", "data": {"text/plain": "2"}}],
        },
        {
            "cell_type": "code",
            "source": "x",
            "outputs": [{"output_type": "error", "ename": "NameError", "evalue": "x"}],
        },
        {"cell_type": "code", "source": "p", "outputs": [{"output_type": "display_data", "data": {"image/png": "AA"}}]},
    ]
    assert extract(".ipynb", json.dumps({"cells": cells}).encode()).text == (
        "[Cell 1, markdown]\n# Title\nwords\n\n[Cell 2, code]\n1 + 1\n[Output] 2\n\n"
        "[Cell 3, code]\nx\n[Error] NameError: x\n\n[Cell 4, code]\np\n[Output]  (also image/png)"
    )


@pytest.mark.parametrize("data", [b"{", b"[]", b"{}", b'{"cells": 5}'])
def test_a_broken_notebook_is_an_error_in_words(data: bytes) -> None:
    with pytest.raises(DocumentError, match="the notebook"):
        extract(".ipynb", data)


async def test_read_file_numbers_the_lines_of_a_document_once(tmp_path: Path) -> None:
    (tmp_path / "letter.docx").write_bytes(docx(paragraph("Dear") + paragraph("Sir")))
    result = await ReadFile().run(ReadFileParams(path="letter.docx"), ToolContext(tmp_path, tmp_path))
    assert result.text == (
        "File: letter.docx\nText extracted from: DOCX, 2 paragraphs. "
        "Line numbers are those of this text, not of the file.\n1 | Dear\n2 | Sir"
    )
