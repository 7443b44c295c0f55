"""Where a path really is: inside the workspace, outside, protected, or hidden by an ignore file.

A path is judged as written, as resolved, and at every link on its way, and the strictest answer counts. What a link
means also holds for the place where it leads (see `links`). Names are compared folded (see `names`), since some file
systems take those for the same, and a path that another program may read otherwise (backslashes, compatibility forms,
spaces around it, `~name`) is judged in each of these readings.

Nothing about the disk is remembered between two calls of `locate`: a link may have been made in between. Whoever judges
several paths at one moment uses `snapshot`, which looks for the links of the workspace once.
"""

from __future__ import annotations

import glob
import os
import posixpath
import re
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, reduce
from pathlib import Path
from typing import Self

from pathspec import GitIgnoreSpec

from joey.bounded.files import read_regular
from joey.bounded.patterns import MAX_LINE, MAX_LINES, LinearPattern
from joey.errors import UsageError
from joey.policy.credentials import holds_credentials, is_credential, is_system_credential
from joey.policy.ignore import NAMES, NOTHING_IGNORED, IgnoreRules
from joey.policy.links import (
    NOT_WALKED,
    Backlinks,
    FollowedLinks,
    LinkMeaning,
    LinkWalk,
    Recent,
    Trail,
    follow,
    is_other_working_tree,
    is_repository,
    without_magic,
)
from joey.policy.names import fold_path, visible
from joey.policy.protected import is_guarded, protecting
from joey.system.worktree_notes import worktree_around

_ELSEWHERE = re.compile(r"[A-Za-z]:|[A-Za-z][A-Za-z0-9+.-]+:[/\\]")
"""A drive of Windows or a URL: no place in a workspace, whatever a file of that name would be here."""
_MAGIC = "it passes through /proc, where the same name is another file for every program"
HARD_LINK = "a hard link: the same file has another name"
REPOSITORY = "a git repository"


def resolve(path: str) -> str:
    """An absolute path with every symlink followed, as far as it exists. Raises OSError for a loop of links."""
    return follow(path).resolved


MAX_PATH, MAX_DEPTH = 4_096, 200
"""Characters of a path, which is as many as Linux takes, and the names in one. What is beyond is not judged, since each
folder on the way is looked at with all that is above it."""
TOO_LONG = "it is longer, or leads through more folders, than a path is judged"
_PYTHON = re.compile(r"python[\d.]*")
_MAX_WALK = 10_000
_MAX_FOLLOWED = 100_000
"""Files and folders that are looked at to find where links lead."""
_MAX_TEXT = 256 * 1024


def _text_of(path: str) -> str | None:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - paths here are strings
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            data = file.read(_MAX_TEXT + 1)
    except OSError:
        return None
    return data.decode("utf-8", "replace") if len(data) <= _MAX_TEXT else None


@dataclass(frozen=True, slots=True)
class Located:
    """A path and what is known about the place it leads to."""

    path: str
    resolved: str
    inside: bool
    protected: str | None = None
    """The pattern that protects it."""
    hidden_by: str | None = None
    """The ignore file that lists it."""
    problem: str | None = None
    """Why it cannot be judged at all."""
    secret: bool = False
    """Whether credentials are kept there."""
    led_away: bool = False
    """Whether links lead out of the workspace, or to something protected, although the words do not."""

    def stricter(self, other: Located) -> Located:
        """What holds if the path may be read in either way."""
        return Located(
            self.path,
            self.resolved if not self.inside or other.inside else other.resolved,
            inside=self.inside and other.inside,
            protected=self.protected or other.protected,
            hidden_by=self.hidden_by or other.hidden_by,
            problem=self.problem or other.problem,
            secret=self.secret or other.secret,
            led_away=self.led_away or other.led_away,
        )


