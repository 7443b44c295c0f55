"""What only the disk can answer about a command: which repository git would use, whether a module is the project's own.

A repository's configuration can name programs that git runs. The workspace's own is read, and only settings that are
known to be harmless go unasked. A repository further inside (a fixture, something unpacked) is not the workspace's own.
Git also shows files that are nowhere in the workspace, from its history; where an ignore file hides something, that is
asked about.
"""

from __future__ import annotations

import posixpath
import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from joey.policy.ignore import NAMES
from joey.policy.paths import Workspace
from joey.policy.shell.history import has_replacements, may_be_revision, was_folder
from joey.policy.shell.options import Use
from joey.policy.shell.plain import Word
from joey.policy.shell.programs.git_files import may_restrict
from joey.policy.shell.repository import local_remotes, remote_names, repository_problems
from joey.system.filenames import quoted

_MAX_INDEX = 64 * 1024 * 1024
_EMPTY_INDEX = b"DIRC" + (2).to_bytes(4) + (0).to_bytes(4)
_SUBMODULE = 0o160000
_HASH = 20
_MAX_DEPTH = 8
_NO_HOOK: tuple[str, ...] = ()
_INDEX, _REFERENCES = "post-index-change", "reference-transaction"
_RUNS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("status", "log", "diff", "show", "blame", "grep", "ls-files", "ls-tree", "rev-parse"), _NO_HOOK),
    **dict.fromkeys(("rev-list", "cat-file", "shortlog", "merge-base", "for-each-ref", "show-ref", "reflog"), _NO_HOOK),
    **dict.fromkeys(("add", "rm", "mv", "restore"), (_INDEX,)),
    **dict.fromkeys(("branch", "tag"), (_REFERENCES,)),
    "reset": (_INDEX, _REFERENCES),
}
"""Which of the hooks that run on nearly everything a subcommand may run; one that is not here, both. Commands get an
environment in which looking does not write the index (`joey.system.git.quiet_git_environment`)."""


@dataclass(frozen=True, slots=True)
class Before:
    """What the commands of a line before this one, or beside it in a pipe, may have done."""

    added: bool = False
    """They may have put files into the repository."""
    removed: bool = False
    """Files may be gone, so that a word that names one is not taken for it any more."""


def fact_problems(name: str, use: Use, workspace: Workspace, folders: Iterable[str], before: Before) -> Iterator[str]:
    """Why a command that the tables understand may do more in these folders."""
    for folder in sorted(folders):
        if name == "git":
            yield from _repository(workspace, folder)
            yield from _hooks(workspace, folder, use.path)
            yield from _remotes(use, workspace, folder)
    if name == "git" and use.path[:1] == ("stash",) and use.has("-u", "--include-untracked"):
        yield from (f"it would stash `{each}` if git does not track it" for each in _ignore_files(workspace))
    yield from shown_problems(use, workspace, folders, before)


def name_problems(use: Use, workspace: Workspace, folders: Iterable[str]) -> Iterator[str]:
    """What the words name and is not the project's own: a module, a tool, a remote. A rule may name it instead."""
    for folder in sorted(folders):
        for module in use.modules:
            if not _is_own_module(workspace, folder, module):
                yield f"`{module}` is not a module of the project"
        for tool in use.installed:
            if not _is_installed(workspace, folder, tool):
                yield f"`{tool}` is not in node_modules, so it would be fetched"
        for remote in use.remotes:
            if not _knows(workspace, remote):
                is_folder = any(workspace.exists(posixpath.join(folder, f"{remote}{end}")) for end in ("", ".git"))
                what = "but a folder" if is_folder else "as far as its configuration says"
                yield f"`{remote}` is not a remote of the repository, {what}"


