"""What the user allowed with an answer, in a folder and in its tasks: listed and revoked, with or without a task that
runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from joey.commands import Command, Revoke
from joey.journal.journal import Journal
from joey.journal.project_permissions import ProjectPermissions
from joey.journal.records import PermissionRevoked
from joey.journal.store import TaskStore
from joey.permissions import Granted
from joey.system.folders import state_folder
from joey.system.worktree_notes import project_of


def project_permissions(workspace: Path) -> ProjectPermissions:
    """What the user allowed in this folder for every task, there and in the worktrees that Joey made of it."""
    return ProjectPermissions(state_folder() / "permissions.json", project_of(workspace))


def granted_in(workspace: Path, store: TaskStore, task_id: str | None) -> tuple[Granted, ...]:
    """What is not asked about in this folder, and in a task (which need not run)."""
    project = project_permissions(workspace).listed()
    state = store.find(task_id).state if task_id else None
    task = (each for each in (state.allowed.permissions if state else ()) if each not in project)
    return (*(Granted(each, "project") for each in project), *(Granted(each, "task") for each in task))


def revoke(
    granted: Granted,
    workspace: Path,
    store: TaskStore,
    task_id: str | None,
    send: Callable[[Command], bool] | None = None,
) -> bool:
    """Ask again about this. `send` is how a task that runs gets it. False: it was not allowed."""
    if granted.scope == "project":
        return project_permissions(workspace).revoke(granted.permission)
    if send is not None:
        return send(Revoke(granted.permission))
    if task_id is None:
        return False
    task_id = store.find(task_id).task_id
    with Journal(store.journal_path(task_id)) as journal:
        journal.append(PermissionRevoked(granted.permission))
    return True
