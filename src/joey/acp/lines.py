"""The lines of standard input, read without Python's own buffer: its lock, held by a thread that waits for input, would
make a process that ends by a signal abort."""

from __future__ import annotations

import os

MAX_LINE = 64 * 1024 * 1024
_PIECE = 64 * 1024


class InputLines:
    """Lines of a file descriptor, one after the other."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._buffer = bytearray()

    def next(self) -> bytes:
        """The next line with its end; empty at the end of the input. Of one that is too long, the beginning, which is
        longer than MAX_LINE, so that whoever reads it can tell."""
        start = 0
        while (end := self._buffer.find(b"\n", start)) < 0:
            del self._buffer[MAX_LINE + 1 :]
            start = len(self._buffer)
            if not (piece := self._read()):
                break
            self._buffer += piece
        size = end + 1 if end >= 0 else len(self._buffer)
        line = bytes(self._buffer[:size])
        del self._buffer[:size]
        return line

    def _read(self) -> bytes:
        try:
            return os.read(self._descriptor, _PIECE)
        except OSError:
            return b""  # closed under our hands: it is the end
