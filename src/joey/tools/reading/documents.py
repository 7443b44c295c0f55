"""The text in files that are not text: PDF, DOCX, XLSX and notebooks.

Each kind has a module with `extract(data) -> Extracted`, imported when the first such file is read. What they raise
on a file they cannot read is a DocumentError with words for the model; everything else is a bug.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from joey.errors import JoeyError

_MODULES = {".pdf": "pdf", ".docx": "word", ".xlsx": "spreadsheet", ".ipynb": "notebook"}


class DocumentError(JoeyError):
    """The document cannot be read, and why."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """The text of a document, and what it was taken from: `PDF, 12 pages`."""

    source: str
    text: str


def is_document(suffix: str) -> bool:
    return suffix.lower() in _MODULES


def extract(suffix: str, data: bytes) -> Extracted:
    """The text of a document of the kind its suffix names."""
    module = import_module(f"joey.tools.reading.{_MODULES[suffix.lower()]}")
    extracted: Extracted = module.extract(data)
    return extracted


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
