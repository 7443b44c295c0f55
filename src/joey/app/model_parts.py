"""What of a task depends on its model: how it calls tools, what it costs, how much it reads, which tools it gets."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from joey import protocols
from joey.app.dialects import choose_protocol
from joey.app.models import catalogue
from joey.app.opening import reasoning_of, refuse_fallbacks_without_tools
from joey.app.settings import located_at
from joey.app.tools import Discovery, mcp_offers, tools_of
from joey.config import Config
from joey.errors import UsageError
from joey.mcp.prompts import ServerPrompts
from joey.mcp.resources import ServerResources
from joey.mcp.servers import McpServers
from joey.modes.mode import Mode
from joey.policy.paths import Workspace
from joey.prompts import Library, UserInput, expand_input
from joey.protocols import Protocol
from joey.providers import LOCAL, Catalogue, Prices, Provider
from joey.task.config import FastModel, Model, TaskConfig
from joey.task.mentions import WorkspaceSources
from joey.task.profiles import choose_profile
from joey.task.profiles.base import Profile
from joey.task.settings import Replies
from joey.tools.base import EditorFiles, Tool
from joey.tools.toolset import Toolset

_FREE = {"input": 0, "output": 0}
ExpandInput: TypeAlias = Callable[[str, str], Awaitable[UserInput]]


@dataclass(frozen=True, slots=True)
class ModelParts:
    """The parts of a task that are made for its model."""

    model: Model
    profile: Profile
    tools: Callable[[Mode], Toolset]
    expand_input: ExpandInput

    def applied(self, config: TaskConfig) -> TaskConfig:
        """The config with these in place of its own."""
        hooks = replace(config.hooks, expand_input=self.expand_input)
        return replace(config, model=self.model, profile=self.profile, tools=self.tools, hooks=hooks)


@dataclass(frozen=True, slots=True)
class PartsMaker:
    """Makes the parts for any model that the same task, or a subtask of it, works with."""

    around: Discovery
    paths: Workspace
    servers: McpServers | None = None
    editor: EditorFiles | None = None
    given: tuple[Tool[Any], ...] = ()

    def parts(self, opened: tuple[Provider, str], label: str, config: Config, fast: FastModel | None) -> ModelParts:
        """The parts for this model of a provider, under these settings. Raises UsageError."""
        provider, name = opened
        known, abilities = priced(catalogue(config), label), provider.abilities(name)
        protocol = _protocol(config, provider, name, label)
        refuse_fallbacks_without_tools(provider, protocol)
        profile = choose_profile(config.value("task.prompt"), abilities.context_window)
        reasoning = reasoning_of(config, label, known.facts(label), abilities)
        replies = replace(replies_of(config, profile, abilities.context_window), reasoning=reasoning)
        server = _named_server(config, label)
        return ModelParts(
            Model(provider, name, protocol, label, Prices(known), replies, server, fast),
            profile,
            self._tools(label, config, profile, protocol, sees_images=abilities.images),
            input_expander(
                self.paths,
                self.around.library,
                sees_images=abilities.images,
                check=config.value("check"),
                servers=self.servers,
                editor=self.editor,
            ),
        )

    def _tools(
        self, label: str, config: Config, profile: Profile, protocol: Protocol, *, sees_images: bool
    ) -> Callable[[Mode], Toolset]:
        servers, budget = self.servers, config.value("mcp.tool_budget")
        mcp = mcp_offers(servers, in_text=protocol.in_text, budget=budget) if servers and servers.servers else None
        return tools_of(self.around, label, config, sees_images=sees_images, mcp=mcp, profile=profile, given=self.given)


def priced(known: Catalogue, label: str) -> Catalogue:
    """What is known of models, and that one in this process costs nothing."""
    return known.extended({label: {"price": _FREE}}) if label.startswith(f"{LOCAL}/") else known


def _named_server(config: Config, model: str) -> str | None:
    """The server that was named with a flag or a variable, which may be gone when the task is resumed. What a file says
    is still there then."""
    return config.base_url_for(model) if config.settings["base_url"].origin in ("flag", "environment") else None


def _protocol(config: Config, provider: Provider, model: str, label: str) -> Protocol:
    """The protocol that the user chose, else the model's own dialect, else what it can do."""
    with located_at(config.settings["protocol"]):
        choice = choose_protocol(config, label, provider.abilities(model), provider.chat_template)
        protocol = protocols.get(choice.name)
    if config.value("grammar") not in (None, "off") and not protocol.in_text:
        raise UsageError(f"a grammar needs a text protocol, not {protocol.name}; use --protocol xml or --grammar off")
    return protocol


def replies_of(config: Config, profile: Profile, context_window: int | None) -> Replies:
    """How replies are requested: by the profile, unless the user decided."""
    replies = profile.replies(Replies(context_window=context_window, **config.part("replies")))
    chosen = {"tool_choice": config.value("task.tool_choice"), "plain_answers": config.value("task.plain_answers")}
    return replace(replies, **{name: value for name, value in chosen.items() if value})


def input_expander(
    paths: Workspace,
    library: Library,
    *,
    sees_images: bool,
    check: str | None = None,
    servers: McpServers | None = None,
    editor: EditorFiles | None = None,
) -> ExpandInput:
    """Finds the slash commands, skills, prompts of servers and mentions in what a person typed (joey.prompts). The
    answers of tools never come here."""
    prompts = ServerPrompts(servers) if servers else None
    resources = ServerResources(servers, sees_images=sees_images) if servers else None

    async def expand(text: str, mode: str) -> UserInput:
        sources = WorkspaceSources(paths, sees_images, check, editor=editor, resources=resources)
        return await expand_input(text, library, sources, mode, prompts)

    return expand
