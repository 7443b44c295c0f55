"""A provider that plays a script, without a network."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from typing import ClassVar

from joey.chunks import Chunk
from joey.errors import UsageError
from joey.providers import errors
from joey.providers.base import ModelRequest, Provider
from joey.providers.catalogue import Abilities
from joey.testing.script import Failure, Faults, Script, Scripted, ScriptedReply


class ScriptedProvider(Provider):
    """Answers each request with the next answer of its script, and remembers the requests. A function makes an answer
    for each request: where several tasks make requests at the same time, their order says nothing."""

    name: ClassVar[str] = "scripted"

    def __init__(
        self,
        answers: Iterable[Scripted] | Callable[[ModelRequest], Scripted],
        *,
        abilities: Abilities | None = None,
        takes_grammar: bool = False,
    ) -> None:
        super().__init__(abilities)
        self._takes_grammar = takes_grammar
        self._answer = answers if callable(answers) else _in_order(Script(answers))
        self.requests: list[ModelRequest] = []

    @property
    def takes_grammar(self) -> bool:
        return self._takes_grammar

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        self.requests.append(request)
        answer = self._answer(request)
        if isinstance(answer, Failure):
            raise _error(answer)
        if not isinstance(answer, ScriptedReply):
            raise UsageError("a recording is lines of HTTP; play it with LocalServer")
        async for chunk in _played(answer.chunks, answer.faults):
            yield chunk


def _in_order(script: Script) -> Callable[[ModelRequest], Scripted]:
    return lambda _request: script.next()


def _error(failure: Failure) -> errors.ProviderError:
    headers = {} if failure.retry_after is None else {"retry-after": str(failure.retry_after)}
    return errors.classify(failure.message, status=failure.status, kinds=(failure.kind,), headers=headers)


async def _played(chunks: tuple[Chunk, ...], faults: Faults) -> AsyncIterator[Chunk]:
    await asyncio.sleep(faults.latency)
    for number, chunk in enumerate(chunks):
        if number == faults.silent_after:
            await asyncio.Event().wait()
        if number == faults.cut_after and faults.breaks_with is not None:
            raise _error(faults.breaks_with)
        if number == faults.cut_after:
            raise errors.CutStreamError("the reply broke off, as the script says")
        if number == faults.malformed_at:
            raise errors.CutStreamError("a piece of the reply could not be read, as the script says")
        yield chunk
        await asyncio.sleep(faults.pause)
    if faults.cut_after is not None and faults.cut_after >= len(chunks):
        raise errors.CutStreamError("the reply broke off, as the script says")
