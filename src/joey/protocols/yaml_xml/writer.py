"""A call as `yaml_xml` text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from joey.wire import JsonObject, JsonValue

_PLAIN_KEY = re.compile(r"[A-Za-z_][\w-]*")
_NO_BLOCK = re.compile("[^\\S\n ]|[\x00-\x08\x0b-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]")
"""What a block cannot hold as it stands: white space that is neither space nor line break, and control characters."""


def write_call(name: str, arguments: JsonObject) -> str:
    if not arguments:
        return f"<{name}/>"
    lines = "\n".join(_argument(key, value) for key, value in arguments.items())
    return f"<{name}>\n{lines}\n</{name}>"


def _argument(key: str, value: JsonValue) -> str:
    key = key if _PLAIN_KEY.fullmatch(key) else _json(key)
    if isinstance(value, str) and _as_block(value):
        return "\n".join(_block(key, value))
    return f"{key}: {_json(value)}"


def _as_block(text: str) -> bool:
    """Whether a text of several lines can stand in a block: its first line says how far it is indented."""
    words = text.strip("\n")
    return "\n" in text and bool(words) and not words[0].isspace() and not text.startswith("\n") and not _bad(text)


def _bad(text: str) -> bool:
    return _NO_BLOCK.search(text) is not None or any(line.isspace() for line in text.split("\n"))


def _block(key: str, text: str) -> Iterator[str]:
    words = text.rstrip("\n")
    breaks = len(text) - len(words)
    yield f"{key}: |{'-' if not breaks else '' if breaks == 1 else '+'}"
    for line in words.split("\n"):
        yield f"  {line}" if line else ""
    yield from [""] * (breaks - 1)


def _json(value: JsonValue) -> str:
    """JSON is YAML; a closing tag in it is written so that it is none."""
    return json.dumps(value, ensure_ascii=False).replace("</", "<\\/")
