"""One language server: the files that it was shown, what it finds wrong with them, and where symbols are.

A server publishes what it finds when it likes, often in steps (syntax first, types later). So what counts for a version
of a file is what was published last for it, once nothing new has come for a moment (SETTLE), or when the time is over.
Places in files are as the protocol has them: URIs, and columns that count UTF-16 units.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import unquote, urlsplit

from joey.bounded.files import plain_text, read_resolved
from joey.frames import one_line
from joey.sandbox import Sandbox
from joey.tools.languages.connection import LanguageServerError, ServerConnection
from joey.tools.languages.programs import ServerProgram, language_of
from joey.wire import JsonObject


def path_of(uri: object) -> Path | None:
    """The file that a URI names; None if it names none of this machine."""
    if not isinstance(uri, str):
        return None
    try:
        parts = urlsplit(uri)
        path = unquote(parts.path)
        os.fsencode(path)
    except ValueError:  # UnicodeError, too: half a surrogate pair, which no file name can hold
        return None
    return Path(path) if parts.scheme == "file" and path.startswith("/") and "\0" not in path else None


def number(value: Any) -> int:
    """A line or column that a server names; 0 where it is none."""
    return value if isinstance(value, int) and 0 <= value < 10**9 else 0


def start_of(span: Any) -> tuple[int, int]:
    """Where a range begins: line and column, from 0."""
    start = span.get("start") if isinstance(span, dict) else None
    start = start if isinstance(start, dict) else {}
    return number(start.get("line")), number(start.get("character"))


def find_symbol(text: str, symbol: str, line: int | None) -> JsonObject | None:
    """The position of a name in a text: in this line (from 1), or the first one; None if it is not there."""
    name = re.compile(rf"(?<!\w){re.escape(symbol)}(?!\w)")
    for at, each in enumerate(text.splitlines(), 1):
        if line in (None, at) and (found := name.search(each)):
            return {"line": at - 1, "character": len(each[: found.start()].encode("utf-16-le")) // 2}
    return None


SETTLE = 0.5
MAX_FILE = 1024 * 1024
"""Bytes of a file that a server is shown."""
_MAX_OPEN = 40
_MAX_FOUND = 200
_MAX_WORDS = 300
_START_TIMEOUT = 30.0
_ERROR = 1
_CHANGED, _DELETED = 2, 3
_CAPABILITIES = {
    "textDocument": {
        "synchronization": {"didSave": True},
        "publishDiagnostics": {"versionSupport": True},
        "definition": {"linkSupport": True},
        "references": {},
    },
    "workspace": {"configuration": True, "workspaceFolders": True},
}

Finding: TypeAlias = Literal["definition", "references"]


@dataclass(frozen=True, slots=True)
class CodeError:
    """An error that a server finds in a file. Line and column count from 1."""

    line: int
    column: int
    message: str


@dataclass(frozen=True, slots=True)
class CodeLocation:
    """A place that a server names. The line counts from 1."""

    path: Path
    line: int


@dataclass(slots=True)
class _Document:
    text: str
    version: int = 1


class LanguageServer:
    """A server that runs, or has run."""

    def __init__(self, program: ServerProgram, folder: Path) -> None:
        self.program = program
        self._folder = folder
        self._connection: ServerConnection | None = None
        self._documents: dict[Path, _Document] = {}
        self._published: dict[Path, tuple[CodeError, ...]] = {}
        self._news = asyncio.Event()

    async def start(self, environment: Mapping[str, str], sandbox: Sandbox | None) -> None:
        """Start it and shake hands. Raises LanguageServerError."""
        try:
            self._connection = await ServerConnection.open(
                self.program.argv, self._folder, environment, sandbox, self._answer, self._hear
            )
        except OSError as error:
            raise LanguageServerError(f"it cannot be run: {error.strerror or error}") from None
        await self._connection.request("initialize", self._introduction, _START_TIMEOUT)
        self._connection.notify("initialized", {})
        self._connection.notify("workspace/didChangeConfiguration", {"settings": {}})

    @property
    def is_running(self) -> bool:
        return self._connection is not None and not self._connection.ended.is_set()

    @property
    def why_not(self) -> str:
        """Why it has ended, with the last line that it wrote about it."""
        if self._connection is None:
            return ""
        words = self._connection.last_words.splitlines()
        return self._connection.problem + (f" ({words[-1][:_MAX_WORDS]})" if words else "")

    async def settle(self) -> None:
        if self._connection is not None:
            await self._connection.settle()

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()

    # Errors

    async def errors(self, paths: Sequence[Path], seconds: float) -> dict[Path, tuple[CodeError, ...] | None]:
        """What is wrong with these files as they are on the disk now; None for those that it said nothing about in
        time. Raises LanguageServerError."""
        shown = [path for path in paths if self._show(path)]
        try:
            async with asyncio.timeout(seconds):
                await self._settled(shown)
        except TimeoutError:
            pass
        return {path: self._published.get(path) for path in shown}

    async def _settled(self, paths: Sequence[Path]) -> None:
        """Wait until something was published for all of them, and nothing more comes for a moment."""
        connection = self._open_connection
        while True:
            self._news.clear()
            complete = all(path in self._published for path in paths)
            try:
                async with asyncio.timeout(SETTLE):
                    await self._news.wait()
            except TimeoutError:
                if complete:
                    return
            if connection.ended.is_set():
                raise LanguageServerError(self.why_not)

    # Symbols

    async def find(self, what: Finding, path: Path, position: JsonObject, seconds: float) -> list[CodeLocation]:
        """Where a symbol is defined or used. Raises LanguageServerError."""
        self._show(path)
        params: JsonObject = {"textDocument": {"uri": path.as_uri()}, "position": position}
        if what == "references":
            params = {**params, "context": {"includeDeclaration": True}}
        found = await self._open_connection.request(f"textDocument/{what}", params, seconds)
        entries = found if isinstance(found, list) else [found]
        places = (_location(each) for each in entries[:_MAX_FOUND] if isinstance(each, dict))
        return [*dict.fromkeys(each for each in places if each is not None)]

    # Files

    def _show(self, path: Path) -> bool:
        """Let the server have a file as it is now; False if it is not one to show."""
        try:
            text = plain_text(read_resolved(path, MAX_FILE))
        except (OSError, UnicodeDecodeError):
            self._forget(path)
            return False
        known = self._documents.pop(path, None)
        if known is None:
            self._make_room()
            self._documents[path] = document = _Document(text)
            item = {"languageId": language_of(path), "version": document.version, "text": text}
            self._published.pop(path, None)
            self._notify("didOpen", path, item)
            return True
        self._documents[path] = known
        if known.text != text:
            known.text, known.version = text, known.version + 1
            self._published.pop(path, None)
            self._changed_on_disk(path, _CHANGED)
            self._notify("didChange", path, {"version": known.version}, contentChanges=[{"text": text}])
            self._notify("didSave", path, {})
        return True

    def _make_room(self) -> None:
        while len(self._documents) >= _MAX_OPEN:
            self._close_document(next(iter(self._documents)))

    def _forget(self, path: Path) -> None:
        if path in self._documents:
            self._close_document(path)
            self._changed_on_disk(path, _DELETED)

    def _close_document(self, path: Path) -> None:
        del self._documents[path]
        self._published.pop(path, None)
        self._notify("didClose", path, {})

    def _notify(self, what: str, path: Path, more: JsonObject, **params: Any) -> None:
        document = {"uri": path.as_uri(), **more}
        self._open_connection.notify(f"textDocument/{what}", {"textDocument": document, **params})

    def _changed_on_disk(self, path: Path, change: int) -> None:
        changes = [{"uri": path.as_uri(), "type": change}]
        self._open_connection.notify("workspace/didChangeWatchedFiles", {"changes": changes})

    @property
    def _open_connection(self) -> ServerConnection:
        if self._connection is None:
            raise LanguageServerError("it was not started")
        return self._connection

    # What it says by itself

    @property
    def _introduction(self) -> JsonObject:
        uri = self._folder.as_uri()
        # Not our process id: the server may be in a sandbox that counts processes by itself.
        return {
            "processId": None,
            "clientInfo": {"name": "joey"},
            "rootUri": uri,
            "rootPath": str(self._folder),
            "workspaceFolders": [{"uri": uri, "name": self._folder.name}],
            "capabilities": _CAPABILITIES,
        }

    def _answer(self, method: str, params: Any) -> Any:
        """What it may ask of us. It may edit nothing."""
        answers: dict[str, Callable[[], Any]] = {
            "workspace/configuration": lambda: self._configuration(params),
            "workspace/workspaceFolders": lambda: [{"uri": self._folder.as_uri(), "name": self._folder.name}],
            "workspace/applyEdit": lambda: {"applied": False},
            "client/registerCapability": lambda: None,
            "client/unregisterCapability": lambda: None,
            "window/workDoneProgress/create": lambda: None,
            "window/showMessageRequest": lambda: None,
        }
        return answers[method]()

    def _configuration(self, params: Any) -> list[JsonObject | None]:
        """The settings that it asks for: none, except which Python the project has."""
        items = params.get("items") if isinstance(params, dict) else None
        sections = [each.get("section") if isinstance(each, dict) else None for each in items or ()]
        python = next((each for each in (".venv", "venv") if (self._folder / each / "bin" / "python").exists()), None)
        known = {"python": {"pythonPath": str(self._folder / python / "bin" / "python")}} if python else {}
        return [known.get(section) if isinstance(section, str) else None for section in sections]

    def _hear(self, method: str, params: Any) -> None:
        if method != "textDocument/publishDiagnostics" or not isinstance(params, dict):
            return
        path, listed = path_of(params.get("uri")), params.get("diagnostics")
        document = self._documents.get(path) if path is not None else None
        if path is None or document is None or not isinstance(listed, list):
            return  # a file that it was not shown
        version = params.get("version")
        if isinstance(version, int) and version < document.version:
            return
        errors = (_error(each) for each in listed[:_MAX_FOUND] if isinstance(each, dict))
        self._published[path] = tuple(each for each in errors if each is not None)
        self._news.set()


def _error(entry: dict[str, Any]) -> CodeError | None:
    if entry.get("severity", _ERROR) != _ERROR:
        return None
    line, column = start_of(entry.get("range"))
    code = entry.get("code")
    named = f" [{str(code)[:60]}]" if isinstance(code, (str, int)) else ""
    words = one_line(str(entry.get("message", "")))
    return CodeError(line + 1, column + 1, f"{words[:_MAX_WORDS]}{named}")


def _location(entry: dict[str, Any]) -> CodeLocation | None:
    """A Location, or a LocationLink."""
    path = path_of(entry.get("uri", entry.get("targetUri")))
    if path is None:
        return None
    line, _ = start_of(entry.get("range", entry.get("targetSelectionRange")))
    return CodeLocation(Path(os.path.normpath(path)), number(line) + 1)
