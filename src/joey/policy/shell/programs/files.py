"""Programs that test and list files, and programs that create, copy, move and remove them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from posixpath import basename, dirname, join

from joey.policy.shell.options import Program, Use, program
from joey.policy.shell.plain import Word
from joey.policy.shell.programs.find import FIND

# test and [: one test of a file, a string or numbers. Chains (`-a`, `-o`) and variables (`-v`) are not known.
_FILES = frozenset("-b -c -d -e -f -g -h -k -L -N -O -G -p -r -s -S -u -w -x".split())  # noqa: SIM905
_STRINGS = frozenset(("-n", "-z"))
_COMPARE_STRINGS = frozenset(("=", "==", "!=", "<", ">"))
_COMPARE_NUMBERS = frozenset("-eq -ne -lt -le -gt -ge".split())  # noqa: SIM905
_COMPARE_FILES = frozenset(("-nt", "-ot", "-ef"))


def _test(use: Use, words: Sequence[Word]) -> Iterator[str]:
    use.operands += words
    if any(word.glob for word in words):
        yield "how many words a pattern in a test stands for is only known when it runs"
        return
    rest = words[1:] if len(words) > 1 and words[0].text == "!" else words
    texts = [word.text for word in rest]
    if len(rest) == 3 and _binary(use, rest):
        return
    if len(rest) == 2 and texts[0] in _FILES:
        use.files.append(("list", rest[1]))
    elif len(rest) > 2 or (len(rest) == 2 and texts[0] not in _STRINGS):
        yield f"the test `{' '.join(texts)}` is not known to be harmless"


def _binary(use: Use, words: Sequence[Word]) -> bool:
    left, operator, right = words
    if operator.text in _COMPARE_FILES:
        use.files += [("list", left), ("list", right)]
        return True
    numbers = all(re.fullmatch(r"[+-]?\d+", word.text) for word in (left, right))
    return operator.text in _COMPARE_STRINGS or (operator.text in _COMPARE_NUMBERS and numbers)


def _bracket(use: Use, words: Sequence[Word]) -> Iterator[str]:
    if not words or words[-1].text != "]":
        yield "`[` lacks its `]`"
        return
    yield from _test(use, words[:-1])


TEST = program(reader=_test)
BRACKET = program(reader=_bracket)


# Listing

_LS = """
    -a -A -b -B -c -C -d -D -f -F -g -G -h -H -i -k -l -L -m -n -N -o -p -q -Q -r -R -s -S -t -u -U -v -x -X -Z -1
    -I=t -T=t -w=t
    --all --almost-all --author --escape --block-size=t --ignore-backups --color?t --directory --dired --classify?t
    --file-type --format=t --full-time --group-directories-first --no-group --human-readable --si
    --dereference-command-line --dereference-command-line-symlink-to-dir --hide=t --hyperlink?t --indicator-style=t
    --inode --ignore=t --kibibytes --dereference --numeric-uid-gid --literal --hide-control-chars --show-control-chars
    --quote-name --quoting-style=t --reverse --recursive --size --sort=t --time=t --time-style=t --tabsize=t --width=t
    --context --zero --help --version
"""


def _ls(use: Use) -> Iterator[str]:
    if use.has("-R", "--recursive") and use.has("-L", "--dereference"):
        yield "`ls -LR` lists the folders that links lead to, wherever they are"


_TREE = """
    -a -d -f -x -q -N -Q -p -u -g -s -h -D -F -v -t -c -U -r -i -A -S -n -C -X -J -L=t -P=t -I=t
    --matchdirs --ignore-case --noreport --charset=t --filelimit=t --timefmt=t --si --inodes --device --dirsfirst
    --sort?t --nolinks --du --prune --gitignore --metafirst --help --version
