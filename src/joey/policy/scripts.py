"""awk and sed: whether a script only edits text, or runs commands and writes files."""

from __future__ import annotations

import re
from collections.abc import Sequence

from joey.policy.danger import Danger, known
from joey.policy.words import Word


def awk_dangers(words: Sequence[Word]) -> list[Danger]:
    texts = [word.text for word in words[1:]]
    runs = re.compile(r"\bsystem\b|(?<!\|)\|(?!\|)|\bgetline\b|@|\bprintf?\b[^;}\n]*>")
    if any(re.match(r"-(?:f|e|i|l|E)|--(?:file|source|include|load|exec)", text) for text in texts):
        return [Danger(("-f", "-e", "-i", "-l", "-E"), "its program comes from somewhere else", " ".join(texts))]
    program_text = next(iter(_awk_program(words)), None)
    if program_text is None:
        return []
    if program_text.value is None and program_text.dynamic:
        return [Danger((), "its program is only known when it runs")]
    plain = re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', program_text.text)
    plain = re.sub(r"(^|[(,!~{;&|}\n])\s*/(?:[^/\\\n]|\\.)*/", r"\1 0", plain)
    if runs.search(plain):
        return [Danger((), "its program runs commands or writes files", program_text.text, commands=True)]
    return []


def _awk_program(words: Sequence[Word]) -> list[Word]:
    at, rest = 1, []
    while at < len(words):
        if words[at].value in ("-v", "-F"):
            at += 2
            continue
        if not words[at].prefix.startswith("-"):
            rest.append(words[at])
        at += 1
    return rest


_SED_COMMAND = re.compile(
    r"""[\s;]*(?:(?:\d+|\$|/(?:[^/\\\n]|\\.)*/[IM]*)(?:\s*[,~]\s*(?:[+~]?\d+|\$|/(?:[^/\\\n]|\\.)*/[IM]*))?\s*!?\s*)?
    (?:[=dDgGhHlnNpPqQxzF}]\s*\d*|\{|[btT:]\s*[\w.-]*|[aic](?:\\?\n?|\s)[^\n]*\n?
    |([sy])(?P<d>[^\s\\\w])(?:(?!(?P=d))[^\\\n]|\\.)*(?P=d)(?:(?!(?P=d))[^\\]|\\.)*(?P=d)(?:[gpiImM]|\d)*)?
    \s*(?=[;\n}]|$)[;\s]*""",
    re.VERBOSE | re.DOTALL,
)


def sed_dangers(words: Sequence[Word]) -> list[Danger]:
    scripts: list[Word] = []
    at = 1
    files = False
    while at < len(words):
        word = words[at]
        glued = re.match(r"-[nErsuz]*e(?=.)|--e[a-z]*=", word.prefix, re.DOTALL)
        if glued:
            scripts.append(Word.literal(word.text[glued.end() :]) if not word.dynamic else word)
        elif re.fullmatch(r"-[nErsuz]*e|--e[a-z]*", word.value or ""):
            scripts += words[at + 1 : at + 2]
            at += 1
        elif re.match(r"-[nErsuz]*f|--f", word.prefix):
            files = True
            at += word.value in ("-f", "--file")
        at += 1
    if not scripts and not files:
        scripts = [word for word in words[1:] if not word.prefix.startswith("-") or not word.prefix][:1]
    unsafe = next((script for script in scripts if script.dynamic or not _plain_sed(script.text)), None)
    if unsafe is None:
        return []
    return [Danger((), "its script may run commands or write files", known([unsafe]), commands=True)]


def _plain_sed(script: str) -> bool:
    """Whether a script only prints and edits: no `e`, `w`, `r`, no `s///e`."""
    at = 0
    while at < len(script):
        match = _SED_COMMAND.match(script, at)
        if not match or match.end() == at:
            return False
        at = match.end()
    return True
