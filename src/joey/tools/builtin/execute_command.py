"""Run a command in the shell."""

from __future__ import annotations

import asyncio
import contextlib
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from pydantic import Field

from joey.actions import Action, RunCommand, WidenSandbox
from joey.bounded.folders import reason
from joey.messages import CommandExit, ShownText, ToolResult
from joey.sandbox import Sandbox, SandboxError, SandboxSettings
from joey.system.filenames import quoted
from joey.system.git import quiet_git_environment
from joey.tools.base import Params, PathText, Plan, Tool, ToolContext, failed, ok
from joey.tools.display import Display
from joey.tools.options import BuiltinOptions
from joey.tools.paths import LocatedPaths, UnusablePathError
from joey.tools.shell.artifacts import CommandRecord, write_record
from joey.tools.shell.confinement import (
    NotConfinedError,
    badly_named,
    describe_need,
    missing_needs,
    network_if_approved,
    problem_with,
    resolved_needs,
    sandbox_for,
    wall_hint,
)
from joey.tools.shell.environment import (
    NO_RULES,
    CommandEnvironment,
    EnvironmentRules,
    command_environment,
    hide_own_process,
)
from joey.tools.shell.job import Job, start
from joey.tools.shell.jobs import Jobs
from joey.tools.shell.output import CommandOutput, collapse_repeats, format_size, shorten_output, with_file
from joey.tools.shell.planted_files import look_for_planted, watch_for_planted

_WATCHED = 1.0
"""How long a background command is watched before the call returns: a failure to start is reported at once."""
_USER_LINES = 500
_ELSEWHERE = "leads somewhere else than when it was judged; try again"
_FAILURE = r"Command(?: in '[^\n]*')? (?:failed: |was )(?P<how>(?:exit code|terminated by)[^.\n]*|ended after \S+ s)"
"""How a result begins if the command ended badly: it looks failed to the user, while to the model it is a result."""
_BACKGROUND = r"Command(?: in '[^\n]*')? is still running\."


class ExecuteCommandParams(Params):
    command: str = Field(min_length=1, description="The command line, read by bash.")
    cwd: PathText | None = Field(
        default=None, description="The folder to run it in, relative to the workspace. Default: the workspace."
    )
    timeout: float | None = Field(
        default=None, gt=0, description="After so many seconds go on without waiting; the command runs on as a job."
    )
    background: bool = Field(
        default=False, description="Do not wait for its end: for servers, watchers and other things that keep running."
    )
    terminal: bool = Field(
        default=False, description="Run it in a pseudo-terminal, for programs that behave otherwise without one."
    )
    needs: tuple[str, ...] = Field(
        default=(),
        description='What it needs beyond the sandbox: "network", the absolute path of a folder to write in, or '
        '"outside" for no sandbox. The user is asked about each, so leave it out unless a result says that the sandbox '
        "stopped the command.",
    )


