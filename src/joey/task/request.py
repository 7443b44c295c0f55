"""The next request, from what the task is made of and the conversation so far."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from joey.events import ModelChanged, RequestDelayed, RetryScheduled
from joey.journal.replay import TaskState
from joey.messages import Message
from joey.providers.base import ModelRequest
from joey.providers.encoding.memo import Memo
from joey.providers.errors import ProviderError, RateLimitError
from joey.providers.retry import Retry, with_retries
from joey.task.config import TaskConfig
from joey.task.history import HistoryEncoder, places, visible
from joey.task.log import TaskLog
from joey.task.profiles.base import Supervisor
from joey.task.prompt import PromptContext
from joey.task.results import result_limit, shortened
from joey.task.toolbox import Toolbox
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
        if state.result_limit is None and state.old_results is None:
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
            if other is None:
                raise
            log.emit(ModelChanged(other, error.reason))
