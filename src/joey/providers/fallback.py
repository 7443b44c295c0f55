"""Other models for when one cannot be had: overloaded, out of reach, or limited for longer than anyone waits.

Whoever sends the requests decides when to give up on a model (`fall_back`), so that it can be shown. From then on the
next one answers, for the rest of the task. A conversation goes from model to model as it is: each provider leaves out
what is another's, such as signed reasoning.

A model that an agent's file names may be one that there is not, or that the user's key may not use. Only its server
knows: such models are given up on as well (`gives_up`). Behind it comes the model of its task, with those behind that.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from joey.chunks import Chunk
from joey.providers.base import ModelRequest, Provider, ReasoningOptions
from joey.providers.catalogue import Abilities, Effort
from joey.providers.errors import (
    AuthError,
    BadRequestError,
    NetworkError,
    OverloadedError,
    ProviderError,
    RateLimitError,
)


@dataclass(frozen=True, slots=True)
class OpenedModel:
    """A model of a provider, and its full name."""

    provider: Provider
    model: str
    full_name: str
    effort: Effort | None = None
    """How much it thinks; None: as much as the request says."""


class FallbackProvider(Provider):
    """The first of these models that can be had. With `gives_up`, one that its server refuses is none."""

    def __init__(self, models: Sequence[OpenedModel], *, gives_up: bool = False) -> None:
        super().__init__()
        self._models = tuple(models)
        self._gives_up = gives_up
        self._place = 0
        self.name = models[0].provider.name  # type: ignore[misc]

    @property
    def _now(self) -> OpenedModel:
        return self._models[self._place]

    def abilities(self, model: str) -> Abilities:
        return self._now.provider.abilities(self._now.model)

    @property
    def takes_grammar(self) -> bool:
        return self._now.provider.takes_grammar

    @property
    def can_fall_back(self) -> bool:
        return self._place + 1 < len(self._models) or self._now.provider.can_fall_back

    def fall_back(self, error: ProviderError) -> str | None:
        passing = isinstance(error, (OverloadedError, NetworkError, RateLimitError))
        refused = isinstance(error, AuthError) or (isinstance(error, BadRequestError) and error.status == 404)
        if not (passing or (refused and self._gives_up)) or not self.can_fall_back:
            return None
        if self._place + 1 == len(self._models):
            return self._now.provider.fall_back(error)
        self._place += 1
        return self._now.full_name

    def answering(self, model: str) -> str:
        return self._now.provider.answering(self._now.full_name)

    @property
    def without_tools(self) -> tuple[str, ...]:
        """The models that take no tools parameter."""
        return tuple(each.full_name for each in self._models if not each.provider.abilities(each.model).tools)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        now = self._now
        async with aclosing(now.provider.stream(self._adapted(request, now))) as chunks:
            async for chunk in chunks:
                yield chunk

    def _adapted(self, request: ModelRequest, now: OpenedModel) -> ModelRequest:
        reasoning, abilities = request.reasoning, now.provider.abilities(now.model)
        if now.effort is not None:
            reasoning = replace(reasoning or ReasoningOptions(), effort=now.effort)
        if reasoning is not None and reasoning.effort is not None:
            reasoning = replace(reasoning, effort=abilities.nearest_effort(reasoning.effort))
        return replace(request, model=now.model, reasoning=reasoning)

    async def close(self) -> None:
        for each in self._models:
            await each.provider.close()
