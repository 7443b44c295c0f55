"""The jobs of a task: the commands it started that still run, or whose end was not reported to the model yet."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

from joey.system.processes import ProcessGroup, still_running
from joey.tools.base import ToolContext
from joey.tools.paths import name_for
from joey.tools.shell.job import Job, describe_status


@dataclass(frozen=True, slots=True)
class JobSummary:
    """A job as environment details show it."""

    id: str
    command: str
    cwd: str
    seconds: float
    status: str
    """`running`, or how it ended."""


@dataclass(frozen=True, slots=True)
class EarlierCommand:
    """A command of this task that was started by a process that is gone. Without a group, nobody knows if it was."""

    command: str
    group: ProcessGroup | None = None

    def __str__(self) -> str:
        if self.group is None:
            return f"{self.command} (may have been started as the task was interrupted; look for it with `ps`)"
        number = self.group.number
        return (
            f"{self.command} (from before the task was interrupted; may still be running as process group {number}; "
            f"stop it with `kill -- -{number}`, outside the sandbox)"
        )


@dataclass(slots=True)
class Jobs:
    """The jobs of one task."""

    all: list[Job] = field(default_factory=list)
    earlier: tuple[EarlierCommand, ...] = ()
    """Commands from before the task was resumed that still ran, or may have run, when it was."""
    last_exit_code: int = 0
    """That of the command that was run last; 0 if there was none, or if it still ran."""

    def find(self, artifact_id: str) -> Job | None:
        return next((job for job in self.all if job.id == artifact_id), None)

    @property
    def running(self) -> tuple[Job, ...]:
        return tuple(job for job in self.all if job.is_running)

    async def close(self) -> None:
        """End every command that still runs."""
        await asyncio.gather(*(job.kill() for job in self.running))

    def kill_now(self) -> None:
        """The same without a warning, and without waiting."""
        for job in self.running:
            job.kill_now()


def running_jobs(context: ToolContext) -> tuple[JobSummary, ...]:
    """The commands that run in the background now."""
    return tuple(_summary(context, job) for job in context.memory[Jobs].running)


def earlier_commands(context: ToolContext) -> tuple[EarlierCommand, ...]:
    """The commands from before the task was resumed that may still run now. One without a group is named once."""
    jobs = context.memory[Jobs]
    running = still_running([each.group for each in jobs.earlier if each.group is not None])
    found = tuple(each for each in jobs.earlier if each.group is None or each.group in running)
    jobs.earlier = tuple(each for each in found if each.group is not None)
    return found


def finished_jobs(context: ToolContext) -> tuple[JobSummary, ...]:
    """The background commands that have ended since the last call. Each is reported once."""
    jobs = context.memory[Jobs]
    finished = [job for job in jobs.all if not job.is_running]
    jobs.all = [job for job in jobs.all if job.is_running]
    return tuple(_summary(context, job) for job in finished)


def _summary(context: ToolContext, job: Job) -> JobSummary:
    status = describe_status(job.exit, is_running=job.is_running)
    seconds = time.monotonic() - job.started
    return JobSummary(job.id, job.command, name_for(context, job.cwd), seconds, status)
