"""Files as the editor has them (`fs/read_text_file`, `fs/write_text_file`), for tools, which wait in threads.

A file is always read whole: clients disagree on what a part of one is. An editor that does not answer in time, or with
something else, has no such file.
"""

from __future__ import annotations

import asyncio
import errno
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

from joey.acp.connection import Connection, RpcError

_TIMEOUT = 10.0
"""Seconds for an answer."""


class ClientFiles:
    """The files of one session. Made in the loop that its requests are sent from."""

    def __init__(self, session_id: str, connection: Connection, timeout: float = _TIMEOUT) -> None:
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
