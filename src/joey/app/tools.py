"""The modes and tools of a workspace: what is built in, what the user's files bring, what MCP servers offer."""

from __future__ import annotations

import asyncio
import contextlib
import difflib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joey.app.checks import language_settings
from joey.app.settings import environment_rules, sandbox_settings
from joey.app.sources import Sources
from joey.config import Config
from joey.errors import UsageError
from joey.mcp.config import configured_servers
from joey.mcp.servers import McpServers
from joey.modes.files import LoadedModes, load_modes
from joey.modes.mode import Mode
from joey.prompts import Library
from joey.system.keyring import find_key
from joey.system.trust import TrustStore
from joey.task.profiles import FULL
from joey.task.profiles.base import Profile
from joey.tools.base import Feature, Tool
from joey.tools.browser.chromium import why_no_browser
from joey.tools.builtin import builtin_tools
from joey.tools.custom import CustomToolLoader, CustomTools
from joey.tools.images import ImageEndpoint
from joey.tools.index.store import has_full_text
from joey.tools.languages.programs import LanguageSettings
from joey.tools.options import BuiltinOptions
from joey.tools.toolset import DEFAULT_FEATURES, ToolChoices, Toolset, build_toolset

if TYPE_CHECKING:
    from joey.mcp.offer import McpOffer


