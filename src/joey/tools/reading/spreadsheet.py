"""The cells of an XLSX file: each sheet under its name, a row a line with its number, cells between bars.

Values are those stored with the file: results of formulas as the spreadsheet program last computed them, dates turned
from day counts into dates by their number format.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from xml.etree import ElementTree as ET

from joey.tools.reading.documents import Extracted, counted
from joey.tools.reading.office import RELATION_ID, OfficeFile

_S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_DATE_FORMATS = {*range(14, 23), *range(45, 48)}
_MAX_ROWS = 50_000
_ERA = datetime(1899, 12, 30)  # noqa: DTZ001 - day counts have no time zone


def extract(data: bytes) -> Extracted:
    book = _Book(OfficeFile(data, "XLSX"))
    sheets = [f"[Sheet {name}]\n{rows}" for name, rows in book.sheets()]
    return Extracted(f"XLSX, {counted(len(sheets), 'sheet')}", "\n\n".join(sheets))


class _Book:
    def __init__(self, file: OfficeFile) -> None:
        self._file = file
        strings = file.optional_part("xl/sharedStrings.xml")
        self._strings = [] if strings is None else ["".join(_texts(item)) for item in strings.findall(f"{_S}si")]
        self._date_styles = _date_styles(file.optional_part("xl/styles.xml"))

    def sheets(self) -> Iterator[tuple[str, str]]:
        targets = self._file.relations("xl/_rels/workbook.xml.rels")
        for sheet in self._file.part("xl/workbook.xml").iter(f"{_S}sheet"):
            target = targets.get(sheet.get(RELATION_ID, ""), "")
            part = posixpath.normpath(posixpath.join("/xl", target)).lstrip("/")
            element = self._file.optional_part(part)
            yield sheet.get("name", ""), "(not a table)" if element is None else self._rows(element)

    def _rows(self, sheet: ET.Element) -> str:
        lines = []
        for count, row in enumerate(sheet.iter(f"{_S}row"), 1):
            if count > _MAX_ROWS:
                lines.append(f"(more rows: only the first {_MAX_ROWS:,} are shown)")
                break
            cells = self._cells(row)
            if any(cells):
                lines.append(f"{row.get('r', count)}: {' | '.join(cells)}")
        return "\n".join(lines) or "(empty)"

    def _cells(self, row: ET.Element) -> list[str]:
        values: list[str] = []
        for cell in row.findall(f"{_S}c"):
            column = _column(cell.get("r", ""))
            values += [""] * (min(column, 16_384) - 1 - len(values))
            values.append(self._value(cell))
        return values

    def _value(self, cell: ET.Element) -> str:
        kind, stored = cell.get("t", "n"), cell.findtext(f"{_S}v") or ""
        if kind == "inlineStr":
            return "".join(_texts(cell))
        if kind == "s":
            return self._strings[int(stored)] if stored.isdecimal() and int(stored) < len(self._strings) else stored
        if kind == "b":
            return "TRUE" if stored == "1" else "FALSE"
        if kind == "n" and cell.get("s") in self._date_styles:
            return _date(stored)
        return stored


def _texts(item: ET.Element) -> Iterator[str]:
    """The text of a string, without the reading aids of Asian scripts that may be stored with it."""
    for child in item:
        if child.tag == f"{_S}t":
            yield child.text or ""
        elif child.tag != f"{_S}rPh":
            yield from _texts(child)


def _column(reference: str) -> int:
    number = 0
    for letter in re.match("[A-Z]*", reference).group():  # type: ignore[union-attr]  # it matches the empty string
        number = number * 26 + ord(letter) - 64
    return number


def _date_styles(styles: ET.Element | None) -> set[str]:
    """The cell styles (by index, as cells name them) that show their number as a date or a time."""
    if styles is None:
        return set()
    own = {each.get("numFmtId", ""): each.get("formatCode", "") for each in styles.iter(f"{_S}numFmt")}
    formats = (each.get("numFmtId", "0") for each in styles.iterfind(f"{_S}cellXfs/{_S}xf"))
    return {str(index) for index, number in enumerate(formats) if _shows_date(number, own)}


def _shows_date(number: str, own: dict[str, str]) -> bool:
    if number in own:
        return bool(re.search("[ymdhs]", re.sub(r'"[^"]*"|\[[^\]]*\]|\\.', "", own[number]), re.IGNORECASE))
    return number.isdecimal() and int(number) in _DATE_FORMATS


def _date(stored: str) -> str:
    try:
        moment = _ERA + timedelta(seconds=round(float(stored) * 86_400))
    except (ValueError, OverflowError):
        return stored
    if float(stored) < 1:
        return moment.strftime("%H:%M:%S")
    return moment.strftime("%Y-%m-%d" if float(stored).is_integer() else "%Y-%m-%d %H:%M:%S")
