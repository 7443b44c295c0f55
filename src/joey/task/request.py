"""The next request, from what the task is made of and what was said so far."""

from __future__ import annotations

from joey.journal.replay import TaskState
from joey.providers.base import ModelRequest
from joey.task.compact import compact_prompt
from joey.task.core import TaskCore
from joey.task.history import visible
from joey.task.prompt import Surroundings, system_prompt
from joey.toolspec import ToolChoice, ToolSpec


def request_for(core: TaskCore, state: TaskState | None = None) -> ModelRequest:
    """The next request, of the task as it is or of a state of it.

    For a text protocol the tools are described in the system prompt and not given as such.
    """
    parts, specs = core.parts, core.tools.specs
    required = parts.settings.tool_choice == "required" and bool(specs)
    choice = ToolChoice("required", parallel=False) if required else ToolChoice()
    constrained = parts.protocol.in_text and parts.provider.takes_grammar
    return ModelRequest(
        model=parts.model,
        messages=core.history.encode(visible(state or core.state), specs),
        system=_system(core, specs),
        tools=() if parts.protocol.in_text else specs,
        tool_choice=choice,
        max_tokens=parts.settings.max_tokens,
        temperature=parts.settings.temperature,
        grammar=parts.protocol.grammar(_callable(core, specs), choice) if constrained else None,
    )


def size_of(request: ModelRequest) -> int:
    """About how many characters the model has to read: to compare one request with another."""
    return len(request.system) + len(repr(request.tools)) + len(repr(request.messages))


def _callable(core: TaskCore, specs: tuple[ToolSpec, ...]) -> tuple[ToolSpec, ...]:
    """The tools that a constrained reply may call: all but those that were just called in vain, or would be."""
    vain = core.barred | (core.claims.too_early if core.claims else frozenset())
    return tuple(spec for spec in specs if spec.name not in vain) or specs


def _system(core: TaskCore, specs: tuple[ToolSpec, ...]) -> str:
    parts = core.parts
    surroundings = parts.surroundings or Surroundings(str(parts.workspace))
    if parts.settings.compact:
        return compact_prompt(core.mode, parts.protocol, specs, surroundings)
    return system_prompt(core.mode, parts.modes.values(), parts.protocol, specs, surroundings)
