"""Which hooks of projects the user has seen and let run: kept outside the project, so that it cannot answer itself.

A hook is known by its event, matcher and command, in one folder. One that is new or was changed is shown again.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from joey.errors import JoeyError
from joey.hooks.hook import Hook
from joey.system.user_files import read_object, replace_object


class HookConsent:
    """The answers for one folder, in a file of the user's."""

    def __init__(self, file: Path, workspace: Path) -> None:
        self._file = file
        self._workspace = str(workspace.resolve())
        self._accepted = frozenset(self._read().get(self._workspace, ()))

    def may_run(self, hook: Hook) -> bool:
        """A hook of the user's own needs no answer."""
        return hook.origin != "project" or hook.digest in self._accepted

    def accept(self, hooks: Iterable[Hook], *, keep: bool = True) -> None:
        """The user has seen these, and lets them run: now, or with `keep` from now on. Raises JoeyError if that cannot
        be kept."""
        self._accepted |= {hook.digest for hook in hooks}
        if not keep:
            return
        kept = self._read() | {self._workspace: sorted(self._accepted)}
        try:
            replace_object(self._file, {"accepted": kept})
        except OSError as error:
            raise JoeyError(f"cannot remember the hooks that you accepted in {self._file}: {error.strerror}") from None

    def _read(self) -> dict[str, list[str]]:
        """A file that cannot be read accepts nothing."""
        listed = read_object(self._file).get("accepted")
        found = listed.items() if isinstance(listed, dict) else ()
        return {folder: [*filter(_is_text, each)] for folder, each in found if isinstance(each, list)}


def _is_text(value: object) -> bool:
    return isinstance(value, str)
