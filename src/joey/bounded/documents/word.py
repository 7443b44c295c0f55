"""The text of a DOCX file: headings and list items marked as in Markdown, tables as rows with bars."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO
from xml.etree import ElementTree as ET

from joey.bounded.documents import Extracted, Room, counted
from joey.bounded.documents.office import OfficeFile

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_BREAKS = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}
_LEFT_OUT = {f"{_W}del", f"{_W}moveFrom", f"{_W}instrText"}
_WANTED = {f"{_W}p", f"{_W}tr"}
_INSIDE = {f"{_W}{name}" for name in ("document", "body", "tbl", "sdt", "sdtContent")}


def extract(file: BinaryIO) -> Extracted:
    blocks: list[str] = []
    room = Room(file)
    for element in OfficeFile(file, "DOCX", room).elements("word/document.xml", _WANTED, _INSIDE):
        for block in _blocks(element):
            if not room.take(block):
                return _extracted(blocks, room)
            blocks.append(block)
    return _extracted(blocks, room)


def _extracted(blocks: list[str], room: Room) -> Extracted:
    count = counted(len(blocks), "paragraph")
    return Extracted(f"DOCX, {count}", "\n".join(blocks), room.cut(count))


def _blocks(element: ET.Element) -> Iterator[str]:
    if element.tag == f"{_W}p":
        yield _prefix(element) + _text(element)
    else:
        yield from (_row(row) for row in element.iter(f"{_W}tr"))


def _row(row: ET.Element) -> str:
    cells = (" ".join(filter(None, map(_text, cell.iter(f"{_W}p")))) for cell in row.findall(f"{_W}tc"))
    return f"| {' | '.join(cells)} |"


def _prefix(paragraph: ET.Element) -> str:
    style = paragraph.find(f"{_W}pPr/{_W}pStyle")
    name = "" if style is None else style.get(f"{_W}val", "")
    if name.startswith("Heading") and name[7:].isdecimal():
        return "#" * min(int(name[7:9]), 6) + " "
    return "- " if paragraph.find(f"{_W}pPr/{_W}numPr") is not None else ""


def _text(element: ET.Element) -> str:
    """The words in an element. What was deleted under tracked changes is not among them."""
    if element.tag == f"{_W}t":
        return element.text or ""
    if element.tag in _LEFT_OUT:
        return ""
    return _BREAKS.get(element.tag) or "".join(map(_text, element))
