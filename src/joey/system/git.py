"""Looking at a repository without running anything that the repository names.

A repository's own configuration can name programs that git runs while it only looks: a file-system monitor, filters,
diff and text conversion drivers with names of their own, hooks, pagers, programs that check signatures, remotes from
which missing objects are fetched. The list grows with each version of git, so nothing on it is switched off here one by
one. Instead the configuration is not read at all: `looking_at` makes a git folder of its own in a private place, with a
configuration of ours, and links to the repository's objects and references, which are data. Only settings that say how
files and objects are stored are taken over, and only with values that are listed here.

    private folder/HEAD            a copy, if it is a reference or a hash
                   config          ours
                   objects, refs, packed-refs, shallow, …   links to the repository's

The environment is built from nothing, too. What remains is asked not to go on into submodules, which are repositories
with a configuration of their own and would be looked at by another git.

Lines such as `git log` that the model writes run with a git that reads the repository's configuration. There the policy
looks at the settings first; `quiet_git_environment` holds for all of them, and `safe_git_environment` is for those that
only look. Both override settings by name, which is no wall by itself: filters and drivers have names of their own.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

LOOKING = ("--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all", "--submodule=short")
"""Options for every command that shows changes."""
_MAX_POINTER = 4096
"""Bytes that HEAD and the files that lead to a git folder may have."""
_SECONDS = 10.0

_SHARED = ("objects", "refs", "packed-refs", "shallow", "reftable", "info")
"""What all worktrees of a repository have in common. `info` holds patterns: what is ignored, and attributes."""
_HEAD = re.compile(r"(?:ref: refs/[^\s\x00-\x1f\x7f]+|[0-9a-f]{40}|[0-9a-f]{64})\n?")

_SWITCH = ("true", "false", "yes", "no", "on", "off", "1", "0")
_TAKEN_OVER: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "core.repositoryformatversion": ("0", "1"),
    "extensions.objectformat": ("sha1", "sha256"),
    "extensions.refstorage": ("files", "reftable"),
    "core.filemode": _SWITCH,
    "core.symlinks": _SWITCH,
    "core.ignorecase": _SWITCH,
    "core.precomposeunicode": _SWITCH,
    "core.autocrlf": (*_SWITCH, "input"),
    "core.eol": ("lf", "crlf", "native"),
    "core.trustctime": _SWITCH,
    "core.checkstat": ("default", "minimal"),
})  # fmt: skip
"""How files and objects are stored, and nothing else: without these git would see changes where there are none."""

_FOR_EVERY_COMMAND: tuple[tuple[str, str], ...] = (
    ("core.fsmonitor", "false"),
    ("core.pager", "cat"),
    ("diff.autoRefreshIndex", "false"),  # the index would be written, and a hook run, where somebody only looks
    ("diff.submodule", "short"),  # otherwise every command that shows changes runs a git in each submodule
    ("log.showSignature", "false"),
    ("protocol.ext.allow", "never"),
    ("safe.bareRepository", "explicit"),
)
_FOR_LOOKING: tuple[tuple[str, str], ...] = (
    *_FOR_EVERY_COMMAND,
    ("core.untrackedCache", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.attributesFile", "/dev/null"),
    ("core.editor", "false"),
    ("sequence.editor", "false"),
    ("core.askPass", "false"),
    ("core.sshCommand", "false"),
    ("core.gitProxy", "false"),
    ("core.alternateRefsCommand", "false"),
    ("credential.helper", ""),
    ("diff.ignoreSubmodules", "all"),
    ("interactive.diffFilter", "cat"),
    ("status.submoduleSummary", "false"),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("gpg.program", "false"),
    ("gpg.openpgp.program", "false"),
    ("gpg.x509.program", "false"),
    ("gpg.ssh.program", "false"),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("protocol.allow", "never"),
    *((f"protocol.{name}.allow", "never") for name in ("file", "git", "http", "https", "ssh")),
    ("core.quotePath", "false"),
)


def quiet_git_environment() -> dict[str, str]:
    """Variables for every command of the model's: git does all its work, and looking writes nothing and runs less."""
    return {**_settings_as_variables(_FOR_EVERY_COMMAND), "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}


def safe_git_environment() -> dict[str, str]:
    """Variables for a git that only looks: no configuration but the repository's, and that overridden where the names
    of settings are fixed. Not enough by itself: drivers and submodules have names of their own."""
    return {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_SYSTEM": "/dev/null",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        **_settings_as_variables(_FOR_LOOKING),
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_PROTOCOL_FROM_USER": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "false",
        "SSH_ASKPASS": "false",
        "GIT_SSH_COMMAND": "false",
        "GIT_EDITOR": "false",
        "GIT_SEQUENCE_EDITOR": "false",
        "GIT_PAGER": "cat",
        "PAGER": "cat",
    }


def _settings_as_variables(settings: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The way to give git settings that are stronger than those of any file."""
    numbered = {f"GIT_CONFIG_KEY_{at}": name for at, (name, _) in enumerate(settings)}
    numbered |= {f"GIT_CONFIG_VALUE_{at}": value for at, (_, value) in enumerate(settings)}
    return {"GIT_CONFIG_COUNT": str(len(settings)), **numbered}


@dataclass(frozen=True, slots=True)
class SafeGit:
    """How to call git for one repository: words before the command's own, and the whole environment."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    top: Path
    """The folder of the repository's files: names in git's answers begin there."""


@contextmanager
def looking_at(folder: Path, environ: Mapping[str, str] = os.environ) -> Iterator[SafeGit | None]:
    """A git that looks at the repository of this folder and runs nothing of it; None if there is no repository."""
    found = find_repository(folder)
    if found is None:
        yield None
        return
    with private_git(found, environ) as git:
        yield git


@contextmanager
def private_git(found: Repository, environ: Mapping[str, str] = os.environ) -> Iterator[SafeGit | None]:
    """A git for a repository whose parts are known, which runs nothing of it; None if it has no HEAD."""
    with tempfile.TemporaryDirectory(prefix="joey-git-", ignore_cleanup_errors=True) as made:
        own = Path(made)
        environment = _environment(environ)
        head = _small_file(found.folder / "HEAD")
        if head is None or not _HEAD.fullmatch(head):
            yield None
            return
        (own / "HEAD").write_text(head)
        (own / "config").write_text(_configuration(found, environment))
        _link(found, own)
        place = {"GIT_DIR": made, "GIT_WORK_TREE": str(found.top), "GIT_INDEX_FILE": str(found.folder / "index")}
        yield SafeGit(("git", "--no-pager", "--no-optional-locks"), environment | place, found.top)


@dataclass(frozen=True, slots=True)
class Repository:
    """Where a repository's parts are: the folder of its files, its git folder, and what its worktrees share."""

    top: Path
    folder: Path
    common: Path


def find_repository(folder: Path) -> Repository | None:
    """The repository that a folder is in: the nearest `.git` at it or above. A bare one is none: its files could lie
    in any folder of a project."""
    for top in (folder, *folder.parents):
        marker = top / ".git"
        if marker.is_dir():
            return _at(top, marker)
        if marker.exists():
            pointer = (_small_file(marker) or "").removesuffix("\n")
            return _at(top, top / pointer.removeprefix("gitdir: ")) if pointer.startswith("gitdir: ") else None
    return None


def _at(top: Path, git_folder: Path) -> Repository | None:
    if not (git_folder / "HEAD").is_file():
        return None
    shared = (_small_file(git_folder / "commondir") or ".").removesuffix("\n")
    return Repository(top, git_folder.resolve(), (git_folder / shared).resolve())


def _small_file(path: Path) -> str | None:
    """The text of a small regular file; None for anything else, without waiting for a device or a pipe."""
    try:
        if not path.is_file() or path.stat().st_size > _MAX_POINTER:
            return None
        return path.read_bytes()[:_MAX_POINTER].decode()
    except (OSError, UnicodeDecodeError):
        return None


def _link(found: Repository, own: Path) -> None:
    for name in _SHARED:
        if (found.common / name).exists():
            (own / name).symlink_to(found.common / name)
    for shared_index in found.folder.glob("sharedindex.*"):
        (own / shared_index.name).symlink_to(shared_index)


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    path = ":".join(each for each in environ.get("PATH", "").split(":") if each.startswith("/"))
    kept = {name: environ[name] for name in ("HOME", "XDG_CONFIG_HOME", "TMPDIR", "TZ") if name in environ}
    return {"PATH": path or "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", **kept, **safe_git_environment()}


# Configuration, as data


def _configuration(found: Repository, environment: Mapping[str, str]) -> str:
    """The configuration of ours, with what is taken over of the repository's."""
    settings = _settings(found.common / "config", environment) or {}
    taken = {name: settings[name] for name, values in _TAKEN_OVER.items() if settings.get(name) in values}
    lines = [f"[{name.partition('.')[0]}]\n\t{name.partition('.')[2]} = {value}" for name, value in taken.items()]
    return "\n".join(["[core]\n\tbare = false", *lines, ""])


def _settings(file: Path, environment: Mapping[str, str]) -> dict[str, str] | None:
    """Every setting of a file, as git reads it; what it includes is left out. None: git cannot read it."""
    if not file.is_file():  # a pipe or a device, from which git would read for ever
        return None
    command = ("git", "config", "--file", str(file.absolute()), "--no-includes", "--list", "--null")
    listed = _output(command, {**environment, "GIT_DIR": "/nonexistent"})
    if listed is None:
        return None
    pairs = (setting.partition("\n") for setting in listed.split("\0") if setting)
    return {name: value for name, _, value in pairs}


def _output(command: Sequence[str], environment: Mapping[str, str]) -> str | None:
    """What git prints, run outside any repository; None if it fails."""
    try:
        done = subprocess.run(  # noqa: S603 - git itself
            command, cwd="/", env=dict(environment), stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS,
            check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None
