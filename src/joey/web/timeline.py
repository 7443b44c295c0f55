"""A task over time, from the times in its journal: how long the model took, what ran, and what was waited for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from joey.journal.records import MessageAdded, Record, RunBegan, RunEnded, TurnEnded
from joey.wire import encode


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
