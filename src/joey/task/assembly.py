"""The working parts of a task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from joey.policy.paths import Workspace
from joey.task.completion import Completion
from joey.task.config import TaskConfig
from joey.task.edit_checks import EditChecks
from joey.task.forms import FormRequests
from joey.task.hook_points import HookPoints
from joey.task.limits import LimitChecks
from joey.task.log import TaskLog
from joey.task.loop import Loop
from joey.task.merges import Merges
from joey.task.profiles.base import Supervisor
from joey.task.request import RequestBuilder
from joey.task.requests import Requests
from joey.task.run_calls import ToolRunner
from joey.task.subtasks import Family, Subtasks
from joey.task.toolbox import Toolbox
from joey.task.turn import Turns
from joey.task.window import Window


@dataclass(frozen=True, slots=True)
class Assembly:
    """Each made with those it needs."""

    log: TaskLog
    hooks: HookPoints
    toolbox: Toolbox
    supervisor: Supervisor
    requests: Requests
    subtasks: Subtasks
    builder: RequestBuilder
    window: Window
    completion: Completion
    loop: Loop

    @classmethod
    def of(cls, config: TaskConfig, log: TaskLog, family: Family) -> Self:
        folder = config.workspace.folder
        paths = config.workspace.paths or Workspace.of(folder)
        toolbox = Toolbox(config, log, paths)
        supervisor = config.profile.supervisor(folder, paths, config.limits)
        hooks = HookPoints(config, log, toolbox, is_subtask=family.depth > 0)
        requests = Requests(config, log, supervisor, hooks.notify)
        toolbox.ask_form = FormRequests(config, log, requests).ask
        subtasks = Subtasks(config, log, toolbox, family)
        builder = RequestBuilder(config, log, toolbox, supervisor)
        window = Window(config, log, builder, hooks)
        checks = EditChecks(config, log, toolbox, requests)
        completion = Completion(config, log, requests, toolbox, supervisor, hooks, checks)
        turns = Turns(config, log, toolbox, builder, window, supervisor)
        merges = Merges(config, log, toolbox, subtasks, checks)
        runner = ToolRunner(config, log, requests, toolbox, supervisor, completion, subtasks, merges, hooks, checks)
        limits = LimitChecks(config, log, requests, toolbox, family)
        parts = builder, turns, runner, completion, limits, hooks, checks
        loop = Loop(config, log, toolbox, supervisor, requests, *parts)
        return cls(log, hooks, toolbox, supervisor, requests, subtasks, builder, window, completion, loop)
