"""Images from the clipboard, through the program that this kind of desktop has for it.

    Wayland   wl-paste      X11   xclip      macOS   pngpaste

A terminal sends text when something is pasted, and an image not at all; so Ctrl+V looks here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from joey.errors import JoeyError
from joey.images.sizing import image_type

_SECONDS = 5.0
_OTHERWISE = "or type the path of an image file"


class NoClipboardImageError(JoeyError):
    """There is no image to paste; the text says why and what to do."""


Find = Callable[[str], str | None]


def paste_command(environment: Mapping[str, str], platform: str = sys.platform, find: Find = shutil.which) -> list[str]:
    """The command that prints the image in the clipboard. Raises NoClipboardImageError where there is none."""
    if platform == "darwin":
        return [_found("pngpaste", "pngpaste (brew install pngpaste)", find), "-"]
    if environment.get("WAYLAND_DISPLAY"):
        return [_found("wl-paste", "wl-clipboard", find), "--no-newline", "--type", "image/png"]
    if environment.get("DISPLAY"):
        return [_found("xclip", "xclip", find), "-selection", "clipboard", "-target", "image/png", "-out"]
    raise NoClipboardImageError(f"There is no clipboard here: no desktop session is known; {_OTHERWISE}.")


def _found(program: str, package: str, find: Find) -> str:
    path = find(program)
    if path is None:
        raise NoClipboardImageError(f"To paste images, {program} is needed; install {package}, {_OTHERWISE}.")
    return path


def read_image(command: Sequence[str]) -> bytes:
    """What the command prints, if it is an image. Raises NoClipboardImageError."""
    try:
        done = subprocess.run(  # noqa: S603 - one of the programs above, with arguments of ours
            command, capture_output=True, timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        raise NoClipboardImageError(f"The clipboard could not be read with {command[0]}; {_OTHERWISE}.") from None
    if done.returncode or image_type(done.stdout) is None:
        raise NoClipboardImageError("There is no image in the clipboard.")
    return done.stdout


class Clipboard:
    """The clipboard's images as files, until it is closed."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._environment = environment
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._made = 0

    def image(self) -> Path:
        """A file with the image that is in the clipboard now. Raises NoClipboardImageError."""
        data = read_image(paste_command(self._environment))
        self._folder = self._folder or tempfile.TemporaryDirectory(prefix="joey-clipboard-")
        self._made += 1
        path = Path(self._folder.name) / f"clipboard-{self._made}.png"
        path.write_bytes(data)
        return path

    def close(self) -> None:
        """Delete the files."""
        if self._folder is not None:
            self._folder.cleanup()
