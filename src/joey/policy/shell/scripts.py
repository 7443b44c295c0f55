"""sed and awk: whether a script only looks at text and prints.

Both readers are closed: every command, function and variable must be one that is known to print, compute or edit text.
What runs programs (`e`, `system`, a pipe), reads other files (`r`, `getline`, ARGV) or writes them (`w`, `print > f`) is
simply not on the lists.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_SED_ADDRESS = r"(?:\d+|\$|/(?:[^/\\\n]|\\.)*/[IM]*)"
_SED_COMMAND = re.compile(
    rf"""[\s;]*(?:{_SED_ADDRESS}(?:\s*[,~]\s*(?:[+~]?\d+|{_SED_ADDRESS}))?\s*!?\s*)?(?:\{{|(?:
    [=dDgGhHnNpPxzF}}]|[lqQ]\s*\d*|[btT]\s*[\w.-]*|:\s*[\w.-]+|[aic](?:\\\n?|\s)[^\n]*\n?
    |([sy])(?P<d>[^\s\\\w])(?:(?!(?P=d))[^\\\n]|\\.)*(?P=d)(?:(?!(?P=d))[^\\\n]|\\.)*(?P=d)(?:[gpiImM]|\d)*
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
    r"""(?P<space>[ \t\r]+|\\\n|\#[^\n]*)|(?P<string>"(?:[^"\\\n]|\\.)*")|(?P<number>0[xX][0-9a-fA-F]+|[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?\.?)
    |(?P<name>[A-Za-z_]\w*)|(?P<operator>\+\+|--|&&|\|\||[=!<>+*/%^~-]=|!~|\*\*=?|[=+*%^<>!~?:,;{}()\[\]$\n-])""",
    re.VERBOSE,
)
_AWK_REGEX = re.compile(r"/(?:[^/\\\n\[]|\\.|\[\^?\]?(?:[^\]\\\n/]|\\[^/\n])*\])+/")
"""A slash between brackets is not in it: some awks end the expression there and others do not."""
_AWK_WORDS = frozenset(
    "BEGIN END if else while for do break continue next nextfile exit in delete print printf return".split()  # noqa: SIM905
)
_AWK_FUNCTIONS = frozenset(
    [
        "length",
        "substr",
        "index",
        "split",
        "sub",
        "gsub",
        "gensub",
        "match",
        "sprintf",
        "tolower",
        "toupper",
        "sin",
        "cos",
        "atan2",
        "exp",
        "log",
        "sqrt",
        "int",
        "rand",
        "srand",
        "strftime",
        "systime",
        "mktime",
        "and",
        "or",
        "xor",
        "compl",
        "lshift",
        "rshift",
        "strtonum",
        "asort",
        "asorti",
        "patsplit",
        "isarray",
        "typeof",
    ]
)
_AWK_VARIABLES = frozenset(
    "NR NF FNR FS OFS ORS RS FILENAME SUBSEP RSTART RLENGTH CONVFMT OFMT IGNORECASE".split()  # noqa: SIM905
)
_AWK_RESERVED = frozenset("getline system close fflush func function switch case default eval extension".split())  # noqa: SIM905
_AWK_ENDS_OPERAND = frozenset({")", "]", "$"})


def awk_problems(source: str) -> Iterator[str]:
    """Why an awk program may do more than compute and print."""
    at, operand, prints, depth = 0, False, False, 0
    while at < len(source):
        if source[at] == "/" and not operand and (regex := _AWK_REGEX.match(source, at)):
            at, operand = regex.end(), True
            continue
        match = _AWK_TOKEN.match(source, at) if source[at] != "/" else None
        if source[at] == "/" and operand:
            at, operand = at + (2 if source[at + 1 : at + 2] == "=" else 1), False
            continue
        if match is None:
            yield f"the awk program has a part that is not known to be harmless: `{source[at : at + 20]}`"
            return
        token, at = match[0], match.end()
        if match["space"]:
            continue
        if match["name"]:
            if problem := _awk_name(token, called=source[at : at + 1] == "("):
                yield problem
                return
            prints = prints or token in ("print", "printf")
            operand = token not in _AWK_WORDS
            continue
        depth += (token == "(") - (token == ")")
        if token in ("++", "--") and source[at:].lstrip(" \t")[:1] == "/":
            yield "whether a `/` in the awk program divides is not clear"
            return
        if token == ">" and prints and depth <= 0:
            yield "the awk program writes a file"
            return
        if token in (";", "}", "{", "\n") and depth <= 0:
            prints = False
        operand = bool(match["string"] or match["number"]) or token in _AWK_ENDS_OPERAND or token in ("++", "--")


def _awk_name(name: str, *, called: bool) -> str | None:
    if name in _AWK_WORDS or (called and name in _AWK_FUNCTIONS) or name == "length" or name in _AWK_VARIABLES:
        return None
    if called or name in _AWK_RESERVED or name in _AWK_FUNCTIONS or name.isupper():
        return f"`{name}` in an awk program is not known to be harmless"
    return None
