"""The tools of a task as they are now: those of its mode, the rules for them, and the world as they see it.
The rules are the settings, and what the user allowed besides: in this task (its journal) and in this project (a file of
the user's)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from joey.checkpoints import CheckpointStore
from joey.events import FilesLeftBehind, SandboxReported, ToolRunProgressed
from joey.journal.records import (
    CommandStarted,
    FilesFound,
    PermissionGranted,
    PermissionRevoked,
    RunConfined,
    SeenFile,
    path_text,
)
from joey.modes.mode import Mode
from joey.permissions import Granted, Permission, Scope
from joey.policy.paths import Workspace
from joey.policy.permissions import permitted
from joey.policy.settings import Settings
from joey.system.filenames import unquoted
from joey.task.calls import Grants, Rules
from joey.task.config import TaskConfig
from joey.task.log import TaskLog
from joey.task.profiles.base import Supervisor
from joey.tools.base import Confined, ToolContext, ToolMemory
from joey.tools.forms import AskForm, decline
from joey.tools.registry import Registry
from joey.tools.seen_files import SeenFiles
from joey.tools.shell.colours import without_colours

_MAX_PRINTED = 20_000
"""Characters that are kept of what a running call prints, for the case that it is stopped."""


@dataclass(frozen=True, slots=True, eq=False)
class TaskPermissions:
    """The permissions of one task."""

    _config: TaskConfig
    _log: TaskLog

    @property
    def granted(self) -> tuple[Granted, ...]:
        """What holds now, that of the project first."""
        store = self._config.workspace.permissions
        project = store.listed() if store is not None else ()
        task = (each for each in self._log.state.allowed.permissions if each not in project)
        return (*(Granted(each, "project") for each in project), *(Granted(each, "task") for each in task))

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """For how far an answer can allow something."""
        return ("task",) if self._config.workspace.is_worktree else ("task", "project")

    def grant(self, permissions: Iterable[Permission], scope: Scope) -> None:
        store = self._config.workspace.permissions
        for permission in permissions:
            if scope == "project" and scope in self.scopes and store is not None:
                store.add(permission)
            elif permission not in self._log.state.allowed.permissions:
                self._log.record(PermissionGranted(permission))

    def revoke(self, permission: Permission) -> bool:
        """False: it was not allowed in this task."""
        if permission not in self._log.state.allowed.permissions:
            return False
        self._log.record(PermissionRevoked(permission))
        return True

    def applied(self, settings: Settings) -> Settings:
        return permitted(settings, (each.permission for each in self.granted))


class Toolbox:
    """What a call needs to be resolved, judged and carried out."""

    def __init__(self, config: TaskConfig, log: TaskLog, paths: Workspace) -> None:
        self._config = config
        self._log = log
        self._paths = paths
        self.permissions = TaskPermissions(config, log)
        """What answers of the user allow besides."""
        self.grants = Grants()
        self.ask_form: AskForm = decline
        """Puts forms of MCP servers to the user."""
        self.failed: list[str] = []
        """The tools that failed since the model last spoke."""
        self.memory = ToolMemory()
        for path, version in log.state.calls.seen.items():
            self.memory[SeenFiles].restore(Path(unquoted(path)), version)
        self._confined: Confined | None = None
        self._printed: dict[str, str] = {}
        """What the calls that run have printed so far."""
        self._registry: Registry | None = None
        self._checkpoints: CheckpointStore | None = None

    @property
    def mode(self) -> Mode:
        return self._config.mode(self._log.state.mode)

    @property
    def registry(self) -> Registry:
        """The tools of the mode the task is in now, ready to check calls."""
        toolset = self._config.tools(self.mode)
        if self._registry is None or self._registry.toolset is not toolset:
            self._registry = Registry(toolset)
        return self._registry

    @property
    def approvals(self) -> Settings:
        """What may be done without asking now."""
        profile = self._log.state.allowed.profile
        chosen = self._config.profiles(profile) if profile else self._config.approvals
        return self.permissions.applied(chosen)

    @property
    def allowed_for_a_plan(self) -> tuple[Literal["changes", "commands", "some commands"], ...]:
        """What needs no approval once a plan is accepted, also under the profile that asks about everything."""
        settings = self.permissions.applied(self._config.profiles("ask"))
        any_command = {"*", "+network *"} & {*settings.allow} and not settings.deny
        return (
            *(("changes",) if settings.writes == "allow" else ()),
            *(("commands",) if any_command else ("some commands",) if settings.allow else ()),
        )

    @property
    def rules(self) -> Rules:
        """What holds for a call made now."""
        folder, headless = self._config.workspace.folder, self._config.hooks.headless
        return Rules(self.mode, folder, self.approvals, self._paths, headless, self._config.reads_only)

    @property
    def checkpoints(self) -> CheckpointStore | None:
        """Where files are kept before they are changed; opened when first needed, None if that is switched off."""
        workspace = self._config.workspace
        if self._checkpoints is None and workspace.checkpoints is not None:
            folder = self._log.folder / "checkpoints"
            self._checkpoints = CheckpointStore(folder, workspace.folder, workspace.checkpoints)
        return self._checkpoints

    def context(self, call_id: str = "") -> ToolContext:
        """The world as a tool sees it in this call."""
        return ToolContext(
            workspace=self._config.workspace.folder,
            storage=self._log.folder,
            mode=self.mode.slug,
            modes=tuple(self._config.modes),
            subtask_model=self._subtask_model,
            todos=tuple(self._log.state.todos),
            ignored=self._paths.hides,
            permissions=self.grants.permissions(call_id, lambda: self.rules),
            confined=lambda confined: self._note_confined(call_id, confined),
            started=lambda command, group: self._log.record(CommandStarted(call_id, command, group.number, group.mark)),
            warn=self._warn,
            progress=lambda text: self._progress(call_id, text),
            ask_form=self.ask_form,
            editor=self._config.workspace.editor,
            memory=self.memory,
        )

    def _progress(self, call_id: str, text: str) -> None:
        self._printed[call_id] = (self._printed.get(call_id, "") + text)[-_MAX_PRINTED:]
        self._log.emit(ToolRunProgressed(call_id, text))

    def take_printed(self, call_id: str) -> str:
        """The last of what a call has printed, which is forgotten then."""
        return without_colours(self._printed.pop(call_id, "")).strip()

    def _subtask_model(self, mode: str) -> str:
        name = self._config.agent_models.choose(self._config.mode(mode)).name
        return name if name != self._config.model.full_name else ""

    def beside(self, supervisor: Supervisor) -> str:
        """What a new request is shown with: files, if the model may read those without asking."""
        return supervisor.beside(self.context()) if self.approvals.reads == "allow" else ""

    def newly_seen(self) -> tuple[SeenFile, ...]:
        """The files that the model knows another version of than was recorded last."""
        return tuple(SeenFile(path_text(path), version) for path, version in self.memory[SeenFiles].take_new().items())

    def _note_confined(self, call_id: str, confined: Confined) -> None:
        self._log.record(RunConfined(call_id, confined.level, confined.network))
        if confined != self._confined:
            self._confined = confined
            self._log.emit(SandboxReported(confined.level, confined.network, confined.message))

    def _warn(self, message: str) -> None:
        try:
            self._log.record(FilesFound(message))
        finally:
            self._log.emit(FilesLeftBehind(message))