_CHANGES_FILES = frozenset(
    {"checkout", "switch", "restore", "reset", "stash", "merge", "pull", "rebase", "cherry-pick", "revert", "am"}
    | {"apply", "clone", "worktree", "submodule", "mv", "rm", "clean"}
)
ONLY_LOOKS = frozenset(
    {"status", "log", "diff", "show", "blame", "shortlog", "reflog", "ls-files", "ls-tree", "rev-parse", "rev-list"}
    | {"describe", "grep", "cat-file", "show-ref", "merge-base", "name-rev", "count-objects", "for-each-ref"}
    | {"diff-tree", "diff-index", "diff-files", "range-diff", "whatchanged", "fetch"}
)
_OF_PACKAGES = frozenset({"install", "i", "add", "remove", "upgrade", "up", "update"})
_EDITS: dict[str, frozenset[str]] = {
    "cargo": frozenset({"fmt", "fix", "add", "remove", "rm", "update", "init", "new", "clean"}),
    "go": frozenset({"fmt", "fix", "get", "generate", "mod"}),
    "terraform": frozenset({"fmt", "init"}),
    "npm": _OF_PACKAGES
    | {"init", "pack", "uninstall", "rm", "un", "ci", "clean-install", "install-clean", "install-ci-test", "cit"}
    | {"dedupe", "ddp", "prune", "rebuild"},
    **dict.fromkeys(("yarn", "yarnpkg"), _OF_PACKAGES | {""}),
    **dict.fromkeys(("pnpm", "bun"), _OF_PACKAGES),
    "dotnet": frozenset({"format", "add", "remove", "new"}),
    "uv": frozenset({"add", "remove", "sync", "lock", "venv", "build"}),
    "poetry": frozenset({"add", "remove", "update", "lock", "install", "sync", "build"}),
    "pdm": frozenset({"add", "remove", "update", "lock", "install", "sync", "build"}),
    "pipenv": frozenset({"install", "uninstall", "update", "upgrade", "sync", "lock"}),
    "coverage": frozenset({"html", "xml", "json", "lcov", "combine", "erase"}),
    "composer": frozenset({"install", "require", "remove", "update", "dump-autoload", "dumpautoload"}),
    "bundle": frozenset({"install", "update", "add", "lock"}),
    "hatch": frozenset({"fmt", "build"}),
    "alembic": frozenset({"revision"}),
    **dict.fromkeys(("build", "compileall", "py_compile"), frozenset({""})),
}
"""Which subcommands write in the project; an empty one is the program without any."""
_FIXES = re.compile(
    r"--?(?:fix(?:-only|-lockfile|-errors|All)?|write|autocorrect(?:-all)?|in-?place|(?:test-)?update-?snapshots?"
    r"|updateSnapshot|snapshot-update|inline-snapshot|force-regen|regen-all|rewrite)"
)
"""Options by which programs of many kinds rewrite sources, or what tests expect."""
_UPDATES = frozenset({"jest", "vitest", "playwright", "bun"})
"""Programs for which `-u` and `--update` do."""
_ONLY_CHECKS = ("--check", "-check", "--verify-no-changes")
_ONLY_HELPS = ("-v", "--version", "-h", "--help")


def tool_of(name: str, use: Use) -> tuple[str, Use]:
    """The tool that is run by a program which only finds it: `python -m ruff check`, `npx tsc`."""
    if use.path and (name in ("npx", "bunx", "pnpx") or re.fullmatch(r"python[\d.]*", name)):
        return use.path[0], replace(use, path=use.path[1:])
    return name, use


def edits_files(name: str, use: Use) -> bool:
    """Whether a command changes files of the project, or its repository, that its words do not name."""
    subcommand = use.path[0] if use.path else ""
    if name == "git":
        listing = use.path[1:2] in (("list",), ("show",))
        return subcommand not in ONLY_LOOKS and not listing and not use.has("-l", "--list", "--get", "-n", "--dry-run")
    if {"tsc", "vue-tsc"} & {name, subcommand}:  # also of `npx`
        return not use.has("--noEmit", *_ONLY_HELPS)
    if (not subcommand and use.has(*_ONLY_HELPS)) or (subcommand in ("fmt", "format") and use.has(*_ONLY_CHECKS)):
        return use.rewrites_all
    return use.rewrites_all or subcommand in _EDITS.get(name, ())


def fixes_files(name: str, words: Iterable[str]) -> bool:
    """Whether the words of a program that runs code of the project, or is not known, tell it to rewrite files, also
    those that it passes on (`npm run lint -- --fix`)."""
    options = {word.partition("=")[0] for word in words}
    return any(map(_FIXES.fullmatch, options)) or (name in _UPDATES and not options.isdisjoint(("-u", "--update")))


def changes_files(use: Use) -> bool:
    """Whether a command of git may put other files, links among them, in the place of those that are there."""
    return use.path[:1] != () and use.path[0] in _CHANGES_FILES and use.path[1:2] not in (("list",), ("show",))


def makes_repository(written: Iterable[str], workspace: Workspace, folder: str) -> bool:
    """Whether files that a line has written may make another repository of a folder, or of one above it."""
    root, place = posixpath.normpath(workspace.root), posixpath.normpath(folder)
    own = workspace.exists(posixpath.join(root, ".git"))
    while place.startswith(root) and not (place == root and own):
        if any(
            posixpath.dirname(path) == place and posixpath.basename(path).lower() in _REPOSITORY for path in written
        ):
            return True
        place = posixpath.dirname(place)
    return False


