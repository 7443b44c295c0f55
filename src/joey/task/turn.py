"""One request and its reply, tried again where that can help, and written down when it is whole."""

from __future__ import annotations

from contextlib import aclosing

from joey.events import TurnFinished, TurnStarted
from joey.journal.records import MessageAdded, TurnEnded
from joey.messages import Message
from joey.protocols import Reply, ReplyBuilder
from joey.providers.errors import ContextTooLongError
from joey.task.context_window import KEPT_MESSAGES, condense, nearly_full, shorten
from joey.task.core import TaskCore
from joey.task.request import request_for


async def take_turn(core: TaskCore) -> Reply:
    """Ask the model, and record what it answered. Raises ProviderError when it cannot be had."""
    if core.condenses:
        core.condenses = False
        await condense(core)
    if nearly_full(core):
        await shorten(core)
    number = core.state.turns + 1
    core.emit(TurnStarted(number))
    reply = await _with_shorter_context(core)
    if reply.content:
        core.record(MessageAdded(Message("assistant", reply.content)))
    cost = core.parts.prices.cost(core.parts.model, reply.usage)
    core.record(TurnEnded(reply.usage, cost))
    core.emit(TurnFinished(number, reply.usage, cost))
    return reply


async def _with_shorter_context(core: TaskCore) -> Reply:
    """The reply; if the provider finds the conversation too long, it is shortened, each time to fewer messages."""
    keep = KEPT_MESSAGES
    while True:
        try:
            return await core.persist(lambda: _attempt(core))
        except ContextTooLongError:
            if keep < 1 or not await shorten(core, keep=keep):
                raise
            keep //= 2


async def _attempt(core: TaskCore) -> Reply:
    """One reply. Where it should be one call, and no grammar sees to that, it ends with the first: a small model would
    go on with what it thinks the tool answers, and with the next call."""
    parts, request = core.parts, request_for(core)
    parser = parts.watch_parser(parts.protocol.parser(core.tools.specs))
    builder = ReplyBuilder()
    one_is_enough = parts.settings.tool_choice == "required" and parts.protocol.in_text and request.grammar is None
    async with aclosing(parts.provider.stream(request)) as chunks:
        async for chunk in chunks:
            for event in parser.feed(chunk):
                core.emit(event)
                builder.add(event)
            if one_is_enough and builder.has_call:
                break
    for event in parser.finish():
        core.emit(event)
        builder.add(event)
    if one_is_enough and builder.has_call:
        builder.forget_after_first_call()
    return builder.build()
