"""Markdown files with front matter: some YAML between two lines of `---`, then the text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joey.bounded.files import plain_text, read_resolved
from joey.bounded.formats import FormatError
from joey.bounded.formats.yaml import read_yaml

MAX_BYTES = 256 * 1024
_FRONT = re.compile(r"\A---[ \t]*\n(.*?)(?:\n)?^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)


class UnusableFileError(Exception):
    """The file cannot be used. The text says why, for the person who wrote it."""


@dataclass(frozen=True, slots=True)
class MarkdownFile:
    """What a file says about itself, and its text."""

    about: Mapping[str, Any]
    text: str

    def words(self, *keys: str) -> str:
        """The first of these that is there, as one line."""
        value = next((self.about[key] for key in keys if self.about.get(key) is not None), "")
        return " ".join(str(value).split())


def read_document(path: Path, within: Path | None = None) -> MarkdownFile:
    """Read a file. With `within`, only if it really is there: a project's link must not lead out of the project."""
    try:
        real = path.resolve()
        if within is not None and not real.is_relative_to(within.resolve()):
            raise UnusableFileError(f"it is a link that leads out of {within}")
        text = plain_text(read_resolved(real, MAX_BYTES))
    except UnicodeDecodeError as error:
        raise UnusableFileError(f"it is not UTF-8 (byte {error.start})") from None
    except (OSError, RuntimeError) as error:
        raise UnusableFileError(f"it cannot be read: {getattr(error, 'strerror', None) or error}") from None
    return parse_document(text)


def parse_document(text: str) -> MarkdownFile:
    text = text.replace("\r\n", "\n")
    front = _FRONT.match(text)
    if front is None:
        return MarkdownFile({}, text.strip())
    try:
        about = read_yaml(front[1]) or {}
    except FormatError as error:
        # The usual mistake is an unquoted colon in a description; a person meant the rest of the line.
        about = _plain_lines(front[1])
        if not about:
            raise UnusableFileError(f"its front matter is not YAML: {error}") from None
    if not isinstance(about, dict):
        raise UnusableFileError("its front matter must be `key: value` lines")
    return MarkdownFile({str(key): value for key, value in about.items()}, text[front.end() :].strip())


def _plain_lines(text: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for line in text.splitlines():
        match = re.match(r"([A-Za-z][\w-]*):[ \t]+(.*)", line)
        if match is None:
            return {}
        found[match[1]] = match[2].strip()
    return found