_REPOSITORY = frozenset({"head", "objects", "refs", "config", ".git", "commondir", "gitdir"})


def _is_own_module(workspace: Workspace, folder: str, module: str) -> bool:
    path = module.replace(".", "/")
    places = [posixpath.join(folder, *above, path) for above in ((), ("src",))]
    return any(workspace.exists(f"{place}{end}") for place in places for end in (".py", "/__init__.py", "/__main__.py"))


def _is_installed(workspace: Workspace, folder: str, tool: str) -> bool:
    root = posixpath.normpath(workspace.root)
    place = posixpath.normpath(folder)
    while place.startswith(root):
        if workspace.exists(posixpath.join(place, "node_modules", ".bin", tool)):
            return True
        place = posixpath.dirname(place)
    return False


def _ignore_files(workspace: Workspace) -> list[str]:
    return [name for name in NAMES if workspace.exists(posixpath.join(workspace.root, name))]


def _only(use: Use, workspace: Workspace, folders: Iterable[str], before: Before) -> list[Word] | None:
    """The paths of which alone something is shown; None if it may be any. Words without `--` that name files which are
    there are paths: git takes such a word for one, or refuses it. In another folder the same word may be a tag, and in
    any if the file is gone by then."""
    if use.widens or use.only is not None or use.separated is not None:
        return None if use.widens else use.only
    words = use.operands[1:] if use.path[:1] == ("grep",) else use.operands
    named = [word for word in words if _is_path(use, workspace, folders, word.text, before)]
    return named if named and may_restrict(words) else None


def shown_problems(use: Use, workspace: Workspace, folders: Iterable[str], before: Before) -> Iterator[str]:
    """Why git may show what an ignore file hides; no sandbox hides what is in a repository."""
    if use.from_top and not workspace.exists(posixpath.join(workspace.root, ".git")):
        yield "the repository is larger than the workspace"
    if not workspace.ignore.specs:
        return
    if use.path[:2] == ("worktree", "add"):
        yield "it makes a copy of files that an ignore file may hide"
    for name in use.objects:
        if not _is_branch(workspace, name) and not _is_path(use, workspace, folders, name, before):
            yield f"`{name}` may be a file of the history that an ignore file hides"
    if not use.shows:
        return
    only = _only(use, workspace, folders, before)
    places = None if only is None else _places(use, workspace, folders, only)
    untracked = only is None and (before.added or use.has("--untracked"))
    looks_here = use.shows == "worktree" or use.path[:1] in (("diff",), ("diff-index",))
    if use.shows == "history" and _shows_history(use, workspace, only or (), places):
        yield "it may show files of the history that an ignore file hides; name the files that you want (`-- a.py`)"
    elif looks_here and (
        _tracks_hidden(workspace, places) or (untracked and workspace.below(workspace.locate(".")).hidden_by)
    ):
        yield "it may show files that an ignore file hides; name the paths that you want (`-- src`)"


def _shows_history(use: Use, workspace: Workspace, only: Iterable[Word], places: list[str] | None) -> bool:
    """Whether one of these places may have held a hidden file: a folder, what is not there, or what was a folder."""
    if places is None:
        return True
    held = [place for place in places if workspace.ignore.may_hide_below(place)]
    paths = [posixpath.join(workspace.root, place) for place in held]
    if any(workspace.is_folder(path) or not workspace.exists(path) for path in paths):
        return True
    if not held:
        return False
    common = common_folder(workspace, posixpath.join(workspace.root, ".git"))
    logs = use.has("-g", "--walk-reflogs", "--reflog") or use.path[:1] in (("reflog",), ("stash",))
    if logs or (common is not None and has_replacements(common, workspace)):
        return True
    words = use.operands if use.separated is None else use.operands[: use.separated]
    return was_folder(workspace, held, [word.text for word in words if word not in only])


def _places(use: Use, workspace: Workspace, folders: Iterable[str], only: Iterable[Word]) -> list[str]:
    """These paths from the root of the workspace, wherever the command may run."""
    bases = {*folders, *([workspace.root] if use.from_top else [])}
    paths = {posixpath.normpath(posixpath.join(base, word.text)) for base in bases for word in only}
    return sorted(posixpath.relpath(path, workspace.root) for path in paths)


def _is_path(use: Use, workspace: Workspace, folders: Iterable[str], name: str, before: Before) -> bool:
    """Whether git takes a word for a path. One that may be a revision as well it refuses, or shows if the file is gone
    when it looks."""
    if use.separated is not None or use.path[:1] == ("cat-file",) or before.removed:
        return False
    if not all(workspace.exists(posixpath.join(folder, name)) for folder in folders):
        return False
    place = posixpath.join(workspace.root, ".git")
    found = (common_folder(workspace, place), git_folder(workspace, place))
    return not may_be_revision(name, filter(None, found), workspace)