@dataclass(frozen=True, slots=True)
class Workspace:
    """The facts about the disk that the policy needs."""

    root: str
    home: str = field(default_factory=lambda: os.path.expanduser("~"))  # noqa: PTH111 - strings, as the model wrote them
    ignore: IgnoreRules = NOTHING_IGNORED
    others: tuple[Workspace, ...] = ()
    """Further folders that count as the workspace for tools that name files, each with its own ignore files. Commands
    know nothing of them: what a program does in a folder depends on more than the files that it is given."""
    exists: Callable[[str], bool] = os.path.lexists
    expand: Callable[[str], Iterable[str]] = glob.glob
    protected: tuple[str, ...] = ()
    """More patterns to protect, in the syntax of .gitignore, besides PROTECTED."""
    backlinks: Backlinks | None = None
    """The links of the workspace, where they were looked for already."""
    recent: Recent = field(default_factory=Recent, compare=False, repr=False)
    is_folder: Callable[[str], bool] = os.path.isdir
    is_link: Callable[[str], bool] = os.path.islink
    which: Callable[[str], str | None] = shutil.which
    """Where the shell would find a program."""
    text_of: Callable[[str], str | None] = _text_of
    """What a small file holds; None if there is no such file, or it is none to be read."""

    @classmethod
    def of(cls, folder: Path, others: Iterable[Path] = ()) -> Self:
        """A folder of the disk, with its ignore files, and others that belong to it."""
        further = tuple(Workspace.of(each) for each in others)
        return cls(str(folder.absolute()), ignore=_ignore_rules(folder), others=further)

    @property
    def alone(self) -> Self:
        """The folder itself, without the others."""
        return replace(self, others=()) if self.others else self

    def snapshot(self) -> Self:
        """The same workspace for judging several paths at one moment: its links are looked for once, when needed."""
        others = tuple(each.snapshot() for each in self.others)
        return replace(self, backlinks=self._backlinks(), others=others)

    def locate(self, path: str, base: str | None = None) -> Located:
        """Judge a path as a tool would take it, relative to `base` (the root when None)."""
        if not path or "\0" in path:
            return Located(path, path, inside=False, problem="it is empty" if not path else "it holds a NUL character")
        if len(path) > MAX_PATH or path.count("/") + path.count("\\") > MAX_DEPTH:
            return Located(path, path, inside=False, problem=TOO_LONG)
        if not self.backlinks:
            return self.snapshot().locate(path, base)
        readings = (self._locate(path, whole) for whole in self._readings(path, base))
        return self._among_others(reduce(Located.stricter, readings), base)

    def _among_others(self, located: Located, base: str | None) -> Located:
        """What holds where a path is in one of the other folders, or a link of theirs leads to it. Inside is what is
        inside one of them; whatever one of them protects or hides stays so."""
        for other in self.others:
            found = other.locate(located.path, base or self.root)
            links = other.by_links(located.resolved).also(self.by_links(located.resolved))
            own = found if found.inside and not located.inside else located
            located = replace(
                own,
                protected=own.protected or links.protected,
                hidden_by=located.hidden_by or found.hidden_by or links.hidden_by,
            )
        return located

    def by_links(self, path: str) -> LinkMeaning:
        """What a path means because links of the workspace lead to it."""
        return (self.backlinks or self._backlinks()).meaning(path)

    def hides(self, path: Path | str) -> bool:
        """Whether an ignore file hides the path: asked of every file of a walk, so that it is free without one."""
        rules = any(each.ignore.specs for each in (self, *self.others))
        if not rules:
            return False
        found = self.recently().locate(str(path))
        return found.hidden_by is not None or found.problem == TOO_LONG

    def join(self, base: str, path: str) -> str:
        """A path from a folder, `~` being the home folder and `~name` somebody else's."""
        if path == "~" or path.startswith("~/"):
            return posixpath.join(self.home, path[2:])
        if path.startswith("~"):
            known = os.path.expanduser(path)  # noqa: PTH111
            return "/home/" + path[1:] if known == path else known
        return posixpath.join(base, path)

    def below(self, located: Located) -> LinkMeaning:
        """What the names below a folder mean: whether one is hidden or protected. Both, if they are too many. That the
        ignore files are hidden themselves does not count here: a folder that is read may well hold one."""
        found = LinkMeaning()
        if not self.is_folder(located.resolved):
            return found
        roots, seen = tuple(dict.fromkeys((self.root, resolve(self.root)))), 0
        for folder, folders, files in os.walk(located.resolved):
            seen += len(folders) + len(files)
            if seen > _MAX_WALK or folder.count("/") > MAX_DEPTH:
                return LinkMeaning("too many files to look at", "too many files to look at")
            for name in (*folders, *files):
                meaning = self._below(posixpath.join(folder, name), roots)
                found = found.also(replace(meaning, hidden_by=None) if name in NAMES else meaning)
            folders[:] = [name for name in folders if name != ".git"]
        return found

    def _below(self, path: str, roots: tuple[str, ...]) -> LinkMeaning:
        """What a name below a folder means; a file that has other names is looked at more closely."""
        meaning = self._by_name(path, roots)
        if not self.ignore.specs or meaning.hidden_by:
            return meaning
        try:
            status = os.lstat(path)
        except (OSError, ValueError):
            return meaning
        if status.st_nlink < 2 or not stat.S_ISREG(status.st_mode):
            return meaning
        return replace(meaning, hidden_by=self.locate(path).hidden_by)

    def guarded_below(self, located: Located) -> str | None:
        """A file or folder below a folder that runs or steers something by itself (`protected.is_guarded`), by its name
        from there. Packages of others and further repositories, which come and go as a whole, are not looked into."""
        left = _MAX_FOLLOWED
        for folder, folders, files in os.walk(located.resolved):
            relative = posixpath.relpath(folder, located.resolved)
            if not NOT_WALKED.isdisjoint(folder.split("/")) or (relative != "." and ".git" in (*folders, *files)):
                folders.clear()
                continue
            left -= len(folders) + len(files)
            if left < 0:
                return "too many files to look at"
            for name in (*folders, *files):
                if is_guarded(posixpath.join(folder, name)) or (relative == "." and name == ".git"):
                    return posixpath.normpath(posixpath.join(relative, name))
        return None

    def links_in(self, located: Located) -> FollowedLinks:
        """Where a program arrives that follows the links below a folder, and those in the folders where they lead. The
        Python of an environment does not count."""
        if not self.backlinks:
            return self.snapshot().links_in(located)
        found, left, walk, seen = FollowedLinks(), [located.resolved], LinkWalk(_MAX_FOLLOWED), set[str]()
        while left and not found.complete:
            for path in walk.below(left.pop()):
                if (place := _end(path)) not in seen:
                    seen.add(place)
                    more, further = self._at_end(path, place, located.resolved)
                    found, left = found.also(more), [*left, *further]
        return FollowedLinks(*["too many files to look at"] * 3) if walk.exhausted else found

    def _at_end(self, path: str, place: str, start: str) -> tuple[FollowedLinks, list[str]]:
        """What the place means where a link leads, and the folders that are to be walked then."""
        roots, link = tuple(dict.fromkeys((self.root, resolve(self.root)))), posixpath.relpath(path, start)
        if _relative(place, start) is not None and _within(place, roots) is not None:  # the walk comes there anyway
            meaning = self._by_name(place, roots)
            return FollowedLinks(None, meaning.hidden_by and link, meaning.protected and link), []
        target = self.locate(path)
        further = [target.resolved] if target.inside and self.is_folder(target.resolved) else []
        return self._led_to(link, target), further

    def _led_to(self, link: str, target: Located) -> FollowedLinks:
        """What one link leads to."""
        foreign = not target.inside and not _is_python(link, target.resolved)
        out = target.problem or target.secret or foreign
        hidden = target.hidden_by or (self.below(target).hidden_by if self.ignore.specs and target.inside else None)
        protected = target.protected and (target.inside or foreign)
        return FollowedLinks(link if out else None, link if hidden else None, link if protected else None)

    def holds_protected(self, located: Located) -> bool:
        """Whether a folder is, or is above, the workspace, so that removing it takes protected files along."""
        return _relative(resolve(self.root), located.resolved) is not None

    # One reading of a path

    def _readings(self, path: str, base: str | None) -> Iterable[str]:
        """The absolute paths that programs may take the path for."""
        folder = base or self.root
        forms = dict.fromkeys((path, path.strip(), path.replace("\\", "/"), visible(path).replace("\\", "/")))
        wholes = [self.join(folder, form) for form in forms if form]
        wholes += [posixpath.join(folder, form) for form in forms if form.startswith("~")]
        seen = (without_magic(posixpath.normpath(whole), folder) for whole in wholes)
        return dict.fromkeys((*wholes, *filter(None, seen)))

    def _locate(self, path: str, whole: str) -> Located:
        try:
            trail, roots = follow(whole), tuple(dict.fromkeys((self.root, resolve(self.root))))
            homes = (self.home, resolve(self.home))
        except (OSError, ValueError) as error:
            return Located(path, whole, inside=False, problem=f"it cannot be resolved ({error})")
        lexical = _normal(whole)
        ways = tuple(dict.fromkeys((trail.resolved, lexical, *trail.through, *_mounted(trail.resolved, roots))))
        meaning = self._meaning(ways, roots)
        return Located(
            path,
            trail.resolved,
            inside=self._inside(path, lexical, trail, roots),
            protected=meaning.protected,
            hidden_by=meaning.hidden_by,
            problem=_MAGIC if trail.magic else None,
            secret=any(_secret(way, homes, roots) for way in ways),
            led_away=self._led_away(lexical, trail, roots),
        )

    def _led_away(self, lexical: str, trail: Trail, roots: tuple[str, ...]) -> bool:
        if not trail.through or _within(lexical, roots) is None:
            return False
        protected = any(self._by_name(way, roots).protected for way in (trail.resolved, *trail.through))
        return _within(trail.resolved, roots) is None or (protected and self._by_name(lexical, roots).protected is None)

    def _inside(self, path: str, lexical: str, trail: Trail, roots: tuple[str, ...]) -> bool:
        if trail.magic or _ELSEWHERE.match(path) or _within(trail.resolved, roots) is None:
            return False
        return path.startswith("/") or _within(lexical, roots) is not None

    def _meaning(self, ways: tuple[str, ...], roots: tuple[str, ...]) -> LinkMeaning:
        """What the names of a path mean, those of the links that lead to it, and other names of the same file."""
        found = LinkMeaning()
        for way in ways:
            found = found.also(self._by_name(way, roots))
        if not (self.ignore.specs or (_within(ways[0], roots) is not None and found.protected is None)):
            return found
        backlinks = self.backlinks or self._backlinks()
        for way in ways:
            found = found.also(backlinks.meaning(way))
        return found.also(self._as_hard_link(ways[0], roots, backlinks))

    def _by_name(self, path: str, roots: tuple[str, ...]) -> LinkMeaning:
        relative = _within(path, roots)
        if relative == ".":
            return LinkMeaning()
        hidden = self._hidden(path, relative) if relative and self.ignore.specs else None
        parts = fold_path(relative or path)
        protected = protecting(parts) or _matching(self.protected, "/".join(parts))
        return LinkMeaning(protected or (_repository(path, relative) if relative else None), hidden)

    def _hidden(self, path: str, relative: str) -> str | None:
        """The ignore file that hides a path. In another working tree inside, the lines count from its top as well."""
        folder = _may_be_folder(path)
        if found := self.ignore.hiding(relative, folder=folder):
            return found
        slashes = (at for at, char in enumerate(relative) if char == "/")
        tops = (at for at in slashes if is_other_working_tree(path[: at - len(relative)]))
        inner = (self.ignore.hiding(relative[at + 1 :], folder=folder) for at in tops)
        return next(filter(None, inner), None)

    def _as_hard_link(self, path: str, roots: tuple[str, ...], backlinks: Backlinks) -> LinkMeaning:
        try:
            status = os.lstat(path)
        except (OSError, ValueError):
            return LinkMeaning()
        if status.st_nlink < 2 or not stat.S_ISREG(status.st_mode) or _within(path, roots) is None:
            return LinkMeaning()
        names = backlinks.other_names(status.st_ino) if self.ignore.specs else ()
        hidden = (self._by_name(name, roots).hidden_by for name in names)
        return LinkMeaning(HARD_LINK, next(filter(None, hidden), None))

    def recently(self) -> Self:
        """The same workspace for many paths: its links as they were a moment ago."""
        others = tuple(each.recently() for each in self.others)
        return replace(self, backlinks=self.recent.get(self._backlinks), others=others)

    def _backlinks(self) -> Backlinks:
        root = resolve(self.root)
        return Backlinks(root, lambda path: self._by_name(path, (self.root, root)))


