"""`!command`: the user's own commands, their entries, and what of them goes to the model.

!pytest -q      runs; its output goes to the model with the next message (`terminal.share_commands`)
!!env           runs; the model gets nothing of it
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from joey.app.users_commands import UsersCommands, with_outputs
from joey.terminal.transcript import KEPT_OUTPUT, Growing, UserCommand


def is_command(text: str) -> bool:
    """Whether a line is a command of the user's own, and not a message that begins with an exclamation mark."""
    return bool(text.lstrip("!").strip()) and text.startswith("!") and not text.lstrip("!").startswith((" ", "="))


@dataclass(frozen=True, slots=True, eq=False)
class RunningCommand:
    """One that runs: what it is, since when, and how it is ended."""

    command: str
    since: float
    stop: Callable[[], object]


class CommandLine:
    """Runs the user's commands, and keeps what the model has not been given yet."""

    def __init__(self, commands: UsersCommands, *, shares: bool) -> None:
        self._commands = commands
        self._shares = shares
        self._outputs: list[tuple[str, str]] = []
        self._running: list[RunningCommand] = []

    @property
    def running(self) -> list[RunningCommand]:
        """Those that somebody waits for, the oldest first."""
        return [*self._running]

    @property
    def background(self) -> list[RunningCommand]:
        """What they left running."""
        return [RunningCommand(job.command, 0.0, job.kill_now) for job in self._commands.jobs]

    def began(self, running: RunningCommand) -> None:
        self._running.append(running)

    def ended(self, running: RunningCommand) -> None:
        self._running.remove(running)

    def entry(self, line: str) -> UserCommand:
        """What is shown of a command."""
        private = line.startswith("!!")
        return UserCommand(line.lstrip("!").strip(), shared=self._shares and not private)

    async def run(self, entry: UserCommand, changed: Callable[[str], None]) -> None:
        """Run it to its end. `changed` is given each piece of its output as it comes."""

        def progress(text: str) -> None:
            entry.output.add(text, keep=KEPT_OUTPUT)
            changed(text)

        try:
            ended = await self._commands.run(entry.command, progress)
        except BaseException:
            entry.state, entry.ended = "failed", "Interrupted."
            changed("")
            raise
        entry.state = "failed" if ended.failed else "done"
        entry.ended = ended.headline if ended.failed else ""
        entry.output = Growing(ended.output)
        if entry.shared:
            self._outputs.append((entry.command, ended.for_the_model))
        changed("")

    def with_outputs(self, text: str) -> str:
        """A message for the model, with what the commands since the last one printed."""
        outputs, self._outputs = self._outputs, []
        return with_outputs(text, outputs)

    def forget(self) -> None:
        """What was printed so far concerns a task that is over."""
        self._outputs = []

    async def close(self) -> None:
        await self._commands.close()
