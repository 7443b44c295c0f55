"""A task with nobody at the keyboard: progress on stderr, the result on stdout.

As JSON, every event is one line on stdout instead: the event as in docs/events.md, with `task` (the id of the task it
belongs to) and, in the first line, `schema` (the version of this format).
"""

from __future__ import annotations

import json
from typing import TextIO

from joey.events import Event
from joey.task.log import Watcher
from joey.terminal.plain.writer import Writer
from joey.wire import encode

SCHEMA = 1


def printing(out: TextIO) -> Watcher:
    """A watcher that prints plain lines. The result is not among them: it goes to stdout."""
    return Writer(out, grows=True, results=False).watch


def printing_json(out: TextIO) -> Watcher:
    """A watcher that prints every event as a line of JSON."""
    first = True

    def watch(task_id: str, event: Event) -> None:
        nonlocal first
        head = {"schema": SCHEMA, "task": task_id} if first else {"task": task_id}
        first = False
        out.write(json.dumps({**head, **encode(event)}) + "\n")
        out.flush()

    return watch
