"""The task on the screen: it runs beside it in the same loop, sends events, and gets messages and answers.

    idle  --_run-->  opening  --the task is there-->  busy  --it finishes-->  idle
                        | Esc: the message goes back into the input

Events come as messages and are folded into the transcript at once. Messages that the user sends while the task is being
opened wait (`_early`); those that the model has not read yet can be taken back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from textual import work
from textual.message import Message
from textual.worker import Worker

from joey.commands import Answer, Cancel, Say, TakeBack
from joey.errors import JoeyError
from joey.events import Event, TaskFinished, ToolRunFinished
from joey.frames import own_words
from joey.journal.replay import TaskState
from joey.messages import ImageBlock
from joey.system.visible import one_line
from joey.task.task import TaskHandle
from joey.terminal.activity import IDLE, Activity
from joey.terminal.activity import after as activity_after
from joey.terminal.screen.editor import edited, editor_command
from joey.terminal.screen.entering import EnteringApp
from joey.terminal.screen.prompt import Prompt
from joey.terminal.screen.request_panel import RequestPanel
from joey.terminal.screen.transcript_view import TranscriptView
from joey.terminal.session import Session
from joey.terminal.transcript import Transcript, entries_of


@dataclass
class Happened(Message):
    """An event of a task."""

    task_id: str
    event: Event


class WorkingApp(EnteringApp):
    """Runs tasks, and the user's own commands."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._worker: Worker[None] | None = None
        self._command: Worker[None] | None = None
        """A command of the user's own that runs."""
        self._early: list[Say] = []
        """Messages that were sent while the task was being opened."""
        self._profiles: Sequence[str] = ()
        """The approval profiles to switch between, once they were needed."""

    # Events

    def watch_task(self, task_id: str, event: Event) -> None:
        """What the task calls with every event."""
        self.post_message(Happened(task_id, event))

    def on_happened(self, message: Happened) -> None:
        for task_id, event in self.session.subtasks.shown(message.task_id, message.event):
            self._show_event(task_id, event)

    def _show_event(self, task_id: str, event: Event) -> None:
        self._touch(*self.transcript.apply(task_id, event))
        before = self._activity
        now = activity_after(before, event, self.clock())
        self._activity = self._users_activity if now.is_idle else now
        if (self._activity.kind, self._activity.what) != (before.kind, before.what):
            self._show_activity()
        if now.is_idle and not before.is_idle and self.notifier is not None:
            self.notifier.tell(event, focused=self.app_focus)
        if self.session.note_status(task_id, event):
            self._show_status()
        if isinstance(event, TaskFinished) and not self.transcript.is_subtask(task_id):
            self._note(self.session.ended_with_it())
        if isinstance(event, (ToolRunFinished, TaskFinished)):
            self._look_for_files()
            self._count_jobs()
        if self.transcript.pending != self._requests:
            self._show_request()

    # Tasks

    @property
    def busy(self) -> bool:
        return self._worker is not None and self._worker.is_running

    def _run(self, prompt: str = "", images: Sequence[ImageBlock] = ()) -> None:
        self._worker = self._with_task(prompt, images, TaskHandle.run)

    def compact(self) -> None:
        self._worker = self._with_task("", (), TaskHandle.compact)

    @work
    async def _with_task(
        self, prompt: str, images: Sequence[ImageBlock], what: Callable[[TaskHandle], Awaitable[object]]
    ) -> None:
        self._activity = Activity("waiting", "opening the task", self.clock())
        self._show_activity()
        try:
            await self._drawn()
            async with self.session.services.open(prompt, self.session.choices, self.watch_task, images) as task:
                self.session.began(task)
                # A task of its own: Esc cancels that, and not the work of this screen.
                running = asyncio.ensure_future(what(task))
                await asyncio.sleep(0)  # it has begun
                early, self._early = self._early, []
                for message in early:
                    task.send(message)
                await running
        except JoeyError as error:
            self._note(str(error), "error")
        except asyncio.CancelledError:
            if self.session.task is None:
                self._put_back(own_words(prompt))
            raise
        finally:
            self._worker = None
            self._note(self.session.ended_with_it())
            self.session.ended()
            self._activity = self._users_activity
            self._show_activity()
            self._count_jobs()

    async def _drawn(self) -> None:
        """Until the screen shows what it is to show: opening a task keeps the loop busy for a moment."""
        drawn = asyncio.Event()
        self._draw()
        self.call_after_refresh(drawn.set)
        await drawn.wait()

    def _put_back(self, prompt: str) -> None:
        """What was sent to a task that is not opened after all goes back into the input."""
        early, self._early = self._early, []
        for field in self.query(Prompt):  # there is none any more while the screen is taken down
            texts = [prompt, *(own_words(message.text) for message in early), field.text]
            field.put("\n".join(filter(None, texts)))
        self._touch(*self.transcript.not_opened())
        self._note("Stopped before the task was opened; what you sent is in the input again.")

    def show(self, text: str) -> None:
        self._note(text)
        self._show_status()

    def show_task(self, state: TaskState) -> None:
        self.transcript = Transcript()
        resumed = self.session.choices.resume
        shown = self.session.services.shown(resumed) if resumed else {}
        self.transcript.entries += entries_of(state.messages, shown=shown, interrupted=state.interrupted)
        self.query_one(TranscriptView).show_new(self.transcript.entries)
        self.query_one(Prompt).work_in(self.session.services.folder, self.session.history.read())
        self._profiles = ()
        self._show_folder()

    def _show_what_happened_elsewhere(self) -> None:
        if state := self.session.continued_elsewhere():
            self.show_task(state)
            self._note("Another terminal has continued this task; this is how far it came.")

    @work(exclusive=True, group="closing")
    async def close(self, why: str = "Joey was closed") -> None:
        """End what runs, so that it can be resumed, and quit."""
        if self.session.task is not None and self._worker is not None:
            self.session.task.send(Cancel(why))
            await self._worker.wait()
        self._window_title.give_back()
        self.exit()

    # Answers and messages

    def _answer(self, answer: Answer) -> None:
        if self.session.task is not None:
            self.session.task.send(answer)

    def _reached(self, words: Answer | Say) -> bool:
        """Send it to the task; False if nobody is there for it. Words to a request that is gone are a message."""
        task = self.session.task
        if task is None or task.send(words):
            return task is not None
        return isinstance(words, Answer) and bool(words.text) and task.send(Say(words.text, words.images))

    def on_request_panel_answered(self, message: RequestPanel.Answered) -> None:
        self._answer(message.answer)

    @work(exclusive=True, group="editor")
    async def on_request_panel_wants_editor(self, message: RequestPanel.WantsEditor) -> None:
        try:
            with self._terminal_released():
                plan = await edited(message.edit.plan, editor_command())
        except JoeyError as error:
            self._note(str(error), "error")
        else:
            if plan.strip() == message.edit.plan.strip():
                self._note("The plan was not changed, so nothing is carried out yet: y carries it out as it is.")
            elif plan.strip():
                self._answer(replace(message.edit.answer, text=plan.strip()))
            else:
                self._note("The plan is empty now, so nothing is carried out.")

    def _take_back(self) -> str | None:
        """The last message that still waits for the model, which then no longer does; None if there is none."""
        waiting = self._waiting()
        if not waiting or self.session.task is None or not self.session.task.send(TakeBack()):
            return None
        return waiting[-1]

    def _waiting(self) -> list[str]:
        """The messages that the model has not read, as the task has them: the screen may be a moment behind."""
        return [own_words(each.text) for each in self.session.task.state.queued] if self.session.task else []

    def action_interrupt(self) -> None:
        panel, shortcuts = self.query_one(RequestPanel), self.query_one("#shortcuts")
        if shortcuts.display:
            shortcuts.display = False
        elif panel.commenting:
            self.query_one(Prompt).clear_to_history()
            panel.stop_commenting()
        elif self._command is not None and self._command.is_running:
            self._command.cancel()
        elif self.session.task is not None and not self.session.waits:
            self._take_all_back()
            self.session.stop("interrupted by the user")
        elif self.session.task is None and self._worker is not None:
            self._worker.cancel()

    def _take_all_back(self) -> None:
        """Put the messages that the model has not read back into the input, so that none is sent unnoticed later."""
        task, prompt = self.session.task, self.query_one(Prompt)
        taken = [text for text in self._waiting() if task is not None and task.send(TakeBack())]
        if taken:
            prompt.put("\n".join([*taken, *([prompt.text] if prompt.text else [])]))

    @work(exclusive=True, group="profile")
    async def action_next_profile(self) -> None:
        """Shift+Tab: the next approval profile; after one that is not among them, such as read-only, the first."""
        if not self._profiles:
            self._profiles = await self.session.services.profiles()
        now = self.session.status.profile
        at = self._profiles.index(now) + 1 if now in self._profiles else 0
        self.session.set_profile(self._profiles[at % len(self._profiles)])
        self._show_status()

    # The user's own commands

    @work(group="commands")
    async def _run_users_command(self, line: str) -> None:
        entry = self.session.command_line.entry(line)
        self._touch(self.transcript.add(entry))
        running = Activity("running", f"running {one_line(entry.command)}", self.clock())
        self._users_activity = running
        if self._activity.is_idle:
            self._activity = running
            self._show_activity()
        try:
            await self.session.command_line.run(entry, lambda _text: self._touch(entry))
        finally:
            self._users_activity = IDLE if self._users_activity is running else self._users_activity
            if self._activity is running:
                self._activity = self._users_activity
                self._show_activity()
