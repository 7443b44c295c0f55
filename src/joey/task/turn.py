"""One request and its reply, tried again where that can help, and written down when it is whole."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass

from joey.events import StreamEvent, TurnFinished, TurnStarted
from joey.journal.records import MessageAdded, TurnEnded
from joey.messages import Message
from joey.protocols.first_call import FirstCallOnly
from joey.protocols.reply import Reply, ReplyBuilder
from joey.providers.errors import ContextTooLongError
from joey.task.call_ids import CallIds
from joey.task.config import TaskConfig
from joey.task.log import TaskLog
from joey.task.request import RequestBuilder, persist
from joey.task.toolbox import Toolbox
from joey.task.window import KEPT_MESSAGES, Window


@dataclass(slots=True, eq=False)
class Turns:
    """The turns of one task."""

    _config: TaskConfig
    _log: TaskLog
    _toolbox: Toolbox
    _requests: RequestBuilder
    _window: Window

    async def take(self) -> Reply:
        """Ask the model, and record what it answered. Raises ProviderError when there is no answer."""
        await self._window.make_room()
        number = self._log.state.turns + 1
        self._log.emit(TurnStarted(number))
        reply = await self._with_shorter_context()
        if reply.content:
            self._log.record(MessageAdded(Message("assistant", reply.content)))
        cost = self._config.model.cost(reply.usage)
        self._log.record(TurnEnded(reply.usage, cost))
        self._log.emit(TurnFinished(number, reply.usage, cost))
        return reply

    async def _with_shorter_context(self) -> Reply:
        """The reply; if the provider finds the conversation too long, it is shortened, each time to fewer messages."""
        keep = KEPT_MESSAGES
        while True:
            try:
                return await persist(self._attempt, self._config, self._log)
            except ContextTooLongError:
                if keep < 1 or not await self._window.shorten(keep=keep):
                    raise
                keep //= 2

    async def _attempt(self) -> Reply:
        """One reply. Where it should be one call, and no grammar sees to that, it ends with the first."""
        model, request = self._config.model, self._requests.build()
        parser = self._config.hooks.wrap_parser(model.protocol.parser(self._toolbox.registry.specs))
        one_call = model.replies.tool_choice == "required" and model.protocol.in_text and request.grammar is None
        reader = FirstCallOnly(parser) if one_call else parser
        reply, ids = ReplyBuilder(), CallIds(self._log.state.call_ids, self._log.state.turns + 1)

        def add(events: list[StreamEvent]) -> None:
            for event in map(ids.unique, events):
                self._log.emit(event)
                reply.add(event)

        async with aclosing(model.provider.stream(request)) as chunks:
            async for chunk in chunks:
                add(reader.feed(chunk))
                if one_call and reply.has_call:
                    break
        add(reader.finish())
        return reply.build()
