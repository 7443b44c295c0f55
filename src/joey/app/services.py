"""What any front end needs: a task to run, and what this folder and this user have. A front end watches the events of a
task and answers its requests; whatever else it wants, it finds here.

    services = Services(TaskOptions(workspace=Path.cwd()))
    async with services.open("Fix the tests", services.first_choices(), watch) as task:
        await task.run()

Whatever is not available is a JoeyError that says why and what to do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, closing, suppress
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from joey.app.checkpoints import How, Step, StepPlan, fork_task, look_at_step, open_store, step_files
from joey.app.hooks import hooks_of, list_hooks
from joey.app.journals import Journals
from joey.app.left_open import LeftOpen, left_open, take_back
from joey.app.model_choices import ModelChoice, model_choices, unlisted
from joey.app.models import catalogue
from joey.app.notes_for_later import NotePlan, add_note
from joey.app.permissions import granted_in, revoke
from joey.app.sandbox import check_profile
from joey.app.settings import approvals_in_force, default_model, located_at, notices, sandbox_settings, usable_models
from joey.app.sources import Sources, settings_in_force
from joey.app.tasks import (
    NOTHING_GIVEN,
    Given,
    TaskOptions,
    make_config,
    open_task,
    prepare_task,
    read_image,
    resumable,
    task_store,
)
from joey.app.tools import discover, tool_choices
from joey.app.users_commands import UsersCommands
from joey.app.values import check_model
from joey.checkpoints.store import CheckpointStore
from joey.config.edit import set_value
from joey.config.layers import FILE
from joey.errors import UsageError
from joey.journal.journal import JournalError, held, is_held
from joey.journal.records import ChildOpened, TaskOpened
from joey.journal.replay import TaskState, replay
from joey.journal.store import TaskStore
from joey.mcp.config import ServerConfig, configured_servers
from joey.mcp.servers import McpServers
from joey.messages import ImageBlock
from joey.permissions import Granted
from joey.policy.settings import CYCLE, Settings
from joey.providers import split_name
from joey.system.filenames import quoted
from joey.system.folders import make_private, state_folder, user_folder
from joey.system.place import NamedPlace, place_of
from joey.task.log import Watcher
from joey.task.opening import resume_task
from joey.task.request import ContextView
from joey.task.task import TaskHandle
from joey.tools.searching.listing import list_folder
from joey.usage import Usage

_MAX_FILES = 20_000
_LOOKS, _LOOK_EVERY = 100, 0.05
"""How often it is looked whether another process has let go of a task, and after how many seconds again."""


class NamedServer(NamedTuple):
    """A server that was named for a task, and not in the settings."""

    provider: str
    """For whose models it was named."""
    address: str


def provider_of(model: str) -> str:
    return model.partition("/")[0]


def server_of(model: str, address: str | None) -> NamedServer | None:
    return NamedServer(provider_of(model), address) if address else None


@dataclass(frozen=True, slots=True)
class Choices:
    """What the user has chosen so far. None: as the options, the settings or the task say."""

    mode: str | None = None
    model: str | None = None
    resume: str | None = None
    """The id of the task to resume; None starts a new one."""
    profile: str | None = None
    """The profile of approvals that the user switched to while no task ran."""
    effort: str | None = None
    """How much the model may think, for one that takes efforts."""
    server: NamedServer | None = None
    """The server that was named for models of one provider. It counts together with a model."""

    @property
    def base_url(self) -> str | None:
        """The address for the model; None: that of the settings. One for another provider gets neither text nor key."""
        if self.server is None or self.model is None or provider_of(self.model) != self.server.provider:
            return None
        return self.server.address


@dataclass(frozen=True, slots=True)
class TaskLine:
    """A task in the task history."""

    task_id: str
    status: str
    text: str
    folder: Path | None = None
    """The folder that it works in; None if nothing says so any more."""
    changed: float = 0.0
    """When something happened in it last."""
    title: str = ""
    """The text in a few words, as every list of tasks has it."""


class Services:
    """The services of one workspace."""

    def __init__(self, options: TaskOptions, store: TaskStore | None = None, given: Given = NOTHING_GIVEN) -> None:
        self._options = options
        self._given = given
        self._store = store or task_store()
        self.journals = Journals(self._store)
        if not options.workspace.is_dir():
            raise UsageError(f"{options.workspace} is not a folder; name one with --workspace")

    @property
    def folder(self) -> Path:
        """The workspace."""
        return self._options.workspace

    @property
    def folders(self) -> tuple[Path, ...]:
        """The workspace, and the folders that belong to it."""
        return (self.folder, *self._given.folders)

    @property
    def store(self) -> TaskStore:
        """Where the tasks are."""
        return self._store

    @property
    def storage(self) -> Path:
        """Where a front end may keep files of the user's, such as the input history."""
        return state_folder()

    # Tasks

    def first_choices(self, resume: str | None = None) -> Choices:
        """What to start with. A task that is resumed has a mode and a model of its own. JoeyError if it cannot be."""
        config = settings_in_force(self.folder, self._options.flags)
        with located_at(config.settings["mode"]):
            mode = discover(self.folder).mode(config.value("mode"))
        if resume:
            task_id, _, opened = self.state(resume)
            own = self.in_folder_of(opened).choices_for(opened, named=True)
            return replace(own, mode=self._options.flag("mode"), resume=task_id)
        model = config.value("model") or default_model()
        with located_at(config.settings["model"]):
            split_name(model)
        return Choices(mode.slug, model, server=server_of(model, self._options.flag("base_url")))

    def choices_for(self, opened: TaskOpened, *, named: bool) -> Choices:
        """The model of a task that is resumed, and its server: its own, except where others are `named` with it on the
        command line. No conversation goes to another server because nobody repeated a flag, or because a flag was
        there for another task."""
        model, address = (self._options.flag(name) if named else None for name in ("model", "base_url"))
        model = model or opened.model
        return Choices(model=model, server=server_of(model, address) or server_of(opened.model, opened.base_url))

    def open(
        self, prompt: str, choices: Choices, watch: Watcher, images: Sequence[ImageBlock] = ()
    ) -> AbstractAsyncContextManager[TaskHandle]:
        """A task, new or resumed. Whoever opens it runs it."""
        return open_task(prepare_task(self._opening(choices), self._given), prompt, watch, images)

    def _opening(self, choices: Choices) -> TaskOptions:
        """The options with what was chosen."""
        chosen: dict[str, Any] = {"reasoning.effort": choices.effort} if choices.effort else {}
        if choices.model:
            chosen |= {"model": choices.model, "base_url": choices.base_url}
        if choices.mode or choices.resume:  # the mode that a task switched to by itself is its own business
            chosen["mode"] = choices.mode
        options = self._options.with_flags(chosen)
        return replace(options, resume=choices.resume, profile=choices.profile)

    async def context(self, choices: Choices) -> ContextView:
        """What fills the window of the task to resume, which does not run."""
        config = make_config(prepare_task(self._opening(choices), self._given), lambda _task_id, _event: None)
        try:
            with closing(resume_task(config, choices.resume or "")) as task:
                return task.context
        finally:
            await config.model.provider.close()

    def in_folder_of(self, opened: TaskOpened) -> Services:
        """The services of the folder that a task works in, which is where it is resumed."""
        if not opened.folder.is_dir():
            raise UsageError(
                f"task {opened.task_id} works in {quoted(str(opened.folder))}, which is no folder any more; "
                "put it back there, or start a new task"
            )
        if opened.folder == self.folder:
            return self
        moved = copy(self)
        moved.work_in(opened.folder)
        return moved

    def work_in(self, folder: Path) -> None:
        """From now on these are the services of this folder."""
        self._options = replace(self._options, workspace=folder)

    def tasks(self) -> Sequence[TaskLine]:
        """The tasks that people started: those of this folder first, and the one that was worked on last first."""
        entries = [entry for entry in self._store.entries() if not entry.parent_id]
        entries.sort(key=lambda entry: (not entry.works_in(self.folder), -entry.changed))
        return [
            TaskLine(each.task_id, each.status, each.text, each.folder, each.changed, each.title) for each in entries
        ]

    def state(self, start: str) -> tuple[str, TaskState, TaskOpened]:
        """The task whose id begins like this (`last`: the newest of this folder): its id, its state, how it began."""
        entry = self._store.find(start, self.folder)
        return entry.task_id, *resumable(entry)

    def spent(self, task_id: str) -> tuple[Usage, float | None]:
        """What a task has taken so far, with its subtasks. The cost is None where no price is known."""
        records = [*self.journals.read(task_id)]
        spending = replay(records).spending
        usage, cost = spending.usage, spending.cost
        for record in records:
            if isinstance(record, ChildOpened):
                more, price = self.spent(record.child_id)
                usage, cost = usage + more, cost if price is None else (cost or 0.0) + price
        return usage, cost

    def left_open(self, task_id: str) -> LeftOpen:
        """What a task that does not run has left open, with its subtasks: messages that wait, a request."""
        return left_open(task_id, self.journals.read)

    def take_back(self, task_id: str) -> bool:
        """Forget the last message that waits in a task that nobody has open; False if none does, or somebody has."""
        with suppress(OSError, JournalError):
            return take_back(task_id, self._store, self.journals.read)
        return False

    def open_elsewhere(self, task_id: str) -> str:
        """Which process has this task open, and what to do; empty if none has."""
        try:
            with held(self._store.journal_path(task_id), timeout=0.1):
                return ""
        except JournalError as error:
            return str(error)
        except OSError:  # it was deleted meanwhile, which is reported when it is opened
            return ""

    async def until_free(self, task_id: str) -> None:
        """Wait, while everything else goes on, for a process that is about to let go of this task. JournalError if it
        does not."""
        journal = self._store.journal_path(task_id)
        for _ in range(_LOOKS):
            if not is_held(journal):
                return
            await asyncio.sleep(_LOOK_EVERY)
        if elsewhere := self.open_elsewhere(task_id):
            raise JournalError(elsewhere)

    def journal_path(self, task_id: str) -> Path:
        return self._store.journal_path(task_id)

    def reserve(self, task_id: str) -> None:
        """Keep an id for a task that has not begun, for whoever was promised it."""
        make_private(self._store.folder(task_id))

    def is_reserved(self, task_id: str) -> bool:
        """Whether this id was promised to somebody, and its task has not begun."""
        return self._store.folder(task_id).is_dir() and not self.journal_path(task_id).exists()

    def delete(self, task_id: str) -> None:
        """Delete a task and everything saved with it, or give up an id that was kept. One that runs is an error."""
        if self.is_reserved(task_id):
            self._store.folder(task_id).rmdir()
            return
        self._store.delete(self._store.find(task_id).task_id)

    def profile(self, kept: str = "") -> str:
        """The profile of approvals that a new task has here, or a resumed one that `kept` one of its own."""
        if kept in CYCLE and not self._options.flag("approvals.profile"):  # others are not believed either
            return kept
        return approvals_in_force(settings_in_force(self.folder, self._options.flags)).settings.profile

    async def profiles(self) -> Sequence[str]:
        """The profiles to switch between, in their order; `auto` is one where the sandbox is full."""
        config = settings_in_force(self.folder, self._options.flags)
        try:
            await check_profile(Settings.for_profile("auto"), sandbox_settings(config), self.folder)
        except UsageError:
            return [name for name in CYCLE if name != "auto"]
        return CYCLE

    def permissions(self, task_id: str | None = None) -> Sequence[Granted]:
        """What the user is not asked about again in this folder, and in a task, which may run or not. What each is, in
        words: `granted.permission.words`."""
        return granted_in(self.folder, self._store, task_id)

    def revoke(self, granted: Granted, task_id: str | None = None, running: TaskHandle | None = None) -> bool:
        """Ask again about this. The task is named by its id; the one that runs here is given as well. False: it was not
        allowed."""
        return revoke(granted, self.folder, self._store, task_id, running.send if running else None)

    def step_files(self, task_id: str, step: Step, how: How) -> str:
        """Undo the last turn that changed files, or redo what was undone last; or say what that would do."""
        return step_files(self._store, task_id, step, how)

    def look_at_step(self, task_id: str, step: Step) -> StepPlan:
        """What an undo or a redo would do."""
        return look_at_step(self._store, task_id, step)

    def checkpoints(self, task_id: str) -> CheckpointStore:
        """The checkpoints of a task."""
        return open_store(self._store, self._store.find(task_id))

    def fork(self, task_id: str, turn: int | None = None) -> str:
        """A new task that shares the first turns of this one, or all of them. Returns its id."""
        return fork_task(self._store, self._store.find(task_id), turn)

    def search(self, text: str) -> Sequence[str]:
        """The ids of the tasks that contain this text."""
        return [entry.task_id for entry in self._store.entries() if entry.mentions(text)]

    # The user's own

    def setting(self, name: str) -> Any:
        """The value of a setting that a front end uses itself, such as `terminal.theme`."""
        return settings_in_force(self.folder, self._options.flags).value(name)

    def check_model(self, name: str) -> None:
        """Raises JoeyError if no task could begin with this model."""
        check_model(name, settings_in_force(self.folder, self._options.flags))

    def unlisted_model(self, name: str) -> str:
        """That the catalogue does not know a model, in a line; empty if it does, or cannot tell."""
        return unlisted(settings_in_force(self.folder, self._options.flags), name)

    def keep_setting(self, name: str, value: str) -> None:
        """Write a setting to the user's file. UsageError for a value that it does not take."""
        set_value(user_folder() / FILE, name, value)

    async def add_note(self, words: str, confirm: Callable[[NotePlan], Awaitable[bool]]) -> str:
        """Add a line to the AGENTS.md of this folder, if the user confirms the change that it makes; what came of it,
        in words. UsageError if it cannot be."""
        return await add_note(self.folder, words, confirm)

    def users_commands(self) -> UsersCommands:
        """Runs the commands that the user types. Whoever opens it closes it."""
        return UsersCommands(self.folder, settings_in_force(self.folder, self._options.flags))

    # What there is

    def place(self) -> NamedPlace:
        """The workspace as a person names it, with its branch."""
        return place_of(self.folder)

    def models(self) -> Sequence[str]:
        """The models that can be used at once: those usual for the keys that are set, and those installed here."""
        return usable_models()

    def model_choices(self) -> Sequence[ModelChoice]:
        """Every model that can be used at once, with what there is to know about it."""
        return model_choices(settings_in_force(self.folder, self._options.flags))

    def efforts(self, model: str) -> Sequence[str]:
        """How much this model can be set to think; empty if it cannot, or nobody knows."""
        known = catalogue(settings_in_force(self.folder, self._options.flags)).facts(model)
        return known.abilities.efforts or ()

    def effort(self, model: str) -> str | None:
        """How much this model thinks by the settings; None: as it is used to."""
        config = settings_in_force(self.folder, self._options.flags)
        return catalogue(config).facts(model).effort or config.value("reasoning.effort")

    def context_window(self, model: str) -> int | None:
        """How many tokens this model takes in; None if nobody knows."""
        return catalogue(settings_in_force(self.folder, self._options.flags)).facts(model).abilities.context_window

    def notices(self) -> Sequence[str]:
        """What the user should know about the configuration before anything starts."""
        config = settings_in_force(self.folder, self._options.flags)
        flaws = hooks_of(config, Sources.of(self.folder)).flaws
        return [*notices(config), *configured_servers(self.folder).warnings, *flaws]

    def modes(self) -> Sequence[tuple[str, str]]:
        """The modes: slug and name."""
        return [(mode.slug, mode.name) for mode in discover(self.folder).modes.modes]

    def tools(self, mode: str) -> Sequence[tuple[str, str]]:
        """The tools of a mode: name, and the first line of the description."""
        config = settings_in_force(self.folder)
        specs = discover(self.folder).toolset(mode, tool_choices(config, self.folder)).specs
        return [(spec.name, spec.description.strip().split("\n")[0]) for spec in specs]

    def start_servers(self) -> McpServers | None:
        """Start the MCP servers of this folder, and those that were given, for all tasks that are opened from now on;
        None if there are none. Whoever calls this closes them."""
        configs = configured_servers(self.folder).with_given(self._given.servers).enabled
        if not configs:
            return None
        running = McpServers(configs, off=self._given.servers_off)
        running.start()
        self._given = replace(self._given, running=running)
        return running

    def servers(self) -> Sequence[ServerConfig]:
        """The MCP servers that are configured here, disabled ones too."""
        return configured_servers(self.folder).with_given(self._given.servers).servers

    @property
    def servers_off(self) -> frozenset[str]:
        """The MCP servers that the user switched off for now, by name."""
        return self._given.servers_off

    def switch_server(self, name: str, running: McpServers | None, *, on: bool) -> None:
        """Switch an MCP server off for all tasks from now on, or on again; at once, where a task's servers run."""
        off = self._given.servers_off
        self._given = replace(self._given, servers_off=off - {name} if on else off | {name})
        if running is not None:
            running.switch(name, on=on)

    def signed_in(self, server: ServerConfig) -> bool:
        """Whether there are tokens for an MCP server at an address."""
        from joey.mcp.oauth import is_signed_in  # loads the SDK

        return is_signed_in(server.url)

    async def sign_in(self, server: ServerConfig, show: Callable[[str], None]) -> int:
        """Sign in to an MCP server in the browser: `show` gets the address to open. Returns how many tools it has.
        JoeyError if it does not work."""
        from joey.mcp.login import log_in

        return await log_in(server, show)

    def sign_out(self, server: ServerConfig) -> bool:
        """Forget a sign-in; False if there was none."""
        from joey.mcp.oauth import sign_out

        return sign_out(server.url)

    def commands(self) -> Mapping[str, str]:
        """The user's own slash commands and skills, and what each is for: such a line is for the model."""
        library = discover(self.folder).library
        commands = {name: command.description for name, command in library.commands().items()}
        return commands | {name: skill.description for name, skill in library.skills().items()}

    def command_hints(self) -> Mapping[str, str]:
        """What to type behind a slash command, where it says so."""
        commands = discover(self.folder).library.commands()
        return {name: each.argument_hint for name, each in commands.items() if each.argument_hint}

    def hooks(self) -> Sequence[str]:
        """The hooks of this folder, one in a line, and what of them cannot be used."""
        return list_hooks(settings_in_force(self.folder, self._options.flags), Sources.of(self.folder))

    def files(self) -> Sequence[str]:
        """The files and folders of the workspace, folders with a slash at the end."""
        return list_folder(
            self.folder, recursive=True, limit=_MAX_FILES, hidden=lambda _path: False, seconds=1.0
        ).entries

    def image(self, path: Path) -> ImageBlock:
        """An image from a file, for the model."""
        return read_image(path)
