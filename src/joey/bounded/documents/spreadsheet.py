"""The cells of an XLSX file: each sheet under its name, a row a line with its number, cells between bars.

Values are those stored with the file: results of formulas as the spreadsheet program last computed them, dates turned
from day counts into dates by their number format.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import BinaryIO
from xml.etree import ElementTree as ET

from joey.bounded.documents import DocumentError, Extracted, Room, counted
from joey.bounded.documents.office import RELATION_ID, OfficeFile

_S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_DATE_FORMATS = {*range(14, 23), *range(45, 48)}
_MAX_ROWS = 50_000
_MAX_COLUMNS = 16_384
_MAX_STRINGS = 32 * 1024 * 1024
_MAX_SHEETS = 1_000
_MAX_DIGITS = 10
_ERA = datetime(1899, 12, 30)  # noqa: DTZ001 - day counts have no time zone


def extract(file: BinaryIO) -> Extracted:
    book = _Book(file)
    sheets = [f"[Sheet {name}]\n{rows}" for name, rows in book.sheets()]
    return Extracted(f"XLSX, {counted(len(sheets), 'sheet')}", "\n\n".join(sheets), book.room.cut(f"row {book.row}"))


class _Book:
    def __init__(self, file: BinaryIO) -> None:
        self.room = Room(file)
        self.row = "0"
        """The number of the last row that was taken."""
        self._file = OfficeFile(file, "XLSX", self.room)
        self._strings = list(self._shared_strings())
        self._date_styles = _date_styles(self._file)

    def _shared_strings(self) -> Iterator[str]:
        size = 0
        for item in self._elements("xl/sharedStrings.xml", "si", "sst"):
            text = "".join(_texts(item))
            size += len(text) + 64  # what a string takes besides
            self.room.earn(text)
            if size > _MAX_STRINGS:
                raise DocumentError(
                    f"its texts have more than {_MAX_STRINGS // 1024**2} MB; save it as CSV and read that"
                )
            yield text

    def _elements(self, part: str, wanted: str, *inside: str) -> Iterator[ET.Element]:
        if part not in self._file:
            return iter(())
        return self._file.elements(part, {f"{_S}{wanted}"}, {f"{_S}{each}" for each in inside})

    def sheets(self) -> Iterator[tuple[str, str]]:
        targets = self._file.relations("xl/_rels/workbook.xml.rels")
        listed = self._file.elements("xl/workbook.xml", {f"{_S}sheet"}, {f"{_S}workbook", f"{_S}sheets"})
        for count, sheet in enumerate(listed):
            if self.room.spent or count >= _MAX_SHEETS:
                return
            target = targets.get(sheet.get(RELATION_ID, ""), "")
            part = posixpath.normpath(posixpath.join("/xl", target)).lstrip("/")
            yield sheet.get("name", ""), self._rows(part) if part in self._file else "(not a table)"

    def _rows(self, part: str) -> str:
        lines: list[str] = []
        for count, row in enumerate(self._elements(part, "row", "worksheet", "sheetData"), 1):
            if count > _MAX_ROWS:
                lines.append(f"(more rows: only the first {_MAX_ROWS:,} are shown)")
                break
            cells = self._cells(row)
            number = row.get("r", str(count))[:_MAX_DIGITS]
            line = f"{number}: {' | '.join(cells)}" if any(cells) else ""
            if not self.room.take(line):
                break
            self.row = number
            lines += [line] if line else []
        return "\n".join(lines) or ("(not read)" if self.room.spent else "(empty)")

    def _cells(self, row: ET.Element) -> list[str]:
        values: list[str] = []
        for cell in row.findall(f"{_S}c"):
            column = _column(cell.get("r", ""))
            values += [""] * (min(column, _MAX_COLUMNS) - 1 - len(values))
            values.append(self._value(cell))
            if len(values) >= _MAX_COLUMNS:
                break
        return values

    def _value(self, cell: ET.Element) -> str:
        kind, stored = cell.get("t", "n"), cell.findtext(f"{_S}v") or ""
        if kind == "inlineStr":
            return "".join(_texts(cell))
        if kind == "s":
            known = stored.isdecimal() and len(stored) < _MAX_DIGITS and int(stored) < len(self._strings)
            return self._strings[int(stored)] if known else stored
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
    for letter in re.match("[A-Z]{0,4}", reference).group():  # type: ignore[union-attr]  # it matches the empty string
        number = number * 26 + ord(letter) - 64
    return number


def _date_styles(file: OfficeFile) -> set[str]:
    """The cell styles (by index, as cells name them) that show their number as a date or a time."""
    if "xl/styles.xml" not in file:
        return set()
    own: dict[str, str] = {}
    shown: set[str] = set()
    wanted = {f"{_S}numFmt", f"{_S}cellXfs"}
    for element in file.elements("xl/styles.xml", wanted, {f"{_S}styleSheet", f"{_S}numFmts"}):
        if element.tag == f"{_S}numFmt":
            own[element.get("numFmtId", "")] = element.get("formatCode", "")[:1_000]
        else:
            formats = [each.get("numFmtId", "0") for each in element.findall(f"{_S}xf")]
            shown = {str(index) for index, number in enumerate(formats) if _shows_date(number, own)}
    return shown


def _shows_date(number: str, own: dict[str, str]) -> bool:
    if number in own:
        return bool(re.search("[ymdhs]", re.sub(r'"[^"]*"|\[[^\]]*\]|\\.', "", own[number]), re.IGNORECASE))
    return number.isdecimal() and len(number) < _MAX_DIGITS and int(number) in _DATE_FORMATS


def _date(stored: str) -> str:
    try:
        moment = _ERA + timedelta(seconds=round(float(stored) * 86_400))
    except (ValueError, OverflowError):
        return stored
    if float(stored) < 1:
        return moment.strftime("%H:%M:%S")
    return moment.strftime("%Y-%m-%d" if float(stored).is_integer() else "%Y-%m-%d %H:%M:%S")
