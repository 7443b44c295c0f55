"""find: its words are starting points and then an expression of tests and actions.

Only tests are known, the actions that print, `-delete` below folders that are written out, which is judged as removing
these, and `-exec` with a command that is judged in turn. `{}` in that command stands for any file below the starting
points. find also puts the name into words that merely contain `{}` (`sh -c 'cat {}'`), where it could become code: that
is a problem.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from joey.policy.shell.options import Use, program
from joey.policy.shell.plain import Word

_EXPRESSION = program(
    """
    ! ( ) , -a -and -not -o -or -true -false -empty -executable -readable -writable -nouser -nogroup -daystart -depth
    -mount -xdev -noleaf -ignore_readdir_race -noignore_readdir_race -warn -nowarn -prune -quit -print -print0 -ls
    -help --help -version --version
    -amin=t -atime=t -cmin=t -ctime=t -fstype=t -gid=t -group=t -ilname=t -iname=t -inum=t -ipath=t -iregex=t
    -iwholename=t -links=t -lname=t -maxdepth=t -mindepth=t -mmin=t -mtime=t -name=t -path=t -perm=t -printf=t -regex=t
    -regextype=t -size=t -type=t -uid=t -used=t -user=t -wholename=t -xtype=t
    -newermt=t -newerat=t -newerct=t -newer=l -anewer=l -cnewer=l -samefile=l
    """
).options


def _read(use: Use, words: Sequence[Word]) -> Iterator[str]:
    rest = list(words)
    starts = [rest.pop(0) for _ in range(_count_starts(rest))] or [Word(".")]
    use.operands += starts
    use.files += [("list", start) for start in starts]
    while rest:
        yield from _expression(use, rest, starts)


def _count_starts(words: Sequence[Word]) -> int:
    for at, word in enumerate(words):
        if word.text.startswith("-") or word.text in ("(", ")", "!", ","):
            return at
    return len(words)


def _expression(use: Use, rest: list[Word], starts: Sequence[Word]) -> Iterator[str]:
    """Takes one test or action from the front of the words."""
    word = rest.pop(0)
    if word.glob:
        yield f"how many words `{word.text}` stands for is only known when it runs"
    elif word.text == "-exec":
        yield from _exec(use, rest, starts)
    elif word.text == "-delete" and not any(start.glob or set(start.text) <= set("./") for start in starts):
        use.options.append(("-delete", None))
        use.files += [("remove", Word(start.text, below=True)) for start in starts]
    elif word.text not in _EXPRESSION:
        yield f"`{word.text}` of `find` is not known to be harmless"
    elif (kind := _EXPRESSION[word.text].kind) is None:
        use.options.append((word.text, None))
    else:
        yield from _value(use, word.text, kind, rest)


def _value(use: Use, name: str, kind: str, rest: list[Word]) -> Iterator[str]:
    value = rest.pop(0) if rest else Word("", glob=True)
    use.options.append((name, value))
    if value.glob:
        yield f"what `{name}` of `find` is given is only known when it runs"
    if kind == "l":
        use.files.append(("list", value))


def _exec(use: Use, rest: list[Word], starts: Sequence[Word]) -> Iterator[str]:
    """The command up to `;`, or up to a `+` that follows `{}`."""
    use.options.append(("-exec", None))
    command: list[Word] = []
    while rest:
        word = rest.pop(0)
        if word.text == ";" or (word.text == "+" and command and command[-1].text == "{}"):
            break
        command.append(word)
    else:
        yield "`-exec` of `find` has no end"
        return
    if not command or any("{}" in word.text and word.text != "{}" for word in command):
        yield "`find` puts names of files into a word that is more than `{}`"
        return
    use.inner.append(tuple(fill_in(command, starts)))


def fill_in(command: Sequence[Word], starts: Sequence[Word]) -> Iterator[Word]:
    """The words of a command, with files below the starting points in place of `{}`."""
    for word in command:
        if word.text == "{}":
            yield from (Word(start.text, start.glob, below=True) for start in starts)
        else:
            yield word


FIND = program(reader=_read)
