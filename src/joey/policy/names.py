"""File names without what lookalikes play with, so that two names which some system takes for the same compare equal.

Letter case, compatibility forms (`．ｇit`), invisible and control characters, the trailing dots and spaces and the
`:stream` that Windows drops: all of these are removed before a name is looked up in a table. A compatibility form can
stand for a separator (`／`), so one written name may give several.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_INVISIBLE = frozenset(
    {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0}.union(
        range(0x180B, 0x1810), range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0)
    )
)
"""Characters that show nothing although their category says that they are letters or marks."""
_SHORT_NAME = re.compile(r"([^.~]{1,6})~\d{1,6}(\.[^.]{0,3})?")
_SHORT_HASH = re.compile(r"([^.~]{1,2})[0-9a-f]{4}")


@lru_cache(maxsize=4096)
def fold_name(name: str) -> tuple[str, ...]:
    """The names that one component of a path may be taken for, in order."""
    text = unicodedata.normalize("NFKC", visible(name).casefold())
    return tuple(_bare(part) for part in re.split(r"[/\\]", text) if part)


def fold_path(path: str) -> tuple[str, ...]:
    """The folded components of a path."""
    return tuple(part for name in path.split("/") if name for part in fold_name(name))


def visible(text: str) -> str:
    """The text in compatibility form without the characters that nobody sees."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(char for char in unicodedata.normalize("NFKC", text) if not _unseen(char))


def fold(text: str) -> str:
    """A name for comparing: visible, and without letter case."""
    return visible(text).casefold()


def short_name(name: str) -> tuple[str, str] | None:
    """The beginning and the extension of a folded name in the old 8.3 form (`gitmod~1`), or None. The beginning of the
    form with a hash in it (`gi7eba~1`) is the two letters before the hash."""
    found = _SHORT_NAME.fullmatch(name)
    if found is None:
        return None
    hashed = _SHORT_HASH.fullmatch(found[1])
    return (hashed or found)[1], (found[2] or "").lstrip(".")


def _unseen(char: str) -> bool:
    return unicodedata.category(char) in ("Cf", "Cc") or ord(char) in _INVISIBLE


def _bare(name: str) -> str:
    return name.partition(":")[0].strip().rstrip(" .") or name
