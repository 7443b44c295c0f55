"""Plain command lines: the only ones that a rule can allow.

A plain line is made of simple commands of literal words, joined by `&&`, `||`, `;`, `|` or a newline, with redirections
to literal places and comments. It means the same to anybody who reads it: no part of it is computed when it runs.

    line        = command { ("&&" | "||" | ";" | "|" | newline) command }
    command     = { NAME=literal } word { word | redirection }
    word        = { bare character | '…' | "…" | \\c }            without any expansion
    redirection = [0-2] (">" | ">>" | ">|" | "<") word | [1-2]">&"[1-2] | ("&>" | "&>>") word

This reader is closed: a character is either known to stand for itself in its place, or the line is not plain and the
construct is named. It is deliberately not a parser of bash: whatever bash reads otherwise than here must fail here.
`*` and `?` may stand in a word, unless it begins like an option. What a word may become that begins with one of them
(`*.py`) only the disk can tell: whoever judges it looks there (`Word.may_be_anything`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

MAX_LENGTH = 20_000

Joint: TypeAlias = Literal["", "&&", "||", ";", "|"]

_DELIMITERS = frozenset(" \t\n;|&<>()")
_KEYWORDS = frozenset(
    {"if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "for", "while", "until", "select", "in"}
    | {"function", "coproc", "[[", "]]", "{", "}", "!"}
)
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?)=")
_REFLOG = re.compile(r"@\{[\w-]+(?:\.[\w-]+)*\}")
"""`@{1.day.ago}`, but not `@{a..c}`, which the shell takes for several words."""
_DOLLAR_IS_TEXT = frozenset('" |)/')
"""What may follow a `$` in double quotes that stands for itself, as in "foo$" and "(a|b$)"."""


class NotPlainError(Exception):
    """The line is not plain; the message names the construct, as in "it has a command substitution"."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word as the program will receive it, or, if `glob`, a pattern that the shell expands to names of files."""

    text: str
    glob: bool = False
    bare: bool = False
    """Whether nothing in it was quoted: only then can it be a keyword."""
    below: bool = False
    """Whether it stands for any file below the folder `text`, as `{}` does in `find text -exec cat {} +`."""

    @property
    def may_be_anything(self) -> bool:
        """Whether it is a pattern without a literal beginning: a name that it matches may look like an option."""
        return self.glob and self.text[0] in "*?"


