"""The text of a DOCX file: headings and list items marked as in Markdown, tables as rows with bars."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree as ET

from joey.tools.reading.documents import Extracted, counted
from joey.tools.reading.office import OfficeFile

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_BREAKS = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}
_LEFT_OUT = {f"{_W}del", f"{_W}moveFrom", f"{_W}instrText"}


def extract(data: bytes) -> Extracted:
    body = OfficeFile(data, "DOCX").part("word/document.xml").find(f"{_W}body")
    blocks = [] if body is None else list(_blocks(body))
    return Extracted(f"DOCX, {counted(len(blocks), 'paragraph')}", "\n".join(blocks))


def _blocks(parent: ET.Element) -> Iterator[str]:
    for child in parent:
        if child.tag == f"{_W}p":
            yield _prefix(child) + _text(child)
        elif child.tag == f"{_W}tbl":
            yield from (_row(row) for row in child.iter(f"{_W}tr"))
        elif child.tag in (f"{_W}sdt", f"{_W}sdtContent"):
            yield from _blocks(child)


def _row(row: ET.Element) -> str:
    cells = (" ".join(filter(None, map(_text, cell.iter(f"{_W}p")))) for cell in row.findall(f"{_W}tc"))
    return f"| {' | '.join(cells)} |"


def _prefix(paragraph: ET.Element) -> str:
    style = paragraph.find(f"{_W}pPr/{_W}pStyle")
    name = "" if style is None else style.get(f"{_W}val", "")
    if name.startswith("Heading") and name[7:].isdecimal():
        return "#" * min(int(name[7:]), 6) + " "
    return "- " if paragraph.find(f"{_W}pPr/{_W}numPr") is not None else ""


def _text(element: ET.Element) -> str:
    """The words in an element. What was deleted under tracked changes is not among them."""
    if element.tag == f"{_W}t":
        return element.text or ""
    if element.tag in _LEFT_OUT:
        return ""
    return _BREAKS.get(element.tag) or "".join(map(_text, element))
