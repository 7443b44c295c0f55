"""macOS: the profile for `sandbox-exec`. UNTESTED: written from its documentation, never run on a Mac.

It is called `partial` for that reason: nothing that needs a full sandbox relies on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from joey.sandbox.git import git_folders
from joey.sandbox.hidden import hidden_places
from joey.sandbox.mounts import too_broad
from joey.sandbox.settings import Walls
from joey.system.folders import state_folder, user_folder

PROGRAM = "/usr/bin/sandbox-exec"


def profile(walls: Walls, private: Iterable[Path]) -> str:
    """What may be done, in seatbelt's language: the last rule that applies decides."""
    return "\n".join(["(version 1)", "(allow default)", *_network(walls), *_files(walls, private)])


def _network(walls: Walls) -> Iterator[str]:
    if walls.network != "on":
        yield "(deny network*)"
        yield '(allow network* (local ip "localhost:*") (remote ip "localhost:*"))'


def _files(walls: Walls, private: Iterable[Path]) -> Iterator[str]:
    root = walls.workspace.resolve()
    folders = git_folders(root)
    writable = [*([root] if too_broad(root) is None else []), *(each.path for each in folders), *walls.writable]
    yield "(deny file-write*)"
    for each in (*writable, *private):
        yield f"(allow file-write* (subpath {_quoted(each)}))"
    yield '(allow file-write* (regex #"^/dev/(null|zero|tty.*|ptmx|fd/.*)$"))'
    for folder in folders:
        for each in folder.guarded:
            yield f"(deny file-write* (subpath {_quoted(each)}))"
    closed, emptied = hidden_places((*walls.own, user_folder(), state_folder()), walls.hide, walls.show)
    for each in (*closed, *emptied):
        yield f"(deny file-read* file-write* (subpath {_quoted(each)}))"


def _quoted(path: Path) -> str:
    text = str(path.resolve()).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'
