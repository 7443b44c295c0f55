"""One request and its reply, tried again where that can help, and written down when it is whole.

Call ids are unique in a task, whatever the model or its server sends. In a text protocol each reply counts its calls
from one, and some servers with native calls do the same. Results, subtasks, checkpoints and what was interrupted are
found by these ids, in the journal and on the screen. So an id that an earlier reply of the task used gets the number of
the turn added, from the first event of the call on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Set as AbstractSet
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace

from joey.chunks import TextChunk
from joey.events import (
    RetryScheduled,
    StreamEvent,
    ToolCallDelta,
    ToolCallFinished,
    ToolCallMalformed,
    ToolCallStarted,
    TurnFinished,
    TurnStarted,
)
from joey.journal.journal import JournalError
from joey.journal.records import MessageAdded, ReplyInterrupted, TurnEnded
from joey.messages import Message
from joey.protocols.base import FirstCallOnly
from joey.protocols.reply import Reply, ReplyBuilder
from joey.providers.base import ModelRequest
from joey.providers.errors import BadRequestError, ContextTooLongError
from joey.task.config import TaskConfig
from joey.task.log import TaskLog
from joey.task.profiles.base import Supervisor
from joey.task.request import RequestBuilder, persist
from joey.task.toolbox import Toolbox
from joey.task.window import KEPT_MESSAGES, Window


class CallIds:
    """The ids of the calls of one reply. `used` are those of the earlier replies."""

    def __init__(self, used: AbstractSet[str], turn: int) -> None:
        self._used = used
        self._turn = turn
        self._ids: dict[str, str] = {}

    def unique(self, event: StreamEvent) -> StreamEvent:
        """The event with the id that its call has in the task."""
        match event:
            case ToolCallDelta(call_id, path, text, raw, literal):  # nearly all events of a long call
                new = self.of(call_id)
                return event if new == call_id else ToolCallDelta(new, path, text, raw, literal)
            case ToolCallStarted(call_id) | ToolCallFinished(call_id) | ToolCallMalformed(call_id):
                new = self.of(call_id)
                return event if new == call_id else replace(event, call_id=new)
        return event

    def of(self, call_id: str) -> str:
        """The id in the task of the call that has this one in its reply."""
        new = self._ids.get(call_id)
        if new is None:
            new, attempt = call_id, self._turn
            while new in self._used or new in self._ids.values():
                new, attempt = f"{call_id}_{attempt}", attempt + 1
            self._ids[call_id] = new
        return new


MIN_ANSWER = 1024
"""Tokens that an answer needs to be of use; for less room the conversation is shortened."""
_TAIL = 2_000
"""Characters of a reply by which it is seen that it leads nowhere."""


@dataclass(slots=True, eq=False)
class Turns:
    """The turns of one task."""

    _config: TaskConfig
    _log: TaskLog
    _toolbox: Toolbox
    _requests: RequestBuilder
    _window: Window
    _supervisor: Supervisor
    _max_tokens: int | None = field(default=None, init=False)
    """How long an answer may be by what the provider answered, if it may be less than is set."""

    async def take(self) -> Reply:
        """Ask the model, and record what it answered. Raises ProviderError when there is no answer."""
        await self._window.make_room()
        number = self._log.state.spending.turns + 1
        self._log.emit(TurnStarted(number))
        reply = await self._with_shorter_context()
        if reply.content:
            self._log.record(MessageAdded(Message("assistant", reply.content)))
        cost = self._config.model.cost(reply.usage)
        self._log.record(TurnEnded(reply.usage, cost))
        self._log.emit(TurnFinished(number, reply.usage, cost))
        return reply

    async def _with_shorter_context(self) -> Reply:
        """The reply. If only the answer would be too long, it may be less; if the conversation is, large results are
        sent in part, then old turns are hidden, each time so that fewer remain."""
        keep = KEPT_MESSAGES
        while True:
            try:
                return await persist(self._attempt, self._config, self._log)
            except BadRequestError as error:
                if self._lower_max_tokens(error):
                    continue
                if not isinstance(error, ContextTooLongError):
                    raise
                self._max_tokens = None
                if self._window.shorten_results(error.share):
                    continue
                if keep < 1 or not await self._window.shorten(keep=keep):
                    raise
                keep //= 2

    def _lower_max_tokens(self, error: BadRequestError) -> bool:
        """Whether the same request is worth another attempt with a shorter answer."""
        allowed, now = error.max_tokens, self._max_tokens or self._config.model.replies.max_tokens
        if allowed is None or not MIN_ANSWER <= allowed < now:
            return False
        self._max_tokens = allowed
        self._log.emit(RetryScheduled(1, 0.0, f"{error.reason.rstrip('.')}; the answer may have {allowed:,} tokens"))
        return True

    def _request(self) -> ModelRequest:
        request = self._requests.build()
        return request if self._max_tokens is None else replace(request, max_tokens=self._max_tokens)

    async def _attempt(self) -> Reply:
        """One reply. Where it should be one call, and no grammar sees to that, it ends with the first."""
        model, request = self._config.model, self._request()
        parser = self._config.hooks.wrap_parser(model.protocol.parser(self._toolbox.registry.specs))
        one_call = model.replies.tool_choice == "required" and model.protocol.in_text and request.grammar is None
        reader = FirstCallOnly(parser) if one_call else parser
        reply, ids = ReplyBuilder(), CallIds(self._log.state.calls.ids, self._log.state.spending.turns + 1)
        tail = ""

        def add(events: list[StreamEvent]) -> None:
            for event in map(ids.unique, events):
                self._log.emit(event)
                reply.add(event)

        try:
            async with aclosing(model.provider.stream(request)) as chunks:
                async for chunk in chunks:
                    add(reader.feed(chunk))
                    tail = (tail + chunk.text)[-_TAIL:] if isinstance(chunk, TextChunk) else tail
                    if (one_call and reply.has_call) or self._supervisor.ends_reply(tail):
                        break
        except asyncio.CancelledError:
            self._keep_interrupted(reply.build().text)
            raise
        add(reader.finish())
        return reply.build()

    def _keep_interrupted(self, text: str) -> None:
        """For people: a task that is resumed shows what they had seen of the reply."""
        with suppress(JournalError):
            if text:
                self._log.record(ReplyInterrupted(text))