def _is_branch(workspace: Workspace, name: str) -> bool:
    """Whether a name is a branch, which is a commit. A tag may be anything, and comes first."""
    common = common_folder(workspace, posixpath.join(workspace.root, ".git"))
    if common is None or not re.fullmatch(r"[\w.-]+(?:/[\w.-]+)*", name):
        return False
    packed = posixpath.join(common, "packed-refs")
    text = workspace.text_of(packed) if workspace.exists(packed) else ""
    if text is None:
        return False
    kinds = {kind for kind in ("heads", "tags") if workspace.exists(posixpath.join(common, "refs", kind, name))}
    kinds |= {kind for kind in ("heads", "tags") if re.search(rf" refs/{kind}/{re.escape(name)}$", text, re.MULTILINE)}
    return kinds == {"heads"}


def _knows(workspace: Workspace, remote: str) -> bool:
    common = common_folder(workspace, posixpath.join(workspace.root, ".git"))
    text = workspace.text_of(posixpath.join(common, "config")) if common else None
    return remote in remote_names(text or "")


_TALKS = frozenset({("push",), ("fetch",), ("pull",), ("ls-remote",), ("remote", "show"), ("remote", "prune")})


def _remotes(use: Use, workspace: Workspace, folder: str) -> Iterator[str]:
    """Remotes that are other repositories of this machine: those that are named, or any if none is."""
    if use.path[:2] not in _TALKS or use.has("--get-url"):
        return
    place = nearest_repository(workspace, posixpath.normpath(folder))
    common = common_folder(workspace, place) if place else None
    text = workspace.text_of(posixpath.join(common, "config")) if common else None
    for name, path in sorted(local_remotes(text or "").items()):
        if not use.remotes or name in use.remotes or use.has("--all"):
            yield f"the remote `{name}` is another repository of this machine (`{path}`), of which hooks may run"


def _repository(workspace: Workspace, folder: str) -> Iterator[str]:
    """Why git, run in this folder, may run programs that a rule for it does not mean."""
    root, place = posixpath.normpath(workspace.root), posixpath.normpath(folder)
    while place != root and place.startswith(root.rstrip("/") + "/"):
        if _is_repository(workspace, place):
            yield f"it would use the repository in {posixpath.relpath(place, root)}, which is not the workspace's own"
            return
        place = posixpath.dirname(place)
    if _is_bare(workspace, root) and not workspace.exists(posixpath.join(root, ".git")):
        yield "the workspace is a bare repository, whose configuration can run programs"
    elif (own := nearest_repository(workspace, root)) is not None:
        yield from _own_problems(workspace, own)


def nearest_repository(workspace: Workspace, folder: str) -> str | None:
    """The `.git` that git finds from a folder: there or above, also where the workspace is a part of a repository."""
    while not workspace.exists(posixpath.join(folder, ".git")):
        if folder == posixpath.dirname(folder):
            return None
        folder = posixpath.dirname(folder)
    return posixpath.join(folder, ".git")


def _is_repository(workspace: Workspace, folder: str) -> bool:
    return workspace.exists(posixpath.join(folder, ".git")) or _is_bare(workspace, folder)


def _is_bare(workspace: Workspace, folder: str) -> bool:
    return all(workspace.exists(posixpath.join(folder, name)) for name in ("HEAD", "objects"))


def _hooks(workspace: Workspace, folder: str, path: tuple[str, ...]) -> Iterator[str]:
    """The hooks that nobody expects from a subcommand. A rule for git allows those that belong to what it does, such as
    those of a commit; these two are rarely installed, and run when a file is added or a branch is made."""
    place = nearest_repository(workspace, posixpath.normpath(folder))
    common = common_folder(workspace, place) if place else None
    for name in _RUNS.get(path[0] if path else "", (_INDEX, _REFERENCES)) if common else ():
        if workspace.exists(posixpath.join(common or "", "hooks", name)):
            yield f"it may run the hook `{name}` of the repository"


def _own_problems(workspace: Workspace, place: str, depth: int = 0) -> Iterator[str]:
    common = common_folder(workspace, place)
    text = workspace.text_of(posixpath.join(common, "config")) if common else None
    if text is None:
        yield "the configuration of its repository cannot be read"
        return
    yield from repository_problems(_without_own_worktree(text, common or "", posixpath.dirname(place)))
    yield from _problems_of_submodules(workspace, place, text, depth)


