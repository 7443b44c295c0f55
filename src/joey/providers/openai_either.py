"""OpenAI's two APIs, and which of them a model is asked through.

The catalogue knows the models that take tools on the Responses API only. For all others it is Chat Completions, which
more servers speak. Where that is wrong the server says so, before anything of a reply: Chat Completions name the other
API ("use /v1/responses"), a server without Responses has no such path (404). Then the same request goes to the other
one, and so does every later one of this process for this model and address.

    chat ──"use /v1/responses"──► responses          responses ──no such path──► chat          (once, remembered)
"""

from __future__ import annotations

import importlib
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import ClassVar

from joey.chunks import Chunk
from joey.providers import errors
from joey.providers.base import Connection, ModelRequest, Provider
from joey.providers.catalogue import Api
from joey.providers.endpoints import module_for

_NEEDS_RESPONSES = re.compile(r"v1/responses\b|\bresponses api\b", re.IGNORECASE)
_NO_SUCH_MODEL = re.compile(r"\bmodel\b", re.IGNORECASE)
_NO_SUCH_PATH = (404, 405, 501)
_learned: dict[tuple[str | None, str], Api] = {}


def connect(connection: Connection) -> EitherProvider:
    """A provider for `open_model`."""
    return EitherProvider(connection)


class EitherProvider(Provider):
    """Replies through whichever of the two APIs the model needs."""

    name: ClassVar[str] = "openai"

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection.abilities)
        self._connection = connection
        self._place = (connection.base_url, connection.model)
        self._opened: dict[Api, Provider] = {}
        self._through(self.api)

    @property
    def api(self) -> Api:
        """The API that requests go to now."""
        usual: Api = "responses" if self.abilities(self._connection.model).api == "responses" else "chat"
        return _learned.get(self._place, usual)

    @property
    def takes_grammar(self) -> bool:
        return self._through(self.api).takes_grammar

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        api, began = self.api, False
        try:
            async with aclosing(self._through(api).stream(request)) as chunks:
                async for chunk in chunks:
                    began = True
                    yield chunk
            return
        except errors.BadRequestError as error:
            if began or not _is_for_the_other(error, api):
                raise
        other = _learned[self._place] = "chat" if api == "responses" else "responses"
        async with aclosing(self._through(other).stream(request)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def close(self) -> None:
        for provider in self._opened.values():
            await provider.close()

    def _through(self, api: Api) -> Provider:
        if api not in self._opened:
            module = importlib.import_module(module_for(api, self._connection.base_url))
            self._opened[api] = module.connect(self._connection)
        return self._opened[api]


def _is_for_the_other(error: errors.BadRequestError, api: Api) -> bool:
    if api == "chat":
        return bool(_NEEDS_RESPONSES.search(error.words))
    return error.status in _NO_SUCH_PATH and not _NO_SUCH_MODEL.search(error.words)
