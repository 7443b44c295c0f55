"""Images by their path: which ones a text names, in the ways that people and terminals write paths.

    /tmp/shot.png   ~/shot.png   img/logo.png   ./logo.png     typed: a path has a slash, so that prose stays prose
    '/tmp/my shot.png'   /tmp/my\\ shot.png   file:///tmp/my%20shot.png     dragged into a terminal
    @logo.png                                                  a mention, which adds its image by itself

Only files that are there count. What was pasted or dragged and is nothing but images becomes an attachment and is
not put into the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

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
