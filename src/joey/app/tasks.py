"""A task made of everything this folder and this user have."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import platform
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from joey import protocols
from joey.app.sandbox import check_profile
from joey.app.settings import approvals_in_force, default_model, key_for, said_in, settings_in_force
from joey.app.tools import look_around, mcp_offers, sandbox_settings, tools_of
from joey.bounded.files import read_regular
from joey.checkpoints import Limits
from joey.config import Config
from joey.errors import UsageError
from joey.images.sizing import fit, picture_type
from joey.journal.store import TaskStore
from joey.mcp.config import configured_servers
from joey.mcp.servers import McpServers
from joey.messages import ImageBlock, TextBlock
from joey.policy import Workspace
from joey.prompts import Asked, Library, expand
from joey.prompts.instructions import InstructionFiles
from joey.protocols import Parser, debug
from joey.protocols.resolve import resolve_protocol
from joey.providers import LOCAL, EngineOptions, Prices, open_model
from joey.system.folders import close_to_others, state_folder, user_folder
from joey.task.mentions import WorkspaceSources
from joey.task.parts import Parts, Watcher
from joey.task.prompt import Surroundings as TaskSurroundings
from joey.task.settings import Calls, PlainAnswers, PromptForm, TaskSettings, TextCalls
from joey.task.task import Task
from joey.terminal.outlet import unfiltered
from joey.tools.shell.job import shell

_MAX_IMAGE_FILE = 20 * 1024 * 1024
_FREE = {"input": 0, "output": 0}


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
    sandbox: str | None = None
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
            "sandbox": self.sandbox,
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
    close_to_others(state_folder())
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
    settings = sandbox_settings(settings_in_force(workspace, options.flags))
    await check_profile(parts.policy, settings, workspace)
    images = [*[await attached(Path(name), parts) for name in options.attach], *images]
    servers.start()
    try:
        if entry is not None:
            asked = await asked_for(prompt, parts, mode=entry.state.mode if entry.state else "code")
            mode = options.mode or asked.mode
            task = Task.resume(parts, entry.task_id, text=prompt, images=images, mode=mode, attached=asked.attached)
        else:
            setting = settings_in_force(workspace, options.flags).settings["mode"]
            asked = await asked_for(prompt, parts, mode=setting.value)
            with said_in(setting):
                mode = options.mode or asked.mode or setting.value
                task = Task.start(parts, prompt, mode=mode, images=images, attached=asked.attached)
        with contextlib.closing(task):
            yield task
    finally:
        await asyncio.gather(servers.close(), parts.provider.close())


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
    mcp = mcp_offers(servers, in_text=protocol.in_text) if servers and servers.servers else None
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
    return lambda parser: debug.wrap(parser, mode, style, unfiltered(sys.stderr).write)


async def asked_for(text: str, parts: Parts, *, mode: str) -> Asked:
    """The request that a task begins with, or goes on with."""
    asked = await parts.asked(text, mode)
    if asked.mode is not None and asked.mode not in parts.modes:
        raise UsageError(f"a slash command wants the mode {asked.mode!r}; there are: {', '.join(parts.modes)}")
    return asked


def asker(paths: Workspace, library: Library, *, sees_images: bool) -> Callable[[str, str], Awaitable[Asked]]:
    """Finds the slash commands, skills and mentions in what a person typed (joey.prompts). The answers of tools never
    come here."""

    async def asked(text: str, mode: str) -> Asked:
        check = settings_in_force(Path(paths.root)).value("check")
        return await expand(text, library, WorkspaceSources(paths, sees_images, check), mode)

    return asked


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
        data = read_regular(path, _MAX_IMAGE_FILE)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    media_type = picture_type(data)
    if media_type is None:
        raise UsageError(f"{path} is no picture that models take: png, jpeg, gif or webp")
    return ImageBlock(media_type, base64.b64encode(data).decode("ascii"))
