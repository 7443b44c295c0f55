"""The model behind the gateway, and how a client's request becomes one that it understands.

The tools are taught in the system prompt, in the protocol that the model speaks, and earlier calls and results stand in
the history as the model would have written them. Nothing in that depends on the turn: the same messages are the same
bytes in every request, so that the prompt cache of the model's server holds. What is special for one request (a call
that must be made) is added to the last message. With native calls the tools are handed on, and only the wire changes.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property

from joey import protocols
from joey.gateway.arguments import compact
from joey.gateway.formats import format_grammar, format_instruction
from joey.gateway.refusal import Refusal, context_exceeded, invalid
from joey.gateway.request import ClientRequest
from joey.gateway.wires.fields import LOGIT_BIAS
from joey.messages import ImageBlock, Message, TextBlock, ToolResultBlock, ToolUseBlock
from joey.protocols import Parser, Protocol, debug
from joey.protocols.base import FirstCallOnly
from joey.protocols.resolve import AUTO, NATIVE
from joey.providers import LOCAL, ModelRequest, Provider, ReasoningOptions
from joey.system.visible import unfiltered
from joey.task.history import HistoryEncoder
from joey.toolspec import ToolChoice, ToolSpec
from joey.wire import JsonObject

MAX_TOKENS = 8192
"""How long a reply may be if neither the client nor the model says so."""
MIN_ANSWER = 256
"""Tokens that must be left of the window for an answer."""
CHARACTERS_PER_TOKEN = 3.5
MAX_LIMIT_WAIT = 10.0
"""Seconds that a request is held back after its server refused others; a client that retries does not hear of them."""
_HOPELESS = 8
"""No text has so many characters in a token that a prompt could be this many times shorter than it seems."""
_KEPT_DESCRIPTIONS = 32
_RESULT_MARK = re.compile(r"<[^<>\s]{2,40}>")
TEXT_DEFAULT = "json_mix"
"""What a model is taught that has no dialect of its own."""


def choose_protocol(provider: Provider, model: str, wanted: str | None = None, template: str = "") -> Protocol:
    """The protocol to speak with a model: the one that was chosen; native calls where the server takes them and no
    grammar; else the model's own dialect, by its template and name; else one that any model can be taught.

    The small models in the box do better with that than with the dialect of their template, which they hardly learnt.
    """
    model = _known_name(provider, model)
    abilities = provider.abilities(model)
    if wanted and wanted != AUTO:
        return protocols.get(wanted)
    if abilities.tools and not provider.takes_grammar and wanted != AUTO:
        return protocols.get(NATIVE)
    if provider.name == LOCAL and wanted is None:
        return protocols.get(abilities.dialect or TEXT_DEFAULT)
    likely = protocols.likely_dialects(template=template or provider.chat_template, model=model)
    return protocols.get(abilities.dialect or next(iter(likely), TEXT_DEFAULT))


def _known_name(provider: Provider, model: str) -> str:
    """A model on this machine has a short name here; the name of its file says which model it is."""
    if provider.name != LOCAL:
        return model
    from joey.providers.local.weights import model_file  # what can be fetched, and how: for those who have one

    return model_file(model).name


@dataclass(frozen=True, slots=True)
class _Taught:
    """What a list of tools becomes: the description, and the grammar of a reply."""

    description: str
    grammar: str | None


@dataclass(frozen=True)
class Upstream:
    """A model that answers. `name` is what clients call it, `slots` how many requests it takes at a time."""

    provider: Provider
    model: str
    protocol: Protocol
    name: str = ""
    slots: int = 64
    retries: int = 1
    """How often the model is asked again when its calls cannot be handed on."""
    window: int | None = None
    aliases: tuple[str, ...] = ()
    """Further names, with `*` for anything."""
    with_fields: Callable[[JsonObject], Provider] | None = field(default=None, compare=False, repr=False)
    """The same model with these fields in each request (`top_p`, `seed`), where its server takes them."""
    wrap_parser: Callable[[Parser], Parser] = field(default_factory=lambda: _watched, compare=False, repr=False)
    """By default, $JOEY_DEBUG_PARSER shows on the error stream what the model writes and what is read."""
    _taught: dict[str, _Taught] = field(default_factory=dict, compare=False, repr=False)

    @property
    def context_window(self) -> int | None:
        return self.window or self.provider.abilities(self.model).context_window

    @cached_property
    def result_mark(self) -> str:
        """What the result of a call begins with in the history, where that is a tag."""
        if not self.protocol.in_text:
            return ""
        shown = self.protocol.encode_results(
            (ToolResultBlock("1", (TextBlock("\0"),)),), (ToolUseBlock("1", "tool", {}),)
        )
        text = shown[0].text.lstrip() if shown and isinstance(shown[0], TextBlock) else ""
        found = _RESULT_MARK.match(text)
        return found[0] if found else ""

    def encode(self, request: ClientRequest) -> ModelRequest:
        """The request for the model's server."""
        in_text = self.protocol.in_text
        specs = request.tools.specs if request.choice.mode != "none" else ()
        constrained = self.provider.takes_grammar and (in_text or not specs)
        taught = self._teach(specs, request, constrained=constrained) if in_text else _Taught("", None)
        grammar = taught.grammar
        extra = [taught.description]
        if request.format is not None:
            extra.append(format_instruction(request.format))
            if self.holds_to_format(request):
                grammar = format_grammar(request.format)
        messages = HistoryEncoder(self.protocol).encode(request.messages, request.tools.specs)
        if self.must_call(request) and in_text and grammar is None:
            messages = _with_note(messages, _required(request.choice, request.callable_tools.specs, self.protocol))
        return ModelRequest(
            model=self.model,
            messages=messages,
            system="\n\n".join(filter(None, [request.system, *extra])),
            tools=() if in_text else specs,
            tool_choice=request.choice if not in_text and specs else ToolChoice(),
            max_tokens=self._max_tokens(request),
            temperature=request.temperature,
            reasoning=self._reasoning(request),
            grammar=grammar,
            conversation=request.conversation,
            on_wait=_refuse_long_wait,
        )

    def holds_to_format(self, request: ClientRequest) -> bool:
        """Whether the grammar of the reply is that of its format: with tools, it may be a call as well."""
        offers_tools = bool(request.tools.specs) and request.choice.mode != "none"
        return request.format is not None and self.provider.takes_grammar and not offers_tools

    def held_to_format(self, prepared: ModelRequest, request: ClientRequest) -> ModelRequest:
        """The request after a reply that was text, and not in the format: this time it can be nothing else."""
        if request.format is None or not self.provider.takes_grammar or not self.protocol.in_text:
            return prepared
        return replace(prepared, grammar=format_grammar(request.format))

    @asynccontextmanager
    async def provider_for(self, request: ClientRequest) -> AsyncIterator[Provider]:
        """Who answers this request. Raises Refusal where a field of it cannot be sent on, and must be."""
        if not request.sent_on or self.with_fields is None:
            if LOGIT_BIAS in request.sent_on:
                raise invalid(f"{LOGIT_BIAS}: not supported by this model's server", LOGIT_BIAS)
            yield self.provider
            return
        provider = self.with_fields(request.sent_on)
        try:
            yield provider
        finally:
            await provider.close()

    def parser(self, request: ClientRequest, protocol: Protocol | None = None) -> Parser:
        """Reads the reply to a request, in the model's own protocol unless it is another one."""
        specs = request.callable_tools.specs if request.choice.mode != "none" else ()
        parser = self.wrap_parser((protocol or self.protocol).parser(specs))
        return FirstCallOnly(parser) if self.ends_with_first_call(request) else parser

    def must_call(self, request: ClientRequest) -> bool:
        return bool(request.callable_tools.tools) and request.choice.mode in ("required", "one")

    def ends_with_first_call(self, request: ClientRequest) -> bool:
        """Whether what comes behind the first call does not count. Native calls end with the reply, all at once."""
        return not request.choice.parallel and bool(request.tools.tools)

    def correction(self, rejected: Sequence[str], tools: Sequence[ToolSpec]) -> str:
        """What to tell a model whose reply is of no use: what is wrong with it, and how a call of these tools is
        written. Without tools it is not reminded of calls, which it should not make."""
        problem = rejected[0].rstrip(".") if rejected else "The reply must be a call of a tool"
        return f"{problem}. {self.protocol.reminder(tools) if tools else 'Answer without a tool call.'}"

    def again(
        self, request: ModelRequest, wrote: str, correction: str, tools: Sequence[ToolSpec], *, several: bool
    ) -> ModelRequest:
        """The request after a reply that is of no use: with that reply, and what is wrong with it. A model that
        tried to call a tool, and is held to a grammar, can this time do nothing else."""
        note = Message("user", (TextBlock(correction),))
        reply = (Message("assistant", (TextBlock(wrote),)),) if wrote.strip() else ()
        grammar = request.grammar
        if grammar is not None and tools:
            grammar = self.protocol.grammar(tools, ToolChoice("required", parallel=several))
        return replace(request, messages=(*request.messages, *reply, note), grammar=grammar)

    def held_to_calls(self, request: ModelRequest, tools: Sequence[ToolSpec]) -> ModelRequest:
        """The same request, to a model that can do nothing but call tools."""
        return replace(request, grammar=self.protocol.grammar(tools, ToolChoice("required")))

    async def count(self, request: ModelRequest) -> tuple[int, bool]:
        """The tokens of a request, and whether that is exact: counted by the model's own server."""
        exact = await self.provider.count_tokens(request)
        return (exact, True) if exact is not None else (estimate(request), False)

    async def check_window(self, request: ModelRequest) -> ModelRequest:
        """The request with an answer that has room. Raises Refusal for one that cannot be answered at all.

        An exact count costs a question to the server, so it is asked for only when the estimate comes near, and not
        for a prompt that is many times too long."""
        window, about = self.context_window, estimate(request)
        if window is None or (about * 2 < window - MIN_ANSWER and request.max_tokens * 2 < window):
            return request
        if about > _HOPELESS * window:
            raise context_exceeded(about, window)
        tokens, exact = await self.count(request)
        if not exact:
            tokens = tokens // 2  # what is certainly there
        if tokens > window - min(MIN_ANSWER, window // 8):
            raise context_exceeded(tokens, window)
        return replace(request, max_tokens=max(1, min(request.max_tokens, window - tokens)))

    def _teach(self, specs: tuple[ToolSpec, ...], request: ClientRequest, *, constrained: bool) -> _Taught:
        callable_specs = request.callable_tools.specs if specs else ()
        described = request.tools.described if specs else ()
        key = compact(
            [
                [[spec.name, spec.description, spec.schema] for spec in specs],
                [len(described), *(spec.name for spec in callable_specs)],
                [request.choice.mode, request.choice.name, request.choice.parallel, constrained],
            ]
        )
        if key not in self._taught:
            while len(self._taught) >= _KEPT_DESCRIPTIONS:
                self._taught.pop(next(iter(self._taught)))
            grammar = self.protocol.grammar(callable_specs, request.choice) if constrained and specs else None
            self._taught[key] = _Taught(self.protocol.describe(described), grammar)
        return self._taught[key]

    def _max_tokens(self, request: ClientRequest) -> int:
        limit = self.provider.abilities(self.model).max_output
        wanted = request.max_tokens or limit or MAX_TOKENS
        return max(1, min(wanted, limit) if limit else wanted)

    def _reasoning(self, request: ClientRequest) -> ReasoningOptions | None:
        """Only for models that are known to take it: others answer with an error."""
        abilities = self.provider.abilities(self.model)
        effort = abilities.nearest_effort(request.effort) if request.effort and abilities.efforts else None
        budget = request.budget if abilities.thinking in ("budget", "both") else None
        return ReasoningOptions(effort, budget) if effort or budget else None


def _refuse_long_wait(seconds: float) -> None:
    """The server refuses for some time: a client is told how long, and does not wait without a word."""
    if seconds > MAX_LIMIT_WAIT:
        again = f"try again in {seconds:.0f} seconds"
        raise Refusal("rate", f"the model's server is refusing requests; {again}", retry_after=seconds)


def _watched(parser: Parser) -> Parser:
    mode, style = debug.settings(os.environ)
    return debug.wrap(parser, mode, style, unfiltered(sys.stderr).write)


def estimate(request: ModelRequest) -> int:
    """About how many tokens a request has, for a server that does not count."""
    size = len(request.system) + sum(len(compact([t.name, t.description, t.schema])) for t in request.tools)
    for message in request.messages:
        for block in message.content:
            match block:
                case ImageBlock():
                    size += 4000
                case ToolUseBlock(_, name, arguments):
                    size += len(name) + len(compact(arguments))
                case ToolResultBlock(_, content):
                    size += sum(len(part.text) if isinstance(part, TextBlock) else 4000 for part in content)
                case _:
                    size += len(block.text)
        size += 12
    return int(size / CHARACTERS_PER_TOKEN) + 1


def _required(choice: ToolChoice, specs: Sequence[ToolSpec], protocol: Protocol) -> str:
    name = choice.name or (specs[0].name if len(specs) == 1 else "")
    which = f"Call the tool {name} now." if name else "Call one of the tools now."
    return f"{which} The whole reply is that call. {protocol.reminder(specs)}"


def _with_note(messages: tuple[Message, ...], note: str) -> tuple[Message, ...]:
    if messages and messages[-1].role == "user":
        return (*messages[:-1], replace(messages[-1], content=(*messages[-1].content, TextBlock(note))))
    return (*messages, Message("user", (TextBlock(note),)))