class ExecuteCommand(Tool[ExecuteCommandParams]):
    """Commands that take longer than `kill_after` seconds are ended, except those that begin with an exempt prefix."""

    name = "execute_command"
    display = Display(("command",), headed=True, failure=_FAILURE, background=_BACKGROUND, kind="execute")
    group = "command"
    params = ExecuteCommandParams
    field_aliases = {"cmd": "command", "workdir": "cwd", "working_directory": "cwd", "pty": "terminal"}
    example = {"command": "npm test -- --silent", "cwd": "frontend", "timeout": 120}

    def __init__(
        self,
        *,
        kill_after: float | None = None,
        never_killed: tuple[str, ...] = (),
        watched: float = _WATCHED,
        environment: EnvironmentRules = NO_RULES,
        sandbox: SandboxSettings | None = None,
    ) -> None:
        self._sandbox = sandbox or SandboxSettings()
        self._environment = environment
        self._kill_after = kill_after
        self._never_killed = never_killed
        self._watched = watched

    @classmethod
    def configured(cls, options: BuiltinOptions) -> Self:
        return cls(
            kill_after=options.kill_commands_after,
            never_killed=options.commands_never_killed,
            environment=options.command_environment,
            sandbox=options.sandbox,
        )

    def actions(self, params: ExecuteCommandParams, context: ToolContext) -> tuple[Action, ...]:
        more = missing_needs(self._sandbox, context.workspace, params.needs)
        return (RunCommand(params.command, params.cwd), *map(WidenSandbox, more))

    async def plan(self, params: ExecuteCommandParams, context: ToolContext) -> Plan:
        needs = resolved_needs(params.needs)
        if wrong := badly_named(params.needs) or problem_with(needs, context):
            refusal = failed(f"Error: {wrong}. Nothing was run.")
            return Plan((), lambda: self.run(params, context), refusal=refusal)
        params = params.model_copy(update={"needs": needs})
        folders = LocatedPaths.locate(context, [params.cwd or "."])
        actions = tuple(map(WidenSandbox, missing_needs(self._sandbox, context.workspace, needs)))
        wider = [describe_need(action.need) for action in actions]
        shown = [f"Beyond the sandbox it needs: {'; '.join(wider)}.\n"] if wider else []
        shown += [network] if (network := network_if_approved(self._sandbox, needs)) else []
        return Plan(actions, lambda: self._run(params, folders, context), tuple(map(ShownText, shown)))

    async def run(self, params: ExecuteCommandParams, context: ToolContext) -> ToolResult:
        return await self._run(params, LocatedPaths.locate(context, [params.cwd or "."]), context)

    async def _run(self, params: ExecuteCommandParams, folders: LocatedPaths, context: ToolContext) -> ToolResult:
        try:
            cwd = folders.path(params.cwd or ".")
        except UnusablePathError as problem:
            return failed(f"Error: cwd: {problem}")
        if not cwd.is_dir():
            return failed(f"Error: the working directory {quoted(params.cwd or '.')} does not exist. Nothing was run.")
        if cwd.resolve() != cwd:
            return failed(f"Error: cwd: {quoted(params.cwd or '.')} {_ELSEWHERE}. Nothing was run.")
        if "\0" in params.command:
            return failed("Error: the command holds a NUL character, which no command line can. Nothing was run.")
        if wrong := badly_named(params.needs) or problem_with(params.needs, context):
            return failed(f"Error: {wrong}. Nothing was run.")
        try:
            sandbox = await sandbox_for(params.command, params.needs, self._sandbox, context)
        except NotConfinedError as refusal:
            return failed(f"Error: {refusal}")
        return await self._started(params, cwd, context, sandbox)

    async def _started(
        self, params: ExecuteCommandParams, cwd: Path, context: ToolContext, sandbox: Sandbox | None
    ) -> ToolResult:
        output = CommandOutput(context.storage, keep_from_start=params.background)
        given = command_environment(os.environ, self._environment.keep, self._environment.withhold)
        variables = {**given.variables, **quiet_git_environment()}
        hide_own_process()
        await watch_for_planted(sandbox, context)
        try:
            job = await start(
                params.command, cwd, output, context.progress,
                terminal=params.terminal, environment=variables, sandbox=sandbox,
            )  # fmt: skip
        except (OSError, ValueError, SandboxError) as problem:
            return failed(f"Error: the command could not be started: {reason(problem)}.")
        return await self._result(job, params, context, _first_notice(context, given))

    async def _result(self, job: Job, params: ExecuteCommandParams, context: ToolContext, notice: str) -> ToolResult:
        jobs = context.memory[Jobs]
        jobs.all.append(job)
        if (group := job.process.group) is not None:
            context.started(job.command, group)
        try:
            killed = await self._wait(job, params)
        except asyncio.CancelledError:
            await job.kill()
            raise
        if job.is_running:
            job.detach()
        else:
            jobs.all.remove(job)
        _keep_record(job)
        jobs.last_exit_code = job.exit.code if job.exit is not None else 0
        found = await look_for_planted(context)
        return self._report(job, params, notice, str(found or ""), killed=killed)

    async def _wait(self, job: Job, params: ExecuteCommandParams) -> bool:
        """Wait as long as the call should; returns whether the command was ended because it took too long."""
        timeout, limit = self._watched if params.background else params.timeout, self._limit(params)
        must_end = limit is not None and (timeout is None or limit <= timeout)
        try:
            async with asyncio.timeout(limit if must_end else timeout):
                await job.ended()
        except TimeoutError:
            if must_end:
                await job.kill()
                return True
            if limit is not None and timeout is not None:
                job.kill_in(limit - timeout)
        return False

    def _limit(self, params: ExecuteCommandParams) -> float | None:
        exempt = params.background or any(params.command.lstrip().startswith(each) for each in self._never_killed)
        return None if exempt else self._kill_after

    def _report(self, job: Job, params: ExecuteCommandParams, notice: str, warning: str, *, killed: bool) -> ToolResult:
        headline = _headline(job, params.cwd, self._kill_after if killed else None)
        hint = wall_hint(job.command, job.output.preview(), job.exit, job.sandbox) if job.sandbox else ""
        text = "\n".join([headline, *([notice] if notice else []), "", *_output(job), *(["", hint] if hint else [])])
        text = f"{text}\n\n{warning}" if warning else text
        shown = shorten_output(collapse_repeats(job.output.for_user()), _USER_LINES, lines_before=job.output.lines)
        user = tuple(ShownText(each) for each in (with_file(shown, job.output.artifact), warning) if each)
        result = failed(text, shown=user) if killed else ok(text, shown=user)
        ended = CommandExit(job.exit.code, job.exit.signal_name or "") if job.exit is not None else None
        return replace(result, exit=ended)