@dataclass(frozen=True, slots=True)
class Redirect:
    """A file that the shell opens for a command."""

    target: Word
    writes: bool


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command. `source` is its text, byte for byte, redirections included."""

    words: tuple[Word, ...]
    assignments: tuple[tuple[str, str], ...] = ()
    redirects: tuple[Redirect, ...] = ()
    source: str = ""
    joint: Joint = ""
    """What stands between it and the command before it."""
    piped_on: bool = False
    """Whether its output goes into the next command."""

    @property
    def name(self) -> str:
        return self.words[0].text


def read_plain(text: str) -> tuple[Command, ...]:
    """The commands of a plain line, in order. Raises NotPlainError."""
    if len(text) > MAX_LENGTH:
        raise NotPlainError(f"it is longer than {MAX_LENGTH:,} characters")
    for char in text:
        if _invisible(char):
            raise NotPlainError(f"it has an invisible or control character (U+{ord(char):04X})")
    return tuple(_Reader(text).commands())


def _invisible(char: str) -> bool:
    """Whether a character cannot be seen, or looks like a space and is none."""
    if char in "\n\t " or "!" <= char <= "~":
        return False
    return unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs")


@dataclass(slots=True)
class _Draft:
    """The command that is being read."""

    start: int
    joint: Joint
    words: list[Word]
    assignments: list[tuple[str, str]]
    redirects: list[Redirect]

    @property
    def empty(self) -> bool:
        return not (self.words or self.assignments or self.redirects)


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._unquoted = ""
        """The part of the last word before anything quoted in it."""
        self._quoted_wildcard = False

    def _rest(self, text: str) -> bool:
        return self._text.startswith(text, self._at)

    # Commands

    def commands(self) -> Iterator[Command]:
        draft = self._draft("")
        while True:
            self._skip_blanks(draft)
            joint = self._joint()
            if joint is None and self._at < len(self._text):
                self._element(draft)
                continue
            if draft.empty:
                self._nothing_before(joint, draft)
            else:
                yield self._finished(draft, joint)
                draft = self._draft(joint or "")
            if joint is None:
                return

    def _draft(self, joint: Joint) -> _Draft:
        return _Draft(self._at, joint, [], [], [])

    def _nothing_before(self, joint: Joint | None, draft: _Draft) -> None:
        """An operator or the end with no command before it: fine for newlines, incomplete otherwise."""
        newline = joint == ";" and self._text[self._at - 1] == "\n"
        if draft.joint in ("&&", "||", "|") and not newline:
            raise NotPlainError(f"nothing follows `{draft.joint}`")
        if joint is not None and not newline:
            raise NotPlainError(f"nothing stands before `{joint}`")
        draft.start = self._at

    def _finished(self, draft: _Draft, joint: Joint | None) -> Command:
        source = _trimmed(self._text[draft.start : self._at - (len(joint) if joint else 0)])
        if not draft.words:
            raise NotPlainError("it sets a variable" if draft.assignments else "it opens a file without a command")
        first = draft.words[0]
        if first.glob or not first.text:
            raise NotPlainError("the name of the program is not written out")
        return Command(
            tuple(draft.words), tuple(draft.assignments), tuple(draft.redirects), source, draft.joint, joint == "|"
        )

    def _skip_blanks(self, draft: _Draft) -> None:
        while self._at < len(self._text):
            if self._text[self._at] in " \t":
                self._at += 1
            elif self._rest("\\\n"):
                self._at += 2
            elif self._rest("#"):
                end = self._text.find("\n", self._at)
                self._at = end if end >= 0 else len(self._text)
            else:
                break
            if draft.empty:
                draft.start = self._at

    def _joint(self) -> Joint | None:
        for joint in ("&&", "||", ";", "|", "\n"):
            if self._rest(joint):
                self._at += len(joint)
                following = self._text[self._at : self._at + 1]
                if (joint == ";" and following in (";", "&") and following) or (joint == "|" and following == "&"):
                    raise NotPlainError(f"it has the operator `{joint}{following}`")
                return ";" if joint == "\n" else joint  # type: ignore[return-value]
        return None

    def _element(self, draft: _Draft) -> None:
        char = self._text[self._at]
        if char in "()":
            raise NotPlainError("it has parentheses: a subshell, a function or an array")
        if char == "&" and not self._rest("&>"):
            raise NotPlainError("it starts a job in the background with `&`")
        if char in "<>&":
            draft.redirects += self._redirect("")
            return
        word = self._word(first=not draft.words)
        if word.bare and word.text.isdigit() and self._text[self._at : self._at + 1] in ("<", ">"):
            draft.redirects += self._redirect(word.text)
        elif not draft.words and (found := self._assignment(word)):
            draft.assignments.append(found)
        else:
            if not draft.words and word.bare and word.text in _KEYWORDS:
                raise NotPlainError(f"it has the keyword `{word.text}`")
            draft.words.append(word)

    def _assignment(self, word: Word) -> tuple[str, str] | None:
        match = _ASSIGNMENT.match(self._unquoted)
        if match is None:
            return None
        if match[2]:
            raise NotPlainError("it appends to a variable")
        return match[1], word.text[match.end() :]

    # Redirections

    def _redirect(self, descriptor: str) -> list[Redirect]:
        if descriptor not in ("", "0", "1", "2"):
            raise NotPlainError("it uses a file descriptor of its own")
        for operator, construct in _NOT_PLAIN_REDIRECTS.items():
            if self._rest(operator):
                raise NotPlainError(f"it has {construct}")
        if self._rest(">&"):
            return self._duplicate()
        operator = next(each for each in ("&>>", "&>", ">>", ">|", ">", "<") if self._rest(each))
        self._at += len(operator)
        while self._rest(" ") or self._rest("\t"):
            self._at += 1
        if self._at >= len(self._text) or self._text[self._at] in _DELIMITERS or self._rest("#"):
            raise NotPlainError(f"nothing follows `{operator}`")
        target = self._word(first=False)
        if target.glob or not target.text:
            raise NotPlainError("the file that it opens is not written out")
        return [Redirect(target, writes=operator != "<")]

    def _duplicate(self) -> list[Redirect]:
        match = re.compile(r">&[12](?=[\s;|)]|$)").match(self._text, self._at)
        if match is None:
            raise NotPlainError("it duplicates a file descriptor")
        self._at = match.end()
        return []

    # Words

    def _word(self, *, first: bool) -> Word:
        pieces, glob, bare = list[str](), False, True
        self._unquoted, self._quoted_wildcard = "", False
        while self._at < len(self._text) and (char := self._text[self._at]) not in _DELIMITERS:
            if char in "'\"\\":
                piece = self._quoted(char)
                bare = bare and piece is None
                pieces.append(piece or "")
                continue
            self._check_bare(char, starts=bare and not any(pieces), first=first)
            glob = glob or char in "*?"
            pieces.append(self._bare_piece(char))
            self._unquoted += pieces[-1] if bare else ""
        word = Word("".join(pieces), glob, bare)
        if glob:
            self._check_glob(word.text)
        return word

    def _bare_piece(self, char: str) -> str:
        match = _REFLOG.match(self._text, self._at) if char == "@" else None
        piece = match[0] if match else "{}" if char == "{" else char
        self._at += len(piece)
        return piece

    def _quoted(self, char: str) -> str | None:
        """The text of something quoted at this place; None for a continued line, which is nothing."""
        if char == "'":
            end = self._text.find("'", self._at + 1)
            if end < 0:
                raise NotPlainError("a quote is not closed")
            found, self._at = self._text[self._at + 1 : end], end + 1
            return self._note_quoted(found)
        if char == '"':
            return self._note_quoted(self._double_quoted())
        self._at += 2
        if self._at > len(self._text):
            raise NotPlainError("it ends with a backslash")
        escaped = self._text[self._at - 1]
        return None if escaped == "\n" else self._note_quoted(escaped)

    def _note_quoted(self, text: str) -> str:
        self._quoted_wildcard = self._quoted_wildcard or "*" in text or "?" in text
        return text

    def _double_quoted(self) -> str:
        self._at += 1
        pieces: list[str] = []
        while True:
            char = self._text[self._at : self._at + 1]
            following = self._text[self._at + 1 : self._at + 2]
            if not char:
                raise NotPlainError("a quote is not closed")
            self._at += 1
            if char == '"':
                return "".join(pieces)
            if char == "`" or (char == "$" and following not in _DOLLAR_IS_TEXT):
                raise NotPlainError(_expansion(char, following, self._text[self._at + 1 : self._at + 2]))
            if char == "\\" and following and following in '$`"\\\n':
                self._at += 1
                char = "" if following == "\n" else following
            pieces.append(char)

    def _check_bare(self, char: str, *, starts: bool, first: bool) -> None:
        after = self._text[self._at + 1 : self._at + 2]
        ends = not after or after in _DELIMITERS
        if char == "`" or (char == "$" and not (after == "" or after in " \t\n;|")):
            raise NotPlainError(_expansion(char, after, self._text[self._at + 2 : self._at + 3]))
        if char == "~" and (starts or self._unquoted.endswith(("=", ":")) or self._text[self._at - 1] in "=:"):
            raise NotPlainError("it has a `~` that the shell expands")
        if char == "[" and not (starts and ends):
            raise NotPlainError("it has a bracket pattern; quote it if it is text")
        if char in "{}" and not (char == "{" and after == "}"):
            raise NotPlainError("it has braces that the shell may expand; quote them if they are text")
        if char == "!" and (first or not starts or not (ends or (after == "=" and self._whole_word(2)))):
            raise NotPlainError("it has a bare `!`; quote it if it is text")

    def _whole_word(self, length: int) -> bool:
        after = self._text[self._at + length : self._at + length + 1]
        return not after or after in _DELIMITERS

    def _check_glob(self, text: str) -> None:
        if self._quoted_wildcard:
            raise NotPlainError("it mixes quoted and bare wildcards")
        if text[0] == "-":
            raise NotPlainError(f"`{text}` may match a name that begins with `-`; write `./{text.lstrip('-')}`")


_NOT_PLAIN_REDIRECTS = {
    "<<<": "a here-string",
    "<<": "a here-document",
    "<(": "a process substitution",
    ">(": "a process substitution",
    "<&": "a duplicated file descriptor",
    "<>": "a file opened for reading and writing",
}


def _trimmed(text: str) -> str:
    """Without the blanks around it; one behind a backslash belongs to its word."""
    trimmed = text.rstrip(" \t\n")
    backslashes = len(trimmed) - len(trimmed.rstrip("\\"))
    return text[: len(trimmed) + backslashes % 2].lstrip(" \t\n")


def _expansion(char: str, following: str, third: str) -> str:
    if char == "`":
        return "it has a command substitution"
    if following == "(":
        return "it has arithmetic" if third == "(" else "it has a command substitution"
    if following in ("'", '"'):
        return "it has a string that the shell decodes ($'…')"
    return "it has arithmetic" if following == "[" else "it has a variable"
