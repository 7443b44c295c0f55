"""The text of a PDF, page by page. Scanned pages have none: they are images, and are named as such.

A page may ask for any amount of work, so each has half a second, or its share of what is left, counted by the clock of
the processor and ended by its signal; a page that takes longer is named and left out. What is raised then is no
Exception, or pypdf would take it for one of the mistakes in files that it passes over.
"""

from __future__ import annotations

import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from pypdf import PageObject, PdfReader
from pypdf.errors import PyPdfError

from joey.bounded.documents import DocumentError, Extracted, Room, counted

# pypdf tells the log about every oddity of a file; a tool's log is not where anybody would look for that.
logging.getLogger("pypdf").setLevel(logging.CRITICAL)

_PAGE_SECONDS = 0.5
_SHARE = 0.9
_AGAIN = 0.1
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
    ArithmeticError,
    AssertionError,
    NotImplementedError,
)
"""What pypdf raises on files that are not what they claim to be."""


class _TooLong(BaseException):
    """The time is over."""


def extract(file: BinaryIO) -> Extracted:
    room = Room(file)
    try:
        with _within(room.seconds_left):
            reader = PdfReader(file)
            if reader.is_encrypted and not reader.decrypt(""):
                raise DocumentError("the PDF is protected by a password")
            total = len(reader.pages)
    except _BROKEN as problem:
        raise _damaged(problem) from None
    except ImportError:
        raise DocumentError("the PDF is encrypted in a way that cannot be read here") from None
    except _TooLong:
        raise DocumentError(f"its table of objects takes more than {room.seconds:.1f} seconds to read") from None
    pages = list[str]()
    for number in range(1, total + 1):
        seconds = max(_PAGE_SECONDS, _SHARE * room.seconds_left / (total - number + 1))
        page = _page(number, reader, seconds)
        if not room.take(page):
            break
        pages.append(page)
    stop = f"{len(pages):,} of {counted(total, 'page')}"
    return Extracted(f"PDF, {counted(total, 'page')}", "\n\n".join(pages), room.cut(stop))


def _page(number: int, reader: PdfReader, seconds: float) -> str:
    try:
        with _within(seconds):
            text = _text(reader.pages[number - 1])
    except _BROKEN as problem:
        raise _damaged(problem) from None
    except _TooLong:
        text = f"(this page is left out: reading it takes more than {seconds:.1f} seconds)"
    except MemoryError:
        text = "(this page is left out: reading it takes too much memory)"
    return f"[Page {number}]\n{text or '(no text on this page; it may be a scanned image)'}"


def _text(page: PageObject) -> str:
    return page.extract_text().strip()


def _damaged(problem: BaseException) -> DocumentError:
    return DocumentError(f"the PDF is damaged ({str(problem)[:300]})")


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    def end(*_: object) -> None:
        raise _TooLong

    signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, seconds, _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
