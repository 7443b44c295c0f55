"""A task made of everything this folder and this user have."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import platform
import sys
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from joey.app.agent_models import ConfiguredAgentModels
from joey.app.checks import check_settings
from joey.app.dialects import look_again
from joey.app.hooks import hook_settings, hooks_of
from joey.app.model_parts import PartsMaker
from joey.app.opening import open_fast, open_with_fallbacks
from joey.app.permissions import project_permissions
from joey.app.sandbox import check_profile
from joey.app.settings import approvals_in_force, default_model, located_at, sandbox_settings
from joey.app.sources import NO_SOURCES, Sources
from joey.app.tools import discover
from joey.app.worktrees import keep_on_branch
from joey.bounded.files import read_regular
from joey.checkpoints import CheckpointLimits
from joey.config import Config
from joey.config.files import Value
from joey.errors import UsageError
from joey.hooks.hook import Hook
from joey.images.sizing import image_type, resize_image
from joey.journal.records import TaskOpened
from joey.journal.replay import TaskState
from joey.journal.store import TaskEntry, TaskStore
from joey.mcp.config import LoadedServers, ServerConfig, configured_servers
from joey.mcp.servers import McpServers
from joey.messages import ImageBlock, TextBlock
from joey.policy import Settings, Workspace
from joey.policy.settings import CYCLE
from joey.policy.verdict import Decision
from joey.prompts import Library, UserInput
from joey.prompts.instructions import InstructionFiles
from joey.protocols import Parser, debug
from joey.providers import Provider
from joey.system.filenames import quoted
from joey.system.folders import close_to_others, make_private, state_folder
from joey.system.visible import unfiltered
from joey.system.worktrees import Worktrees
from joey.task.config import Hooks, Model, TaskConfig, TaskWorkspace, new_task_id
from joey.task.log import Watcher
from joey.task.opening import resume_task, start_task
from joey.task.prompt import PromptContext
from joey.task.settings import TaskLimits
from joey.task.task import TaskHandle
from joey.tools.base import EditorFiles, Tool
from joey.tools.shell.job import shell

_MAX_IMAGE_FILE = 20 * 1024 * 1024
_FREE = {"input": 0, "output": 0}


@dataclass(frozen=True, slots=True)
class TaskOptions:
    """What a person wants of one task, in addition to the settings files."""

    workspace: Path = field(default_factory=Path.cwd)
    flags: Mapping[str, Any] = field(default_factory=dict)
    """Settings for this task by full name, as values or as `Value`s that know where they were written."""
    resume: str | None = None
    attach: tuple[str, ...] = ()
    headless: bool = False
    profile: str | None = None
    """The profile of approvals for the task from now on, also when it is resumed again."""

    def flag(self, name: str) -> Any:
        """The value of a setting that was given for this task alone, or None."""
        value = self.flags.get(name)
        return value.value if isinstance(value, Value) else value

    def with_flags(self, flags: Mapping[str, Any]) -> TaskOptions:
        return replace(self, flags={**self.flags, **flags})


@dataclass(frozen=True, slots=True)
class Given:
    """What a program hands to a task that is part of it, and a command line cannot."""

    model: tuple[Provider, str] | None = None
    """Used in place of the configured one. Whoever opened the provider closes it."""
    tools: tuple[Tool[Any], ...] = ()
    config: bool = True
    """Whether the user's and the project's own files count, and the environment: settings, modes, rules, servers."""
    store: Path | None = None
    """Where the task is saved; with all other tasks of the user when None."""
    task_id: str | None = None
    """The id of a new task, where somebody was promised it before the task begins."""
    hooks: tuple[Hook, ...] = ()
    servers: tuple[ServerConfig, ...] = ()
    """MCP servers that count in addition to the configured ones, and before those of the same name."""
    servers_off: frozenset[str] = frozenset()
    """The names of those that do not start until they are switched on."""
    running: McpServers | None = None
    """The MCP servers of the task, where they run already. Whoever started them ends them."""
    editor: EditorFiles | None = None
    """Where files are open with changes that are not saved. It counts if the setting `editor.buffers` says so."""
    folders: tuple[Path, ...] = ()
    """Folders that belong to the workspace besides it."""
    connect: Callable[[Hooks], Hooks] = lambda hooks: hooks
    """Changes what connects the task with whoever started it."""

    def approved(self, policy: Settings) -> Settings:
        """A program vouches for the code of its tools. What they do to files is approved or not by their group."""
        decisions: dict[str, Decision] = {"read": policy.reads, "edit": policy.writes}
        names = (tool.name for tool in self.tools if decisions.get(tool.group) == "allow")
        return policy.changed(custom_tools_allow=(*policy.custom.allow, *names))


NOTHING_GIVEN = Given()


def task_store(folder: Path | None = None) -> TaskStore:
    """The saved tasks: all of this user's, or those that a program keeps in a folder of its own."""
    if folder is None:
        close_to_others(state_folder())
    return TaskStore(folder or state_folder() / "tasks")


