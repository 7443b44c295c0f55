"""The composition root: from a folder on disk to modes, tools and a call that runs with leave.

Everything below this floor is told what it needs; here it is looked up: the user's folder, the files of the
workspace, who trusts what. Policy and tools do not know each other; `CallRunner` is where they meet.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import difflib
import importlib.util
import os
import platform
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from joey import protocols
from joey.actions import VisitUrl
from joey.asking import Asked, Library, expand
from joey.checkpoints import Limits
from joey.config import Config, Setting, read_config
from joey.errors import UsageError
from joey.folders import state_folder, user_folder
from joey.instructions import InstructionFiles
from joey.journal.store import TaskStore
from joey.keyring import find_key
from joey.mcp.config import configured_servers
from joey.mcp.servers import McpServers
from joey.messages import ImageBlock, Shown, TextBlock, ToolResult, ToolUseBlock
from joey.pictures import fit, picture_type
from joey.policy import Settings, Verdict, Workspace
from joey.policy.layers import Approvals, Said, layered
from joey.protocols import Parser, debug
from joey.protocols.resolve import resolve_protocol
from joey.providers import ENDPOINTS, LOCAL, EngineOptions, Prices, open_model
from joey.task.leave import denied
from joey.task.mentions import WorkspaceSources
from joey.task.one_call import Prepared, Rules, Stopped, prepare, safely
from joey.task.parts import Parts, Watcher
from joey.task.prompt import Surroundings as TaskSurroundings
from joey.task.settings import Calls, PlainAnswers, PromptForm, TaskSettings, TextCalls
from joey.task.task import Task
from joey.tools.base import Feature, Tool, ToolContext, failed
from joey.tools.browsing.chromium import why_no_browser
from joey.tools.builtin import BuiltinOptions, builtin_tools
from joey.tools.codebase.store import has_full_text
from joey.tools.commands.job import shell
from joey.tools.custom import CustomToolLoader, CustomTools
from joey.tools.imaging import ImageEndpoint
from joey.tools.model_preferences import choices_for
from joey.tools.modes.files import LoadedModes, load_modes
from joey.tools.modes.mode import Mode
from joey.tools.registry import Registry, RejectedCall, ResolvedCall
from joey.tools.toolset import DEFAULT_FEATURES, ToolChoices, Toolset, build_toolset
from joey.trust import TrustStore
from joey.weights import DEFAULT as LOCAL_MODEL
from joey.weights import known

if TYPE_CHECKING:
    from joey.mcp.offer import McpOffer


@dataclass(frozen=True, slots=True)
class Surroundings:
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
        """The custom tools as their files are now: an edited file is loaded anew."""
        return self.loader.load()

    def mode(self, slug: str) -> Mode:
        found = self.modes.get(slug)
        if found is None:
            near = difflib.get_close_matches(slug, self.modes.slugs, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise UsageError(f"there is no mode {slug!r}{hint}; modes are {', '.join(self.modes.slugs)}")
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


def look_around(workspace: Path, user: Path | None = None) -> Surroundings:
    """Modes and custom tools for a workspace. The project's tool files are run only if the user trusts it."""
    user = user or user_folder()
    loader = CustomToolLoader(workspace, user, TrustStore(user / "trusted.json"))
    return Surroundings(workspace, load_modes(workspace, user), loader, Library(workspace, user))


@asynccontextmanager
async def servers_of(workspace: Path, patience: float) -> AsyncIterator[McpServers]:
    """The MCP servers of a workspace that may be started, given so many seconds to become ready, ended afterwards."""
    servers = McpServers(configured_servers(workspace).enabled)
    servers.start()
    try:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(servers.settled(), patience)
        yield servers
    finally:
        await servers.close()


# Settings


def settings_in_force(
    workspace: Path, flags: Mapping[str, Any] | None = None, environment: Mapping[str, str] = os.environ
) -> Config:
    """What the user, the project, the environment and the command line say, in this workspace."""
    user = user_folder(environment)
    trusted = TrustStore(user / "trusted.json").trusts(workspace)
    return read_config(workspace, user, trusted=trusted, flags=flags, environment=environment)


