"""sed and awk: whether a script only looks at text and prints.

Both readers are closed: every command, function and variable must be one that is known to print, compute or edit text.
What runs programs (`e`, `system`, a pipe), reads other files (`r`, `getline`, ARGV) or writes them (`w`, `print > f`)
is simply not on the lists.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

_SED_BRACKETS = r"\[\^?+\]?+(?:\[:\w+:\]|(?!{d})[^\]\[\\\n]|\\[^\]\n])*+\]"
"""A `]` that stands first closes nothing. There is one way to read it (`?+` gives nothing back): another would be
harmless where that of sed is not. Whether a delimiter between brackets ends the pattern depends on the version of sed:
there must be none."""
_SED_PATTERN = rf"(?:{_SED_BRACKETS}|(?!{{d}})[^\[\\\n]|\\.)*+{{d}}"
_SED_ADDRESS = rf"(?:\d+|\$|/{_SED_PATTERN.format(d='/')}[IM]*)"
_SED_TEXT = r"[aic][ \t]*(?:\\\n[^\n]*|\\[^\n]+|(?<=[ \t])[^\s\\][^\n]*)(?:\n|$)"
"""A text begins on the line of its command, or after a backslash; an `a` alone is complete, and a command follows."""
_SED_COMMAND = re.compile(
    rf"""[\s;]*(?:{_SED_ADDRESS}(?:[ \t]*[,~][ \t]*(?:[+~]?\d+|{_SED_ADDRESS}))?[ \t]*!?[ \t]*)?(?:\{{|{_SED_TEXT}|(?:
    [=dDgGhHnNpPxzF}}]|[lqQ][ \t]*\d*|[btT][ \t]*[\w.-]*|:[ \t]*[\w.-]+
    |[sy](?P<d>[^\s\\\w\[\]]){_SED_PATTERN.format(d="(?P=d)")}(?:(?!(?P=d))[^\\\n]|\\.)*(?P=d)(?:[gpiImM]|\d)*
    )\s*(?=[;\n}}]|$))[;\s]*""",
    re.VERBOSE | re.DOTALL,
)
"""One command with its address. A `{{` needs nothing behind it; every other command ends where it is seen to end."""


def sed_problems(script: str) -> Iterator[str]:
    """Why a sed script may do more than print and edit."""
    at = 0
    while at < len(script):
        match = _SED_COMMAND.match(script, at)
        if not match or match.end() == at:
            yield f"the sed script has a part that is not known to be harmless: `{script[at : at + 20]}`"
            return
        at = match.end()


_AWK_TOKEN = re.compile(
    r"""(?P<space>[ \t\r]+|\\\n|\#[^\n]*)
    |(?P<string>"(?:[^"\\\n]|\\.)*")
    |(?P<number>0[xX][0-9a-fA-F]+|[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?\.?)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<operator>\+\+|--|&&|\|\||[=!<>+*/%^~-]=|!~|\*\*=?|[=+*/%^<>!~?:,;{}()\[\]$\n-])""",
    re.VERBOSE,
)
_AWK_REGEX = re.compile(r"/(?:[^/\\\n\[]|\\.|\[\^?+\]?+(?:\[:\w+:\]|[^\]\[\\\n/]|\\[^\]/\n])*+\])++/")
"""Brackets are read in one way, as those of sed. A slash between them is not in it: some awks end the expression there
and others do not. Nor is a `\\]`, which closes them for some."""

_AWK_WORDS = frozenset(
    {"BEGIN", "END", "if", "else", "while", "for", "do", "break", "continue", "next", "nextfile", "exit", "in"}
    | {"delete", "print", "printf"}
)
_AWK_FUNCTIONS = frozenset(
    {"length", "substr", "index", "split", "sub", "gsub", "gensub", "match", "sprintf", "tolower", "toupper", "sin"}
    | {"cos", "atan2", "exp", "log", "sqrt", "int", "rand", "srand", "strftime", "systime", "mktime", "and", "or"}
    | {"xor", "compl", "lshift", "rshift", "strtonum", "asort", "asorti", "patsplit", "isarray", "typeof"}
)
_AWK_VARIABLES = frozenset(
    {"NR", "NF", "FNR", "FS", "OFS", "ORS", "RS", "FILENAME", "SUBSEP", "RSTART", "RLENGTH", "CONVFMT", "OFMT"}
)
_AWK_RESERVED = frozenset(
    {"getline", "system", "close", "fflush", "func", "function", "return", "switch", "case", "default", "eval"}
)


_AWK_CONTROL = frozenset({"if", "while", "for"})


def awk_problems(source: str) -> Iterator[str]:
    """Why an awk program may do more than compute and print."""
    at, prints, before, control = 0, False, _AwkToken(), list[bool]()
    while at < len(source):
        slash = source[at] == "/"
        if slash and before.slash == "unclear":
            yield "whether a `/` in the awk program divides is not clear"
            return
        regex = _AWK_REGEX.match(source, at) if slash and before.slash == "regex" else None
        match = regex or (None if slash and before.slash == "regex" else _AWK_TOKEN.match(source, at))
        if match is None:
            yield f"the awk program has a part that is not known to be harmless: `{source[at : at + 20]}`"
            return
        text, at, kind = match[0], match.end(), "regex" if regex else match.lastgroup
        if kind == "space":
            continue
        if text == "(":
            control.append(before.text in _AWK_CONTROL)
        token = _AwkToken(kind, text, condition=text == ")" and bool(control) and control.pop())
        if problem := _awk_problem(token, source[at:], prints=prints and not control):
            yield problem
            return
        if kind == "name":
            prints = prints or text in ("print", "printf")
        elif text in (";", "{", "}") and not control:  # a newline may continue the same statement
            prints = False
        before = token


@dataclass(frozen=True, slots=True)
class _AwkToken:
    """The token before. `condition`: it closes the parentheses of `if`, `while` or `for`."""

    kind: str | None = None
    text: str = ""
    condition: bool = False

    @property
    def slash(self) -> Literal["regex", "divides", "unclear"]:
        """What a `/` behind it is. Where awks differ, or a grammar would have to say, it is not clear."""
        if self.condition or self.kind in ("string", "regex") or self.text in ("$", "++", "--", "length"):
            return "unclear"
        if self.kind == "number" or self.text in (")", "]") or (self.kind == "name" and self.text not in _AWK_WORDS):
            return "divides"
        return "regex"


def _awk_problem(token: _AwkToken, rest: str, *, prints: bool) -> str | None:
    if token.kind == "name":
        return _awk_name_problem(token.text, called=rest.startswith("("))
    return "the awk program writes a file" if token.text == ">" and prints else None


def _awk_name_problem(name: str, *, called: bool) -> str | None:
    known = name in _AWK_WORDS or name in _AWK_VARIABLES or name == "length" or (called and name in _AWK_FUNCTIONS)
    if not known and (called or name in _AWK_RESERVED or name in _AWK_FUNCTIONS or name.isupper()):
        return f"`{name}` in an awk program is not known to be harmless"
    return None
