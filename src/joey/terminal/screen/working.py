"""The task on the screen: it runs beside it in the same loop, sends events, and gets messages and answers.

    idle  --_run-->  opening  --the task is there-->  busy  --it finishes-->  idle
                        | Esc: the message goes back into the input

Events come as messages and are folded into the transcript at once. Messages that the user sends while the task is being
opened wait (`_early`); those that the model has not read yet can be taken back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from textual import work
from textual.message import Message
from textual.worker import Worker, WorkerError, get_current_worker

from joey.commands import Answer, Cancel, Say, TakeBack
from joey.errors import JoeyError
from joey.events import CompletionAnswered, Event, ProfileChanged, TaskFinished, ToolRunFinished, TurnStarted
from joey.frames import own_words
from joey.journal.replay import TaskState
from joey.messages import ImageBlock
from joey.task.task import TaskHandle
from joey.terminal.activity import IDLE, Activity
from joey.terminal.activity import after as activity_after
from joey.terminal.resumed import entries_of, resumed_entries
from joey.terminal.screen.display import DisplayApp
from joey.terminal.screen.editor import edited, editor_command
from joey.terminal.screen.prompt import Prompt
from joey.terminal.screen.request_panel import RequestPanel
from joey.terminal.screen.transcript_view import TranscriptView
from joey.terminal.session import Session
from joey.terminal.slash import NOTHING_QUEUED
from joey.terminal.transcript import Transcript
from joey.terminal.users_commands import RunningCommand


@dataclass
class Happened(Message):
    """An event of a task."""

    task_id: str
    event: Event


class WorkingApp(DisplayApp):
    """Runs tasks, and the user's own commands."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._worker: Worker[None] | None = None
        self._early: list[Say] = []
        """Messages that were sent while the task was being opened."""
        self._profiles: Sequence[str] = ()
        """The approval profiles to switch between, once they were needed."""
        self._accepted = False
        """Whether the user has accepted the result, after which the task ends."""
        self._early_presses = 0
        """How often Shift+Tab was pressed before they were known."""

    # Events

    def watch_task(self, task_id: str, event: Event) -> None:
        """What the task calls with every event."""
        self.post_message(Happened(task_id, event))

    def on_happened(self, message: Happened) -> None:
        for task_id, event in self.session.subtasks.shown(message.task_id, message.event):
            self._show_event(task_id, event)

    def _show_event(self, task_id: str, event: Event) -> None:
        if isinstance(event, TurnStarted):
            self._accepted = False
            self.transcript.unheard = self.session.queued
        self._touch(*self.transcript.apply(task_id, event))
        if isinstance(event, TaskFinished) and task_id == self.session.choices.resume:
            self._keep_waiting()
        before = self._activity
        self._received_at = self.clock()
        now = activity_after(before, event, self._received_at, users_turn=bool(self.transcript.pending))
        self._activity = now
        if (self._activity.kind, self._activity.what) != (before.kind, before.what):
            self._show_activity()
        if isinstance(event, CompletionAnswered):
            self._accepted = event.accepted
        knows = self._accepted and isinstance(event, TaskFinished)  # it was the user who accepted it
        if now.is_idle and not before.is_idle and self.notifier is not None and not knows:
            self.notifier.tell(event, focused=self.app_focus)
        if self.session.note_status(task_id, event):
            self._show_status()
        if isinstance(event, TaskFinished) and not self.transcript.is_subtask(task_id):
            self._note(self.session.ended_with_it())
        if isinstance(event, (ToolRunFinished, TaskFinished)):
            self._look_for_files()
            self._count_jobs()
        if self.transcript.pending != self._requests or isinstance(event, ProfileChanged):
            self._show_request()

    def _keep_waiting(self) -> None:
        """What the model has not read when it stops goes out when the task is resumed."""
        if self.transcript.waiting:
            self.transcript.unheard = self.session.queued
            self._touch(*self.transcript.keep_waiting())

    # Tasks

    @property
    def busy(self) -> bool:
        return self._worker is not None and self._worker.is_running

    def _run(self, prompt: str = "", images: Sequence[ImageBlock] = ()) -> None:
        self._worker = self._with_task(prompt, images, TaskHandle.run)

    def compact(self) -> None:
        self._worker = self._compact()

    @work
    async def _compact(self) -> None:
        compacted = await self._open_for("", (), TaskHandle.compact)
        if compacted and self.session.queued and not self.busy:
            self._run()  # what was sent meanwhile

    @work
    async def _with_task(
        self, prompt: str, images: Sequence[ImageBlock], what: Callable[[TaskHandle], Awaitable[object]]
    ) -> None:
        await self._open_for(prompt, images, what)

    async def _open_for(
        self, prompt: str, images: Sequence[ImageBlock], what: Callable[[TaskHandle], Awaitable[object]]
    ) -> bool:
        """Open the task and do this with it; False if that ended with an error, which is on the screen."""
        self._activity = Activity("waiting", "opening the task", self.clock())
        self._show_activity()
        try:
            await self._drawn()
            if resumed := self.session.choices.resume:
                await self.session.services.until_free(resumed)
            async with self.session.services.open(prompt, self.session.choices, self.watch_task, images) as task:
                self.session.began(task)
                # A task of its own: Esc cancels that, and not the work of this screen.
                running = asyncio.ensure_future(what(task))
                await asyncio.sleep(0)  # it has begun
                early, self._early = self._early, []
                for message in early:
                    task.send(message)
                await running
            return True
        except JoeyError as error:
            self._note(str(error), "error")
            if self.session.task is None:
                self._put_back(own_words(prompt), "The task was not opened")
            return False
        except asyncio.CancelledError:
            if self.session.task is None:
                self._put_back(own_words(prompt), "Stopped before the task was opened")
            raise
        finally:
            self._worker = None
            self._note(self.session.ended_with_it())
            self._keep_waiting()
            self.session.ended()
            self._activity = IDLE
            self._show_activity()
            self._count_jobs()

    async def _drawn(self) -> None:
        """Until the screen shows what it is to show: opening a task keeps the loop busy for a moment."""
        drawn = asyncio.Event()
        self._draw()
        self.call_after_refresh(drawn.set)
        await drawn.wait()

    def _put_back(self, prompt: str, why: str) -> None:
        """What was sent to a task that is not opened after all goes back into the input."""
        early, self._early = self._early, []
        sent = [*filter(None, (prompt, *(own_words(message.text) for message in early)))]
        for field in self.query(Prompt):  # there is none any more while the screen is taken down
            field.put("\n".join([*sent, *filter(None, [field.text])]))
        taken = [entry for message in early for entry in self.transcript.take_back(own_words(message.text))]
        self._touch(*self.transcript.not_opened(), *taken)
        self._note(f"{why}; what you sent is in the input again." if sent else "")

    def show(self, text: str) -> None:
        self._note(text)
        self._show_status()

    def show_task(self, state: TaskState) -> None:
        self.transcript = Transcript()
        resumed, services = self.session.choices.resume, self.session.services
        read, profile = services.journals.read, self.session.profile
        earlier = resumed_entries(resumed, read, profile=profile) if resumed else entries_of(state.messages)
        elsewhere = bool(resumed and services.open_elsewhere(resumed))
        self.transcript.show_earlier(resumed or "", earlier, elsewhere=elsewhere)
        self.transcript.show_waiting(self.session.queued)
        self.query_one(TranscriptView).show_new(self.transcript.entries)
        self.query_one(Prompt).work_in(self.session.services.folder, self.session.history.read())
        self._profiles = ()
        self._show_folder()

    def _show_what_happened_elsewhere(self) -> None:
        if state := self.session.continued_elsewhere():
            self.show_task(state)
            self._note("Another terminal has continued this task; this is where it got to.")

    @work(group="closing")
    async def close(self, why: str = "Joey was closed") -> None:
        """End what runs, so that it can be resumed, and quit. Once more while it ends (a key, then the window) changes
        nothing: to cancel who waits for a worker would cancel the worker."""
        for prompt in self.screen_stack[0].query(Prompt):
            self.session.history.add(prompt.whole_text.rstrip())  # Up brings it back the next time
            prompt.text = ""
        if self.session.task is not None and self._worker is not None:
            self.session.task.send(Cancel(why))
            with suppress(WorkerError):  # however it ended: it has
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
        if self.session.task is not None:
            return self.session.take_back()
        taken = self._take_early_back() if self.busy else self.session.take_back()
        self._touch(*self.transcript.take_back(taken or ""))
        return taken

    def _take_early_back(self) -> str | None:
        """The same while the task is being opened."""
        return own_words(self._early.pop().text) if self._early else None

    def take_back(self) -> str:
        if (taken := self._take_back()) is None:
            return NOTHING_QUEUED
        prompt = self.query_one(Prompt)
        prompt.put("\n".join(filter(None, (taken, prompt.text))))
        return ""

    def action_interrupt(self) -> None:
        panel, shortcuts = self.query_one(RequestPanel), self.query_one("#shortcuts")
        if shortcuts.display:
            shortcuts.display = False
        elif panel.commenting:
            self.query_one(Prompt).clear_to_history()
            panel.stop_commenting()
        elif self._activity.is_idle and (own := self.session.own_commands):
            own[-1].stop()
        elif self.session.task is not None and not self.session.is_done:
            self._take_all_back()
            self.session.stop("interrupted by the user")
        elif self.session.task is None and self._worker is not None:
            self._worker.cancel()

    def _take_all_back(self) -> None:
        """Put the messages that the model has not read back into the input, so that none is sent unnoticed later."""
        task, prompt = self.session.task, self.query_one(Prompt)
        taken = [text for text in self.session.queued if task is not None and task.send(TakeBack())]
        if taken:
            prompt.put("\n".join([*taken, *([prompt.text] if prompt.text else [])]))

    def action_next_profile(self) -> None:
        """Shift+Tab: the next approval profile. Every press counts, also those before it is known which there are."""
        if self._profiles:
            self._to_next_profile()
        else:
            self._early_presses += 1
            if self._early_presses == 1:
                self._find_profiles()

    @work(group="profile")
    async def _find_profiles(self) -> None:
        try:
            self._profiles = await self.session.services.profiles()
        finally:
            presses, self._early_presses = self._early_presses, 0
        for _ in range(presses):
            self._to_next_profile()

    def _to_next_profile(self) -> None:
        """After a profile that is not among them, such as read-only, the first."""
        now = self.session.profile
        at = self._profiles.index(now) + 1 if now in self._profiles else 0
        self.session.set_profile(self._profiles[at % len(self._profiles)])
        self._show_status()
        self._show_request()

    # The user's own commands

    @work(group="commands")
    async def _run_users_command(self, line: str) -> None:
        commands = self.session.command_line
        entry = commands.entry(line)
        self._touch(self.transcript.add(entry))
        running = RunningCommand(entry.command, self.clock(), get_current_worker().cancel)
        commands.began(running)
        self._show_activity()
        try:
            await commands.run(entry, lambda _text: self._touch(entry))
        finally:
            commands.ended(running)
            self._show_activity()