def _without_own_worktree(config: str, git_folder: str, folder: str) -> str:
    """The configuration of a submodule without the setting that says where its files are, if that is where they are."""
    return re.sub(
        r"^\s*worktree = (\S+)$",
        lambda found: "" if posixpath.normpath(posixpath.join(git_folder, found[1])) == folder else found[0],
        config,
        flags=re.MULTILINE,
    )


def _problems_of_submodules(workspace: Workspace, place: str, config: str, depth: int) -> Iterator[str]:
    """Git looks into the submodules of a repository with another git, which follows their own configuration."""
    submodules = _submodules(workspace, place, config)
    if submodules is None:
        yield "the index of its repository cannot be read, so it may have submodules"
        return
    for name in submodules:
        inner = posixpath.join(posixpath.dirname(place), name, ".git")
        if depth >= _MAX_DEPTH:
            yield f"the submodule {quoted(name)} is too deep in others to look at"
        elif workspace.exists(inner):
            problems = _own_problems(workspace, inner, depth + 1)
            yield from (f"in the submodule {quoted(name)}: {problem}" for problem in problems)


def _submodules(workspace: Workspace, place: str, config: str) -> list[str] | None:
    """The submodules in the index; None if it cannot be read, as with hashes of another length."""
    if re.search(r"^\s*objectformat", config, re.IGNORECASE | re.MULTILINE):
        return None
    try:
        return [name for name, mode in _entries(_index(workspace, place)) if mode == _SUBMODULE]
    except (OSError, ValueError, struct.error):
        return None


def _index(workspace: Workspace, place: str) -> bytes:
    """The index of a repository, which each worktree has for itself; an empty one where there is none yet."""
    file = posixpath.join(git_folder(workspace, place) or place, "index")
    if not workspace.exists(file):
        return _EMPTY_INDEX
    with open(file, "rb") as opened:  # noqa: PTH123 - paths here are strings
        return opened.read(_MAX_INDEX)


def common_folder(workspace: Workspace, place: str) -> str | None:
    """The folder with the configuration: `.git` itself, or the one that its file `commondir` names. A linked worktree
    has such a file; git follows it anywhere."""
    folder = git_folder(workspace, place)
    file = posixpath.join(folder or "", "commondir")
    return _named_in(workspace, file) if folder and workspace.exists(file) else folder


def git_folder(workspace: Workspace, place: str) -> str | None:
    """`.git` itself, or the folder that it names."""
    return place if workspace.is_folder(place) else _named_in(workspace, place, "gitdir: ")


def _named_in(workspace: Workspace, file: str, start: str = "") -> str | None:
    """The folder that a file names as git reads it: to the last line break, spaces and links on the way included."""
    text = workspace.text_of(file)
    if text is None or not text.startswith(start) or "\0" in text:
        return None
    return posixpath.join(posixpath.dirname(file), text.removeprefix(start).rstrip("\r\n"))


def _tracks_hidden(workspace: Workspace, places: Iterable[str] | None) -> bool:
    """Whether the repository's index names a file that an ignore file hides, below some places if they are given; also
    if it cannot be read."""
    if places is not None and not (places := list(places)):
        return False
    place = posixpath.join(workspace.root, ".git")
    if not workspace.exists(posixpath.join(place, "index")):
        return not workspace.exists(posixpath.join(place, "HEAD"))
    try:
        names = (name for name, _ in _entries(_index(workspace, posixpath.join(workspace.root, ".git"))))
        return any(
            workspace.ignore.hiding(name)
            for name in names
            if name not in NAMES and (places is None or any(f"{name}/".startswith(f"{place}/") for place in places))
        )
    except (OSError, ValueError, struct.error):
        return True


def _entries(index: bytes) -> Iterator[tuple[str, int]]:
    """The names and modes in an index of version 2 or 3. Raises ValueError for another, and for one that has parts
    elsewhere or folders in place of their files, which extensions with small letters say."""
    signature, version, count = struct.unpack_from(">4sII", index)
    if signature != b"DIRC" or version not in (2, 3):
        raise ValueError("an index in another format")
    at = 12
    for _ in range(count):
        (mode,) = struct.unpack_from(">I", index, at + 24)
        (flags,) = struct.unpack_from(">H", index, at + 60)
        start = at + (64 if flags & 0x4000 else 62)
        end = index.index(b"\0", start)
        yield index[start:end].decode("utf-8", "surrogateescape"), mode
        at += (end - at + 8) // 8 * 8
    while at + 8 <= len(index) - _HASH:
        if index[at : at + 1].islower():
            raise ValueError("an index of which this is only a part")
        at += 8 + int.from_bytes(index[at + 4 : at + 8])