@dataclass(slots=True)
class _Notices:
    given: bool = False


def _first_notice(context: ToolContext, given: CommandEnvironment) -> str:
    """What the model is informed of with the first command of a task, and not again."""
    notices = context.memory[_Notices]
    text = "" if notices.given else given.notice()
    notices.given = True
    return text


def _headline(job: Job, cwd: str | None, killed_after: float | None) -> str:
    where = f" in '{quoted(cwd)}'" if cwd else ""
    if killed_after is not None:
        return (
            f"Command{where} was ended after {killed_after:g} s, the user's limit for commands. Do not run it again "
            "as it is: make it do less, or run it in the background."
        )
    if job.exit is None:
        return f"Command{where} is still running. {_how_to_follow(job)}"
    went_well = job.exit.code == 0
    headline = f"Command executed{where}." if went_well else f"Command{where} failed: {job.exit}."
    return headline if not job.is_running else f"{headline} It left processes running. {_how_to_follow(job)}"


def _how_to_follow(job: Job) -> str:
    end = f"end it with `kill -- -{job.process.pid}`"
    if not job.id:
        return f"To {end}."
    return f"Its output is kept as {job.id}: read it with read_command_output, {end}."


def _output(job: Job) -> list[str]:
    text = job.output.preview().removesuffix("\n")
    still = " so far" if job.is_running else ""
    if job.output.is_small:
        return [f"Output{still}:", text or "(none)"]
    if job.output.problem:
        return [f"Output{still} ({format_size(job.output.size)}; it could not be kept: {job.output.problem}):", text]
    return [
        f"Output{still} ({format_size(job.output.size)}) was kept whole. Artifact ID: {job.id}",
        "Preview:",
        text,
        "",
        f'To see the rest, call read_command_output with artifact_id "{job.id}" and an offset, or a search.',
    ]


def _keep_record(job: Job) -> None:
    if job.output.artifact is not None:
        code = None if job.exit is None else job.exit.code
        with contextlib.suppress(OSError):
            write_record(job.output.artifact, CommandRecord(job.command, str(job.cwd), code))
