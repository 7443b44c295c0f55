"""Which files of a workspace the sandbox keeps commands from changing.

Commands write what they like in the workspace, and most of what is protected from edits is written by builds every day
(`.venv`, `.gradle`, `.terraform`). Guarded is the part that no build writes and that runs, or is obeyed, as soon as
somebody enters the folder, opens it, commits or starts an agent in it. Continuous integration is not among it: that
runs what was pushed, which a person sees.
"""

from __future__ import annotations

import fnmatch
import os
import re
from pathlib import Path

from joey.policy.protected import PROTECTED

_GROUPS = (
    "Joey and Roo",
    "instructions that agents obey",
    "settings of agents, and the servers they start",
    "git and other version control",
    "hook managers",
    "environment loaders",
    "editors",
    "shells, logins and terminals",
    "debuggers and interpreters, when they start",
)
_WRITTEN_BY_BUILDS = frozenset((
    ".git", "git~*", ".hg", ".svn", ".bzr", ".jj", ".sl", ".pijul", "_darcs", "_fossil_", ".fslckout",  # git: see below
    ".direnv", ".devbox", "devbox.d", ".flox", "conda/activate.d", "conda/deactivate.d", "bin/activate",
    "bin/activate.fish", "bin/activate.csh", "bin/activate.ps1", "bin/activate.nu", "bin/activate_this.py",
    "scripts/activate", "scripts/activate.bat", "scripts/activate.ps1", "flake.lock", "devenv.lock",
    ".python-version", ".node-version", ".nvmrc", ".ruby-version", ".ruby-gemset", ".java-version", ".go-version",
    ".terraform-version", ".tool-versions*",
    ".settings", ".project", ".classpath", ".vs", ".run",
    "*.pth", "*.egg-link", "pyvenv.cfg", ".venv", "site-packages", "dist-packages", ".ipython", ".jupyter", ".rdata",
    ".local/bin", ".local/share", "desktop.ini", "*.psrc",
))  # fmt: skip
"""The git folder is guarded by the sandbox itself, which knows what in it runs."""
_PATTERNS = tuple(
    pattern for group in _GROUPS for pattern in PROTECTED[group] if pattern.casefold() not in _WRITTEN_BY_BUILDS
)
_EXACT = frozenset(pattern.casefold() for pattern in _PATTERNS if "*" not in pattern)
"""Names, and names below another with a slash between them."""
_LAST_OF_TWO = frozenset(pattern.rpartition("/")[2] for pattern in _EXACT if "/" in pattern)
_GLOBS = re.compile("|".join(fnmatch.translate(pattern.casefold()) for pattern in _PATTERNS if "*" in pattern))


def is_guarded(path: str | Path) -> bool:
    """Whether a file or folder is guarded, by its name alone: asked of every file of a walk."""
    above, _, name = os.fspath(path).casefold().rpartition("/")
    if name in _EXACT or _GLOBS.match(name):
        return True
    return name in _LAST_OF_TWO and f"{above.rpartition('/')[2]}/{name}" in _EXACT
