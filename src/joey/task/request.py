"""The next request, from what the task is made of and the conversation so far.

What fills the model's window is the same request in parts, each with about how many tokens it takes. Characters are
counted part by part; what the provider counted last is shared out among them. Where it counted nothing
yet, a token is taken for four characters.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from joey.events import ModelChanged, RequestDelayed, RetryScheduled
from joey.journal.replay import TaskState
from joey.messages import Block, ImageBlock, Message, ReasoningBlock, TextBlock, ToolResultBlock, ToolUseBlock
from joey.providers.base import ModelRequest
from joey.providers.encoding.memo import Memo
from joey.providers.endpoints import ENDPOINTS
from joey.providers.errors import AuthError, ProviderError, RateLimitError
from joey.providers.retry import Retry, with_retries
from joey.task.config import TaskConfig
from joey.task.history import HistoryEncoder
from joey.task.log import TaskLog
from joey.task.profiles.base import Supervisor
from joey.task.prompt import PromptContext
from joey.task.results import result_limit, shortened
from joey.task.toolbox import Toolbox
from joey.task.visible import is_summary, places, visible
from joey.toolspec import ToolChoice

T = TypeVar("T")
_TRIES = 2
"""How often a request is repeated before another model is used."""


class RequestBuilder:
    """Makes the requests of one task. What was made of a message is remembered."""

    def __init__(self, config: TaskConfig, log: TaskLog, toolbox: Toolbox, supervisor: Supervisor) -> None:
        self._config = config
        self._log = log
        self._toolbox = toolbox
        self._supervisor = supervisor
        self._history = HistoryEncoder(config.model.protocol)
        self._shortened = Memo(shortened)

    def build(self, state: TaskState | None = None) -> ModelRequest:
        """The next request, of the task as it is or of a state of it.

        For a text protocol the tools are described in the system prompt and not given as such.
        """
        model, specs = self._config.model, self._toolbox.registry.specs
        required = model.replies.tool_choice == "required" and bool(specs)
        choice = ToolChoice("required", parallel=False) if required else ToolChoice()
        constrained = model.protocol.in_text and model.provider.takes_grammar
        callable_tools = self._supervisor.callable_tools(specs) if constrained else specs
        return ModelRequest(
            model=model.name,
            messages=self._history.encode(self._supervisor.sent(self.sent(state or self._log.state)), specs),
            system=self.system_prompt(),
            tools=() if model.protocol.in_text else specs,
            tool_choice=choice,
            max_tokens=model.replies.max_tokens,
            temperature=self._supervisor.temperature(model.replies.temperature),
            grammar=model.protocol.grammar(callable_tools, choice) if constrained else None,
            reasoning=model.replies.reasoning,
            on_wait=lambda seconds: self._log.emit(RequestDelayed(seconds)),
            conversation=self._log.task_id,
        )

    def sent(self, state: TaskState) -> tuple[Message, ...]:
        """The messages that are still sent, large results in part if they have to be."""
        messages = visible(state)
        if state.shortening.result_limit is None and state.shortening.old_results is None:
            return messages
        self._shortened.next_round()
        limited = zip(messages, map(partial(result_limit, state), places(state)), strict=True)
        return tuple(message if limit is None else self._shortened(message, limit) for message, limit in limited)

    def system_prompt(self) -> str:
        config, specs = self._config, self._toolbox.registry.specs
        context = config.workspace.prompt_context or PromptContext(str(config.workspace.folder))
        modes, protocol = config.modes.values(), config.model.protocol
        return config.profile.system_prompt(self._toolbox.mode, modes, protocol, specs, context)

    def reminder(self) -> str:
        """How tools are called, for a model that did it wrong."""
        return self._config.profile.reminder(self._config.model.protocol, self._toolbox.registry.specs)


def size_of(request: ModelRequest) -> int:
    """About how many characters the model has to read: to compare one request with another."""
    return len(request.system) + len(repr(request.tools)) + len(repr(request.messages))


async def persist(attempt: Callable[[], Awaitable[T]], config: TaskConfig, log: TaskLog) -> T:
    """What the attempt returns, tried again where that can help, then with another model if there is one; all of it
    visibly. Raises the last ProviderError."""
    provider, usual = config.model.provider, config.model.replies.retry

    def report(retry: Retry) -> None:
        limited = isinstance(retry.error, RateLimitError)
        log.emit(RetryScheduled(retry.attempt, retry.delay, retry.error.reason, limited))

    while True:
        policy = replace(usual, retries=min(usual.retries, _TRIES)) if provider.can_fall_back else usual
        try:
            return await with_retries(attempt, policy=policy, on_retry=report)
        except ProviderError as error:
            other = provider.fall_back(error)
            if isinstance(error, AuthError):
                name = config.model.full_name.partition("/")[0]
                endpoint = ENDPOINTS.get(name)
                address = config.model.base_url or (endpoint.base_url if endpoint else "") or ""
                error.of_provider(name, address, endpoint.key_variable if endpoint else "")
            if other is None:
                raise
            log.emit(ModelChanged(other, error.reason))


_CHARACTERS_A_TOKEN = 4
_IMAGE = 1500 * _CHARACTERS_A_TOKEN
PARTS = (
    "system prompt",
    "instructions",
    "tools",
    "summary",
    "messages",
    "replies and calls",
    "files and searches",
    "command output",
    "results of MCP tools",
    "other results",
    "images",
)
"""In the order in which a request has them, more or less."""
_RESULTS = {"read": "files and searches", "command": "command output", "mcp": "results of MCP tools"}


@dataclass(frozen=True, slots=True)
class ContextView:
    """The parts that are not empty, with their tokens; `window` is None where nobody knows it."""

    parts: tuple[tuple[str, int], ...]
    window: int | None = None
    counted: bool = False
    """Whether the provider counted the whole."""

    @property
    def used(self) -> int:
        return sum(tokens for _, tokens in self.parts)


def context_of(config: TaskConfig, log: TaskLog, toolbox: Toolbox, builder: RequestBuilder) -> ContextView:
    """What the next request of a task consists of."""
    state = log.state
    groups = {offered.name: offered.tool.group for offered in toolbox.registry.toolset.offered}
    sizes = Counter(_of_prompt(config, toolbox, builder))
    for part, size in _of_messages(builder.sent(state), groups):
        sizes[part] += size
    total, counted = sum(sizes.values()), state.spending.last_usage.total
    tokens = counted or total // _CHARACTERS_A_TOKEN
    parts = tuple((part, round(sizes[part] * tokens / total)) for part in PARTS if sizes[part])
    return ContextView(parts, config.model.replies.context_window, counted=bool(counted))


def _of_prompt(config: TaskConfig, toolbox: Toolbox, builder: RequestBuilder) -> dict[str, int]:
    specs, protocol = toolbox.registry.specs, config.model.protocol
    native = (len(spec.name) + len(spec.description) + len(json.dumps(spec.schema)) for spec in specs)
    tools = len(protocol.describe(specs)) if protocol.in_text else sum(native)
    context = config.workspace.prompt_context or PromptContext("")
    wishes = len(context.wishes(toolbox.mode.slug))
    whole = len(builder.system_prompt())
    rest = whole - wishes - (tools if protocol.in_text else 0)
    return {"system prompt": max(0, rest), "instructions": wishes, "tools": tools}


def _of_messages(messages: tuple[Message, ...], groups: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    names: dict[str, str] = {}
    for message in messages:
        for block in message.content:
            if isinstance(block, ToolUseBlock):
                names[block.id] = block.name
            if isinstance(block, ToolResultBlock):
                part = _RESULTS.get(groups.get(names.get(block.tool_use_id, ""), ""), "other results")
                yield from (("images" if isinstance(each, ImageBlock) else part, _size(each)) for each in block.content)
            else:
                yield _part_of(message, block), _size(block)


def _part_of(message: Message, block: Block) -> str:
    if isinstance(block, ImageBlock):
        return "images"
    if message.role == "assistant":
        return "replies and calls"
    text = block.text if isinstance(block, TextBlock) else ""
    return "summary" if is_summary(text) else "files and searches" if text.startswith("<mentioned ") else "messages"


def _size(block: Block) -> int:
    match block:
        case ImageBlock():
            return _IMAGE
        case TextBlock(text) | ReasoningBlock(text):
            return len(text)
        case ToolUseBlock(_, name, arguments):
            return len(name) + len(json.dumps(arguments, ensure_ascii=False))
        case _:
            return 0
