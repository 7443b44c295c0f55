"""What a terminal keeps between tasks: the choices, the status, and which task runs."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from joey.app.left_open import LeftOpen
from joey.app.services import Choices, Services
from joey.commands import Cancel, Condense, SetProfile, TakeBack
from joey.errors import JoeyError
from joey.events import Event, ProfileChanged, TodosChanged
from joey.frames import own_words
from joey.journal.replay import TaskState
from joey.mcp.prompts import ServerPrompts
from joey.mcp.resources import ServerResources
from joey.permissions import Granted
from joey.system.folders import private_file
from joey.system.user_files import add_lines
from joey.system.visible import one_line
from joey.task.request import ContextView
from joey.task.task import TaskHandle
from joey.terminal.status import Status, after, after_beside
from joey.terminal.subtasks import SubtaskTree
from joey.terminal.users_commands import CommandLine, RunningCommand
from joey.tools.shell.job import Job

KEPT = 1_000
"""How many lines the file has when it was cut."""
_MAX_LENGTH = 20_000
"""What is longer was pasted, not typed."""


class InputHistory:
    """What the user typed before in one folder, kept between runs: a file of the user's, in which each line is a JSON
    object, `{"folder": "/home/me/project", "text": "fix the tests"}`.

    Several terminals may write at once: each adds its own lines at the end. The file is for the user's eyes alone; what
    begins with a space is not kept. It is cut to its newest lines when it is read and has grown to twice of what it
    should hold. A line that cannot be read is left out, and where nothing can be written the terminal works all the
    same.
    """

    def __init__(self, file: Path, folder: Path) -> None:
        self._file = file
        self._folder = str(folder)

    def read(self) -> list[str]:
        """What was typed here, the oldest first."""
        try:
            lines = self._file.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return []
        if len(lines) > 2 * KEPT:
            lines = lines[-KEPT:]
            self._rewrite(lines)
        return [text for line in lines if (text := self._text_of(line))]

    def add(self, text: str) -> None:
        if not text or text.startswith(" ") or len(text) > _MAX_LENGTH:
            return
        line = json.dumps({"folder": self._folder, "text": text}) + "\n"
        with contextlib.suppress(OSError):
            add_lines(self._file, line.encode())

    def _text_of(self, line: str) -> str:
        try:
            entry = json.loads(line)
        except ValueError:
            return ""
        known = isinstance(entry, dict) and entry.get("folder") == self._folder and isinstance(entry.get("text"), str)
        return entry["text"] if known else ""

    def _rewrite(self, lines: list[str]) -> None:
        new = self._file.with_suffix(f".{os.getpid()}")
        with contextlib.suppress(OSError):
            with open(new, "w", encoding="utf-8", opener=private_file) as file:
                file.write("\n".join(lines) + "\n")
            new.replace(self._file)


class Session:
    """One sitting. After a task has ended, the next message resumes it, until another is chosen or started."""

    def __init__(self, services: Services, choices: Choices | None = None) -> None:
        self.services = services
        self.history = InputHistory(services.storage / "said.jsonl", services.folder)
        self.choices = choices or Choices()
        self.status = Status(
            self.choices.mode or "code", self.choices.model or "", profile=self.choices.profile or services.profile()
        )
        self.task: TaskHandle | None = None
        """The task that runs, or waits for the next message."""
        self.subtasks = SubtaskTree()
        """The subtasks of the task, for whoever wants to look into one."""
        self._named = True
        """Whether the flags of the command line are about the task that is resumed next: it is the first one."""
        self._mode, self._profile = self.choices.mode, self.choices.profile
        """What the user chose here. A mode that a task switched to by itself is its own business."""
        self._seen, self._known = self._written(), 0
        """How long the journal is as far as this terminal knows, and how many messages."""
        self._background: tuple[Job, ...] = ()
        """What ran in the background when it was counted last."""
        self._last_context: ContextView | None = None
        """What filled the window when the task ended; None if it was not worked on here."""
        self._to_compact: set[str] = set()
        """The tasks that ended before they were compacted, as the user wanted: it is done when they are resumed."""
        self.enter_continues = False
        """Whether the screen says that an empty Enter continues the task. Otherwise it sends nothing."""
        self._enter_shows_plan = False
        """Whether it does so because a plan waits, which is none any more under another profile."""
        self.warned_of = ""
        """The last command of the user's, if it was not done because of what would end with it."""
        self._stopping = False
        self._when_ended: list[Callable[[], object]] = []
        self._command_lines: dict[Path, CommandLine] = {}

    @property
    def command_line(self) -> CommandLine:
        """Runs the user's own commands, in the folder of the task."""
        folder = self.services.folder
        if folder not in self._command_lines:
            shares = self.services.setting("terminal.share_commands")
            self._command_lines[folder] = CommandLine(self.services.users_commands(), shares=shares)
        return self._command_lines[folder]

    @property
    def own_commands(self) -> list[RunningCommand]:
        """The user's own commands that run, the oldest first."""
        return [command for each in self._command_lines.values() for command in each.running]

    @property
    def in_background(self) -> list[RunningCommand]:
        """Everything that runs and can be ended by its number: commands of the task, and the user's own."""
        task = self.task
        of_task = (
            [RunningCommand(each, 0.0, partial(task.stop_command, at)) for at, each in enumerate(task.running_commands)]
            if task is not None
            else []
        )
        left = [command for each in self._command_lines.values() for command in each.background]
        return [*of_task, *self.own_commands, *left]

    def for_the_model(self, text: str) -> str:
        """A message, with what the user's own commands printed since the last one."""
        here = self._command_lines.get(self.services.folder)
        return here.with_outputs(text) if here and text else text

    async def close(self) -> None:
        """End what the user's own commands left running."""
        for each in self._command_lines.values():
            await each.close()

    def count_jobs(self) -> bool:
        """Count the commands that run in the background; returns whether the status is another one now."""
        self._background = self.task.jobs if self.task is not None else ()
        before, self.status = self.status, replace(self.status, jobs=len(self._background))
        return before.jobs != self.status.jobs

    def ended_jobs(self) -> list[Job]:
        """What has ended in the background since it was counted last, while its task goes on."""
        return [job for job in self._background if not job.is_running] if self.task is not None else []

    def note_status(self, task_id: str, event: Event) -> bool:
        """The status after an event of the task, or of a subtask; returns whether it is another one now. An event about
        the profile may come when another is in force already: what is shown is always that one."""
        if isinstance(event, ProfileChanged):
            event = ProfileChanged(self.profile)
        of_one_beside = self.subtasks.beside(task_id) is not None
        before, self.status = self.status, (after_beside if of_one_beside else after)(self.status, event)
        return before != self.status

    @property
    def waits(self) -> bool:
        """Whether the task is there and has nothing to do until the user says what is next."""
        return self.task is not None and (self.task.waits_for_message or self.task.has_stopped)

    @property
    def is_done(self) -> bool:
        """Whether the model is done, and there is nothing to interrupt. A plan is a question, and so is whether a task
        that has stopped is to continue."""
        return self.task is not None and self.task.waits_for_message and not self.task.plan_waits

    @property
    def closing(self) -> bool:
        """Whether the task is being stopped, or something is to be done as soon as it has ended: what the user sends
        now is for what comes after it."""
        return self._stopping or bool(self._when_ended)

    def stop(self, why: str) -> None:
        """Stop the task, which takes a moment."""
        if self.task is not None:
            self._stopping = self.task.send(Cancel(why))

    def when_ended(self, then: Callable[[], object]) -> None:
        """Do this when the task has ended."""
        self._when_ended.append(then)

    def end_first(self, then: Callable[[], object]) -> None:
        """End the task that waits for the user, and do this when it has ended."""
        self.when_ended(then)
        if self.task is not None and self.waits:
            self.task.send(Cancel("another command was given"))

    def began(self, task: TaskHandle) -> None:
        self.task = task
        if (chosen := self.choices.profile) and chosen != task.profile:  # while it was being opened
            task.send(SetProfile(chosen))
        if task.id in self._to_compact:
            self._to_compact.remove(task.id)
            task.send(Condense())
        self._named, self.enter_continues, model = False, False, task.config.model
        self.choices = replace(self.choices, model=model.full_name, resume=task.id, mode=None, profile=None)
        self.status = replace(
            self.status, model=model.full_name, window=model.replies.context_window, profile=task.profile
        )
        if task.state.messages:
            self._count_again(task.id, task.state)

    def ended_with_it(self) -> str:
        """Which commands ended because the task has, in a line; empty if there were none, or it was said already."""
        ended, self._background = self._background, ()
        return f"Ended with the task: {', '.join(one_line(job.command) for job in ended)}." if ended else ""

    def ended(self) -> None:
        """The task has ended: what waited for that is done."""
        if self.task is not None:
            self._known, self._last_context = len(self.task.state.messages), self.task.context
            if self.task.compacts_next:
                self._to_compact.add(self.task.id)
        self.task, self._stopping, self._seen = None, False, self._written()
        waiting, self._when_ended = self._when_ended, []
        for then in waiting:
            then()

    def continued_elsewhere(self) -> TaskState | None:
        """The task that the next message continues, if another terminal has worked on it since it was shown here."""
        if self.choices.resume is None or self._written() == self._seen:
            return None
        try:
            state = self.services.state(self.choices.resume)[1]
        except JoeyError:
            return None  # whoever opens it reports why
        known, self._known, self._seen = self._known, len(state.messages), self._written()
        self._last_context = None
        self._count_again(self.choices.resume, state)
        return state if self._known != known else None

    def counted(self) -> Status:
        """The status, with what the task took by now, here and elsewhere."""
        if self.task is None and self.choices.resume is not None:
            with suppress(JoeyError, OSError):
                self._count_again(self.choices.resume, self.services.state(self.choices.resume)[1])
        return self.status

    def _count_again(self, task_id: str, state: TaskState) -> None:
        """What the task took so far is what its journal says: another terminal may have worked on it, too."""
        with suppress(JoeyError, OSError):
            usage, cost = self.services.spent(task_id)
            self.status = replace(self.status, usage=usage, last=state.spending.last_usage, cost=cost)

    def _written(self) -> int:
        """How much is written in the journal of the task that is resumed next; it only ever grows."""
        with suppress(OSError):
            return self.services.journal_path(self.choices.resume).stat().st_size if self.choices.resume else 0
        return 0

    def choose(self, *, mode: str | None = None, model: str | None = None) -> None:
        """Another mode or model from now on."""
        self._mode = mode or self._mode
        self.choices = replace(self.choices, mode=mode or self.choices.mode, model=model or self.choices.model)
        self.status = replace(self.status, mode=mode or self.status.mode, model=model or self.status.model)

    @property
    def profile(self) -> str:
        """The profile of approvals that is in force: that of the task, or what was chosen for the next message."""
        return self.choices.profile or (self.task.profile if self.task is not None else self.status.profile)

    def set_profile(self, profile: str) -> None:
        """Another profile of approvals from now on, for the task that runs, or else for the next message."""
        if self.task is None or not self.task.send(SetProfile(profile)):
            self.choices = replace(self.choices, profile=profile)
            self.enter_continues = self.enter_continues and not self._enter_shows_plan
        self._profile = profile
        self.status = replace(self.status, profile=profile)

    @property
    def context(self) -> ContextView | None:
        """What fills the window: now, or when the task ended; None if nobody knows yet."""
        return self.task.context if self.task is not None else self._last_context

    def begin_new(self) -> None:
        """The next message starts a new task, with the model and the approvals that are shown."""
        self._last_context, self.enter_continues = None, False
        for each in self._command_lines.values():
            each.forget()
        mode, profile = self._mode or self.services.setting("mode"), self.profile
        # One that nobody chose is that of the settings, which then decide in every detail.
        chosen = self._profile == profile or profile != self.services.profile()
        self.choices = replace(self.choices, mode=mode, resume=None, profile=profile if chosen else None)
        self.status = Status(mode, self.status.model, profile)

    def resume(self, start: str) -> TaskState:
        """Resume a task with the next message. JoeyError if there is none, and all stays as it is."""
        task_id, state, opened = self.services.state(start)
        services = self.services.in_folder_of(opened)
        choices = replace(services.choices_for(opened, named=self._named), resume=task_id)
        profile = services.profile(state.allowed.profile)
        usage, cost = services.spent(task_id)
        status = Status(state.mode, choices.model or "", profile, "", usage, state.spending.last_usage, cost)
        self.services, self.choices, self._named, self._last_context = services, choices, False, None
        self.history = InputHistory(services.storage / "said.jsonl", services.folder)
        self._seen, self._known = self._written(), len(state.messages)
        self.status = after(status, TodosChanged(tuple(state.todos)))
        return state

    @property
    def queued(self) -> list[str]:
        """The messages that no model has read: in the task that runs, or in the one that is resumed next."""
        messages = self.task.queued if self.task is not None else self._left_open.queued
        return [own_words(message.text) for message in messages]

    @property
    def _left_open(self) -> LeftOpen:
        return self.services.left_open(self.choices.resume) if self.choices.resume else LeftOpen()

    def how_to_continue(self) -> str:
        """What continues the task that is resumed next, for the screen: an empty Enter does from then on, if that is
        what it says."""
        resumed, left = self.choices.resume or "", self._left_open
        self.enter_continues = self._enter_shows_plan = False
        if elsewhere := self.services.open_elsewhere(resumed):
            return f"{elsewhere[0].upper()}{elsewhere[1:]}, then type a message to continue."
        self.enter_continues = _may_go_on(left)
        if left.queued:
            return "Type a message, or press Enter to continue: what is queued is sent with it."
        if left.waits_with_result and self.profile == "plan":
            self.enter_continues = self._enter_shows_plan = True
            return "The plan waits for your decision: press Enter to decide, or type what to change."
        if self.enter_continues:
            return "Type a message, or press Enter to continue."
        return f"{'It is finished;' if left.is_finished else 'It is waiting for you:'} type a message to continue."

    def take_back(self) -> str | None:
        """Forget the last message that no model has read; None if there is none."""
        queued = self.queued  # as the task has them: the screen may be a moment behind
        if self.task is not None:
            return queued[-1] if queued and self.task.send(TakeBack()) else None
        if not queued or not self.services.take_back(self.choices.resume or ""):
            return None
        self._seen = self._written()
        self.enter_continues = self.enter_continues and _may_go_on(self._left_open)
        return queued[-1]

    def offered_by_servers(self, sign: str) -> list[str]:
        """What the MCP servers of the task have to be typed behind this sign: prompts, or resources."""
        servers = self.task.config.servers if self.task is not None else None
        if servers is None:
            return []
        if sign == "/":
            return [f"/{name}" for name in ServerPrompts(servers).offered()]
        return [f"@{name.replace(' ', chr(92) + ' ')}" for name in ServerResources(servers).offered()]

    def tools(self) -> list[tuple[str, str]]:
        """The tools of the task that runs, its servers' included; otherwise those of the mode."""
        if self.task is None:
            return [*self.services.tools(self.status.mode)]
        config = self.task.config
        specs = config.tools(config.modes[self.task.state.mode]).specs
        return [(spec.name, spec.description.strip().split("\n")[0]) for spec in specs]

    def permissions(self) -> Sequence[Granted]:
        """What the user is not asked about again, in the task and in the folder."""
        return self.task.permissions if self.task is not None else self.services.permissions(self.choices.resume)

    def revoke(self, granted: Granted) -> bool:
        """Have it asked about again; False if it was not allowed."""
        return self.services.revoke(granted, self.choices.resume, self.task)


def _may_go_on(left: LeftOpen) -> bool:
    """Whether the task has something to do without a new message."""
    return bool(left.queued) or not (left.is_finished or left.waits_for_user)
