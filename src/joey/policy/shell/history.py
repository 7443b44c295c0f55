"""What git's history says about a path, and which words may name a revision.

A path that is a file now may have been a folder, whose files git shows by the same name. Only git knows: it is asked,
with a configuration of ours (`joey.system.git`), about every commit that a reference leads to and those that a command
names. What it cannot answer, or not soon, counts as a yes.
"""

from __future__ import annotations

import posixpath
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from joey.policy.paths import Workspace
from joey.system.git import looking_at

_SECONDS = 3.0
_PLAIN = re.compile(r"[\w.+,/ =()-]+")
_OBJECT = re.compile(r"[0-9a-f]{4,64}|.*-g[0-9a-f]{4,64}", re.IGNORECASE | re.DOTALL)


def was_folder(workspace: Workspace, paths: Sequence[str], revisions: Iterable[str]) -> bool:
    """Whether one of these paths (from the root of the workspace) may have been a folder in the history."""
    ends = [end.lstrip("^") for word in revisions for end in re.split(r"\.{2,3}", word) if end.lstrip("^")]
    with looking_at(Path(workspace.root)) as git:
        if git is None:
            return False
        words = ("rev-list", "-1", "--all", "--full-history", "--end-of-options", "HEAD", *map(_commit, ends))
        command = (*git.command, "--literal-pathspecs", *words, "--", *(f"{path}/" for path in paths))
        return _prints(command, git.environment, workspace.root)


def _commit(text: str) -> str:
    return f"{text.partition(':')[0]}^{{commit}}"


def _prints(command: Sequence[str], environment: Mapping[str, str], folder: str) -> bool:
    """Whether git prints anything, or does not answer."""
    try:
        done = subprocess.run(  # noqa: S603 - git itself, and words that cannot be options
            command, cwd=folder, env=dict(environment), stdin=subprocess.DEVNULL, capture_output=True,
            timeout=_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return True
    return done.returncode != 0 or bool(done.stdout.strip())


def may_be_revision(word: str, git_folders: Iterable[str], workspace: Workspace) -> bool:
    """Whether git may take a word for a revision: the name of a reference in one of its folders, a hash, or anything
    with a sign that no path needs."""
    if not _PLAIN.fullmatch(word) or ".." in word or _OBJECT.fullmatch(word):
        return True
    return any(_is_reference(word, folder, workspace) for folder in git_folders)


_WHERE = ("", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/")


def has_replacements(folder: str, workspace: Workspace) -> bool:
    """Whether objects of a repository may stand for others there (`git replace`)."""
    packed = posixpath.join(folder, "packed-refs")
    text = workspace.text_of(packed) if workspace.exists(packed) else ""
    return text is None or " refs/replace/" in text or workspace.exists(posixpath.join(folder, "refs", "replace"))


def _is_reference(word: str, folder: str, workspace: Workspace) -> bool:
    if workspace.exists(posixpath.join(folder, "reftable")):
        return True
    names = {posixpath.normpath(f"{where}{word}") for where in _WHERE} | {f"refs/remotes/{word}/HEAD"}
    if any(_is_file(posixpath.join(folder, name), workspace) for name in names):
        return True
    packed = posixpath.join(folder, "packed-refs")
    text = workspace.text_of(packed) if workspace.exists(packed) else ""
    return text is None or any(line.partition(" ")[2] in names for line in text.splitlines())


def _is_file(path: str, workspace: Workspace) -> bool:
    return workspace.exists(path) and not workspace.is_folder(path)
