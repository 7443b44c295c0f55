"""The XML inside DOCX and XLSX files, which are zip archives, read piece by piece and without trusting it.

A few kilobytes of zip can unpack to gigabytes, and a tree of elements takes fifty times the memory of its text. So a
part is unpacked while it is parsed, up to a limit, and only one wanted element (a row, a paragraph) is there at a time.
A document type declaration, with which a small file can be as large as it likes, is refused, in whatever encoding it
stands; elements nest up to a limit.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from typing import BinaryIO
from xml.etree import ElementTree as ET
from xml.parsers import expat

from joey.bounded.documents import DocumentError, Room

MAX_PART = 64 * 1024 * 1024
MAX_DEPTH = 100
MAX_SKIPPED = 500_000
"""Elements of a part that are of no use."""
_MAX_PARTS = 10_000
_PIECE = 64 * 1024
_BROKEN = (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError, NotImplementedError, ValueError)
_RELATIONS = "{http://schemas.openxmlformats.org/package/2006/relationships}"
RELATION_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


class OfficeFile:
    """An open DOCX or XLSX file."""

    def __init__(self, file: BinaryIO, kind: str, room: Room) -> None:
        self._kind, self._room = kind, room
        try:
            self._archive = zipfile.ZipFile(file)
        except _BROKEN as problem:
            raise DocumentError(f"this is no {kind} file, or a damaged one ({problem})") from None
        if len(self._archive.filelist) > _MAX_PARTS:
            raise DocumentError(f"the {kind} file has more than {_MAX_PARTS:,} parts")

    def __contains__(self, name: str) -> bool:
        return name in self._archive.NameToInfo

    def elements(self, name: str, wanted: Collection[str], inside: Collection[str]) -> Iterator[ET.Element]:
        """The wanted elements of a part, one after the other, looked for only in elements named in `inside`.

        It ends early if the room is spent, whatever has been read of an element by then.
        """
        if name not in self:
            raise DocumentError(f"this is no {self._kind} file, or a damaged one (it has no {name})")
        found: list[ET.Element] = []
        parser = _Parser(name, wanted, inside, found.append)
        for piece in self._pieces(name):
            parser.feed(piece)
            yield from found
            found.clear()
            if self._room.spent:
                return
        parser.close()
        yield from found

    def _pieces(self, name: str) -> Iterator[bytes]:
        size = 0
        try:
            with self._archive.open(name) as part:
                while piece := part.read(_PIECE):
                    size += len(piece)
                    if size > MAX_PART:
                        raise DocumentError(f"{name} in the file is larger than {MAX_PART // 1024**2} MB when unpacked")
                    yield piece
        except _BROKEN as problem:
            raise DocumentError(f"{name} in the {self._kind} file cannot be unpacked ({problem})") from None

    def relations(self, name: str) -> dict[str, str]:
        """The targets of a part's relations by their ids."""
        tags = {f"{_RELATIONS}Relationship"}, {f"{_RELATIONS}Relationships"}
        found = self.elements(name, *tags) if name in self else ()
        return {each.get("Id", ""): each.get("Target", "") for each in found}


class _Parser:
    """Builds the wanted elements, and forgets everything else."""

    def __init__(
        self, name: str, wanted: Collection[str], inside: Collection[str], found: Callable[[ET.Element], None]
    ) -> None:
        self._name, self._wanted, self._inside, self._found = name, wanted, inside, found
        self._depth = self._skipped = self._useless = 0
        self._builder: ET.TreeBuilder | None = None
        self._begun = 0
        self._parser = expat.ParserCreate(namespace_separator="}")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.StartDoctypeDeclHandler = self._declaration

    def feed(self, data: bytes) -> None:
        self._parse(data, last=False)

    def close(self) -> None:
        self._parse(b"", last=True)

    def _parse(self, data: bytes, *, last: bool) -> None:
        try:
            self._parser.Parse(data, last)
        except (expat.ExpatError, ValueError, LookupError) as problem:
            raise DocumentError(f"{self._name} in the file is no readable XML ({problem})") from None

    def _declaration(self, *_: object) -> None:
        raise DocumentError(f"{self._name} in the file has a document type declaration, which is not safe to read")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise DocumentError(f"{self._name} in the file is nested more than {MAX_DEPTH} levels deep")
        tag = _qualified(tag)
        if self._builder is None and not self._skipped:
            if tag in self._wanted:
                self._builder, self._begun = ET.TreeBuilder(), self._depth
            elif tag not in self._inside:
                self._skipped = self._depth
        if self._builder is None:
            self._count_useless()
        else:
            self._builder.start(tag, {_qualified(name): value for name, value in attributes.items()})

    def _count_useless(self) -> None:
        self._useless += 1
        if self._useless > MAX_SKIPPED:
            raise DocumentError(f"{self._name} in the file has more than {MAX_SKIPPED:,} elements without text")

    def _end(self, tag: str) -> None:
        if self._builder is not None:
            self._builder.end(_qualified(tag))
            if self._depth == self._begun:
                self._found(self._builder.close())
                self._builder = None
        elif self._skipped == self._depth:
            self._skipped = 0
        self._depth -= 1

    def _text(self, text: str) -> None:
        if self._builder is not None:
            self._builder.data(text)


def _qualified(name: str) -> str:
    return f"{{{name}" if "}" in name else name
