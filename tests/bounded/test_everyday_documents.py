"""Documents as large as people have them are read whole, within what hostile ones are held to."""

from __future__ import annotations

import random
from pathlib import Path

from documents_kit import book, docx, xlsx
from joey.bounded.documents import Extracted
from joey.tools.reading.kinds import extract

MIXED = random.Random(1)
WORDS = ["".join(MIXED.choices("abcdefghijklmnopqrstuvwxyz", k=MIXED.randint(2, 10))) for _ in range(2_000)]


def read(path: Path, data: bytes) -> Extracted:
    path.write_bytes(data)
    with path.open("rb") as file:
        return extract(path.suffix, file.fileno())


def test_a_book_of_300_pages(tmp_path: Path) -> None:
    pages = [[" ".join(MIXED.choices(WORDS, k=12)) for _ in range(40)] for _ in range(300)]
    found = read(tmp_path / "book.pdf", book(pages))
    assert (found.source, found.cut) == ("PDF, 300 pages", "")
    assert found.text.endswith(pages[-1][-1])


def test_a_sheet_of_20_000_rows(tmp_path: Path) -> None:
    strings = "".join(f"<si><t>{each}</t></si>" for each in WORDS)
    texts = "".join(f'<c t="s"><v>{MIXED.randrange(len(WORDS))}</v></c><c><v>{MIXED.random()}</v></c>' for _ in "abc")
    rows = "".join(f'<row r="{number}">{texts}</row>' for number in range(1, 20_001))
    found = read(tmp_path / "sheet.xlsx", xlsx(rows, strings=strings))
    assert (found.source, found.cut) == ("XLSX, 1 sheet", "")
    assert found.text.splitlines()[-1].startswith("20000: ")


def _cell(word: str) -> str:
    return f"<w:tc><w:p><w:r><w:t>{word} {MIXED.random()}</w:t></w:r></w:p></w:tc>"


def test_a_table_of_10_000_rows_in_a_text(tmp_path: Path) -> None:
    rows = "".join(f"<w:tr>{''.join(map(_cell, MIXED.choices(WORDS, k=8)))}</w:tr>" for _ in range(10_000))
    found = read(tmp_path / "text.docx", docx(f"<w:tbl>{rows}</w:tbl>"))
    assert (found.source, found.cut) == ("DOCX, 10,000 paragraphs", "")
