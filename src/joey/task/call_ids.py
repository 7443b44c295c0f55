"""Call ids that are unique in a task, whatever the model or its server sends.

In a text protocol each reply counts its calls from one, and some servers with native calls do the same. Results,
subtasks, checkpoints and what was interrupted are found by these ids, in the journal and on the screen. So an id that
an earlier reply of the task used gets the number of the turn added, from the first event of the call on.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import replace

from joey.events import StreamEvent, ToolCallDelta, ToolCallFinished, ToolCallMalformed, ToolCallStarted


class CallIds:
    """The ids of the calls of one reply. `used` are those of the earlier replies."""

    def __init__(self, used: AbstractSet[str], turn: int) -> None:
        self._used = used
        self._turn = turn
        self._ids: dict[str, str] = {}

    def unique(self, event: StreamEvent) -> StreamEvent:
        """The event with the id that its call has in the task."""
        match event:
            case ToolCallDelta(call_id, path, text, raw, literal):  # nearly all events of a long call
                new = self.of(call_id)
                return event if new == call_id else ToolCallDelta(new, path, text, raw, literal)
            case ToolCallStarted(call_id) | ToolCallFinished(call_id) | ToolCallMalformed(call_id):
                new = self.of(call_id)
                return event if new == call_id else replace(event, call_id=new)
        return event

    def of(self, call_id: str) -> str:
        """The id in the task of the call that has this one in its reply."""
        new = self._ids.get(call_id)
        if new is None:
            new, attempt = call_id, self._turn
            while new in self._used or new in self._ids.values():
                new, attempt = f"{call_id}_{attempt}", attempt + 1
            self._ids[call_id] = new
        return new