def approvals_in_force(config: Config) -> Approvals:
    """What may be done without asking, and who said so."""
    said = [
        Said(
            layer.approvals,
            layer.origin,
            layer.trusted,
            {name.removeprefix("approvals."): value.where for name, value in layer.values.items()},
        )
        for layer in config.layers
    ]
    approvals = layered(said)
    return replace(approvals, settings=replace(approvals.settings, max_cost=config.value("limits.max_cost")))


def notices(config: Config) -> tuple[str, ...]:
    """What a person should be told about the settings before a task begins."""
    refused = approvals_in_force(config).refused
    held_back = {each.name for each in config.held_back}
    notice = config.without_leave(name for name in (f"approvals.{each}" for each in refused) if name not in held_back)
    return tuple(each for each in (notice, _without_a_key(config)) if each)


def _without_a_key(config: Config) -> str | None:
    """That a model of this machine is used, where nobody asked for it by name."""
    if config.value("model") or any(find_key(variable) for variable in _USUAL_MODELS) or not _local_model_is_there():
        return None
    return f"no key is set, so {default_model()} does the work, on this machine: a small model, for small things"


@contextmanager
def said_in(setting: Setting) -> Iterator[None]:
    """A value that turns out to be wrong is complained about with the place where it was said."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{setting.where}: {error}" if setting.where else str(error)) from None


def tool_choices(config: Config) -> ToolChoices:
    return ToolChoices(
        features=DEFAULT_FEATURES.union(_features(config)),
        include=config.value("tools.include"),
        exclude=config.value("tools.exclude"),
        disabled=config.value("tools.disabled"),
    )


def _features(config: Config) -> Iterator[Feature]:
    """What this machine has, and what the settings switch on."""
    if why_no_browser(config.value("browser.program")) is None:
        yield "browser"
    if config.value("images.model"):
        yield "image_generation"


def _image_endpoint(config: Config) -> ImageEndpoint | None:
    model, base_url = config.value("images.model"), config.value("images.base_url")
    if not model:
        return None
    # OpenAI's key is for OpenAI alone: another server gets its own, or none.
    found = find_key("JOEY_IMAGES_API_KEY") or (find_key("OPENAI_API_KEY") if base_url is None else None)
    return ImageEndpoint(model, base_url, found.value if found else None)


def builtin_options(config: Config, library: Library, *, sees_images: bool = True) -> BuiltinOptions:
    """How the built-in tools behave, by the settings."""
    return BuiltinOptions(
        completion_needs_closed_todos=config.value("tools.completion_needs_closed_todos"),
        edit_likeness=config.value("tools.edit_likeness"),
        sees_images=sees_images,
        kill_commands_after=config.value("tools.kill_commands_after"),
        browser_program=config.value("browser.program"),
        browser_sandbox=config.value("browser.sandbox"),
        image_endpoint=_image_endpoint(config),
        library=library,
    )


@dataclass(frozen=True, slots=True)
class Question:
    """What the user must see to decide: why it is asked, and what would be done."""

    call: ResolvedCall
    verdict: Verdict
    shown: tuple[Shown, ...]


Ask: TypeAlias = Callable[[Question], bool]


@dataclass(frozen=True, slots=True)
class CallRunner:
    """Runs one call of a model: checked, within its mode, with leave. Every way it can end is a result."""

    registry: Registry
    context: ToolContext
    settings: Settings
    workspace: Workspace
    ask: Ask | None = None
    """Asks the user; None when nobody is there, which makes every question a refusal."""

    async def run(self, call: ToolUseBlock) -> ToolResult:
        resolved = self.registry.resolve(call)
        if isinstance(resolved, RejectedCall):
            return resolved.result
        mode, nobody = self.registry.toolset.mode, self.ask is None
        rules = Rules(mode, self.context.workspace, self.settings, self.workspace, headless=nobody)
        context = replace(self.context, may_visit=lambda url: rules.verdict((VisitUrl(url),)).allowed)
        prepared = await prepare(resolved, context, rules)
        if isinstance(prepared, Stopped):
            return prepared.result
        if not self._has_leave(resolved, prepared):
            return failed(denied("", ""))
        plan = prepared.plan
        if plan.refusal is not None:
            return plan.refusal
        return await safely(resolved.name, plan.execute)

    def _has_leave(self, call: ResolvedCall, prepared: Prepared) -> bool:
        question = Question(call, prepared.verdict, prepared.plan.shown)
        return prepared.verdict.allowed or (self.ask is not None and self.ask(question))


def for_the_model(result: ToolResult) -> str:
    """What the model reads, with pictures named."""
    pictures = [f"[picture, {block.media_type}]" for block in result.content if isinstance(block, ImageBlock)]
    return "\n".join([result.text, *pictures])


# Tasks


@dataclass(frozen=True, slots=True)
class TaskOptions:
    """What a person asked for on the command line. What is None is looked up."""

    model: str | None = None
    base_url: str | None = None
    protocol: str | None = None
    mode: str | None = None
    workspace: Path = field(default_factory=Path.cwd)
    approve: str | None = None
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    max_turns: int | None = None
    max_cost: float | None = None
    resume: str | None = None
    attach: tuple[str, ...] = ()
    timeout: float | None = None
    plain_answers: PlainAnswers | None = None
    text_calls: TextCalls | None = None
    tool_choice: Calls | None = None
    grammar: str | None = None
    prompt_form: PromptForm | None = None
    headless: bool = False

    @property
    def flags(self) -> dict[str, Any]:
        """What was asked for, as settings."""
        return {
            "model": self.model,
            "base_url": self.base_url,
            "protocol": self.protocol,
            "mode": self.mode,
            "approvals.profile": self.approve,
            "approvals.allow": self.allow,
            "approvals.deny": self.deny,
            "limits.max_turns": self.max_turns,
            "limits.max_cost": self.max_cost,
            "limits.timeout": self.timeout,
            "task.plain_answers": self.plain_answers,
            "task.text_calls": self.text_calls,
            "task.tool_choice": self.tool_choice,
            "grammar": self.grammar,
            "task.prompt": self.prompt_form,
        }


@asynccontextmanager
async def open_task(
    options: TaskOptions, prompt: str, watch: Watcher, images: Sequence[ImageBlock] = ()
) -> AsyncIterator[Task]:
    """A task made of everything this folder and this user have, new or resumed; what it holds is closed at the end."""
    store = TaskStore(state_folder() / "tasks")
    entry = store.find(options.resume) if options.resume else None
    opened = entry.state.opened if entry and entry.state else None
    if entry is not None and opened is None:
        raise UsageError(entry.problem or f"task {entry.task_id} has nothing to go on with")
    workspace = Path(opened.workspace) if opened else options.workspace.absolute()
    if not workspace.is_dir():
        raise UsageError(f"{workspace} is not a folder")
    # A resumed task keeps its protocol, and that decides how servers' tools are called.
    options = replace(options, protocol=opened.protocol) if opened else options
    configured = configured_servers(workspace)
    servers = McpServers(configured.enabled)
    parts = make_parts(options, opened.model if opened else None, workspace, store, watch, servers)
    parts = replace(parts, policy=replace(parts.policy, mcp_allow=(*parts.policy.mcp_allow, *configured.allowed)))
    images = [*[await attached(Path(name), parts) for name in options.attach], *images]
    servers.start()
    try:
        if entry is not None:
            asked = await asked_for(prompt, parts, mode=entry.state.mode if entry.state else "code")
            mode = options.mode or asked.mode
            yield Task.resume(parts, entry.task_id, text=prompt, images=images, mode=mode, attached=asked.attached)
        else:
            setting = settings_in_force(workspace, options.flags).settings["mode"]
            asked = await asked_for(prompt, parts, mode=setting.value)
            with said_in(setting):
                mode = options.mode or asked.mode or setting.value
                task = Task.start(parts, prompt, mode=mode, images=images, attached=asked.attached)
            yield task
    finally:
        await asyncio.gather(servers.close(), parts.provider.close())


async def asked_for(text: str, parts: Parts, *, mode: str) -> Asked:
    """The request that a task begins with, or goes on with."""
    asked = await parts.asked(text, mode)
    if asked.mode is not None and asked.mode not in parts.modes:
        raise UsageError(f"a slash command wants the mode {asked.mode!r}; there are: {', '.join(parts.modes)}")
    return asked


def asker(paths: Workspace, library: Library, *, sees_images: bool) -> Callable[[str, str], Awaitable[Asked]]:
    """Finds the slash commands, skills and mentions in what a person typed (joey.asking). The answers of tools never
    come here."""

    async def asked(text: str, mode: str) -> Asked:
        check = settings_in_force(Path(paths.root)).value("check")
        return await expand(text, library, WorkspaceSources(paths, sees_images, check), mode)

    return asked


def make_parts(
    options: TaskOptions,
    model_before: str | None,
    workspace: Path,
    store: TaskStore,
    watch: Watcher,
    servers: McpServers | None = None,
) -> Parts:
    config = settings_in_force(workspace, options.flags)
    name = options.model or model_before or config.value("model") or default_model()
    grammar = config.value("grammar")
    with said_in(config.settings["model"]):
        engine = EngineOptions(config.value("local.threads"), config.value("local.context"))
        address = config.base_url_for(name)
        provider, model = open_model(name, base_url=address, api_key=key_for(name), grammar=grammar, engine=engine)
    abilities = provider.abilities(model)
    around = look_around(workspace)
    modes = {mode.slug: mode for mode in around.modes.modes}
    paths = Workspace.of(workspace)
    with said_in(config.settings["protocol"]):
        protocol = protocols.get(resolve_protocol(locked=config.value("protocol"), supports_native=abilities.tools))
    if grammar not in (None, "off") and not protocol.in_text:
        raise UsageError(f"a grammar needs a protocol in text, not {protocol.name}: --protocol xml, or --grammar off")
    mcp = _mcp_offers(servers, in_text=protocol.in_text) if servers and servers.servers else None
    settings = task_settings(config, context_window=abilities.context_window)
    return Parts(
        provider=provider,
        model=model,
        label=name,
        protocol=protocol,
        workspace=workspace,
        store=store,
        modes=modes,
        toolset=tools_of(around, name, config, sees_images=abilities.images, mcp=mcp, compact=settings.compact),
        policy=approvals_in_force(config).settings,
        settings=settings,
        surroundings=surroundings_of(paths, modes),
        paths=paths,
        checkpoints=Limits(),
        asked=asker(paths, around.library, sees_images=abilities.images),
        prices=Prices().extended(({model: _FREE} if provider.name == LOCAL else {}) | config.prices),
        headless=options.headless,
        watch_parser=parser_watcher(),
        watch=watch,
    )


_FREE = {"input": 0, "output": 0}


def key_for(model: str) -> str | None:
    """The key of a model's provider, from the environment or the keyring; None for servers of the user's own."""
    endpoint = ENDPOINTS.get(model.partition("/")[0])
    if endpoint is None or not (endpoint.needs_key or endpoint.base_url is None):
        return None
    found = find_key(endpoint.key_variable)
    return found.value if found else None


def task_settings(config: Config, *, context_window: int | None) -> TaskSettings:
    calls: Calls | None = config.value("task.tool_choice")
    settings = TaskSettings(
        max_tokens=config.value("task.max_tokens"),
        context_window=context_window,
        condense_at=config.value("task.condense_at"),
        mistake_limit=config.value("task.mistake_limit"),
        max_turns=config.value("limits.max_turns"),
        plain_answers=config.value("task.plain_answers"),
        text_calls=config.value("task.text_calls"),
    ).in_form(config.value("task.prompt"))
    return replace(settings, tool_choice=calls) if calls else settings


def surroundings_of(paths: Workspace, modes: Collection[str]) -> TaskSurroundings:
    """What the model is told of the machine, and what the user's files say: read here, once for the task."""
    workspace = Path(paths.root)
    library = Library(workspace, user_folder())
    instructions = InstructionFiles(
        workspace,
        user_folder(),
        hidden=paths.hides,
        ignore_files=tuple(name for name, _ in paths.ignore.specs),
    )
    return TaskSurroundings(
        str(workspace),
        platform.platform(),
        shell(),
        str(Path.home()),
        instructions_in=instructions.for_modes(modes),
        skills_in={mode: tuple(library.skills(mode).values()) for mode in modes},
    )