"""


_FD = """
    -H -I -u -s -i -g -F -a -p -0 -1 -q -d=t -E=t -t=t -e=t -S=t -o=t -c=t -j=t -h -V
    --hidden --no-ignore --no-ignore-vcs --no-ignore-parent --unrestricted --case-sensitive --ignore-case --glob --regex
    --fixed-strings --absolute-path --full-path --print0 --max-depth=t --min-depth=t --exact-depth=t --exclude=t --prune
    --type=t --extension=t --size=t --changed-within=t --changed-before=t --owner=t --ignore-file=r --color=t
    --threads=t --max-results=t --quiet --show-errors --strip-cwd-prefix --one-file-system --and=t --help --version
"""


# Creating and changing modes


def _mode(mode: str) -> Iterator[str]:
    """A mode must be one of plain read, write and execute bits."""
    if not re.fullmatch(r"0?[0-7]{3}|[ugoa]*[-+=][rwxX]*(?:,[ugoa]*[-+=][rwxX]*)*", mode):
        yield f"the mode `{mode}` is more than read, write and execute"


def _modes(use: Use) -> Iterator[str]:
    for name, value in use.options:
        if name in ("-m", "--mode") and value is not None:
            yield from _mode(value.text)


def _chmod(use: Use) -> Iterator[str]:
    if use.operands:
        yield from _mode(use.operands[0].text)
    if use.has("-R", "--recursive"):
        use.files += [("fill", word) for word in use.operands[1:]]


# Copying and moving


def _into(source: Word, target: Word) -> Word:
    return Word(join(target.text, basename(source.text)))


def _arrives(use: Use, source: Word, target: Word, *, whole: bool) -> None:
    """Notes what is written when `source` is put at, or into, `target`."""
    unknown = source.glob or source.below or basename(source.text) in ("", ".", "..")
    if source.glob and ("tree", source) not in use.files:
        use.files.append(("tree", source))
    if unknown or whole:
        use.files.append(("fill", target))
    if not unknown:
        use.files.append(("write", _into(source, target)))


def _cp(use: Use) -> Iterator[str]:
    """Of a folder, or of a link that is copied as a link, nobody knows in advance what is there afterwards."""
    whole = use.has("-r", "-R", "-a", "-P", "-d", "--recursive", "--archive", "--no-dereference")
    *sources, target = use.operands or [Word("")]
    for source in sources:
        if whole:
            use.files.append(("tree", source))
        _arrives(use, source, target, whole=whole)
    yield from ()


def _mv(use: Use) -> Iterator[str]:
    """What is moved can be read at its new place."""
    *sources, target = use.operands or [Word("")]
    for source in sources:
        use.files.append(("tree", source))
        _arrives(use, source, target, whole=False)
        if basename(source.text) in ("", ".", ".."):
            yield f"what `mv {source.text}` moves is not written out"


def _ln(use: Use) -> Iterator[str]:
    """What a link leads to can be read and written through it, under a name that says nothing.

    A symbolic link is followed from the folder that it is in, which is that of its name, or its name if that is one.
    """
    if len(use.operands) > 2:
        yield "`ln` makes more than one link"
        return
    target = use.operands[0] if use.operands else Word(".")
    link = use.operands[1] if len(use.operands) > 1 else Word(basename(target.text))
    places = {target.text}
    if use.has("-s", "--symbolic") and not use.has("-r", "--relative"):
        places |= {join(dirname(link.text), target.text), join(link.text, target.text)}
    for place in sorted(places):
        use.files += [("tree", Word(place)), ("fill", Word(place))]
    use.files += [("write", link), ("write", _into(target, link))]


def _install_operands(use: Use) -> str:
    return "w*" if use.has("-d", "--directory") else "r+ w"


def _install(use: Use) -> Iterator[str]:
    yield from _modes(use)
    if use.operands and not use.has("-d", "--directory"):
        *sources, target = use.operands
        for source in sources:
            _arrives(use, source, target, whole=False)


PROGRAMS: dict[str, Program] = {
    "ls": program(_LS, "l*", check=_ls),
    "dir": program(_LS, "l*", check=_ls),
    "tree": program(_TREE, "l*"),
    "stat": program("-L -f -t -c=t --dereference --file-system --format=t --printf=t --terse --help --version", "l*"),
    "file": program(
        "-b -i -k -L -h -N -n -r -0 -v --brief --mime --mime-type --mime-encoding --extension --keep-going "
        "--dereference --no-dereference --no-pad --no-buffer --raw --print0 --help --version",
        "r*",
    ),
    "du": program(
        "-0 -a -b -c -h -k -l -m -P -S -s -x -B=t -d=t -t=t -X=r --null --all --apparent-size --block-size=t --bytes "
        "--total --max-depth=t --human-readable --inodes --count-links --no-dereference --separate-dirs --si "
        "--summarize --threshold=t --time?t --time-style=t --exclude-from=r --exclude=t --one-file-system --help "
        "--version",
        "l*",
    ),
    "df": program(
        "-a -B=t -h -H -i -k -l -P -t=t -T -x=t --all --block-size=t --human-readable --si --inodes --local --no-sync "
        "--output?t --portability --total --type=t --print-type --exclude-type=t --help --version",
        "l*",
    ),
    "readlink": program(
        "-f -e -m -n -q -s -v -z --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet "
        "--silent --verbose --zero --help --version",
        "l*",
    ),
    "realpath": program(
        "-e -m -L -P -q -s -z --canonicalize-existing --canonicalize-missing --logical --physical --quiet "
        "--relative-to=l --relative-base=l --strip --no-symlinks --zero --help --version",
        "l*",
    ),
    "basename": program("-a -s=t -z --multiple --suffix=t --zero --help --version", "t*"),
    "dirname": program("-z --zero --help --version", "t*"),
    "pwd": program("-L -P --logical --physical --help --version"),
    "which": program("-a", "t*"),
    "whereis": program("-b -m -s -u -l -h -V", "t*"),
    "type": program("-a -f -p -P -t", "t*"),
    "find": FIND,
    "fd": program(_FD, "t l*"),
    "fdfind": program(_FD, "t l*"),
    "test": TEST,
    "[": BRACKET,
    "mkdir": program("-p -v -m=t --parents --verbose --mode=t --help --version", "w*", check=_modes),
    "rmdir": program("-p -v --ignore-fail-on-non-empty --parents --verbose --help --version", "k*"),
    "touch": program(
        "-a -c -d=t -f -h -m -r=l -t=t --no-create --date=t --no-dereference --reference=l --time=t --help --version",
        "w*",
    ),
    "truncate": program("-c -s=t --no-create --size=t --help --version", "w*"),
    "cp": program(
        "-a -d -f -i -n -P -p -R -r -T -u -v -x --archive --attributes-only --force --interactive --no-clobber "
        "--no-dereference --preserve?t --no-preserve=t --recursive --reflink?t --sparse=t --strip-trailing-slashes "
        "--no-target-directory --update?t --verbose --one-file-system --help --version",
        "r+ w",
        check=_cp,
    ),
    "mv": program(
        "-f -i -n -T -u -v --force --interactive --no-clobber --strip-trailing-slashes --no-target-directory "
        "--update?t --verbose --help --version",
        "k+ w",
        check=_mv,
    ),
    "rm": program(
        "-f -i -I -r -R -d -v --force --interactive?t --one-file-system --preserve-root?t --recursive --dir --verbose "
        "--help --version",
        "k*",
    ),
    "ln": program(
        "-f -i -n -r -s -T -v --force --interactive --no-dereference --relative --symbolic --no-target-directory "
        "--verbose --help --version",
        "t t",
        check=_ln,
    ),
    "chmod": program(
        "-c -f -v -R --changes --silent --quiet --verbose --recursive --preserve-root --help --version",
        "t w*",
        check=_chmod,
    ),
    "install": program(
        "-c -C -d -D -m=t -p -T -v --compare --directory --mode=t --preserve-timestamps --no-target-directory "
        "--verbose --help --version",
        _install_operands,
        check=_install,
    ),
}
