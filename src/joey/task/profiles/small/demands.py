"""What the words of a request demand: files that are to be there or gone, other names, tests, a script."""

from __future__ import annotations

import re

_SUFFIXES = "py|txt|md|json|toml|ya?ml|ini|cfg|csv|html?|css|jsx?|tsx?|sh|log|xml|sql|[ch]pp|rs|go|java|rb"
_FILE_NAME = re.compile(rf"(?<![\w/.:-])(?:[\w-][\w./-]*\.(?:{_SUFFIXES})|\.gitignore|Makefile|Dockerfile)(?![\w/])")
"""Only what is certainly meant as a file: to be told that `e.g` does not exist would mislead."""
_GONE = re.compile(
    r"\b(?:delete|remove|rename|move)\s+(?:the\s+)?(?:file\s+|module\s+|script\s+)?([\w./-]+\.\w+)", re.IGNORECASE
)
_FORMATS = {
    "csv": "csv", "html": "html", "json": "json", "markdown": "md", "toml": "toml", "tsv": "tsv", "xml": "xml",
    "yaml": "yaml",
}  # fmt: skip
_CONVERTED = re.compile(
    r"\b(?:convert|translate|turn) (?:the )?(?:file )?([\w./-]+)\.\w+ (?:in)?to (?:an? )?"
    rf"({'|'.join(_FORMATS)})\b(?!\.\w)",
    re.IGNORECASE,
)
_RENAMED = re.compile(
    r"\brename\s+(?:the\s+)?(?:\w+\s+)?[`'\"]?(?!(?:it|this|that|them|file|folder)\b)([A-Za-z_]\w*)(?:\(\))?[`'\"]?\s+"
    r"(?:to|into|as)\s+[`'\"]?([A-Za-z_]\w*)(?![\w.]*\.\w)",
    re.IGNORECASE,
)
_MOVED = re.compile(
    r"\bmove\s+(?:the\s+)?(?:(?:function|class|constant|variable)\s+)?[`'\"]?([A-Za-z_]\w*)(?:\(\))?[`'\"]?\s+"
    r"(?:(?:function|class|constant|variable)\s+)?(?:from|out of)\s+[`'\"]?([\w./-]+\.py)[`'\"]?\s+(?:in)?to\s+"
    r"(?:(?:a|the|its)\s+)?(?:(?:own|new)\s+)?(?:(?:module|file)\s+)?[`'\"]?([\w./-]+\.py)\b",
    re.IGNORECASE,
)
_EVERYWHERE = re.compile(
    r"\b(everywhere|wherever|throughout|(?:all|every)(?: of)?(?: the)? (?:files?|places?|code|callers?|uses?)"
    r"|(?:whole|entire) (?:project|folder|code ?base|repository))\b",
    re.IGNORECASE,
)
_NO_TESTS = re.compile(r"\b(do not|don't|without)\b[^.]{0,200}\btests?\b", re.IGNORECASE)
_TESTS = re.compile(r"\b(unit)?tests?\b|\btest_\w+|\bpytest\b", re.IGNORECASE)
_NEW_TESTS = re.compile(r"\b(add|write|extend|create)\b[^.]{0,200}\btests?\b", re.IGNORECASE)
_WITH_TESTS = re.compile(r"\bunit ?tests?\b|\b(?:with|and|add|write) (?:an? |some |its |the )?tests?\b", re.IGNORECASE)
_SCRIPT = re.compile(r"\b(script|program)\b", re.IGNORECASE)
_REPAIR = re.compile(
    r"\b(fix|repair|put right|correct (?:it|this|that|the)|mistakes?|does(?: not|n't) work|fails?|failing|crash\w*|bug"
    r"|broken|wrong\w*|incorrect\w*|should(?:n't| not| be| have)"
    r"|never|instead of|twice|too (?:low|high|many|few|much|little|long|short|early|late|big|small))\b",
    re.IGNORECASE,
)
_PRINTED = re.compile(
    r"\b(?:should|must|has to|ought to|so that (?:it|\S+\.py|(?:a|the|each|every) line))"
    r" (?:be|prints?|says?|shows?|reads?)(?P<colon>:)?(?: the text)? "
    r"(?:(?P<quote>['\"`])(?P<quoted>.+?)(?P=quote)"
    r"|(?P<number>-?\d+(?:\.\d+)?)(?![\w-]|\.\d| (?!(?:and|but|instead|not|when|if|for|in)\b)\w)"
    r"|(?P<text>[^\n]+?)[.!]?(?:\n|$))",
    re.IGNORECASE,
)
_OTHER_OUTPUT = re.compile(
    r"\b(?:should|must|(?:so that|make|let) (?:it|\S+\.py)|to) (?:says?|prints?|shows?|displays?)"
    r" (['\"`]?)(?P<new>\w+)\1 instead of (['\"`]?)(?P<old>\w+)\3(?![\w.-]*\w)",
    re.IGNORECASE,
)
_NUMERALS = {
    "three": "3",
    "five": "5",
    "six": "6",
    "seven": "7",
    "eight": "8",
    "nine": "9",
    "ten": "10",
    "twenty": "20",
}
_FIRST = re.compile(
    rf"\b(?:print|show|display|list|output)\w{{0,9}}\b[^.]{{0,200}}\bthe first (\d{{1,3}}|{'|'.join(_NUMERALS)})\b"
    r"(?! (?:lines?|words?|rows?))",
    re.IGNORECASE,
)
_PROSE = re.compile(r"[a-z\d]|.* (?:and|if|for|with|when|where|instead)\b")
_SPEAKS_OF_OUTPUT = re.compile(r"\b(prints?|printed|says?|shows?|lists?|displays?|output|running|run)\b", re.IGNORECASE)
_BY_COMMAND = re.compile(
    r"\b(how (?:many|much|long|often|big|large)|count\w*|number of|sum|total|average|run\w*|prints?|printed|outputs?"
    r"|calculat\w+|comput\w+|raises?|throws?|fails?|failing|crash\w*|error|which (?:of the |of these )?(?:files|modules"
    r"|scripts)|what happens|sorted|longest|shortest|largest|smallest|most|fewest|git|branch|commits?|installed|version"
    r"|today|date|time|directory|disk|memory|process\w*|computer|machine|system|internet)\b",
    re.IGNORECASE,
)
_DIGIT = re.compile(r"\d")


