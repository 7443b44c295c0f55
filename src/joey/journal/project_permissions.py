"""What the user allowed in a folder for every task there: in a file of the user's state, never in the folder itself, so
that a project can allow itself nothing. What cannot be read allows nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from joey.errors import JoeyError, WireError
from joey.permissions import Permission
from joey.system.folders import make_private
from joey.system.user_files import read_object, replace_object
from joey.wire import Codec, encode

_PERMISSIONS = Codec(Permission)


class ProjectPermissions:
    """The permissions of one folder, read again for each question."""

    def __init__(self, file: Path, folder: Path) -> None:
        self._file = file
        self._folder = str(folder.resolve())

    def listed(self) -> tuple[Permission, ...]:
        return tuple(dict.fromkeys(_readable(read_object(self._file).get(self._folder))))

    def add(self, permission: Permission) -> None:
        self._write((*(each for each in self.listed() if each != permission), permission))

    def revoke(self, permission: Permission) -> bool:
        """False: it was not allowed here."""
        listed = self.listed()
        if permission not in listed:
            return False
        self._write(tuple(each for each in listed if each != permission))
        return True

    def _write(self, permissions: tuple[Permission, ...]) -> None:
        folders = {**read_object(self._file), self._folder: [encode(each) for each in permissions]}
        try:
            make_private(self._file.parent)
            replace_object(self._file, {folder: listed for folder, listed in folders.items() if listed})
        except OSError as error:
            raise JoeyError(f"cannot write {self._file}: {error.strerror}; what was allowed holds once") from None


def _readable(entries: Any) -> Iterator[Permission]:
    for entry in entries if isinstance(entries, list) else []:
        try:
            yield _PERMISSIONS.decode(entry)
        except WireError:
            continue