def _ignore_rules(folder: Path) -> IgnoreRules:
    """The rules of a folder. In a worktree of Joey's, those of the checkout that it was made from hold as well: it has
    only the ignore files that were committed."""
    folders = [folder]
    if (worktree := worktree_around(folder)) is not None:
        inside = os.path.relpath(folder.resolve(), worktree.path.resolve())
        folders.append(worktree.origin / inside)
    rules = [IgnoreRules.read({name: _ignore_file(each / name) for name in NAMES}) for each in folders]
    return IgnoreRules(tuple(spec for each in rules for spec in each.specs))


def _ignore_file(path: Path) -> str:
    """What is in an ignore file. One that cannot be taken as a whole is an error, since it would hide too little."""
    try:
        text = read_regular(path).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise UsageError(f"{path.name} cannot be read ({error.strerror}); correct or remove it") from error
    lines = text.casefold().splitlines()  # as the rules are read, which makes some letters two
    if len(lines) > MAX_LINES // 2:
        raise UsageError(f"{path.name} has more than {MAX_LINES // 2} lines; shorten it")
    if any(len(line) > MAX_LINE for line in lines):
        raise UsageError(f"{path.name} has a line of more than {MAX_LINE} characters; shorten it")
    return text


def _end(path: str) -> str:
    """Where a link leads; the link itself, if that is nowhere."""
    try:
        return resolve(path)
    except (OSError, ValueError):
        return path


