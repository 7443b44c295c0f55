"""What a file is besides its bytes and its permissions: owner, extended attributes, further names.

A file that is replaced by a new one gets these from the old one, as far as we may give them; its other names (hard
links) go on leading to the old one.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_KEPT_BY_THE_SYSTEM = ("security.", "trusted.")


def take_over(descriptor: int, model: Path | int) -> None:
    """Give an open file the permissions, owner and extended attributes of another, as far as we are allowed to."""
    take_over_extras(descriptor, model)
    os.fchmod(descriptor, stat.S_IMODE(os.stat(model).st_mode))  # noqa: PTH116 - a descriptor or a path


def take_over_extras(descriptor: int, model: Path | int) -> None:
    """The same without the permissions, which a change of owner may take away: they are set after this."""
    status = os.stat(model)  # noqa: PTH116 - a descriptor or a path
    with suppress(OSError):
        os.fchown(descriptor, status.st_uid, status.st_gid)
    for name, value in _attributes(model):
        with suppress(OSError):
            os.setxattr(descriptor, name, value)


def extras_of(path: str | int, status: os.stat_result) -> str:
    """What a new file in its place would not have, in words; empty for most files."""
    parts = [f"owner {status.st_uid}:{status.st_gid}"] * (status.st_uid != os.geteuid())
    parts += [f"{status.st_nlink} hard links"] * (status.st_nlink > 1)
    parts += [f"attribute {name}" for name in sorted(_names(path)) if not name.startswith(_KEPT_BY_THE_SYSTEM)]
    return ", ".join(parts)


def _attributes(model: Path | int) -> Iterator[tuple[str, bytes]]:
    with suppress(OSError):
        for name in _names(model):
            yield name, os.getxattr(model, name)


def _names(model: Path | str | int) -> list[str]:
    if not hasattr(os, "listxattr"):
        return []
    try:
        return os.listxattr(model)
    except OSError:
        return []
