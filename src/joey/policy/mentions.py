"""Texts that somebody else's tool is given, and that may be paths under any name.

A tool of a server or of a user may take any argument for a path. So every text is looked at, and counts where it leads
out of the workspace, to credentials, or to something that is hidden or protected. Most texts are no paths, and must not
ask: an address of the web, a sentence, a route such as `/api/users`. What is taken for a path is a `file:` address, and
a text of one line that names something there is, or is written as only paths are: from the root, if its first folder
exists, from a home folder, or with `..` in it, each also in quotes or brackets. In a text without spaces, what stands
behind `=`, `:`, `@`, `,` or `;` is looked at as well, and for a tool that may write the words of a short text or of one
with options (`--file /etc/passwd`).

What an ignore file hides is looked for more closely, since a relative path looks like any word: in every text that is
not long, each word that has a dot or a slash in it, and in a short one each word (`cat s.key`), if there is one such;
below every folder that another text names (`{"in": "conf", "show": "s.key"}`); and in a text of one word that has the
form of a path also where there is none yet. A word in a sentence asks: it may be mentioned and no more.
"""

from __future__ import annotations

import glob
import posixpath
import re
from collections.abc import Iterable, Iterator
from urllib.parse import unquote

from joey.policy.paths import TOO_LONG, Located, Workspace
from joey.policy.settings import Settings
from joey.policy.verdict import Decision, VerdictPart
from joey.system.addresses import addressed_files, is_address
from joey.system.filenames import quoted

_MAX_TEXTS = 2_000
_MAX_LENGTH = 4_096
_MAX_WORDS = 5
"""A longer text is a sentence, unless there is a file of just this name or it begins as only paths do."""
_WRAPPING = "'\"`()[]{}<>"
_WORD = re.compile(r"/+[^/]|~/|\.\./")
_OPTION = re.compile(r"(?:^|\s)--?[A-Za-z]")
_HOME = re.compile(r"~[\w.-]*(?:[/\\]|$)")
_BETWEEN = re.compile(r"[=:@,;|]")
_AROUND_WORDS = re.compile(r"[\s=:@,;|<>&$#!'\"`()\[\]{}]+")
_WILDCARD = re.compile(r"[*?]")
_MAX_NAMES, _MAX_BASES, _MAX_JOINED = 5_000, 20, 5_000
"""Words and folders that are looked at to find what is hidden, and words in folders."""


def mentioned_parts(
    texts: Iterable[str], settings: Settings, workspace: Workspace, *, writes: bool
) -> Iterator[VerdictPart]:
    """The texts that are paths to where a tool may not go unasked."""
    places, looked = workspace.snapshot(), list[str]()
    for count, text in enumerate(texts):
        if count >= _MAX_TEXTS:
            yield _too_many(text)
            return
        looked.append(text)
        for path in dict.fromkeys(_candidates(text, writes=writes)):
            part = _part(path, settings, places, writes=writes) if _is_path(path, places) else None
            if part is not None and part.decision != "allow":
                yield part
                break
    if any(each.ignore.specs for each in (places, *places.others)):
        yield from _hidden_parts(looked, places)


def _too_many(text: str) -> VerdictPart:
    return VerdictPart(quoted(text[:80]), "ask", "too many arguments to check for paths", kind="path")


def _hidden_parts(texts: Iterable[str], places: Workspace) -> Iterator[VerdictPart]:
    """Words that name what an ignore file hides, whatever stands around them."""
    names = dict[str, bool]()
    for text in texts:
        for name, alone in _names(text):
            names[name] = names.get(name, False) or alone
        if len(names) > _MAX_NAMES:
            yield _too_many(text)
            return
    for name, alone in names.items():
        there = [path for path in _matching(name, places) if places.exists(places.join(places.root, path))]
        yield from _hidden_part(there or ([name] if alone and ("/" in name or "." in name) else []), name, places)
    yield from _in_folders(names, places)