def _normal(path: str) -> str:
    return "/" + posixpath.normpath(path).lstrip("/")


def _within(path: str, roots: Iterable[str]) -> str | None:
    """The path from the first root that it is in."""
    return next((found for root in roots if (found := _relative(path, root)) is not None), None)


def _relative(path: str, root: str) -> str | None:
    """The path from the root, "." for the root itself, None when it is not in it."""
    if path == root:
        return "."
    start = root.rstrip("/") + "/"
    return path[len(start) :] if path.startswith(start) else None


def _secret(path: str, homes: Iterable[str], roots: Iterable[str]) -> bool:
    """Whether credentials are kept there. A workspace that is such a place itself was chosen as it is; one that has
    such places in it, a home folder or `/`, was not chosen for them."""
    if _within(path, roots) is None:
        return _known_secret(path, homes) or holds_credentials("/" + "/".join(fold_path(path)))
    return _known_secret(path, homes) and not any(_known_secret(root, homes) for root in roots)


def _known_secret(path: str, homes: Iterable[str]) -> bool:
    below = _within(path, homes)
    if below is not None and is_credential("/".join(fold_path(below))):
        return True
    return is_system_credential("/" + "/".join(fold_path(path)))


def _mounted(path: str, roots: tuple[str, ...]) -> Iterator[str]:
    """The name in the workspace of a path outside, if the workspace is mounted there a second time."""
    if _within(path, roots) is not None:
        return
    folder = path
    try:
        root = os.stat(roots[-1])  # noqa: PTH116
        while folder:
            if os.path.lexists(folder) and os.path.samestat(os.stat(folder), root):  # noqa: PTH116
                yield roots[-1] + path[len(folder) :]
                return
            folder = folder.rpartition("/")[0]
    except (OSError, ValueError):
        return


def _is_python(link: str, place: str) -> bool:
    """Whether a link is the Python of an environment: it leads to a program that is named like it."""
    named = all(_PYTHON.fullmatch(posixpath.basename(each)) for each in (link, place))
    return named and os.path.isfile(place) and os.access(place, os.X_OK)  # noqa: PTH113


def _may_be_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)  # noqa: PTH116 - strings, as the model wrote them
    except (OSError, ValueError):
        return True


def _repository(path: str, relative: str) -> str | None:
    """Whether one of the folders above the path, in the workspace, is a git repository or becomes one by it."""
    folder = path[: len(path) - len(relative)].rstrip("/")
    for name in relative.split("/"):
        if is_repository(folder, name.casefold()):
            return REPOSITORY
        folder += f"/{name}"
    return None


def _matching(patterns: tuple[str, ...], path: str) -> str | None:
    spec = _spec(patterns)
    for form in (path, path + "/") if patterns else ():
        index = spec.check_file(form).index
        if index is not None:
            return patterns[index]
    return None


@cache
def _spec(patterns: tuple[str, ...]) -> GitIgnoreSpec:
    return GitIgnoreSpec.from_lines([pattern.casefold() for pattern in patterns], LinearPattern)