_ELSEWHERE = "name another folder with $XDG_STATE_HOME, or in Python with store="


def _writable(store: TaskStore) -> TaskStore:
    try:
        make_private(store.root)
        problem = "" if os.access(store.root, os.W_OK | os.X_OK) else "you may not write there"
    except OSError as error:
        problem = error.strerror or str(error)
    if problem:
        raise UsageError(f"tasks cannot be saved in {store.root}: {problem}; {_ELSEWHERE}")
    return store


@dataclass(frozen=True, slots=True)
class TaskSetup:
    """Where a task runs and under which settings: looked up once, before anything is opened."""

    options: TaskOptions
    given: Given
    workspace: Path
    sources: Sources
    config: Config
    servers: LoadedServers
    store: TaskStore
    entry: TaskEntry | None
    """The task to resume."""

    @property
    def opened(self) -> TaskOpened | None:
        return self.entry.opened if self.entry else None

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user should know: hooks that cannot be used, and of the task that is resumed."""
        flaws = hooks_of(self.config, self.sources).flaws
        if self.entry is None:
            return flaws
        named, left_out = self.options.workspace.absolute(), self.entry.left_out
        elsewhere = f"this task works in {quoted(str(self.workspace))}, not in {quoted(str(named))}"
        repair = f"`joey tasks repair {self.entry.task_id}` writes a clean copy"
        damaged = f"its journal is damaged; left out: {'; '.join(map(str, left_out[:3]))}; {repair}"
        return (*flaws, *(() if self.entry.works_in(named) else (elsewhere,)), *((damaged,) if left_out else ()))


SettingsReader: TypeAlias = Callable[[Sources, Mapping[str, Any]], Config]


def prepare_task(
    options: TaskOptions, given: Given = NOTHING_GIVEN, read: SettingsReader = Sources.config
) -> TaskSetup:
    """Find the task to resume, if any, and read the settings of its workspace. This is the only time they are read."""
    store = _writable(task_store(given.store))
    entry = store.find(options.resume, options.workspace.absolute()) if options.resume else None
    opened = resumable(entry)[1] if entry else None
    workspace = opened.folder if opened else options.workspace.absolute()
    if not workspace.is_dir():
        advice = "; a resumed task needs its own folder" if opened else ""
        raise UsageError(f"{quoted(str(workspace))} is not a folder{advice}")
    options = options.with_flags(_kept(opened, options)) if opened else options
    sources = Sources.of(workspace) if given.config else NO_SOURCES
    servers = configured_servers(workspace) if given.config else LoadedServers()
    servers = servers.with_given(given.servers)
    return TaskSetup(options, given, workspace, sources, read(sources, options.flags), servers, store, entry)


def resumable(entry: TaskEntry) -> tuple[TaskState, TaskOpened]:
    """The state of a task, and how it began; without these it cannot be resumed."""
    state = entry.state
    if state is None or state.opened is None:
        advice = f"; `joey tasks repair {entry.task_id}` writes a copy of what is whole" if entry.left_out else ""
        raise UsageError(f"{entry.problem or f'task {entry.task_id} has nothing to resume; start a new one'}{advice}")
    return state, state.opened


def _kept(opened: TaskOpened, options: TaskOptions) -> dict[str, Any]:
    """What a resumed task keeps: its protocol, which decides how servers' tools are called, and the server that was
    named for it. Its conversation goes to no other because nobody repeated the flag."""
    if (wanted := options.flag("protocol")) not in (None, opened.protocol):
        raise UsageError(f"a resumed task keeps its protocol, {opened.protocol}; start a new task to use {wanted}")
    kept: dict[str, Any] = {"protocol": opened.protocol}
    model = options.flag("model") or opened.model
    same = model.partition("/")[0] == opened.model.partition("/")[0]
    if opened.base_url and same and not options.flag("base_url"):
        where = f"task {opened.task_id}"
        kept |= {"model": Value(model, where), "base_url": Value(opened.base_url, where)}
    return kept


@asynccontextmanager
async def open_task(
    setup: TaskSetup, prompt: str, watch: Watcher, images: Sequence[ImageBlock] = ()
) -> AsyncIterator[TaskHandle]:
    """A task with everything this folder and this user have, new or resumed; what it holds is closed at the end."""
    options, settings, entry = setup.options, setup.config, setup.entry
    running = setup.given.running
    servers = running or McpServers(setup.servers.enabled, off=setup.given.servers_off)
    if setup.given.model is None:
        await asyncio.to_thread(look_again, _label(setup), settings)
    config = make_config(setup, watch, servers)
    profile = _profile(setup)
    approvals = config.profiles(profile) if profile else config.approvals
    await check_profile(approvals, sandbox_settings(settings), setup.workspace)
    images = [*[await attached(Path(name), config.model) for name in options.attach], *images]
    if running is None:
        servers.start()
    try:
        if entry is not None:
            # What the words name is looked up when they are sent: first of all they are saved.
            mode = options.flag("mode")
            task = resume_task(config, entry.task_id, text=prompt, images=images, mode=mode, profile=profile)
        else:
            setting = settings.settings["mode"]
            request = await expanded(prompt, config, mode=setting.value)
            with located_at(setting):
                mode = options.flag("mode") or request.mode or setting.value
                task = start_task(config, prompt, mode=mode, images=images, attached=request.attached, profile=profile)
        with contextlib.closing(task):
            yield task
        await asyncio.to_thread(keep_on_branch, setup.workspace, task.state)
    finally:
        ours = () if running else (servers.close(),)
        opened = () if setup.given.model else (config.model.provider.close(),)
        fast = (config.model.fast.provider.close(),) if config.model.fast else ()
        await asyncio.gather(*ours, *opened, *fast, config.agent_models.close())


def _profile(setup: TaskSetup) -> str:
    """The profile that was chosen for this task alone; empty: that of the settings, which a flag decides."""
    flag = setup.options.flag("approvals.profile")
    if setup.options.profile is not None or (flag and setup.entry is not None):
        return setup.options.profile or ""
    kept = flag if setup.entry is None else setup.entry.state.allowed.profile if setup.entry.state else ""
    return kept if kept in CYCLE else ""  # a session switches to no other; a journal that says so is not believed


def make_config(setup: TaskSetup, watch: Watcher, servers: McpServers | None = None) -> TaskConfig:
    """The pieces of a task, as the settings choose them."""
    config, workspace, given = setup.config, setup.workspace, setup.given
    around = discover(workspace, setup.sources)
    modes = {mode.slug: mode for mode in around.modes.modes}
    paths = Workspace.of(workspace, given.folders)
    editor = given.editor if config.value("editor.buffers") else None
    maker = PartsMaker(around, paths, servers, editor, given.tools)
    opened, label = _chosen_model(setup)
    parts = maker.parts(opened, label, config, open_fast(config))
    return TaskConfig(
        parts.model,
        TaskWorkspace(
            workspace,
            setup.store,
            paths,
            prompt_context(paths, modes, setup.sources),
            project_permissions(workspace) if given.config else None,
            editor,
            CheckpointLimits(),
            Worktrees(),
        ),
        parts.tools,
        modes,
        parts.profile,
        _approvals(setup),
        lambda profile: _approvals(setup, profile),
        TaskLimits(**config.part("limits")),
        given.connect(
            Hooks(
                watch,
                headless=setup.options.headless,
                expand_input=parts.expand_input,
                wrap_parser=parser_watcher(),
                new_id=_ids(None if setup.entry else given.task_id),
                user_hooks=hook_settings(config, setup.sources, given.hooks),
                checks=check_settings(config, setup.sources),
            )
        ),
        servers=servers,
        agent_models=ConfiguredAgentModels(config, maker, parts.model, resumed=setup.entry is not None),
    )


def _ids(first: str | None) -> Callable[[], str]:
    """The ids of a task and its subtasks: the first one may have been promised."""
    given = iter([first] if first else [])
    return lambda: next(given, None) or new_task_id()


def _chosen_model(setup: TaskSetup) -> tuple[tuple[Provider, str], str]:
    """The provider and its model, and the full name of that."""
    if (given := setup.given.model) is not None:
        return given, f"{given[0].name}/{given[1]}"
    label = _label(setup)
    return open_with_fallbacks(label, setup.config), label


def _label(setup: TaskSetup) -> str:
    before = setup.opened.model if setup.opened else None
    return setup.options.flag("model") or before or setup.config.value("model") or default_model()


def _approvals(setup: TaskSetup, profile: str = "") -> Settings:
    approvals = setup.given.approved(approvals_in_force(setup.config, profile).settings)
    return approvals.changed(mcp_allow=(*approvals.servers.allow, *setup.servers.allowed))


def prompt_context(paths: Workspace, modes: Collection[str], sources: Sources | None = None) -> PromptContext:
    """What the model is told of the machine, and what the user's files say: read here, once for the task."""
    workspace = Path(paths.root)
    sources = sources or Sources.of(workspace)
    library = Library(sources.project, sources.user, sources.home)
    instructions = InstructionFiles(
        sources.project,
        sources.user,
        sources.home,
        hidden=paths.hides,
        ignore_files=tuple(name for name, _ in paths.ignore.specs),
    )
    return PromptContext(
        str(workspace),
        platform.platform(),
        shell(),
        str(Path.home()),
        instructions_in=instructions.for_modes(modes),
        skills_in={mode: tuple(library.skills(mode).values()) for mode in modes},
        further=tuple(each.root for each in paths.others),
    )


