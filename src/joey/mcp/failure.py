"""Why a server did not answer."""

from __future__ import annotations


class CallError(Exception):
    """Why a request got no answer, in words. `lost` says that the connection is gone."""

    def __init__(self, message: str, *, lost: bool = False) -> None:
        super().__init__(message)
        self.lost = lost
