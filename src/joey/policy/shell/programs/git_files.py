"""Which files the words of a git command name, and what is done with them.

Before `--` a word may be a revision, a file in a revision (`HEAD:a/b`, `:0:a/b`), a path or a pathspec with magic
(`:(top)a`, `:!a`); after it there are pathspecs only. What may be a path is taken for one: a branch that is named like
a hidden file is asked about. A wildcard of git's crosses folders, so a pathspec with one restricts nothing.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from joey.policy.shell.options import Check, Touch, Use, unknown_words
from joey.policy.shell.plain import Word

PATCH = frozenset(
    {"-p", "-u", "--patch", "-U", "--unified", "-W", "--function-context", "--patch-with-stat", "--patch-with-raw"}
    | {
        "-c",
        "--cc",
        "--dd",
        "--diff-merges",
        "--word-diff",
        "--word-diff-regex",
        "--color-words",
        "--binary",
        "--check",
    }
    | {"-L", "-S", "-G", "--find-object", "-I", "--ignore-matching-lines"}
)
"""Options that make a command print what is in files, or depend on it, so that it can be guessed."""
SUMMARY = frozenset(
    {"--stat", "--numstat", "--shortstat", "--name-only", "--name-status", "--summary", "--dirstat", "--raw"}
    | {"--compact-summary", "-s", "--no-patch", "-q", "--quiet"}
)
"""Options that make `show` and `diff` print names and numbers instead of what is in files."""

_BELOW: dict[Touch, Touch] = {"read": "tree", "write": "fill", "maybe": "fill"}
_MAGIC = frozenset({"top", "literal", "glob", "exclude"})
_LONG_MAGIC = re.compile(r":\(([^)]*)\)")
_SHORT_MAGIC = re.compile(r":([/!^]*):?")
_STAGE = re.compile(r":[0-3]:")
_OBJECT = re.compile(r"[0-9a-f]{4,64}")


@dataclass(frozen=True, slots=True)
class _Pathspec:
    path: Word
    excludes: bool = False
    from_top: bool = False
    pattern: bool = False


def _pathspec(word: Word) -> _Pathspec | None:
    """A pathspec; None if it has magic that is not understood, such as `icase`."""
    long, short = _LONG_MAGIC.match(word.text), _SHORT_MAGIC.match(word.text)
    match = long or short
    if match is None:
        return _Pathspec(word, pattern=_is_pattern(word))
    magic = set(match[1].split(",")) - {""} if long else {{"/": "top"}.get(char, "exclude") for char in match[1]}
    if not magic <= _MAGIC:
        return None
    path = Word(word.text[match.end() :] or ".", word.glob)
    return _Pathspec(path, "exclude" in magic, "top" in magic, _is_pattern(path))


def _is_pattern(word: Word) -> bool:
    return word.glob or any(char in word.text for char in "*?[\\")


def _colon(text: str) -> int:
    """Where the path begins in REV:PATH, as git finds it: at the first colon outside of braces; -1 if there is none."""
    depth = 0
    for at, char in enumerate(text):
        depth += (char == "{") - (char == "}" and depth > 0)
        if char == ":" and not depth:
            return at
    return -1


def _path_in(word: Word) -> Word | None:
    """The path of `HEAD:a/b` or `:0:a/b`."""
    stage = _STAGE.match(word.text)
    at = stage.end() - 1 if stage else _colon(word.text)
    return Word(word.text[at + 1 :] or ".", word.glob) if at > 0 else None


def split(use: Use, skip: int = 0) -> tuple[Sequence[Word], Sequence[Word]]:
    """The operands before and after `--`, without the first ones."""
    at = len(use.operands) if use.separated is None else max(use.separated, skip)
    return use.operands[skip:at], use.operands[at:]


# Commands that show something


WIDENS = frozenset({"--full-diff", "--follow", "--submodule", "--pickaxe-all", "-L"})
"""Options with which a command may show more than the paths it is given: the rest of a commit, what a file was called
before, the files of a submodule. Every other option in the tables was tried to keep to the paths."""
_NO_OBJECT = re.compile(r"(?:HEAD|@)(?:[~^]\d*|@\{[\w.-]+\})*|[\w./-]+(?:[~^]\d*)+|[\w./-]*@\{[\w.-]+\}")
"""What is a commit whatever the repository holds: `HEAD~3`, `main^`, `stash@{1}`."""


def shows(content: Callable[[Use], bool], skip: Callable[[Use], int] = lambda _use: 0, *, paths: bool = True) -> Check:
    """A command that prints something about files: their content, if `content`, or else names and numbers. `paths`:
    whether words can restrict it to paths."""

    def check(use: Use) -> Iterator[str]:
        before, after = split(use, skip(use))
        touch: Touch = "tree" if content(use) else "list"
        for word in before:
            yield from _revision(use, word, touch)
        specs = [_pathspec(word) for word in after]
        yield from _add(use, specs, touch)
        _lines_of(use)
        use.widens = not paths or use.has(*WIDENS)
        if (content(use) or use.path[0] == "show") and use.path[0] not in _COMMITS_ONLY and not use.has("--no-index"):
            use.objects += [word.text for word in before if not _is_commit(word.text)]
            use.objects += [name for name, _ in use.options if name in _ALL_REFS and use.path[0] == "show"]
        if content(use) and use.path[0] not in ("blame", "annotate") and not use.has("--no-index"):
            use.shows = "history" if before or use.path[0] not in ("diff", "grep") else "worktree"
            use.only = _only(use, before, specs)

    return check


_ALL_REFS = frozenset({"--all", "--tags", "--remotes", "--glob", "--reflog"})
"""Options that stand for any references, tags of a file's content among them."""
_COMMITS_ONLY = frozenset({"log", "whatchanged", "reflog", "stash", "blame", "annotate", "range-diff", "format-patch"})
"""Commands that pass over an object which is not a commit, or refuse it."""