def parser_watcher(environment: Mapping[str, str] = os.environ) -> Callable[[Parser], Parser]:
    """Shows on the error stream what parsers see, if $JOEY_DEBUG_PARSER asks for it."""
    mode, style = debug.settings(environment)
    return lambda parser: debug.wrap(parser, mode, style, unfiltered(sys.stderr).write)


async def expanded(text: str, config: TaskConfig, *, mode: str) -> UserInput:
    """The request that a task begins with."""
    request = await config.hooks.expand_input(text, mode)
    if request.mode is not None and request.mode not in config.modes:
        raise UsageError(
            f"unknown mode {request.mode!r} in a slash command; available modes: {', '.join(config.modes)}"
        )
    return request


async def attached(path: Path, model: Model) -> ImageBlock:
    """An image that goes with a request. One that cannot be given is an error now, not a note to the model."""
    abilities = model.provider.abilities(model.name)
    if not abilities.images:
        raise UsageError(f"cannot send {path}; {model.full_name} does not accept images")
    image = await asyncio.to_thread(resize_image, read_image(path), abilities.image_limits)
    if isinstance(image, TextBlock):
        raise UsageError(f"{path}: {image.text.strip('[]')}")
    return image


def read_image(path: Path) -> ImageBlock:
    """An image for the model, from a file."""
    try:
        data = read_regular(path, _MAX_IMAGE_FILE)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    media_type = image_type(data)
    if media_type is None:
        raise UsageError(f"{path} is not an image that models accept; use png, jpeg, gif or webp")
    return ImageBlock(media_type, base64.b64encode(data).decode("ascii"))
