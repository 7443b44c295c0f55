"""Images that go with a text: those of the clipboard, and those it names, in the ways that people and terminals write
paths.

    /tmp/shot.png   ~/shot.png   img/logo.png   ./logo.png     typed: a path has a slash, so that prose stays prose
    '/tmp/my shot.png'   /tmp/my\\ shot.png   file:///tmp/my%20shot.png     dragged into a terminal
    @logo.png                                                  a mention, which adds its image by itself

Only files that are there count. What was pasted or dragged and is nothing but images becomes an attachment and is
not put into the text. A terminal sends text when something is pasted, and an image not at all; so Ctrl+V looks into the
clipboard, through the program that this kind of desktop has for it: wl-paste (Wayland), xclip (X11), pngpaste (macOS).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from joey.errors import JoeyError
from joey.images.sizing import image_type
from joey.messages import ImageBlock
from joey.system.visible import one_line

KINDS = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_WORD = re.compile(r"""'[^'\n]+'|"[^"\n]+"|(?:\\.|[^\s'"\\])+""")


@dataclass(frozen=True, slots=True)
class ImageFile:
    """An image to attach. `mentioned`: it stands in the text as a mention, which attaches it by itself."""

    path: Path
    mentioned: bool = False

    @property
    def label(self) -> str:
        size = self.path.stat().st_size if self.path.exists() else 0
        return f"{self.path.name} ({size / 1024:.0f} kB)"


def images_in(text: str, folder: Path, *, bare: bool = False) -> list[ImageFile]:
    """The images that a text names, each once. `bare`: a mere file name counts, too."""
    found = (_image(match[0], folder, bare=bare) for match in _WORD.finditer(text))
    return list(dict.fromkeys(image for image in found if image))


def only_images(text: str, folder: Path) -> list[ImageFile]:
    """The images of a text that names nothing but images; none if there is anything else in it."""
    words = [match[0] for match in _WORD.finditer(text)]
    found = [_image(word, folder, bare=True) for word in words]
    return list(dict.fromkeys(each for each in found if each and not each.mentioned)) if all(found) else []


@dataclass(frozen=True, slots=True)
class ReadImages:
    """What a message brings along: images, the names of their files, and a line for each that is none."""

    images: tuple[ImageBlock, ...] = ()
    names: tuple[str, ...] = ()
    not_attached: tuple[str, ...] = ()


def read_images(named: Sequence[ImageFile], read: Callable[[Path], ImageBlock]) -> ReadImages:
    """The images of a message. One that cannot be read does not keep the words back: they are sent without it."""
    images, names, failed = list[ImageBlock](), list[str](), list[str]()
    for each in named:
        try:
            images.append(read(each.path))
            names.append(each.path.name)
        except JoeyError as error:
            failed.append(f"Not attached: {error}.")
    return ReadImages(tuple(images), tuple(names), tuple(failed))


def attached_line(found: ReadImages) -> str:
    """What was attached, in a line; empty if nothing was."""
    return f"attached: {', '.join(f'image {one_line(name)}' for name in found.names)}" if found.names else ""


def _image(word: str, folder: Path, *, bare: bool) -> ImageFile | None:
    mentioned = word.startswith("@")
    name = _unquoted(word.removeprefix("@").rstrip(".,;:!?)") if word[0] not in "'\"" else word)
    if not name.lower().endswith(KINDS) or not (bare or mentioned or "/" in name):
        return None
    try:
        path = folder / name.lstrip("/") if mentioned else folder / Path(name).expanduser()
        return ImageFile(path, mentioned) if path.is_file() else None
    except (OSError, ValueError, RuntimeError):
        return None


def _unquoted(word: str) -> str:
    if word[:1] in ("'", '"'):
        return word[1:-1]
    if word.startswith("file://"):
        return unquote(word.removeprefix("file://").removeprefix("localhost"))
    return re.sub(r"\\(.)", r"\1", word)


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