def named_files(request: str) -> list[str]:
    return list(dict.fromkeys(_FILE_NAME.findall(request)))


def removed_files(request: str) -> list[str]:
    """Those that are to be gone, or to have another name or place."""
    return _GONE.findall(request)


def converted_files(request: str) -> list[str]:
    """Files that are to be had in another format, under names that are not given."""
    return [f"{stem}.{_FORMATS[name.lower()]}" for stem, name in _CONVERTED.findall(request)]


def renamed(request: str) -> list[tuple[str, str]]:
    """Names in code, each with its new one."""
    return _RENAMED.findall(request)


def moved_definitions(request: str) -> list[tuple[str, str, str]]:
    """Names in code, each with the file that it is to leave and the one it goes to."""
    return _MOVED.findall(request)


def is_everywhere(request: str) -> bool:
    """Whether all places are meant, whatever files are named."""
    return bool(_EVERYWHERE.search(request))


def is_repair(request: str) -> bool:
    return bool(_REPAIR.search(request))


def needs_command(question: str) -> bool:
    """Whether an answer is to be counted, calculated, searched for or seen when something runs."""
    return bool(_BY_COMMAND.search(question))


def speaks_of_output(request: str) -> bool:
    return bool(_SPEAKS_OF_OUTPUT.search(request))


def speaks_of_tests(request: str) -> bool:
    return bool(_TESTS.search(request))


def printed_values(request: str) -> list[str]:
    """What a program has to print once it is right, as far as the request says it in numbers or quotes."""
    if not speaks_of_output(request):
        return []
    return [text for found in _PRINTED.finditer(request) if (text := _literal(found))]


def other_words(request: str) -> list[tuple[str, str]]:
    """Words that a program is to print, each with the one that it printed in its place."""
    return [(found["new"], found["old"]) for found in _OTHER_OUTPUT.finditer(request)]


def printed_count(request: str) -> int:
    """How many values a program has to print, where it is to print the first of them; 0 if that is not said."""
    found = _FIRST.search(request)
    return 0 if found is None else int(_NUMERALS.get(found[1].lower(), found[1]))


def _literal(found: re.Match[str]) -> str:
    """What stands in a request word for word, and is no description."""
    text = found["text"] or ""
    is_literal = text and (found["colon"] or not _PROSE.match(text))
    return found["quoted"] or found["number"] or (text if is_literal else "")


def has_number(request: str) -> bool:
    return bool(_DIGIT.search(request))


def wants_script(words: str) -> bool:
    return bool(_SCRIPT.search(words))


def tests_are_the_task(request: str) -> bool:
    """Whether tests are among what is to be written."""
    return bool(_NEW_TESTS.search(request)) and not _NO_TESTS.search(request)


def wants_tests_too(request: str) -> bool:
    """Whether code is to come with tests."""
    return bool(_WITH_TESTS.search(request)) and not _NO_TESTS.search(request)
