"""What the editor can do, as it says in `initialize`. What it does not say, it cannot.

One thing is to give files as it has them (`fs/read_text_file`, `fs/write_text_file`), for tools, which wait in threads.
A file is always read whole: clients disagree on what a part of one is. An editor that does not answer in time, or with
something else, has no such file.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Mapping
from concurrent.futures import CancelledError
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from joey.acp.connection import EditorConnection, RpcError


@dataclass(frozen=True, slots=True)
class Client:
    """The capabilities that decide how things are shown and asked."""

    name: str = ""
    draws_output: bool = False
    """Whether it draws a terminal from the pieces of output that we send (`_meta.terminal_output`)."""
    notices: bool = False
    compaction: bool = False
    forms: bool = False
    """Whether it shows questions as forms (`elicitation/create`)."""
    files: bool = False
    """Whether it both reads and writes files, unsaved buffers included."""

    @classmethod
    def read(cls, params: Mapping[str, Any]) -> Self:
        """From the parameters of `initialize`, whatever else is in them."""
        offered = _mapping(params.get("clientCapabilities"))
        session, files = _mapping(offered.get("session")), _mapping(offered.get("fs"))
        return cls(
            name=str(_mapping(params.get("clientInfo")).get("name", "")),
            draws_output=_mapping(offered.get("_meta")).get("terminal_output") is True,
            notices=_has(session, "notices"),
            compaction=_has(session, "compaction"),
            forms=_has(_mapping(offered.get("elicitation")), "form"),
            files=files.get("readTextFile") is True and files.get("writeTextFile") is True,
        )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _has(capabilities: Mapping[str, Any], name: str) -> bool:
    """An object says yes, as `true` does."""
    return capabilities.get(name) not in (None, False)


_TIMEOUT = 10.0
"""Seconds for an answer."""


class ClientFiles:
    """The files of one session. Made in the loop that its requests are sent from."""

    def __init__(self, session_id: str, connection: EditorConnection, timeout: float = _TIMEOUT) -> None:
        self._session_id, self._connection, self._timeout = session_id, connection, timeout
        self._loop = asyncio.get_running_loop()

    def read(self, path: Path) -> str | None:
        try:
            answer = self._request("fs/read_text_file", path)
        except (RpcError, TimeoutError, CancelledError):
            return None
        content = answer.get("content") if isinstance(answer, dict) else None
        return content if isinstance(content, str) else None

    def write(self, path: Path, text: str) -> None:
        try:
            self._request("fs/write_text_file", path, content=text)
        except RpcError as error:
            raise OSError(errno.EIO, f"the editor refused ({error})") from None
        except (TimeoutError, CancelledError):
            raise OSError(errno.EIO, "the editor did not answer") from None

    def _request(self, method: str, path: Path, **more: str) -> Any:
        params = {"sessionId": self._session_id, "path": str(path), **more}
        answer = asyncio.wait_for(self._connection.request(method, params), self._timeout)
        return asyncio.run_coroutine_threadsafe(answer, self._loop).result()
