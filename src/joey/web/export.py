"""A task as one HTML file that shows it as the page does, without a server and without a network.

The modules of the page are joined into one script: each imports from the others by name only, and no name stands in two
of them. The file's own policy permits this script and this style, by their hashes, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from joey.errors import UsageError
from joey.journal.store import TaskStore
from joey.tools.builtin import builtin_display, builtin_tools
from joey.web.history import piece_before, timeline
from joey.web.index import JournalIndex, read_between
from joey.web.table import Listed

FOLDER = Path(__file__).parent / "page"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}
INDEX = "index.html"


@dataclass(frozen=True, slots=True)
class Asset:
    content: bytes
    media_type: str


@cache
def assets() -> dict[str, Asset]:
    """The files by name."""
    return {
        path.name: Asset(path.read_bytes(), TYPES[path.suffix])
        for path in sorted(FOLDER.iterdir())
        if path.suffix in TYPES
    }


_IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)
_SOURCES = re.compile(r'^import [^;]*from "\./([\w-]+\.js)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)
_ENTRY = "exported.js"
_ALL = 1 << 40
_MAX_DEPTH = 5


def export_page(store: TaskStore, task_id: str) -> str:
    """The file. JoeyError if there is no such task, or nothing in it."""
    data = json.dumps(_data(store, task_id), separators=(",", ":")).replace("<", "\\u003c")
    script, style = _bundle(_ENTRY), assets()["style.css"].content.decode()
    title = html.escape(json.loads(data)["task"]["title"] or "A task")
    policy = f"default-src 'none'; img-src data:; script-src {_hash(script)}; style-src {_hash(style)}"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{style}</style>\n</head>\n"
        '<body class="exported">\n<main id="main"></main>\n'
        f'<script type="application/json" id="data">{data}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _bundle(entry: str) -> str:
    """The modules that one needs and itself, in the order in which they need each other."""
    order: dict[str, str] = {}

    def add(name: str) -> None:
        source = assets()[name].content.decode()
        for needed in _SOURCES.findall(source):
            if needed not in order:
                add(needed)
        order[name] = _EXPORT.sub("", _IMPORT.sub("", source))

    add(entry)
    return '(() => {\n"use strict";\n' + "\n".join(order.values()) + "\n})();\n"


def _data(store: TaskStore, task_id: str) -> dict[str, Any]:
    index = _read(store, task_id)
    if index.opened is None:
        raise UsageError(f"task {task_id} has nothing to show")
    tools = {tool.name: builtin_display(tool.name) for tool in builtin_tools()}
    return {
        "task": {**Listed(task_id, index).summary, "text": index.opened.text},
        "events": piece_before(index, task_id, index.size, _ALL).events,
        "children": _children(store, index, 0),
        "turns": timeline(read_between(index.path, 0, index.size)),
        "tools": {name: {"subject": each.subject, "role": each.role} for name, each in tools.items()},
    }


def _read(store: TaskStore, task_id: str) -> JournalIndex:
    index = JournalIndex(store.journal_path(task_id))
    try:
        index.update()
    except OSError as error:
        raise UsageError(f"cannot read the task {task_id}: {error.strerror}") from None
    return index


def _children(store: TaskStore, index: JournalIndex, depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for child in index.children if depth < _MAX_DEPTH else ():
        try:
            own = _read(store, child)
        except UsageError:
            continue  # it was deleted: the call that started it has its result
        found[child] = piece_before(own, child, own.size, _ALL).events
        found |= _children(store, own, depth + 1)
    return found
