"""Files that a command would delete although nobody asked for it.

A small model that was asked why a script crashes deleted the script, and one that was to delete all files of one kind
deleted the others as well. So what a request does not speak of deleting stays; where it says which files, by their
names or their ending, the others stay. What the model made itself it may delete.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from joey.policy.shell.syntax import commands_seen
from joey.system.filenames import quoted

_DELETES = frozenset({"rm", "rmdir", "unlink", "shred"})
_WANTED = re.compile(
    r"\b(delet\w*|remov\w*|clean\w*|clear\w*|empt\w*|get rid|rid|discard|drop|erase|wipe|purge|trash|rm|move|rename)\b",
    re.IGNORECASE,
)
_ENDING = re.compile(r"(?<!\w)\*?(\.\w+)\b")
_NAME = re.compile(r"[\w./-]*\w\.\w+")


def unwanted_deletion(command: str, request: str, own: Collection[str]) -> str | None:
    """Why a command is not to be run, in words for the model; None if it deletes nothing that should stay."""
    for seen in commands_seen(command):
        program, *operands = (word or "" for word in seen.words)
        if program.rpartition("/")[2] not in _DELETES:
            continue
        for operand in operands:
            if operand and not operand.startswith("-") and operand not in own and not _is_wanted(operand, request):
                return f"Nothing was deleted: {quoted(operand)} is to stay, since the request does not say otherwise."
    return None


def _is_wanted(operand: str, request: str) -> bool:
    if not _WANTED.search(request):
        return False
    endings = _ENDING.findall(request)
    if not endings and not _NAME.search(request):
        return True  # it says only in words which: that is for the user to judge
    name = operand.rstrip("/").rpartition("/")[2]
    return name in request or any(name.endswith(ending) for ending in endings)