def _names(text: str) -> Iterator[tuple[str, bool]]:
    """The words of a text that may be names of files, and whether each is the whole text."""
    if len(text) > _MAX_LENGTH or is_address(text):
        return
    words = [word for word in _AROUND_WORDS.split(text) if word.strip("./*?")]
    short = len(text.split()) <= _MAX_WORDS or _OPTION.search(text) is not None
    for word in words:
        for name in dict.fromkeys((word, unquote(word), word.rstrip(".?"))):
            if "\0" not in name and ("." in name or "/" in name or (short and len(name) > 1)):
                yield name, len(words) == 1


def _matching(name: str, places: Workspace) -> Iterable[str]:
    """The files that a word with a wildcard in its last part stands for, or the word itself."""
    folder, _, last = name.rpartition("/")
    if not _WILDCARD.search(last) or _WILDCARD.search(folder):
        return (name,)
    return places.expand(places.join(glob.escape(places.root), f"{glob.escape(folder)}/{last}" if folder else last))


def _hidden_part(paths: Iterable[str], name: str, places: Workspace) -> Iterator[VerdictPart]:
    for found in map(places.locate, paths):
        if found.hidden_by is not None:
            yield VerdictPart(name, "ask", f"it is listed in {found.hidden_by}", found.hidden_by, "path")
            return
        if found.problem == TOO_LONG:
            yield VerdictPart(quoted(name[:80]), "ask", found.problem, kind="path")
            return


def _in_folders(names: Iterable[str], places: Workspace) -> Iterator[VerdictPart]:
    """The same words as names in a folder that one of them names."""
    names = list(names)
    bases = [name for name in names if places.is_folder(places.join(places.root, name))]
    if len(bases) > _MAX_BASES or len(bases) * len(names) > _MAX_JOINED:
        yield _too_many(bases[0])
        return
    joined = (posixpath.join(base, name) for base in bases for name in names if not name.startswith(("/", "~")))
    for path in joined:
        if places.exists(places.join(places.root, path)):
            yield from _hidden_part([path], path, places)


def _candidates(text: str, *, writes: bool) -> Iterator[str]:
    yield from addressed_files(text)
    if len(text) > _MAX_LENGTH or "\n" in text:
        return
    yield from (text, text.strip(_WRAPPING))
    words = [word.strip(_WRAPPING) for word in text.split()]
    if len(words) > 1 and writes and (len(words) <= _MAX_WORDS or _OPTION.search(text)):
        yield from (path for word in words for path in (word, *addressed_files(word)) if _WORD.match(path))
    bare = words[0] if len(words) == 1 and not is_address(text) else ""
    if "%" in bare:
        yield unquote(bare)
    for piece in _BETWEEN.split(bare) if _BETWEEN.search(bare) else ():
        if piece.startswith(("/", "~")) or ".." in re.split(r"[/\\]", piece):
            yield piece


def _is_path(text: str, workspace: Workspace) -> bool:
    if not text or "\0" in text or is_address(text):
        return False
    if workspace.exists(workspace.join(workspace.root, text)):
        return True
    if len(text.split()) > _MAX_WORDS and not text.startswith(("/", "~", "..")):
        return False
    if text.startswith("/"):
        first = text.strip("/").split("/")[0]
        return bool(first) and workspace.exists(f"/{first}")
    return _HOME.match(text) is not None or ".." in re.split(r"[/\\]", text)


def _part(path: str, settings: Settings, workspace: Workspace, *, writes: bool) -> VerdictPart | None:
    """The decision about a path, if there is one to be made."""
    found = workspace.locate(path)
    if found.hidden_by:
        return VerdictPart(path, "deny", f"it is listed in {found.hidden_by}", found.hidden_by, "path")
    reason, decision = _outside(found, settings, writes=writes)
    if reason:
        return VerdictPart(path, decision, reason, kind="path")
    if found.protected and writes:
        return VerdictPart(path, settings.writes_protected, f"it is protected ({found.protected})", kind="path")
    return None


def _outside(found: Located, settings: Settings, *, writes: bool) -> tuple[str, Decision]:
    decision = settings.writes_outside if writes else settings.reads_outside
    if found.problem:
        return found.problem, "deny" if decision == "deny" else "ask"
    if not found.inside:
        return f"it is outside the workspace ({quoted(found.resolved)})", decision
    return ("credentials are kept there" if found.secret else ""), settings.reads_outside
