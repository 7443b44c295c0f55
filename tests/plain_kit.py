"""Terminals for tests of plain lines: a stream that says it is one, with what stands on it then; and a real one."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import pty
import re

from joey.app.services import Choices
from joey.terminal.plain.app import Plain
from screen_kit import ScratchServices

_CODE = re.compile(r"\x1b\[[?0-9;]*[A-Za-z]|\x1b[78]")
_PIECE = re.compile(r"\x1b\[[?0-9;]*[A-Za-z]|\x1b[78]|.|\n", re.DOTALL)


class Screen(io.StringIO):
    """A terminal, as far as a stream can tell."""

    def isatty(self) -> bool:
        return True

    @property
    def rows(self) -> list[str]:
        """What stands on it, with the codes that plain lines use carried out; nothing is wrapped."""
        rows, row, column, kept = [""], 0, 0, 0
        for piece in _PIECE.findall(self.getvalue()):
            match piece:
                case "\n":
                    row, column = row + 1, 0
                    rows += [""] * (row == len(rows))
                case "\r":
                    column = 0
                case "\x1b7":
                    kept = column
                case "\x1b8":
                    column = kept
                case "\x1b[2K":
                    rows[row] = ""
                case "\x1b[1A":
                    row -= 1
                case _ if len(piece) == 1:
                    rows[row] = rows[row].ljust(column)[:column] + piece + rows[row][column + 1 :]
                    column += 1
        return [line.rstrip() for line in rows]


class PlainTerminal:
    """Plain lines at a pseudo-terminal, with somebody who reads and types."""

    def __init__(self, services: ScratchServices, resume: str | None = None) -> None:
        self.services = services
        self._controller, self._terminal = pty.openpty()
        os.set_blocking(self._controller, False)
        self._out = os.fdopen(os.dup(self._terminal), "w")
        self.running = asyncio.ensure_future(Plain(services, Choices(resume=resume), self._out).run(self._terminal))
        self.shown = ""

    def type(self, text: str) -> None:
        os.write(self._controller, text.encode())

    async def until(self, text: str) -> str:
        """Read until this has been shown, from there on where the last one ended; returns what came before it."""
        for _ in range(3_000):
            if text in self.shown:
                break
            await asyncio.sleep(0.01)
            with contextlib.suppress(BlockingIOError):
                self.shown += _CODE.sub("", os.read(self._controller, 65536).decode("utf-8", "replace"))
        assert text in self.shown, f"{text!r} is not in {self.shown[:2_000]}"
        before, _, self.shown = self.shown.partition(text)
        return before

    async def close(self) -> None:
        self.running.cancel()
        await asyncio.gather(self.running, return_exceptions=True)
        self._out.close()
        os.close(self._terminal)
        os.close(self._controller)
