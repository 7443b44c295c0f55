"""A terminal that may be closed at any moment: the window, the connection or tmux goes, and a thread is just writing.

Textual reads and writes the terminal in threads of their own. One that ends by an error takes the program with it: the
queue of what is to be written fills up, and whoever writes next waits for ever, so that even the signal that reports
the closed terminal is not handled. Here what cannot be written is dropped and what cannot be read is the end; the
signal then ends the program in order. Any other error of the reading thread is reported to the application, which
closes in order: nobody could type any more.

Other programs (an editor, the shell after Ctrl+Z) get the terminal with the settings that it had before the first
frame, which Textual never saw.
"""

from __future__ import annotations

import os
import selectors
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TextIO

from textual.drivers.linux_driver import LinuxDriver

from joey.terminal.first_frame import TerminalSettings
from joey.terminal.screen.keyboard import Keyboard

_TICK = 0.1
_PIECE = 4096


class DroppingStream:
    """Writes to a stream as long as that works."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()

    def fileno(self) -> int:
        return self._stream.fileno()


class LastingDriver(LinuxDriver):
    """Textual's driver, in threads that no closed terminal ends by an error."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._file = DroppingStream(self._file)  # type: ignore[assignment, arg-type]
        self.own_settings: TerminalSettings | None = None
        """What the terminal was set to before anything of ours, where that is known."""
        self.unread: Callable[[Exception], object] = lambda _error: None
        """Is told of keys that could not be read, in the thread that reads."""
        self.broken: Callable[[Exception], object] = lambda _error: None
        """Is told that nothing is read any more."""

    def start_application_mode(self) -> None:
        super().start_application_mode()  # type: ignore[no-untyped-call]
        if self.own_settings is not None:
            self.attrs_before = self.own_settings

    def run_input_thread(self) -> None:
        try:
            self._read_keys(Keyboard(self.unread))
        except OSError:
            pass
        except Exception as error:  # noqa: BLE001 - whatever it is, the terminal is to be closed in order
            self.broken(error)

    def _read_keys(self, keyboard: Keyboard) -> None:
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            ends = False
            while not ends:
                ends = self.exit_event.is_set()
                if selector.select(_TICK):
                    data = os.read(self.fileno, _PIECE)
                    for message in keyboard.read(data, final=ends):
                        self.process_message(message)
                    if not data:
                        self.exit_event.wait(_TICK)  # a closed terminal may read as empty, at once and again
                for message in keyboard.tick():
                    self.process_message(message)

    def _sigcont_application(self, *_: Any) -> None:
        """Go on after Ctrl+Z, and only then: the system sends this signal with every terminal that is closed, too, and
        threads that begin while the program ends keep it from ending."""
        if self._must_signal_resume:
            super()._sigcont_application()
