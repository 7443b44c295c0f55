"""What a request says word for word, and a file that was written for it must have: headings, texts in quotes, values
of settings, addresses; and what stood in a file of settings and must still be there.

A small model writes a heading of its own, and leaves out the section below the one it changes. What is found here is
certain only as far as the request is plain, so each pattern is narrow, and where something is to be taken away or
replaced nothing is demanded.
"""

from __future__ import annotations

import configparser
import re
from collections.abc import Iterator

from joey.bounded.formats import FormatError
from joey.system.filenames import quoted
from joey.task.profiles.small.problems import READERS
from joey.wire import JsonValue

_HEADING = re.compile(
    r"\b(?:heading|headline|title)s?(?: that)?(?: says| reads| is| called| named)?:? "
    r"(?:(['\"`])(?P<quoted>.{1,200}?)\1"
    r"|(?P<plain>[A-Z][\w'’!?-]*(?: [\w'’!?&-]{1,50}){0,20}?)(?=[.,;:\n]| and | with | in |$))"
)
_TAG = re.compile(r"<(h[1-6]|title)\b[^<>]{0,500}>(.{0,1000}?)</\1>", re.IGNORECASE | re.DOTALL)
_MARKUP = re.compile(r"<[^>]*>")
_QUOTED = re.compile(r"(?<![\w])(['\"`])(?=\S)([^'\"`\n]{2,80}?)(?<=\S)\1(?!\w)")
_ADDRESS = re.compile(r"\bhttps?://[^\s,;'\"]+[\w/]")
_VALUE = re.compile(r"(?:\bto|\bvalue|=)\s+(\d+(?:\.\d+)?)(?![\w.]*\w|%| (?:and|to) \d)")
_REPLACES = re.compile(
    r"\b(convert|delet|drop|extract|instead|merg|mov|refactor|remov|renam|replac|revers|rewrit|simplif|sort|split|swap"
    r"|turn)\w*",
    re.IGNORECASE,
)
_FILE_NAME = re.compile(r"[\w./-]*\.\w{1,5}")
_PAGES = (".html", ".htm")
_SETTINGS = (".json", ".toml", ".yaml", ".yml", ".ini", ".cfg", ".env", ".properties", ".conf")


def missing_heading(path: str, text: str, request: str) -> str | None:
    """A heading that the request gives, and that a page does not have in these words."""
    if not path.endswith((*_PAGES, ".md")):
        return None
    for found in _HEADING.finditer(request):
        wanted = found["quoted"] or found["plain"]
        headings = [_plain(each) for each in _headings(path, text)]
        # Without quotes it may go on after an "and", in the words of the request.
        goes_on = _plain(request[found.start("plain") :]) if found["plain"] else ""
        if not any(
            each == _plain(wanted) or (each.startswith(f"{_plain(wanted)} ") and goes_on.startswith(each))
            for each in headings
        ):
            how = f"<h1>{wanted}</h1>" if path.endswith(_PAGES) else f"# {wanted}"
            return f"The request gives the heading {wanted}, and {quoted(path)} has no {how}"
    return None


def _headings(path: str, text: str) -> Iterator[str]:
    if path.endswith(_PAGES):
        yield from (_MARKUP.sub("", inner) for _, inner in _TAG.findall(text))
    else:
        yield from (line.strip("# \t") for line in text.splitlines() if line.startswith("#"))


def _plain(text: str) -> str:
    return " ".join(text.split()).rstrip(".:!")


def missing_words(texts: dict[str, str], changes: str) -> str | None:
    """A text in quotes or an address that the sentences about a change give, and that none of these files has; or the
    value of a setting that its file does not have."""
    if not texts or _REPLACES.search(changes):
        return None
    everything = "\n".join(texts.values())
    wanted = [text for _, text in _QUOTED.findall(changes) if not _FILE_NAME.fullmatch(text)]
    for words in (*wanted, *_ADDRESS.findall(changes)):
        if words not in everything and words not in everything.replace("\\", ""):
            return f"The request says {words}, and that does not stand in {', '.join(map(quoted, texts))}"
    settings = {path: text for path, text in texts.items() if path.endswith(_SETTINGS)}
    for value in _VALUE.findall(changes) if settings and len(settings) == len(texts) else ():
        if not any(re.search(rf"(?<![\w.]){re.escape(value)}(?![\w.]*\w)", text) for text in settings.values()):
            return f"The request says {value}, and that does not stand in {', '.join(map(quoted, settings))}"
    return None


def lost_setting(path: str, before: str, after: str, request: str) -> str | None:
    """A setting that is gone, or has another value, although the request does not speak of it."""
    old, new = _flat(path, before), _flat(path, after)
    if not old or not new:
        return None
    lost = next((name for name in old if name not in new), None)
    if lost is not None and not _REPLACES.search(request):
        part = _section(before, lost) or f"{lost}: {old[lost]!r}"
        return f"{quoted(path)} no longer has {lost}. Write the whole file, and this in it as it was:\n{part}"
    for name, value in old.items():
        moved = "[" in name.lstrip("[")  # an entry of a list, which another may have taken the place of
        if not moved and new.get(name, value) != value and not _is_spoken_of(name, value, new[name], request):
            return f"{quoted(path)} has another {name} than before, and that was not asked for. It was {value!r}"
    return None


def _section(text: str, name: str) -> str:
    """The lines of a section, by the name of one of its settings, such as `[client] timeout`."""
    header = name.partition("] ")[0] + "]"
    _, found, rest = text.partition(f"{header}\n")
    return f"{header}\n{rest.partition(chr(10) + '[')[0].strip()}" if found and name.startswith("[") else ""


def _is_spoken_of(name: str, old: object, new: object, request: str) -> bool:
    """Whether a setting is named, by a part of its name, or its value before or after."""
    words = {*re.findall(r"\w{2,}", name), str(old), str(new)}
    return any(re.search(rf"(?<!\w){re.escape(word)}", request, re.IGNORECASE) for word in words if word)


def _flat(path: str, text: str) -> dict[str, object]:
    """The settings of a file by their whole names; empty if there are none to be read."""
    try:
        if path.endswith((".ini", ".cfg")):
            parser = configparser.ConfigParser(interpolation=None)
            parser.read_string(text)
            return {f"[{part}] {key}": value for part in parser.sections() for key, value in parser.items(part)}
        reader = READERS.get(path.rpartition(".")[2])
        return dict(_leaves("", reader(text))) if reader is not None else {}
    except (FormatError, configparser.Error, ValueError, RecursionError, MemoryError):
        return {}


def _leaves(name: str, value: JsonValue | object) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(f"{name}.{key}" if name else str(key), inner)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _leaves(f"{name}[{place}]", inner)
    else:
        yield name, value
