"""What nobody expected does not end the terminal: it becomes one line on the screen and an entry in the log.

Textual ends the program when a handler raises, and the widget that the handler belongs to hears nothing more. Here each
message that fails is put aside and the next one is handled. Before the screen is up, and while it is taken down, there
is nothing to live on for, so Textual's own way holds.

Textual also leaves out a timer whose time has passed before it began to wait, as happens on a busy machine. A drawing
that is left out would be the last one, and a key that is held would never answer: here, a late timer is only late.

And it remembers how high a widget is for as long as it counts no further change to it, but counts only the first one
before the widget is idle. On a busy machine the screen is laid out between two: the height of the first would remain,
and a reply that was empty then would never be seen. Here, each change counts (`Shown`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Self

from textual.app import App
from textual.geometry import Region
from textual.message import Message
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.timer import Timer, TimerCallback
from textual.widgets import Static
from textual.worker import WorkerFailed

from joey.task.log import write_down


class Survives(MessagePump):
    """Something on the screen that goes on after a message it could not handle, or a timer that came late."""

    def set_timer(
        self, delay: float, callback: TimerCallback | None = None, *, name: str | None = None, pause: bool = False
    ) -> Timer:
        timer = super().set_timer(delay, callback, name=name, pause=pause)
        timer._skip = False  # noqa: SLF001 - no argument sets it
        return timer

    async def _dispatch_message(self, message: Message) -> None:
        try:
            await super()._dispatch_message(message)
        except Exception as error:
            app = self.app
            if not isinstance(app, SurvivingApp) or not app.reports_errors:
                raise
            app.report(error)


class Shown(Static):
    """Text that changes, and that is as high as what it shows last."""

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        self._layout_updates += layout
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)


class SurvivingScreen(Survives, Screen[None]):
    """A screen that draws the rest when a part of it cannot be drawn."""


class SurvivingApp(Survives, App[None]):
    """An application that reports errors and goes on."""

    error_log: Path
    """The folder of the log."""
    reports_errors = False
    """Whether there is a screen that can show the line."""
    _last_reported = ""

    def get_default_screen(self) -> SurvivingScreen:
        return SurvivingScreen(id="_default")

    def report(self, error: BaseException) -> None:
        """One line about an error, and everything about it in the log. One that repeats is shown once."""
        error = error.error if isinstance(error, WorkerFailed) else error
        line = f"Something went wrong: {write_down(error, self.error_log)}. The terminal goes on."
        if line != self._last_reported:
            self._last_reported = line
            self.show_error(line)

    def show_error(self, line: str) -> None:
        """Show the line about an error."""
        raise NotImplementedError

    def _handle_exception(self, error: Exception) -> None:
        """Textual calls this for timers, workers and callbacks."""
        if self.reports_errors:
            self.report(error)
        else:
            super()._handle_exception(error)
