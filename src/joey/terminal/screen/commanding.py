"""What `/` commands do on the screen: lists to choose from, copying, notes for later."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence

from textual import work

from joey.app.notes_for_later import NotePlan
from joey.errors import JoeyError
from joey.permissions import Granted
from joey.system.visible import visible
from joey.terminal.screen.confirm import ConfirmDiff
from joey.terminal.screen.permissions import PermissionList
from joey.terminal.screen.picker import ModelPicker, TaskPicker
from joey.terminal.screen.working import WorkingApp
from joey.terminal.scrollback import replies
from joey.terminal.slash import resume_task, run_command


class CommandingApp(WorkingApp):
    """A `Front`: what `/` commands need."""

    def replies(self) -> list[str]:
        return replies(self.transcript.entries)

    def copy_text(self, text: str) -> str:
        self.copy_to_clipboard(visible(text))  # whoever pastes it into a shell has what was on the screen
        return "Copied, if this terminal lets programs copy (OSC 52)."

    @work
    async def show_later(self, reply: Awaitable[str]) -> None:
        try:
            self.show(await reply)
        except JoeyError as error:
            self._note(str(error), "error")

    def show_permissions(self, granted: Sequence[Granted]) -> str:
        self.push_screen(PermissionList(granted, self.session.revoke))
        return ""

    @work
    async def choose_task(self) -> None:
        """Let the user choose a task, and show it."""
        services = self.session.services
        tasks = await asyncio.to_thread(services.tasks)
        chosen = await self.push_screen_wait(TaskPicker(tasks, str(services.folder)))
        if chosen:
            self._note(resume_task(self, chosen))
            self._show_status()

    @work
    async def choose_model(self) -> None:
        """Let the user choose a model, and use it from now on."""
        found = await asyncio.to_thread(self.session.services.model_choices)
        chosen = await self.push_screen_wait(ModelPicker(found, self.session.status.model)) if found else None
        if chosen:
            self._note(run_command(self, f"/model {chosen}"))
            self._show_status()

    @work
    async def _add_note(self, words: str) -> None:
        """Add a line to AGENTS.md, if the user wants the change that it makes."""

        async def confirm(plan: NotePlan) -> bool:
            confirmed = await self.push_screen_wait(ConfirmDiff(plan.question, plan.diff))
            return bool(confirmed)

        try:
            self._note(await self.session.services.add_note(words, confirm))
        except JoeyError as error:
            self._note(str(error), "error")
