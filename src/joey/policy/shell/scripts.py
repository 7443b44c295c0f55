"""sed and awk: whether a script only looks at text and prints.

Both readers are closed: every command, function and variable must be one that is known to print, compute or edit text.
What runs programs (`e`, `system`, a pipe), reads other files (`r`, `getline`, ARGV) or writes them (`w`, `print > f`)
is simply not on the lists.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_SED_BRACKETS = r"\[\^?\]?(?:\[:\w+:\]|(?!{d})[^\]\[\\\n]|\\[^\]\n])*\]"
"""Whether a delimiter between brackets ends the pattern depends on the version of sed: there must be none."""
_SED_PATTERN = rf"(?:{_SED_BRACKETS}|(?!{{d}})[^\[\\\n]|\\.)*{{d}}"
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
_AWK_REGEX = re.compile(r"/(?:[^/\\\n\[]|\\.|\[\^?\]?(?:[^\]\\\n/]|\\[^/\n])*\])+/")
"""A slash between brackets is not in it: some awks end the expression there and others do not."""

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


def awk_problems(source: str) -> Iterator[str]:
    """Why an awk program may do more than compute and print."""
    at, after_operand, prints, depth = 0, False, False, 0
    while at < len(source):
        regex = _AWK_REGEX.match(source, at) if not after_operand else None
        match = regex or (_AWK_TOKEN.match(source, at) if after_operand or source[at] != "/" else None)
        if match is None:
            yield f"the awk program has a part that is not known to be harmless: `{source[at : at + 20]}`"
            return
        text, at, kind = match[0], match.end(), "regex" if regex else match.lastgroup
        if kind == "space":
            continue
        depth += (text == "(") - (text == ")")
        if problem := _awk_problem(kind, text, source[at:], prints=prints and depth <= 0):
            yield problem
            return
        if kind == "name":
            prints = prints or text in ("print", "printf")
        elif text in (";", "{", "}") and depth <= 0:  # a newline may continue the same statement
            prints = False
        after_operand = kind in ("string", "number", "regex") or text in (")", "]", "$", "++", "--")
        after_operand = after_operand or (kind == "name" and text not in _AWK_WORDS)


def _awk_problem(kind: str | None, text: str, rest: str, *, prints: bool) -> str | None:
    if kind == "name":
        return _awk_name_problem(text, called=rest.startswith("("))
    if text in ("++", "--") and rest.lstrip(" \t").startswith("/"):
        return "whether a `/` in the awk program divides is not clear"
    return "the awk program writes a file" if text == ">" and prints else None


def _awk_name_problem(name: str, *, called: bool) -> str | None:
    known = name in _AWK_WORDS or name in _AWK_VARIABLES or name == "length" or (called and name in _AWK_FUNCTIONS)
    if not known and (called or name in _AWK_RESERVED or name in _AWK_FUNCTIONS or name.isupper()):
        return f"`{name}` in an awk program is not known to be harmless"
    return None
