"""Show an address in the user's browser, beside a terminal that is in use."""

from __future__ import annotations

import subprocess
import sys
import threading


def open_address(url: str) -> None:
    """Start the user's browser, if there is one. It gets no terminal: neither what it prints nor a browser made for
    terminals may take the screen. Isolated (`-I`), so that nothing in the current folder is loaded."""
    command = [sys.executable, "-I", "-m", "webbrowser", url]

    def run() -> None:
        nothing = subprocess.DEVNULL
        subprocess.run(command, check=False, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True)  # noqa: S603

    threading.Thread(target=run, daemon=True).start()
