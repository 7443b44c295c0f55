"""The input in the user's own editor: $VISUAL, $EDITOR, or what is there."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from joey.errors import JoeyError

_USUAL = ("nano", "vim", "vi", "emacs")


class NoEditorError(JoeyError):
    """The text was not edited; the message says why."""


def editor_command(environment: Mapping[str, str] = os.environ) -> list[str]:
    """The editor's command line, without the file. Raises NoEditorError."""
    named = environment.get("VISUAL") or environment.get("EDITOR") or ""
    try:
        words = shlex.split(named)
    except ValueError:
        raise NoEditorError(f"$EDITOR cannot be read as a command: {named}") from None
    words = words or [each for each in map(shutil.which, _USUAL) if each][:1]
    if not words or shutil.which(words[0]) is None:
        raise NoEditorError(f"The editor {words[0]!r} was not found; set $EDITOR." if words else "Set $EDITOR first.")
    return words


async def edited(text: str, command: list[str]) -> str:
    """The text as it is when the editor was closed. Raises NoEditorError if the editor failed."""
    with tempfile.TemporaryDirectory(prefix="joey-edit-") as folder:
        file = Path(folder) / "message.md"
        file.write_text(text, encoding="utf-8")
        try:
            process = await asyncio.create_subprocess_exec(*command, str(file))
            if code := await process.wait():
                raise NoEditorError(
                    f"{command[0]} ended with exit code {code}; nothing was taken over, your text is as it was."
                )
            return file.read_text(encoding="utf-8", errors="replace").removesuffix("\n")
        except OSError as error:
            raise NoEditorError(f"{command[0]} did not edit the text: {error.strerror}.") from None