def parser_watcher(environment: Mapping[str, str] = os.environ) -> Callable[[Parser], Parser]:
    """Shows on the error stream what parsers see, if $JOEY_DEBUG_PARSER asks for it."""
    mode, style = debug.settings(environment)
    return lambda parser: debug.wrap(parser, mode, style, sys.stderr.write)


def tools_of(
    around: Surroundings,
    model: str,
    config: Config,
    *,
    sees_images: bool,
    mcp: Callable[[], McpOffer] | None = None,
    compact: bool = False,
) -> Callable[[Mode], Toolset]:
    """The tools of each mode for this model: the same object until a custom tool's file or an MCP server changes."""
    options = builtin_options(config, around.library, sees_images=sees_images)
    builtin = builtin_tools(replace(options, for_small_models=compact))
    choices = around.choices(tool_choices(config))
    choices = replace(choices, core_only=True) if compact else choices_for(model, choices)
    if not sees_images:
        choices = replace(choices, features=choices.features - {"browser"})
    made: dict[str, tuple[Any, Toolset]] = {}

    def toolset(mode: Mode) -> Toolset:
        custom, offer = tuple(around.custom.tools), mcp() if mcp else None
        known = made.get(mode.slug)
        if known is None or known[0] != (custom, offer):
            known = made[mode.slug] = ((custom, offer), _with_mcp(mode, builtin, custom, choices, offer))
        return known[1]

    return toolset


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


