"""Which files a command would change, for the programs whose habit it is to change files.

Not complete, and it cannot be: a compiler writes files too. It knows the programs whose purpose is to put, move or
remove files at the place they are told.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from joey.policy.danger import of_module
from joey.policy.rules import program
from joey.policy.words import Piece, Word

_ALL = frozenset(
    {
        "rm",
        "rmdir",
        "unlink",
        "ln",
        "touch",
        "mkdir",
        "tee",
        "truncate",
        "shred",
        "mv",
        "mkfifo",
        "mknod",
        "sponge",
        "trash",
    }
    | {"gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "setfacl", "rename", "srm", "del", "rd", "erase"}
)
_AFTER_FIRST = frozenset({"chmod", "chown", "chgrp", "chattr"})
_LAST = frozenset({"cp", "split", "install", "rsync", "scp", "link", "ditto"})
_OPTION: dict[str, tuple[str, ...]] = {
    "curl": ("-o", "--output", "--output-dir", "-c", "--cookie-jar", "-D", "--dump-header", "--trace", "--trace-ascii"),
    "wget": ("-O", "--output-document", "-P", "--directory-prefix", "-o", "--output-file", "-a"),
    "sort": ("-o", "--output"),
    "tar": ("-C", "--directory", "--one-top-level"),
    "unzip": ("-d",),
    "git": ("--output", "-C"),
    "csplit": ("-f", "--prefix"),
    "find": ("-fprint", "-fprint0", "-fprintf", "-fls"),
    "gcc": ("-o",),
    "cc": ("-o",),
    "clang": ("-o",),
    "g++": ("-o",),
    "pandoc": ("-o", "--output"),
    "openssl": ("-out",),
    "patch": ("-o", "--output", "-d", "--directory"),
    # a makefile from elsewhere is somebody else's script, as is one in another folder
    "make": ("-C", "--directory", "-f", "--file", "--makefile"),
    # what says where code is loaded from; --basetemp is removed before it is used
    "pytest": ("-c", "--config-file", "--rootdir", "--confcutdir", "--basetemp", "--junitxml", "--junit-xml"),
    "cp": ("-t", "--target-directory"),
    "mv": ("-t", "--target-directory"),
    "ln": ("-t", "--target-directory"),
    "install": ("-t", "--target-directory"),
    "time": ("-o", "--output"),
    "ssh-keygen": ("-f",),
    "npm": ("--prefix",),
    "pip": ("--target", "-t"),
}


_GIT_PLACES = {"init": 1, "clone": 2, "worktree": 2, "bundle": 2}
"""Git commands that make a folder or a file, and after how many words its name comes."""
_GIT_OPTION: dict[str, tuple[str, ...]] = {
    "archive": ("-o",),
    "format-patch": ("-o", "--output-directory"),
    "checkout-index": ("--prefix",),
    "apply": ("--directory",),
}


def written(words: Sequence[Word]) -> list[Word]:
    """The words that name files or folders which the command changes, removes or puts things into."""
    if not words or words[0].value is None:
        return []
    words = of_module(words)
    name = program(words[0].value or "")
    found = _after_options(words, _OPTION.get(name, ()))
    rest = _arguments(words)
    if name in _ALL:
        found += rest
    elif name in _AFTER_FIRST:
        found += rest[1:]
    elif name in _LAST and not any(re.match(r"-t|--target", word.prefix) for word in words):
        found += rest[-1:] if len(rest) > 1 else rest[:0]
    elif name == "git" and rest and rest[0].value is not None:
        found += rest[_GIT_PLACES.get(rest[0].value, len(rest)) :]
        found += _after_options(words, _GIT_OPTION.get(rest[0].value, ()))
    elif name == "dd":
        found += [_tail(word, 3) for word in words if word.prefix.startswith("of=")]
    elif name in ("sed", "gsed", "perl") and any(re.match(r"-[A-Za-z]*i|--in-place", word.prefix) for word in words):
        found += rest if name == "perl" or any(word.prefix.startswith("-e") for word in words) else rest[1:]
    elif name == "tar" and _creates(words):
        found += _archive(words)
    return found


def _after_options(words: Sequence[Word], options: tuple[str, ...]) -> list[Word]:
    found: list[Word] = []
    for at, word in enumerate(words[1:], 1):
        for option in options:
            if word.value == option:
                found += words[at + 1 : at + 2]
            elif option.startswith("--") and word.prefix.startswith(option + "="):
                found.append(_tail(word, len(option) + 1))
            elif re.match(r"-[A-Za-z]$", option) and word.prefix.startswith(option):
                found.append(_tail(word, 2))
    return found


def _tail(word: Word, count: int) -> Word:
    """A word without its first characters, which are known."""
    pieces: list[Piece] = []
    for piece in word.pieces:
        if piece.text is None or count <= 0:
            pieces.append(piece)
            continue
        pieces.append(Piece(piece.text[count:], piece.quoted))
        count -= len(piece.text)
    return Word(word.source, tuple(piece for piece in pieces if piece.text != ""))


def _arguments(words: Sequence[Word]) -> list[Word]:
    rest: list[Word] = []
    options = True
    for word in words[1:]:
        if options and word.value == "--":
            options = False
        elif not (options and re.match(r"-.", word.prefix)):
            rest.append(word)
    return rest


def _creates(words: Sequence[Word]) -> bool:
    return len(words) > 1 and bool(re.match(r"-?[A-Za-z]*[cru]", words[1].prefix) or words[1].value == "--create")


def _archive(words: Sequence[Word]) -> list[Word]:
    return [words[at + 1] for at in range(1, len(words) - 1) if re.fullmatch(r"-?[A-Za-z]*f|--file", words[at].prefix)]
