"""Reasoning that a model writes at the beginning of its text, between `<think>` and `</think>`, as reasoning.

The dialects read it themselves; this is for the other protocols.

    START  --<think>-->  THINKING  --</think>-->  TEXT
    START  --anything else-->  TEXT

What may be the beginning of a marker is held back until it is known. A reply that ends while the model thinks is all
reasoning.
"""

from __future__ import annotations

from collections.abc import Iterator

from joey.chunks import Chunk, ReasoningChunk, TextChunk

_OPEN, _CLOSE = "<think>", "</think>"


class ThinkSplitter:
    """Turns the chunks of one reply into chunks with the reasoning apart. Line breaks beside the markers are theirs."""

    def __init__(self) -> None:
        self._held = ""
        self._state = "start"
        self._behind_mark = False

    def feed(self, chunk: Chunk) -> Iterator[Chunk]:
        if not isinstance(chunk, TextChunk):
            yield from self.finish() if self._state == "start" else ()
            yield chunk
        elif self._state == "text" and not self._behind_mark:
            yield chunk
        else:
            self._held += chunk.text
            yield from self._read()

    def finish(self) -> Iterator[Chunk]:
        """What was held back, when nothing more comes."""
        held, self._held = self._held, ""
        if held:
            yield ReasoningChunk(held) if self._state == "thinking" else TextChunk(held)

    def _read(self) -> Iterator[Chunk]:
        if self._state == "start":
            begun = self._held.lstrip()
            if begun.startswith(_OPEN):
                self._enter("thinking", begun.removeprefix(_OPEN))
            elif _OPEN.startswith(begun):
                return
            else:
                self._state = "text"
        if self._behind_mark:
            self._held = self._held.lstrip("\n")
            self._behind_mark = not self._held
        if self._state == "thinking":
            yield from self._think()
        if self._state == "text":
            yield from self.finish()

    def _think(self) -> Iterator[Chunk]:
        thought, mark, rest = self._held.partition(_CLOSE)
        if mark:
            yield from (ReasoningChunk(each) for each in (thought.rstrip("\n"),) if each)
            self._enter("text", rest)
            return
        kept = next((size for size in range(len(_CLOSE) - 1, 0, -1) if thought.endswith(_CLOSE[:size])), 0)
        sure = thought[: len(thought) - kept].rstrip("\n")
        self._held = thought[len(sure) :]
        if sure:
            yield ReasoningChunk(sure)

    def _enter(self, state: str, rest: str) -> None:
        self._state, self._held = state, rest.lstrip("\n")
        self._behind_mark = not self._held