def _mcp_offers(servers: McpServers, *, in_text: bool) -> Callable[[], McpOffer]:
    from joey.mcp.offer import offers  # loads a validator of JSON Schemas: only for those who have servers

    return offers(servers, in_text=in_text)


_USUAL_MODELS = {"ANTHROPIC_API_KEY": "anthropic/claude-sonnet-5-5", "OPENAI_API_KEY": "openai/gpt-6.1-sol"}


def _local_model_is_there() -> bool:
    """Whether the coder model is installed, and the engine that runs it."""
    return known(LOCAL_MODEL).is_installed() and importlib.util.find_spec("xllamacpp") is not None


def default_model(environment: Mapping[str, str] = os.environ) -> str:
    """The model to use when nobody named one: $JOEY_MODEL, the usual one of a provider with a key, or our own."""
    if environment.get("JOEY_MODEL"):
        return environment["JOEY_MODEL"]
    for variable, model in _USUAL_MODELS.items():
        if find_key(variable, environment):
            return model
    if _local_model_is_there():
        return f"{LOCAL}/{LOCAL_MODEL}"
    raise UsageError(
        "no model is set up yet. There are three ways forward:\n\n"
        "  a key           export ANTHROPIC_API_KEY=…   or OPENAI_API_KEY, or another of those in `joey models`\n"
        "  a local model   joey local install           no key, no account; with a server: --model ollama/qwen3\n"
        "  the demo        joey demo                    one whole task, offline; the model is scripted\n\n"
        "`joey doctor` tells what this machine has."
    )


async def attached(path: Path, parts: Parts) -> ImageBlock:
    """A picture that goes with a request. One that cannot be given is an error now, not a note to the model."""
    abilities = parts.provider.abilities(parts.model)
    if not abilities.images:
        raise UsageError(f"{path} is not sent: {parts.label or parts.model} takes no pictures")
    picture = await asyncio.to_thread(fit, read_image(path), abilities.pictures)
    if isinstance(picture, TextBlock):
        raise UsageError(f"{path}: {picture.text.strip('[]')}")
    return picture


def read_image(path: Path) -> ImageBlock:
    """A picture for the model, from a file."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    media_type = picture_type(data)
    if media_type is None:
        raise UsageError(f"{path} is no picture that models take: png, jpeg, gif or webp")
    return ImageBlock(media_type, base64.b64encode(data).decode("ascii"))
