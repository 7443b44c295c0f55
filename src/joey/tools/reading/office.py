"""The XML inside DOCX and XLSX files, which are zip archives, read without trusting them.

A few kilobytes of zip can unpack to gigabytes, and a document type declaration can make a small XML file as large as
it likes: so a part is unpacked only up to a limit, and a part with a declaration is refused. The text is decoded here,
not by the XML parser, so that no encoding can hide such a declaration. (Office programs write UTF-8, without one.)
"""

from __future__ import annotations

import io
import zipfile
import zlib
from xml.etree import ElementTree as ET

from joey.tools.reading.documents import DocumentError

_MAX_PART = 64 * 1024 * 1024
_RELATIONS = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
RELATION_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


class OfficeFile:
    """An open DOCX or XLSX file."""

    def __init__(self, data: bytes, kind: str) -> None:
        self._kind = kind
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, ValueError, OSError) as problem:
            raise DocumentError(f"this is no {kind} file, or a damaged one ({problem})") from None

    def part(self, name: str) -> ET.Element:
        """One XML part, such as `word/document.xml`."""
        element = self.optional_part(name)
        if element is None:
            raise DocumentError(f"this is no {self._kind} file, or a damaged one (it has no {name})")
        return element

    def optional_part(self, name: str) -> ET.Element | None:
        try:
            with self._archive.open(name) as part:
                data = part.read(_MAX_PART + 1)
        except KeyError:
            return None
        except (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError, NotImplementedError) as problem:
            raise DocumentError(f"{name} in the {self._kind} file cannot be unpacked ({problem})") from None
        return _parsed(name, data)

    def relations(self, name: str) -> dict[str, str]:
        """The targets of a part's relations by their ids."""
        element = self.optional_part(name)
        found = () if element is None else element.iter(_RELATIONS)
        return {each.get("Id", ""): each.get("Target", "") for each in found}


def _parsed(name: str, data: bytes) -> ET.Element:
    if len(data) > _MAX_PART:
        raise DocumentError(f"{name} in the file is larger than {_MAX_PART // 1024**2} MB when unpacked")
    try:
        text = data.decode("utf-8-sig")
        if "<!DOCTYPE" in text or "<!ENTITY" in text:
            raise DocumentError(f"{name} in the file has a document type declaration, which is not safe to read")
        return ET.fromstring(text)  # noqa: S314 - declarations are refused above
    except (UnicodeDecodeError, ET.ParseError, ValueError) as problem:
        raise DocumentError(f"{name} in the file is no readable XML ({problem})") from None
