"""One request and its reply, tried again where that can help, and written down when it is whole."""

from __future__ import annotations

from contextlib import aclosing

from joey.events import TurnFinished, TurnStarted
from joey.journal.records import MessageAdded, TurnEnded
from joey.messages import Message
from joey.providers.base import Request
from joey.providers.failures import ContextTooLongError
from joey.task.compact import compact_prompt
from joey.task.context_window import KEPT_MESSAGES, nearly_full, shorten
from joey.task.core import TaskCore
from joey.task.history import in_words_of, visible
from joey.task.prompt import Surroundings, system_prompt
from joey.task.reply import Reply, ReplyBuilder, usage_chunk
from joey.toolspec import ToolChoice, ToolSpec


async def take_turn(core: TaskCore) -> Reply:
    """Ask the model, and record what it answered. Raises ProviderError when it cannot be had."""
    if nearly_full(core):
        await shorten(core)
    number = core.state.turns + 1
    core.emit(TurnStarted(number))
    reply = await _with_shorter_context(core)
    core.barred = None
    if reply.content:
        core.record(MessageAdded(Message("assistant", reply.content)))
    cost = core.parts.prices.cost(core.parts.model, usage_chunk(reply.usage))
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
    specs = core.tools.specs
    parser = core.parts.watch_parser(core.parts.protocol.parser(specs))
    builder = ReplyBuilder()
    async with aclosing(core.parts.provider.stream(request_for(core, specs))) as chunks:
        async for chunk in chunks:
            for event in parser.feed(chunk):
                core.emit(event)
                builder.add(event)
    for event in parser.finish():
        core.emit(event)
        builder.add(event)
    return builder.build()


def request_for(core: TaskCore, specs: tuple[ToolSpec, ...]) -> Request:
    """The next request. For a text protocol the tools are described in the system prompt and not given as such."""
    parts = core.parts
    required = parts.settings.tool_choice == "required" and bool(specs)
    choice = ToolChoice("required", parallel=False) if required else ToolChoice()
    constrained = parts.protocol.in_text and parts.provider.takes_grammar
    return Request(
        model=parts.model,
        messages=in_words_of(parts.protocol, visible(core.state), specs),
        system=_system(core, specs),
        tools=() if parts.protocol.in_text else specs,
        tool_choice=choice,
        max_tokens=parts.settings.max_tokens,
        temperature=parts.settings.temperature,
        grammar=parts.protocol.grammar(_callable(core, specs), choice) if constrained else None,
    )


def _callable(core: TaskCore, specs: tuple[ToolSpec, ...]) -> tuple[ToolSpec, ...]:
    """The tools that a constrained reply may call: all but the one that was just called in vain."""
    return tuple(spec for spec in specs if spec.name != core.barred) or specs


def _system(core: TaskCore, specs: tuple[ToolSpec, ...]) -> str:
    parts = core.parts
    surroundings = parts.surroundings or Surroundings(str(parts.workspace))
    if parts.settings.compact:
        return compact_prompt(core.mode, parts.protocol, specs, surroundings)
    return system_prompt(core.mode, parts.modes.values(), parts.protocol, specs, surroundings)
