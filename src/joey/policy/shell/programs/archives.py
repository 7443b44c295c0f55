"""Programs that pack, unpack and compress files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from posixpath import dirname, join

from joey.policy.shell.options import Check, Program, Use, program, read_use
from joey.policy.shell.plain import Word

# tar

_TAR = program(
    """
    -c -x -t -z -j -J -a -v -k -m -p -O -f=t -C=t -X=r
    --create --extract --get --list --gzip --gunzip --ungzip --bzip2 --xz --lzma --zstd --auto-compress --verbose
    --file=t --directory=t --exclude=t --exclude-from=r --exclude-vcs --strip-components=t --wildcards --no-wildcards
    --anchored --no-anchored --ignore-case --keep-old-files --keep-newer-files --skip-old-files --overwrite --touch
    --no-same-owner --no-same-permissions --to-stdout --numeric-owner --owner=t --group=t --sort=t --format=t --totals
    --no-recursion --full-time --help --version
    """,
    "t*",
)
_TAR_VALUES = "fCX"
"""Letters of the first word that take a value each from the words behind it, in their order (`tar xfC a.tar build`)."""


def _tar(use: Use, words: Sequence[Word]) -> Iterator[str]:
    words = _with_dashes(words)
    found = read_use(_TAR, words, "tar")
    use.options, use.operands, use.files = found.options, found.operands, found.files
    yield from found.problems
    if use.has("--help", "--version"):
        return
    archives = [value for name, value in use.options if name in ("-f", "--file") and value is not None]
    folders = [value for name, value in use.options if name in ("-C", "--directory") and value is not None]
    modes = {_TAR_MODES[name] for name, _ in use.options if name in _TAR_MODES}
    if len(archives) != 1 or len(folders) > 1 or len(modes) != 1:
        yield "`tar` is not given one archive and one thing to do with it"
        return
    if any(word.text.startswith("@") for word in use.operands):
        yield "`tar` may read an archive that is named with `@`"
    if ":" in archives[0].text:
        yield f"`tar` takes `{archives[0].text}` for a file on another machine"
    if folders and _folder_is_late(words, use.operands):
        yield "`tar` changes the folder after files have been named"
    _note_archive(use, archives[0], folders[0] if folders else Word("."), modes.pop())


_TAR_MODES = {"-c": "c", "--create": "c", "-x": "x", "--extract": "x", "--get": "x", "-t": "t", "--list": "t"}


def _with_dashes(words: Sequence[Word]) -> list[Word]:
    """The words, with those of an old first word (`xzf`) as options."""
    if not words or words[0].text.startswith("-"):
        return list(words)
    rest, found = list(words[1:]), list[Word]()
    for letter in words[0].text:
        found.append(Word(f"-{letter}"))
        if letter in _TAR_VALUES and rest:
            found.append(rest.pop(0))
    return [*found, *rest]


def _folder_is_late(words: Sequence[Word], operands: Sequence[Word]) -> bool:
    """Whether `-C` stands behind an operand, for which it does not hold."""
    first = next((at for at, word in enumerate(words) if any(word is each for each in operands)), len(words))
    return any(word.text.startswith(("-C", "--directory")) for word in words[first:])


def _note_archive(use: Use, archive: Word, folder: Word, mode: str) -> None:
    if archive.text != "-":
        use.files.append(("write" if mode == "c" else "read", archive))
    if mode == "c":
        use.files += [("tree", Word(join(folder.text, word.text), word.glob)) for word in use.operands]
    elif mode == "x" and not use.has("-O", "--to-stdout"):
        use.files.append(("fill", folder))


_ENDINGS = {".gz": (".gz", ".z", "-gz", "-z", "_z", ".Z", ".tgz", ".taz")}


def _with_endings(use: Use, words: Sequence[Word], endings: tuple[str, ...]) -> None:
    """A program that reads packed files takes `data.gz` for `data`, if there is no such file."""
    for word in words:
        if word.text != "-" and not word.below and not word.text.endswith(endings):
            use.files += [("read", Word(word.text + ending, word.glob)) for ending in endings]


# zip


def _zip(use: Use) -> Iterator[str]:
    """An archive whose name has no ending gets one. What is left out or in may stand in a file (`-x@list`)."""
    lists = (value for name, value in use.options if name in ("-x", "-i") and value is not None)
    for value in lists:
        if (text := value.text.removeprefix("=")).startswith("@") and len(text) > 1:
            use.files.append(("read", Word(text[1:], value.glob)))
    if use.operands and not use.operands[0].glob:
        use.files.append(("write", Word(use.operands[0].text + ".zip")))
    yield from ()


def _unzip(use: Use) -> Iterator[str]:
    """Behind the archive stand the names in it, and only `-d` is an option there."""
    if any(word.below for word in use.operands):
        yield "`unzip` is given whatever archive there is"
    _with_endings(use, use.operands[:1], (".zip", ".ZIP"))
    rest = list(use.operands[1:])
    folders = [value for name, value in use.options if name == "-d" and value is not None]
    while rest:
        word = rest.pop(0)
        if word.text == "-d" and rest:
            folders.append(rest.pop(0))
        elif word.text.startswith("-"):
            yield f"`{word.text}` behind the archive of `unzip` is not known to be harmless"
    if not use.has("-l", "-p", "-t", "-v", "-z", "-Z"):
        use.files += [("fill", folder) for folder in folders or [Word(".")]]


# Compressors: they put a file in the place of the one they are given


def _compressor(ending: str, *, unpacks: bool = False, keeps: bool = False) -> Check:
    def check(use: Use) -> Iterator[str]:
        unpack = unpacks or use.has("-d", "--decompress", "--uncompress")
        if unpack or use.has("-t", "--test", "-l", "--list"):
            _with_endings(use, use.operands, _ENDINGS.get(ending, (ending,)))
        if use.has("-c", "--stdout", "--to-stdout", "-t", "--test", "-l", "--list"):
            return
        for word in use.operands:
            yield from (_unpacked if unpack else _packed)(use, word, ending)
            if not (keeps or use.has("-k", "--keep")):
                use.files.append(("remove", word))

    return check


def _packed(use: Use, word: Word, ending: str) -> Iterator[str]:
    if word.glob or word.below:
        use.files.append(("fill", word if word.below else Word(dirname(word.text) or ".")))
    elif word.text != "-":
        use.files.append(("write", Word(word.text + ending)))
    yield from ()


def _unpacked(use: Use, word: Word, ending: str) -> Iterator[str]:
    if word.glob or word.below or not word.text.endswith(ending):
        yield f"what `{word.text}` is unpacked to is not known"
    else:
        use.files.append(("write", Word(word.text.removesuffix(ending))))


_GZIP = """
    -c -d -f -k -l -n -q -t -v -1 -2 -3 -4 -5 -6 -7 -8 -9 --stdout --to-stdout --decompress --uncompress --force --keep
    --list --no-name --quiet --test --verbose --fast --best --rsyncable --help --version
