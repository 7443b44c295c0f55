"""What the settings of a git repository make git do.

A repository's own `.git/config` can name programs that git runs on the most innocent command (`core.fsmonitor` on
`git status`). This reader is closed: a setting is either known to be harmless with its value, or it is named as a
problem. It reads less than git does (no includes, no continued lines): what it cannot read is a problem too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_SECTION = re.compile(r'\[([A-Za-z0-9-]+)(?: "((?:[^"\\\n]|\\["\\])*)")?\]')
_VARIABLE = re.compile(r"([A-Za-z][A-Za-z0-9-]*)(?:\s*=\s*(.*))?")

_ANY = re.compile(r".*")
_NUMBER = re.compile(r"\d+[kmg]?")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*|\.")
_ADDRESS = re.compile(
    r"(?:https?|git|ssh)://[A-Za-z0-9][^\s\"'\\]*|(?:[\w.-]+@)?[A-Za-z0-9][\w.-]*:(?!:)[^\s\"'\\:]*"
    r"|(?:file://)?/[\w./-]+|\.{1,2}/[\w./-]+"
)
"""An address with a plain protocol, `user@host:path`, a folder, or the relative one of a submodule. No `ext::`."""
_REFSPEC = re.compile(r"[+^]?[\w./*-]*(?::[\w./*-]*)?")

_CORE = (
    "repositoryformatversion filemode logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol safecrlf "
    "abbrev bigfilethreshold checkstat commentchar compression loosecompression deltabasecachelimit packedgitlimit "
    "packedgitwindowsize preloadindex protecthfs protectntfs quotepath sharedrepository splitindex trustctime "
    "untrackedcache usereplacerefs warnambiguousrefs whitespace longpaths fscache hidedotfiles multipackindex "
    "commitgraph"
)
_HARMLESS: dict[str, re.Pattern[str]] = {
    **{f"core.{name}": _ANY for name in _CORE.split()},
    "core.bare": re.compile("false"),
    "core.fsmonitor": re.compile("false"),
    "user.name": _ANY,
    "user.email": _ANY,
    "remote.*.url": _ADDRESS,
    "remote.*.pushurl": _ADDRESS,
    "remote.*.fetch": _REFSPEC,
    "remote.*.push": _REFSPEC,
    "remote.*.tagopt": re.compile("--(?:no-)?tags"),
    "remote.*.prune": _ANY,
    "remote.*.prunetags": _ANY,
    "remote.*.gh-resolved": _ANY,
    "remote.pushdefault": _NAME,
    "branch.*.remote": _NAME,
    "branch.*.pushremote": _NAME,
    "branch.*.merge": _REFSPEC,
    "branch.*.rebase": re.compile("true|false|merges"),
    "branch.*.description": _ANY,
    "branch.*.gk-merge-base": _ANY,
    "branch.*.gk-last-accessed": _ANY,
    "branch.*.vscode-merge-base": _ANY,
    "branch.*.github-pr-owner-number": _ANY,
    "branch.autosetupmerge": _ANY,
    "branch.autosetuprebase": _ANY,
    "branch.sort": _ANY,
    "submodule.*.url": _ADDRESS,
    "submodule.*.active": _ANY,
    "submodule.active": _ANY,
    "submodule.recurse": re.compile("false"),
    "init.defaultbranch": _NAME,
    "pull.rebase": re.compile("true|false|merges"),
    "push.default": _ANY,
    "push.autosetupremote": _ANY,
    "push.followtags": _ANY,
    "merge.conflictstyle": _ANY,
    "merge.ff": _ANY,
    "diff.algorithm": re.compile("myers|minimal|patience|histogram"),
    "diff.colormoved": _ANY,
    "diff.renames": _ANY,
    "gc.auto": _NUMBER,
    "rerere.enabled": _ANY,
    "extensions.worktreeconfig": re.compile("false"),
    "extensions.objectformat": re.compile("sha1|sha256"),
    "extensions.refstorage": re.compile("files|reftable"),
    "index.version": _NUMBER,
    "commit.gpgsign": re.compile("false"),
    "tag.gpgsign": re.compile("false"),
    "lfs.repositoryformatversion": _NUMBER,
    **{f"{section}.{name}": _ANY for section, name in (("pull", "ff"), ("fetch", "prune"))},
}
_HARMLESS_SECTIONS = frozenset({"advice", "color"})


def repository_problems(config: str) -> list[str]:
    """Which settings of a `.git/config` may make git run something, or are not understood."""
    return [problem for key, value in _settings(config) if (problem := _problem(key, value))]


def remote_names(config: str) -> frozenset[str]:
    """The remotes that have an address in a `.git/config`."""
    keys = (key for key, _ in _settings(config))
    return frozenset(key.split(".", 1)[1][: -len(".url")] for key in keys if re.fullmatch(r"remote\..+\.url", key))


def local_remotes(config: str) -> dict[str, str]:
    """The remotes of a `.git/config` that are folders of this machine, with their paths. Git itself runs the hooks of
    such a repository when something is pushed there."""
    found = ((re.fullmatch(r"remote\.(.+)\.(?:push)?url", key), value) for key, value in _settings(config))
    return {match[1]: value for match, value in found if match and not _ELSEWHERE.match(value)}


_ELSEWHERE = re.compile(r"(?:https?|git|ssh)://|[^/:]+:(?!//)", re.IGNORECASE)


def _problem(key: str, value: str) -> str:
    if not key:
        return f"the settings of the repository have a line that is not understood: `{value[:40]}`"
    section, *middle, name = key.split(".")
    if section in _HARMLESS_SECTIONS:
        return ""
    pattern = _HARMLESS.get(f"{section}.*.{name}" if middle else key)
    if pattern is None:
        return f"the repository sets `{key}`, which is not known to be harmless"
    if not pattern.fullmatch(value):
        return f"the repository sets `{key}` to `{value}`, which is not known to be harmless"
    return ""


def _settings(config: str) -> Iterator[tuple[str, str]]:
    """The settings with their values. A line that is not understood is a value without a name."""
    prefix = ""
    for line in config.lstrip("\ufeff").split("\n"):
        text = line.strip(" \t\r")
        if not text or text[0] in "#;":
            continue
        if section := _SECTION.fullmatch(text):
            subsection = re.sub(r"\\(.)", r"\1", section[2]) if section[2] is not None else None
            prefix = section[1].lower() + (f".{subsection}" if subsection is not None else "")
        elif (variable := _VARIABLE.fullmatch(text)) and prefix and (value := _value(variable[2])) is not None:
            yield f"{prefix}.{variable[1].lower()}", value
        else:
            yield "", text


def _value(text: str | None) -> str | None:
    """A value as git reads it; None if it has what only git reads: an escape, a continued line, a comment."""
    if text is None:
        return "true"
    if match := re.fullmatch(r'"([^"\\]*)"', text):
        return match[1]
    return text if not re.search(r'[\\"#;]', text) else None