def _is_commit(text: str) -> bool:
    """Whether a word is a commit, a range of them, or a file in one, which is judged by its path."""
    ends = [end for end in re.split(r"\.{2,3}", text) if end] if ".." in text else []
    return bool(ends) or _NO_OBJECT.fullmatch(text) is not None or _path_in(Word(text)) is not None


def _only(use: Use, before: Sequence[Word], specs: Sequence[_Pathspec | None]) -> list[Word] | None:
    """The paths that the words restrict it to: those behind `--`, or those in revisions (`HEAD:src`)."""
    if specs:
        return [spec.path for spec in specs if spec and not spec.excludes] if _restricts(specs) else None
    inner = [_path_in(word) for word in before]
    if not before or None in inner:
        return None
    if use.path[0] in ("show", "cat-file"):  # these show a file, or the names in a folder
        return []
    return _less_than_all(inner)


def _less_than_all(inner: Sequence[Word | None]) -> list[Word] | None:
    """The paths of revisions, if each is one and less than the whole workspace: `HEAD:` is not."""
    paths = [path for path in inner if path is not None and _restricting(path.text)]
    return paths if len(paths) == len(inner) else None


def _revision(use: Use, word: Word, touch: Touch) -> Iterator[str]:
    path = _path_in(word)
    if path is not None and ".." in word.text:
        yield f"which file `{word.text}` names is not known"
    elif path is not None:
        use.from_top = use.from_top or not path.text.startswith(("./", "../"))
        use.files.append(("read" if use.path[0] in ("show", "cat-file") else touch, path))
    elif not word.text.startswith("-"):
        use.from_top = use.from_top or word.text.startswith(":")
        yield from _add(use, [_pathspec(word)], touch)


def _add(use: Use, specs: Sequence[_Pathspec | None], touch: Touch) -> Iterator[str]:
    for spec in specs:
        if spec is None:
            yield "a pathspec has magic that is not known to be harmless"
        elif not spec.excludes:
            use.from_top = use.from_top or spec.from_top
            use.files.append((_BELOW.get(touch, touch) if spec.path.below else touch, spec.path))


def _restricts(specs: Sequence[_Pathspec | None]) -> bool:
    included = [spec for spec in specs if spec is None or not spec.excludes]
    return bool(included) and all(spec and not spec.pattern and _restricting(spec.path.text) for spec in included)


def may_restrict(words: Sequence[Word]) -> bool:
    """Whether words without `--` are nothing but revisions and paths that are less than the whole workspace."""
    return _restricts([_pathspec(word) for word in words])


def _restricting(path: str) -> bool:
    """Whether a path is less than the whole workspace, wherever in it the command runs."""
    return not posixpath.normpath(path).startswith(("/", "..")) and posixpath.normpath(path) != "."


