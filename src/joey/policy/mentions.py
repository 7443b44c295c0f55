"""Texts that somebody else's tool is given, and that may be paths under any name.

A tool of a server or of a user may take any argument for a path. So every text is looked at, and counts where it leads
out of the workspace, to credentials, or to something that is hidden or protected. Most texts are no paths, and must not
ask: an address of the web, a sentence, a route such as `/api/users`. What is taken for a path is a `file:` address, and
a text of one line that names something there is, or is written as only paths are: from the root, if its first folder
exists, from a home folder, or with `..` in it, each also in quotes or brackets. In a text without spaces, what stands
behind `=`, `:`, `@`, `,` or `;` is looked at as well, and for a tool that may write the words of a short text or of one
with options (`--file /etc/passwd`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from urllib.parse import unquote

from joey.policy.paths import Located, Workspace
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


def mentioned_parts(
    texts: Iterable[str], settings: Settings, workspace: Workspace, *, writes: bool
) -> Iterator[VerdictPart]:
    """The texts that are paths to where a tool may not go unasked."""
    places = workspace.snapshot()
    for count, text in enumerate(texts):
        if count >= _MAX_TEXTS:
            yield VerdictPart(quoted(text[:80]), "ask", "too many arguments to check for paths", kind="path")
            return
        for path in dict.fromkeys(_candidates(text, writes=writes)):
            part = _part(path, settings, places, writes=writes) if _is_path(path, places) else None
            if part is not None and part.decision != "allow":
                yield part
                break


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
