"""The text of a PDF, page by page. Scanned pages have none: they are pictures, and are named as such."""

from __future__ import annotations

import io
import logging

from pypdf import PdfReader
from pypdf.errors import PyPdfError

from joey.tools.reading.documents import DocumentError, Extracted, counted

# pypdf tells the log about every oddity of a file; a tool's log is not where anybody would look for that.
logging.getLogger("pypdf").setLevel(logging.CRITICAL)

_BROKEN = (
    PyPdfError,
    ValueError,
    KeyError,
    IndexError,
    TypeError,
    AttributeError,
    OSError,
    RecursionError,
    OverflowError,
)
"""What pypdf raises on files that are not what they claim to be."""


def extract(data: bytes) -> Extracted:
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise DocumentError("the PDF is protected by a password")
        pages = [_page(number, page.extract_text()) for number, page in enumerate(reader.pages, 1)]
    except _BROKEN as problem:
        raise DocumentError(f"the PDF is damaged ({problem})") from None
    except ImportError:
        raise DocumentError("the PDF is encrypted in a way that cannot be read here") from None
    return Extracted(f"PDF, {counted(len(pages), 'page')}", "\n\n".join(pages))


def _page(number: int, text: str) -> str:
    return f"[Page {number}]\n{text.strip() or '(no text on this page; it may be a scanned picture)'}"
