"""What nobody expected: a bug of a tool, of a front end, or of ours. It ends in words and in a log, not on the screen.

The log stands beside the task's journal. It holds the way to each error and none of the values on that way.
"""

from __future__ import annotations

import time
import traceback
from pathlib import Path

from joey.system.user_files import add_lines

LOG = "errors.log"
_MAX_BYTES = 1024 * 1024


def write_down(error: BaseException, folder: Path) -> str:
    """The error in a line, with the place of the log that says more."""
    words = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    path = folder / LOG
    try:
        if path.exists() and path.stat().st_size >= _MAX_BYTES:
            path.unlink()
        text = f"{time.strftime('%Y-%m-%d %H:%M:%S')}\n{''.join(traceback.format_exception(error))}\n"
        add_lines(path, text.encode("utf-8", "backslashreplace"))
    except OSError as why:
        return f"{words} (the details could not be written to {path}: {why.strerror})"
    return f"{words} (details: {path})"
