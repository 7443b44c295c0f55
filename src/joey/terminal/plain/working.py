"""What goes on right now, in one line below the last: a sign of life where nothing else is written for a while.

    ⠙ reading the prompt, 45 % · 8 s · Ctrl+C to stop

It is drawn several times a second as long as something goes on, and erased before anything else is written, so it is
never part of the output. Only a terminal gets it. What somebody types meanwhile is echoed by the terminal behind the
line: it has one width, and the cursor is put back to where it was.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from rich.control import Control
from rich.segment import ControlType

from joey.events import Event
from joey.terminal.activity import IDLE, after, draw_activity
from joey.terminal.console import SafeConsole

SECONDS_A_FRAME = 0.25
_MAX_WIDTH = 70
_LINE_START = Control(ControlType.CARRIAGE_RETURN)
_ERASE = Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2))


class Working:
    """The line. `may_draw` says whether the cursor stands at the beginning of a line, with nothing drawn below it."""

    def __init__(
        self, console: SafeConsole, may_draw: Callable[[], bool], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console = console
        self._may_draw = may_draw
        self._clock = clock
        self._activity = IDLE
        self._is_drawn = False
        self._timer: asyncio.TimerHandle | None = None

    def watch(self, event: Event) -> None:
        """Something happened, and was written."""
        self._activity = after(self._activity, event, self._clock())
        if self._activity.is_idle:
            self.stop()
        elif self._timer is None:
            self.draw()
            self._plan()

    def draw(self) -> None:
        """The line as it is now; nothing where it would be in the way."""
        if self._activity.is_idle or not self._may_draw():
            return
        width = min(_MAX_WIDTH, self._console.width - 1)
        text = draw_activity(self._activity, self._clock(), width, stop="Ctrl+C to stop")
        text.pad_right(width - text.cell_len)
        if self._is_drawn:
            self._write("\x1b7")
            self._console.control(_LINE_START)
        self._console.print(text, end="")
        if self._is_drawn:
            self._write("\x1b8")
        self._console.file.flush()
        self._is_drawn = True

    def erase(self) -> None:
        """Something else is about to be written."""
        if self._is_drawn:
            self._is_drawn = False
            self._console.control(_ERASE)

    def stop(self) -> None:
        """Nothing goes on any more."""
        self._activity = IDLE
        self.erase()
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None

    def _plan(self) -> None:
        try:
            self._timer = asyncio.get_running_loop().call_later(SECONDS_A_FRAME, self._tick)
        except RuntimeError:
            self._timer = None  # nobody's loop: it is drawn with the events only

    def _tick(self) -> None:
        self.draw()
        self._plan()

    def _write(self, code: str) -> None:
        """The cursor's place is kept and taken up again: codes for which rich has no name."""
        if not self._console.quiet:
            self._console.file.write(code)
