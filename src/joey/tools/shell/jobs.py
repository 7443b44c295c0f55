"""The jobs of a task: the commands it started that still run, or whose end the model has not been told of."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from joey.tools.base import ToolContext
from joey.tools.closing import close_with_task
from joey.tools.paths import name_for
from joey.tools.shell.job import Job
from joey.tools.shell.wording import status_of

_KEY = "command_jobs"
_EXIT_CODE = "last_exit_code"
_LAST_OUTPUT = 1024


@dataclass(frozen=True, slots=True)
class JobSummary:
    """A job as environment details show it."""

    id: str
    command: str
    cwd: str
    seconds: float
    status: str
    """`running`, or how it ended."""
    last_output: str


def jobs_of(context: ToolContext) -> list[Job]:
    if _KEY not in context.state:
        context.state[_KEY] = []
        close_with_task(context, lambda: kill_jobs(context))
    jobs: list[Job] = context.state[_KEY]
    return jobs


def note_exit_code(context: ToolContext, job: Job) -> None:
    context.state[_EXIT_CODE] = job.exit.code if job.exit is not None else 0


def last_exit_code(context: ToolContext) -> int:
    """The exit code of the command that was run last; 0 if there was none, or if it still ran."""
    code: int = context.state.get(_EXIT_CODE, 0)
    return code


def find_job(context: ToolContext, artifact_id: str) -> Job | None:
    return next((job for job in jobs_of(context) if job.id == artifact_id), None)


def running_jobs(context: ToolContext) -> tuple[JobSummary, ...]:
    """The commands that run in the background now."""
    return tuple(_summary(context, job) for job in jobs_of(context) if job.is_running)


def finished_jobs(context: ToolContext) -> tuple[JobSummary, ...]:
    """The background commands that have ended since this was last asked. Each is told of once."""
    jobs = jobs_of(context)
    finished = [job for job in jobs if not job.is_running]
    jobs[:] = [job for job in jobs if job.is_running]
    return tuple(_summary(context, job) for job in finished)


async def kill_jobs(context: ToolContext) -> int:
    """End every command that still runs; returns how many there were."""
    running = [job for job in jobs_of(context) if job.is_running]
    await asyncio.gather(*(job.kill() for job in running))
    return len(running)


def kill_jobs_now(context: ToolContext) -> None:
    """The same without asking nicely, and without waiting."""
    for job in jobs_of(context):
        if job.is_running:
            job.kill_now()


def _summary(context: ToolContext, job: Job) -> JobSummary:
    status = status_of(job.exit, is_running=job.is_running)
    seconds = time.monotonic() - job.started
    last = job.output.last_lines(_LAST_OUTPUT)
    return JobSummary(job.id, job.command, name_for(context, job.cwd), seconds, status, last)
