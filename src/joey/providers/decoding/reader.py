"""What a reader of a wire format is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from joey.chunks import Chunk
from joey.providers.errors import CutStreamError


class ReplyReader(ABC):
    """One reply in one wire format, to chunks. It raises ProviderErrors only, whatever the JSON looks like."""

    @property
    @abstractmethod
    def is_complete(self) -> bool:
        """Whether the reason to stop has come. After it only counts do, which are not worth another request."""

    @abstractmethod
    def read(self, name: str, data: Any) -> Iterator[Chunk]:
        """The chunks of one event of a stream: its name, and its data as JSON."""

    @abstractmethod
    def read_whole(self, body: Any) -> Iterator[Chunk]:
        """The chunks of a reply that was not streamed."""

    @abstractmethod
    def end(self, *, marked: bool) -> Iterator[Chunk]:
        """The last chunks, a StopChunk among them. `marked` says that the reply had an end mark of its own: it was
        not cut, even if it gave no reason to stop. Raises CutStreamError if it was."""

    def rescue(self, body: Any) -> list[Chunk]:
        """The whole reply in an error that is the model's own mistake, and goes back to it; nothing if it is not."""
        return []


def unexpected(place: str, value: Any) -> CutStreamError:
    """What to raise for a part of the reply that cannot be read, and may not be lost."""
    return CutStreamError(f"{place} of the reply has an unexpected form ({type(value).__name__})")
