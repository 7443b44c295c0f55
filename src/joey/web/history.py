"""A piece of a task's past, as the events that it showed: the same that a running task sends. And a task over time,
from the times in its journal: how long the model took, what ran, and what was waited for.

Results can be megabytes, and people open a task to see its end. So a piece is some turns long, long texts are cut in
the middle (`cut` says by how much), and the whole result of a call is had with a request of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from joey.app.history import UserWords, as_it_reads, events_of
from joey.events import Event, TaskFinished, ToolRunFinished, TurnFinished, TurnStarted
from joey.journal.records import MessageAdded, Record, RunBegan, RunEnded, TaskEnded, TurnEnded, UserSaid, UserTookBack
from joey.messages import ToolResult, ToolResultBlock
from joey.web.index import JournalIndex, read_between
from joey.wire import encode

TURNS = 20
MAX_TEXT = 12_000


@dataclass(frozen=True, slots=True)
class Piece:
    """Events in order. `older` is where the piece before it ends; None: there is none."""

    events: list[dict[str, Any]]
    older: int | None


def piece_before(index: JournalIndex, task_id: str, end: int, turns: int = TURNS) -> Piece:
    """The last turns before this place of the journal."""
    start, number = index.page(end, turns)
    timed = [*read_between(index.path, start, end)]
    return Piece([*_events(timed, task_id, number)], start or None)


def _events(timed: list[tuple[float, Record]], task_id: str, turns: int) -> Iterator[dict[str, Any]]:
    times = {id(record): at for at, record in timed}
    ran = {record.call_id for _, record in timed if isinstance(record, RunEnded)}
    at = timed[0][0] if timed else 0.0
    for record in as_it_reads(record for _, record in timed):
        at = times.get(id(record), at)
        if isinstance(record, MessageAdded) and record.message.role == "assistant":
            yield {**encode(TurnStarted(turns + 1)), "task": task_id, "at": at}
        for event in _shown(record, ran):
            if isinstance(event, TurnFinished):
                turns += 1
                event = replace(event, number=turns)
            yield {**slim(encode(event)), "task": task_id, "at": at}


def _shown(record: Record, ran: set[str]) -> Iterable[Event | UserWords]:
    match record:
        case TaskEnded(outcome, message):
            return (TaskFinished(outcome, message),)
        case UserSaid() | UserTookBack():
            return ()
        case MessageAdded(message) if message.role == "user":
            # Imported tasks have results in their messages alone.
            blocks = (each for each in message.content if isinstance(each, ToolResultBlock))
            results = [each for each in blocks if each.tool_use_id not in ran]
            runs = (
                ToolRunFinished(each.tool_use_id, "", ToolResult(each.content, is_error=each.is_error))
                for each in results
            )
            return (*runs, *events_of(record))
        case _:
            return events_of(record)


def slim(event: dict[str, Any]) -> dict[str, Any]:
    """An event without what nobody looks at in a list of many."""
    if event["type"] == "tool_call_finished":
        event = {**event, "source": ""}
    if event["type"] == "tool_run_finished":
        event["result"] = _slim_result(event["result"])
    return event


def _slim_result(result: dict[str, Any]) -> dict[str, Any]:
    """What is shown to people counts; what the model read is there if nothing else is."""
    shown = [_cut(each, "diff" if each["type"] == "shown_diff" else "text") for each in result["shown"]]
    content = [] if shown and not result["is_error"] else [_cut(each, "text") for each in result["content"]]
    return {**result, "shown": shown, "content": content}


def _cut(block: dict[str, Any], name: str) -> dict[str, Any]:
    text = block.get(name)
    if not isinstance(text, str) or len(text) <= MAX_TEXT:
        return block
    head, tail = text[: MAX_TEXT // 2], text[-MAX_TEXT // 2 :]
    if "\x1b" in tail:  # colours hold within a line
        tail = tail[tail.find("\n") + 1 :]
    return {**block, name: head, "end": tail, "cut": len(text) - len(head) - len(tail)}


def whole_result(path: Path, end: int, call_id: str) -> dict[str, Any] | None:
    """The result of a call, all of it; the last one with this id."""
    found = None
    for _, record in read_between(path, 0, end):
        if isinstance(record, RunEnded) and record.call_id == call_id:
            found = record.result
    return encode(found) if found is not None else None


def timeline(timed: Iterable[tuple[float, Record]]) -> list[dict[str, Any]]:
    """The turns, each with its calls. `waited` is the time before a call that nothing ran: for approval, mostly."""
    turns: list[dict[str, Any]] = []
    sent, last = 0.0, 0.0
    calls: dict[str, dict[str, Any]] = {}
    for at, record in timed:
        match record:
            case MessageAdded(message) if message.role == "user":
                sent = last = at
            case TurnEnded(usage, cost):
                context = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
                turns.append(
                    {
                        "start": sent or at,
                        "end": at,
                        "usage": encode(usage),
                        "context": context,
                        "cost": cost,
                        "calls": [],
                    }
                )
                calls, last = {}, at
            case RunBegan(call_id, name) if turns:
                calls[call_id] = {"name": name, "waited": max(0.0, at - last), "start": at, "end": None, "error": False}
                turns[-1]["calls"].append(calls[call_id])
                last = at
            case RunEnded(call_id, _, result) if call_id in calls:
                calls[call_id] |= {"end": at, "error": result.is_error}
                last = at
            case _:
                pass
    return turns
