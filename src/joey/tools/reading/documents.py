"""The text of PDF, DOCX, XLSX and notebooks, read by `joey.bounded.documents` in a bounded process."""

from __future__ import annotations

import json

from joey.bounded.documents import MODULES, DocumentError, Extracted
from joey.bounded.process import LimitError, run_bounded


def is_document(suffix: str) -> bool:
    return suffix.lower() in MODULES


def extract(suffix: str, file: int) -> Extracted:
    """The text of a document of the kind its suffix names, from a descriptor of it. Blocks. Raises DocumentError."""
    try:
        answer = json.loads(run_bounded("joey.bounded.documents", [suffix.lower()], file))
    except LimitError as problem:
        raise DocumentError(f"{problem}; if you need it, use a program for it with execute_command") from None
    if "error" in answer:
        raise DocumentError(answer["error"])
    return Extracted(**answer)