"""
_XZ = """
    -z -c -d -f -k -l -q -t -v -e -0 -1 -2 -3 -4 -5 -6 -7 -8 -9 -T=t --compress --stdout --to-stdout --decompress
    --uncompress --force --keep --list --quiet --test --verbose --extreme --fast --best --threads=t --help --version
"""
_BZIP2 = """
    -z -c -d -f -k -q -t -v -s -1 -2 -3 -4 -5 -6 -7 -8 -9 --compress --stdout --decompress --force --keep --quiet --test
    --verbose --small --fast --best --help --version
"""
_ZSTD = """
    -c -d -f -k -l -q -t -v -# -T?t --stdout --decompress --uncompress --force --keep --list --quiet --test
    --verbose --ultra --threads=t --help --version
"""


def _prints(*endings: str) -> Program:
    def check(use: Use) -> Iterator[str]:
        _with_endings(use, use.operands, endings)
        yield from ()

    return program("-f -h -q -v --force --help --version", "r*", check=check)


PROGRAMS: dict[str, Program] = {
    "tar": program(reader=_tar),
    "zip": program("-r -j -q -u -v -y -D -X -0 -1 -2 -3 -4 -5 -6 -7 -8 -9 -x=t -i=t --help", "w L*", check=_zip),
    "unzip": program("-a -b -c -j -l -n -o -p -q -t -v -z -Z -d=t", "r b", leading=True, check=_unzip),
    "gzip": program(_GZIP, "r*", check=_compressor(".gz")),
    "gunzip": program(_GZIP, "r*", check=_compressor(".gz", unpacks=True)),
    "xz": program(_XZ, "r*", check=_compressor(".xz")),
    "unxz": program(_XZ, "r*", check=_compressor(".xz", unpacks=True)),
    "bzip2": program(_BZIP2, "r*", check=_compressor(".bz2")),
    "bunzip2": program(_BZIP2, "r*", check=_compressor(".bz2", unpacks=True)),
    "zstd": program(_ZSTD, "r*", check=_compressor(".zst", keeps=True)),
    "unzstd": program(_ZSTD, "r*", check=_compressor(".zst", unpacks=True, keeps=True)),
    "zcat": _prints(*_ENDINGS[".gz"]),
    "xzcat": _prints(".xz", ".lzma"),
    "bzcat": _prints(".bz2", ".bz"),
    "zstdcat": _prints(".zst"),
}
