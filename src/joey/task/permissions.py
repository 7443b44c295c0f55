"""What the user allowed besides the settings: in this task (its journal) and in this project (a file of the user's)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from joey.journal.records import PermissionGranted, PermissionRevoked
from joey.permissions import Granted, Permission, Scope
from joey.policy.permissions import permitted
from joey.policy.settings import Settings
from joey.task.config import TaskConfig
from joey.task.log import TaskLog


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
        task = (each for each in self._log.state.permissions if each not in project)
        return (*(Granted(each, "project") for each in project), *(Granted(each, "task") for each in task))

    def grant(self, permissions: Iterable[Permission], scope: Scope) -> None:
        workspace = self._config.workspace
        store = None if workspace.is_worktree else workspace.permissions
        for permission in permissions:
            if scope == "project" and store is not None:
                store.add(permission)
            elif permission not in self._log.state.permissions:
                self._log.record(PermissionGranted(permission))

    def revoke(self, permission: Permission) -> bool:
        """False: it was not allowed in this task."""
        if permission not in self._log.state.permissions:
            return False
        self._log.record(PermissionRevoked(permission))
        return True

    def applied(self, settings: Settings) -> Settings:
        return permitted(settings, (each.permission for each in self.granted))
