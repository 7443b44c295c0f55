"""The working parts of a task, each made with those it needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from joey.policy.paths import Workspace
from joey.task.completion import Completion
from joey.task.config import TaskConfig
from joey.task.limits import LimitChecks
from joey.task.log import TaskLog
from joey.task.loop import Loop
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
    """One task, taken apart."""

    log: TaskLog
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
        requests = Requests(config, log, supervisor)
        subtasks = Subtasks(config, log, toolbox, family)
        builder = RequestBuilder(config, log, toolbox, supervisor)
        window = Window(config, log, builder)
        completion = Completion(config, log, requests, toolbox, supervisor)
        turns = Turns(config, log, toolbox, builder, window)
        runner = ToolRunner(config, log, requests, toolbox, supervisor, completion, subtasks)
        limits = LimitChecks(config, log, requests, toolbox)
        loop = Loop(config, log, toolbox, requests, builder, turns, runner, completion, limits, subtasks)
        return cls(log, toolbox, supervisor, requests, subtasks, builder, window, completion, loop)