@dataclass(frozen=True, slots=True)
class Discovery:
    """What a workspace and its user bring along."""

    workspace: Path
    modes: LoadedModes
    loader: CustomToolLoader
    library: Library

    @property
    def features(self) -> frozenset[Feature]:
        """What the user's files switch on: a tool for commands or skills is of no use where there are none."""
        features: set[Feature] = {"codebase_index"} if has_full_text() else set()
        if any(command.origin != "built-in" for command in self.library.commands().values()):
            features.add("slash_commands")
        if self.library.skills():
            features.add("skills")
        return frozenset(features)

    def choices(self, choices: ToolChoices | None = None) -> ToolChoices:
        """The choices, with the features this workspace brings."""
        choices = choices or ToolChoices()
        return replace(choices, features=choices.features | self.features)

    @property
    def custom(self) -> CustomTools:
        """The custom tools as their files are now: an edited file is loaded again."""
        return self.loader.load()

    def mode(self, slug: str) -> Mode:
        found = self.modes.get(slug)
        if found is None:
            near = difflib.get_close_matches(slug, self.modes.slugs, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"available modes: {', '.join(self.modes.slugs)}"
            raise UsageError(f"unknown mode {slug!r}; {hint}")
        return found

    def toolset(
        self,
        slug: str,
        choices: ToolChoices | None = None,
        mcp: McpOffer | None = None,
        options: BuiltinOptions | None = None,
    ) -> Toolset:
        """The tools of a mode, in this workspace, with those of running servers if there are any."""
        tools = builtin_tools(options or BuiltinOptions(library=self.library))
        return _with_mcp(self.mode(slug), tools, tuple(self.custom.tools), self.choices(choices), mcp)


def discover(workspace: Path, sources: Sources | None = None) -> Discovery:
    """Modes and custom tools for a workspace. A project's tool files are run, and its modes may replace others,
    only if the user trusts it."""
    sources = sources or Sources.of(workspace)
    project, user = sources.project, sources.user
    trust = TrustStore(user / "trusted.json")
    modes = load_modes(project, user, trusted=trust.trusts(project))
    return Discovery(workspace, modes, CustomToolLoader(project, user, trust), Library(project, user, sources.home))


@asynccontextmanager
async def servers_of(workspace: Path, seconds: float) -> AsyncIterator[McpServers]:
    """The MCP servers of a workspace that may be started, given so many seconds to become ready, ended afterwards."""
    servers = McpServers(configured_servers(workspace).enabled)
    servers.start()
    try:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(servers.settled(), seconds)
        yield servers
    finally:
        await servers.close()


def tool_choices(config: Config, workspace: Path) -> ToolChoices:
    features = DEFAULT_FEATURES.union(_features(config, language_settings(config, workspace)))
    return ToolChoices(features=features, **config.part("choices"))


def _features(config: Config, languages: LanguageSettings) -> Iterator[Feature]:
    """What this machine has, and what the settings switch on."""
    if languages.servers:
        yield "language_servers"
    if why_no_browser(config.value("browser.program")) is None:
        yield "browser"
    if config.value("web.fetch"):
        yield "web_fetch"
    if config.value("web.search_url"):
        yield "web_search"
    if config.value("images.model"):
        yield "image_generation"


def builtin_options(
    config: Config, library: Library, languages: LanguageSettings, *, sees_images: bool = True
) -> BuiltinOptions:
    """How the built-in tools behave, by the settings."""
    return BuiltinOptions(
        sees_images=sees_images,
        command_environment=environment_rules(config),
        sandbox=sandbox_settings(config),
        image_endpoint=_image_endpoint(config),
        languages=languages,
        library=library,
        **config.part("tools"),
    )


def _image_endpoint(config: Config) -> ImageEndpoint | None:
    model, base_url = config.value("images.model"), config.value("images.base_url")
    if not model:
        return None
    # OpenAI's key is for OpenAI alone: another server gets its own, or none.
    found = find_key("JOEY_IMAGES_API_KEY") or (find_key("OPENAI_API_KEY") if base_url is None else None)
    return ImageEndpoint(model, base_url, found.value if found else None)


def tools_of(
    around: Discovery,
    model: str,
    config: Config,
    *,
    sees_images: bool,
    mcp: Callable[[], McpOffer] | None = None,
    profile: Profile = FULL,
    given: tuple[Tool[Any], ...] = (),
) -> Callable[[Mode], Toolset]:
    """The tools of each mode for this model: the same object until a custom tool's file or an MCP server changes.

    `given` are tools of the program that the task is part of."""
    languages = language_settings(config, around.workspace)
    options = builtin_options(config, around.library, languages, sees_images=sees_images)
    builtin = profile.tools(options)
    _check_names(given, builtin)
    choices = around.choices(tool_choices(config, around.workspace))
    choices = replace(choices, include=(*choices.include, *(tool.name for tool in given)))
    choices = profile.choices(choices, model)
    if not sees_images:
        choices = replace(choices, features=choices.features - {"browser"})
    made: dict[str, tuple[Any, Toolset]] = {}

    def toolset(mode: Mode) -> Toolset:
        custom, offer = (*given, *around.custom.tools), mcp() if mcp else None
        known = made.get(mode.slug)
        if known is None or known[0] != (custom, offer):
            known = made[mode.slug] = ((custom, offer), _with_mcp(mode, builtin, custom, choices, offer))
        return known[1]

    return toolset


def _check_names(given: Sequence[Tool[Any]], builtin: Sequence[Tool[Any]]) -> None:
    known = [tool.name for tool in builtin]
    for tool in given:
        if tool.name in known:
            raise UsageError(
                f"there are two tools named {tool.name!r}; give yours another name: @joey.tool(name=…) or `name = …`"
            )
        known.append(tool.name)


def _with_mcp(
    mode: Mode,
    builtin: tuple[Tool[Any], ...],
    custom: tuple[Tool[Any], ...],
    choices: ToolChoices,
    offer: McpOffer | None,
) -> Toolset:
    if offer is None:
        return build_toolset(mode, builtin, custom=custom, choices=choices)
    if offer.has_resources:
        choices = replace(choices, features=choices.features | {"mcp_resources"})
    return build_toolset(mode, (*builtin, *offer.builtin), mcp=offer.tools, custom=custom, choices=choices)


def mcp_offers(servers: McpServers, *, in_text: bool, budget: int) -> Callable[[], McpOffer]:
    from joey.mcp.offer import offers  # loads a validator of JSON Schemas: only for those who have servers

    return offers(servers, in_text=in_text, budget=budget)


def library_flaws(library: Library, *, skills: bool) -> list[str]:
    """What of the user's skills, or of their slash commands, cannot be used, and why."""
    return [f"{path}: {why}" for path, why in library.flaws().items() if (path.name == "SKILL.md") == skills]