def _lines_of(use: Use) -> None:
    """The files of `log -L1,5:FILE`. A regular expression may have colons too: every end of the value may be a file."""
    if use.path[0] in ("blame", "annotate"):
        return
    for text in (value.text for name, value in use.options if name == "-L" and value):
        use.files += [("read", Word(text[match.end() :])) for match in re.finditer(":", text)]


def patch(use: Use) -> bool:
    """For commands that show what is in files only with `-p` and the like."""
    return use.has(*PATCH)


def no_summary(use: Use) -> bool:
    """For commands that show what is in files unless they are told to summarise. An object may be a file's content."""
    return patch(use) or not use.has(*SUMMARY) or any(_OBJECT.fullmatch(word.text) for word in use.operands)


def always(_use: Use) -> bool:
    return True


def never(_use: Use) -> bool:
    return False


# Commands that change something


def stages(use: Use) -> Iterator[str]:
    """`git add` and `git commit`: what is put into the history is read. They pass over ignored files unless forced."""
    specs = [_pathspec(word) for word in use.operands]
    forced = use.has("-f", "--force")
    yield from _add(use, specs, "tree" if forced else "read")
    if forced and any(spec and spec.pattern for spec in specs):
        yield "which ignored files are added is only known when it runs"
    if use.has("-p", "--patch") or (use.path[0] == "commit" and use.has("-v", "--verbose")):
        use.shows = "worktree"


def changes(touch: Touch) -> Check:
    """A command that writes or removes all that its operands name."""

    def check(use: Use) -> Iterator[str]:
        only_index = use.path[0] == "rm" and use.has("--cached", "-n", "--dry-run")
        yield from _change(use, use.operands, "list" if only_index else touch)

    return check


def _change(use: Use, words: Sequence[Word], touch: Touch) -> Iterator[str]:
    specs = [_pathspec(word) for word in words]
    yield from _add(use, specs, touch)
    if any(spec and (spec.pattern or spec.excludes) for spec in specs):
        yield "which files a pathspec with wildcards or exclusions changes is only known when it runs"
    if use.has("-p", "--patch"):
        use.shows = "worktree"


def restores(use: Use) -> Iterator[str]:
    only_index = use.has("-S", "--staged") and not use.has("-W", "--worktree")
    yield from _change(use, use.operands, "list" if only_index else "write")


def checks_out(use: Use) -> Iterator[str]:
    """`git checkout`: a branch, or files from the index or from a revision."""
    if use.has("-b", "-B", "--orphan", "--detach", "-d") and use.separated is None:
        return
    before, after = split(use)
    if after:
        yield from _change(use, after, "write")
        return
    yield from _change(use, before[1:], "write")
    if before and before[0].text != "-":
        spec = _pathspec(before[0])
        yield from _add(use, [spec], "maybe")
        if spec and spec.pattern:
            yield "which files a pathspec with wildcards changes is only known when it runs"


def cleans(use: Use) -> Iterator[str]:
    """`git clean` removes what git does not know, here or in the folders it is given."""
    if use.has("-n", "--dry-run"):
        return
    yield from _change(use, use.operands or [Word(".")], "remove")


def moves(use: Use) -> Iterator[str]:
    """`git mv A B` and `git mv A… FOLDER`: what is moved is written at the last word, or below it, and read there."""
    yield from unknown_words(use)
    *sources, target = use.operands or [Word("")]
    if any(_is_pattern(word) for word in use.operands):
        yield "which files are moved is only known when it runs"
    for source in sources:
        name = source.text.rstrip("/").rsplit("/", 1)[-1]
        use.files += [("tree", source), ("remove", source), ("write", Word(f"{target.text}/{name}"))]
    if not target.text.endswith(("/", ".")):
        use.files.append(("write", target))


def archives(use: Use) -> Iterator[str]:
    """`git archive REVISION PATH…`: the paths need no `--`."""
    specs = [_pathspec(word) for word in use.operands[1:]]
    yield from _add(use, specs, "tree")
    for word in use.operands[:1]:
        yield from _revision(use, word, "list")
    use.shows = "history"
    use.only = [spec.path for spec in specs if spec] if _restricts(specs) else None
    if use.operands and not specs:
        use.only = _less_than_all([_path_in(use.operands[0])])
