"""What the user typed before, kept between runs: one file of the user's, in which each line is a JSON object.

    {"folder": "/home/me/project", "text": "fix the tests"}

A terminal offers what was typed in its folder. Several may write at once: each adds its own lines at the end. The file
is for the user's eyes alone; what begins with a space is not kept. It is cut to its newest lines when it is read and
has grown to twice of what it should hold. A line that cannot be read is left out, and where nothing can be written
the terminal works all the same.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

from joey.system.folders import private_file
from joey.system.user_files import add_lines

KEPT = 1_000
"""How many lines the file has when it was cut."""
_MAX_LENGTH = 20_000
"""What is longer was pasted, not typed."""


class InputHistory:
    """The file, for one folder."""

    def __init__(self, file: Path, folder: Path) -> None:
        self._file = file
        self._folder = str(folder)

    def read(self) -> list[str]:
        """What was typed here, the oldest first."""
        try:
            lines = self._file.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return []
        if len(lines) > 2 * KEPT:
            lines = lines[-KEPT:]
            self._rewrite(lines)
        return [text for line in lines if (text := self._text_of(line))]

    def add(self, text: str) -> None:
        if not text or text.startswith(" ") or len(text) > _MAX_LENGTH:
            return
        line = json.dumps({"folder": self._folder, "text": text}) + "\n"
        with contextlib.suppress(OSError):
            add_lines(self._file, line.encode())

    def _text_of(self, line: str) -> str:
        try:
            entry = json.loads(line)
        except ValueError:
            return ""
        known = isinstance(entry, dict) and entry.get("folder") == self._folder and isinstance(entry.get("text"), str)
        return entry["text"] if known else ""

    def _rewrite(self, lines: list[str]) -> None:
        new = self._file.with_suffix(f".{os.getpid()}")
        with contextlib.suppress(OSError):
            with open(new, "w", encoding="utf-8", opener=private_file) as file:
                file.write("\n".join(lines) + "\n")
            new.replace(self._file)
