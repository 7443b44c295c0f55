"""Before a call changes something: keep what it may change.

Files that a call names are kept by name. A command, somebody's code, a server or a subtask may change anything in the
workspace: before those, the whole of it is looked at. Keeping is a service to the user, not a condition: a full disk
must not stop the task, so a checkpoint that cannot be taken is reported, and the call goes ahead.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any

from joey.actions import Action, CallServer, RunCode, RunCommand, StartSubtask, WritePath
from joey.checkpoints import Checkpoint, CheckpointStore
from joey.checkpoints.walk import deleted_by
from joey.events import CheckpointStarted, ToolCallFinished, ToolRunProgressed
from joey.journal.records import CheckpointMade
from joey.task.log import TaskLog
from joey.task.toolbox import Toolbox
from joey.tools.base import ToolContext
from joey.tools.unsaved import BufferTracking, unsaved_now

_LABEL_LENGTH = 100
_MOMENT = 0.5
"""A checkpoint that takes no more seconds than this is not reported."""
_MAY_CHANGE_ANYTHING = (RunCommand, RunCode, CallServer, StartSubtask)


async def keep_files(log: TaskLog, toolbox: Toolbox, call: ToolCallFinished, actions: Sequence[Action]) -> None:
    """Take a checkpoint if these actions change something. It is written down before the call begins."""
    if not any(isinstance(action, (WritePath, *_MAY_CHANGE_ANYTHING)) for action in actions):
        return
    context = toolbox.context(call.call_id)
    if any(isinstance(action, _MAY_CHANGE_ANYTHING) for action in actions):
        context.memory[BufferTracking].note_foreign()
    try:
        store = toolbox.checkpoints
        if store is None:
            return
        turn = sum(message.role == "assistant" for message in log.state.messages)
        made = await _reported(log, call, asyncio.to_thread(_take, store, call, actions, turn, context))
    except (OSError, ValueError) as error:
        text = f"no checkpoint could be taken ({error}); this step cannot be undone\n"
        log.emit(ToolRunProgressed(call.call_id, text))
        return
    log.record(CheckpointMade(made.id, call.call_id))


async def _reported(log: TaskLog, call: ToolCallFinished, taking: Coroutine[Any, Any, Checkpoint]) -> Checkpoint:
    """In a large folder the first one takes a while: that is reported. Cancelled, it is not waited for."""
    taken = asyncio.ensure_future(taking)
    try:
        if not (await asyncio.wait([taken], timeout=_MOMENT))[0]:
            log.emit(CheckpointStarted(call.call_id))
        return await taken
    except asyncio.CancelledError:
        taken.cancel()
        raise


def _take(
    store: CheckpointStore, call: ToolCallFinished, actions: Sequence[Action], turn: int, context: ToolContext
) -> Checkpoint:
    named = [action.path for action in actions if isinstance(action, WritePath)]
    # A tool writes where a link leads, and may remove the link itself: both are kept.
    led_to = [os.path.realpath(store.workspace / path) for path in named]
    open_in_editor = {path: data for path in led_to if (data := unsaved_now(context, Path(path))) is not None}
    whole = any(isinstance(action, _MAY_CHANGE_ANYTHING) for action in actions)
    runs = [action for action in actions if isinstance(action, RunCommand)]
    doomed = [path for run in runs for path in deleted_by(run.command, store.workspace / (run.cwd or "."))]
    touched = [*named, *led_to]
    return store.take(
        label(call.name, actions),
        turn=turn,
        call_id=call.call_id,
        touched=touched,
        whole=whole,
        doomed=doomed,
        unsaved=open_in_editor,
    )


def label(tool: str, actions: Sequence[Action]) -> str:
    """The step in a few words, for the list."""
    for action in actions:
        match action:
            case RunCommand(command):
                return _short(f"{tool}: {command}")
            case WritePath(path):
                more = sum(isinstance(other, WritePath) for other in actions) - 1
                return _short(f"{tool}: {path}" + (f" and {more} more" if more else ""))
            case _:
                pass
    return tool


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LABEL_LENGTH else line[: _LABEL_LENGTH - 1] + "…"
