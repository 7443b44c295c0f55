"""Commands that the user types themselves: `!pytest -q`. They run as the model's commands do, by the same tool.

The user typed the line, so nobody is asked, and it may use the network as a command that was approved. The sandbox
holds it all the same: what the settings say about commands is true of every command that Joey runs. What it left
running in the background ends with the terminal.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from joey.app.settings import environment_rules, sandbox_settings
from joey.config import Config
from joey.frames import framed
from joey.messages import ShownText
from joey.policy import Workspace
from joey.policy.protected import is_guarded
from joey.tools.base import Permissions, ToolContext, ToolMemory
from joey.tools.builtin.execute_command import ExecuteCommand, ExecuteCommandParams
from joey.tools.shell.colours import without_colours
from joey.tools.shell.job import Job
from joey.tools.shell.jobs import Jobs
from joey.tools.shell.output import shorten_output

_MAX_SHARED = 10_000
"""How many characters of a command's output the model is given: the two ends of it."""


@dataclass(frozen=True, slots=True)
class CommandEnded:
    """A command that has run: how it ended, in a line, and what it printed."""

    headline: str
    output: str
    failed: bool

    @property
    def for_the_model(self) -> str:
        return f"{self.headline}\n{shorten_output(self.output, max_characters=_MAX_SHARED)}"


class UsersCommands:
    """The user's commands in one workspace."""

    def __init__(self, workspace: Path, config: Config) -> None:
        self._tool = ExecuteCommand(environment=environment_rules(config), sandbox=sandbox_settings(config))
        self._paths = Workspace.of(workspace)
        self._workspace = workspace
        self._outputs = tempfile.TemporaryDirectory(prefix="joey-commands-", ignore_cleanup_errors=True)
        self._memory = ToolMemory()

    async def run(self, command: str, progress: Callable[[str], None]) -> CommandEnded:
        """Run one to its end. Every way it can end is a result; cancelling ends the command."""
        context = ToolContext(
            self._workspace,
            Path(self._outputs.name),
            ignored=self._paths.hides,
            permissions=Permissions(guarded=is_guarded, approved_by=lambda: "user"),
            progress=progress,
            memory=self._memory,
        )
        result = await self._tool.run(ExecuteCommandParams(command=command), context)
        output = "\n".join(without_colours(each.text) for each in result.shown if isinstance(each, ShownText))
        failed = result.is_error or self._tool.display.failed(result.text) is not None
        return CommandEnded(result.text.partition("\n")[0], output, failed)

    @property
    def jobs(self) -> tuple[Job, ...]:
        """What they left running in the background."""
        return tuple(job for job in self._memory[Jobs].running if job.is_detached)

    async def close(self) -> None:
        """End what still runs."""
        await self._memory.close()
        self._outputs.cleanup()


def with_outputs(text: str, outputs: list[tuple[str, str]]) -> str:
    """A message, and below it what the user's own commands printed: material, in which no mention counts."""
    if not outputs:
        return text
    blocks = (f"The user ran `{command}`:\n{_HEADING.sub(_BROKEN, output)}" for command, output in outputs)
    return f"{text}\n\n{framed('input', chr(10).join(blocks))}"


_HEADING, _BROKEN = re.compile(r"(?m)^(?=\\*The user ran `)"), r"\\"
_BROKEN_HEADING = re.compile(r"(?m)^\\(?=\\*The user ran `)")


def as_printed(output: str) -> str:
    """What a command printed: a line that would pass for the beginning of another is broken in a message."""
    return _BROKEN_HEADING.sub("", output)
