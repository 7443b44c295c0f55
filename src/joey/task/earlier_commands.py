"""Commands that outlived the process that ran the task: looked for when the task is resumed, and named.

Joey ends what it started, but not if it is killed itself. Each command is in the journal with its process group, so
whoever resumes can look for the group. They are only reported: they may be at work on something that the user wants.
"""

from __future__ import annotations

from joey.events import CommandLeftRunning
from joey.system.processes import ProcessGroup, still_running
from joey.task.log import TaskLog
from joey.tools.memory import ToolMemory
from joey.tools.shell.jobs import EarlierCommand, Jobs


def find_earlier_commands(log: TaskLog, memory: ToolMemory) -> None:
    """Remember the commands that may still run, for the model, and report them to the user."""
    groups = {ProcessGroup(each.group, each.mark): each.command for each in log.state.commands}
    running = still_running(groups)
    found = [EarlierCommand(command, group) for group, command in groups.items() if group in running]
    unknown = (call for call in log.state.unanswered if call.id in log.state.starting)
    found += [EarlierCommand(str(call.arguments.get("command", ""))) for call in unknown]
    memory[Jobs].earlier = tuple(found)
    for each in found:
        log.emit(CommandLeftRunning(each.command, each.group.number if each.group else 0))
